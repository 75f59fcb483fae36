"""A report: sentences that claim no more than the figures, a page in one file, files on disk."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from chromium import open_chromium
from markdown_it import MarkdownIt
from playwright.sync_api import Browser
from reports import Content, reported

from teaser.errors import DataError
from teaser.evaluate.report import write_report, write_tables
from teaser.evaluate.report.pictures import draw_pictures
from teaser.evaluate.report.report import headlines, render_page, render_tables

RESULTS = Path(__file__).resolve().parents[3] / "experiments" / "results"


class Reader(HTMLParser):
    """Collects the links and the words of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [str(link) for name, link in attrs if name in ("src", "href", "xlink:href")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def page(*contents: Mapping[str, Any], drawn: bool = False) -> str:
    studies = [reported(each) for each in contents]
    return render_page(studies, [draw_pictures(each) if drawn else [] for each in studies])


@pytest.fixture(scope="module")
def whole(results_folder: Path) -> str:
    """The page of the study as it was run."""
    content = json.loads((results_folder / "small_run.json").read_text(encoding="utf-8"))
    return page(content, drawn=True)


def test_nothing_is_fetched_from_elsewhere(whole: str) -> None:
    text = whole
    assert all(link.startswith("#") for link in Reader(text).links)
    assert not re.search(r"@import|url\((?!#)|<script", text)
    assert set(re.findall(r"https?://[\w./-]+", text)) <= {
        "http://www.w3.org/1999/xlink",
        "http://www.w3.org/2000/svg",
    }


def test_titles_of_studies_are_text_not_markup(content: Content) -> None:
    text = page({**content, "title": "<script>alert(1)</script>"})
    assert "<script" not in text
    assert "&lt;script&gt;" in text


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def written(results_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the study and its quick version."""
    return write_report([results_folder], tmp_path_factory.mktemp("report") / "new")


def test_titles_and_notes_are_no_markup_in_the_tables_either(content: Content) -> None:
    bad = "a|b <img src=x> [x](javascript:y) `c` *d*\n\n# e \\| <script>f</script>"
    for quick in (False, True):
        changed = {**content, "title": bad, "note": bad, "quick": quick}
        changed["data"] = {**content["data"], "features": {bad: 3}}
        text = render_tables([reported(changed)])
        html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
        reader = Reader(html)
        assert reader.links == []
        assert not {"img", "script", "code", "h1"} & set(re.findall("<([a-z0-9]+)", html))
        shown = " ".join("".join(reader.words).split())
        assert shown.count(" ".join(bad.split())) >= 10
        # On the page cells have the same texts.
        assert " ".join(bad.split()) in " ".join("".join(Reader(page(changed)).words).split())


def test_each_kind_of_split_is_said_as_what_it_is(content: Content) -> None:
    strong = "tested on users they were not fitted to"
    said = {"users": strong, "last": "last one of the same users", "time": "a point in time"}
    split = content["split"]
    changed = {kind: {**content, "split": {**split, "kind": kind}} for kind in said}
    for kind, words in said.items():
        for text in (page(changed[kind]), render_tables([reported(changed[kind])])):
            assert words in text
            assert (strong in text) == (kind == "users")
    both = render_tables([reported(changed["time"]), reported(changed["users"])])
    assert all(said[kind] in both for kind in ("time", "users"))


def test_all_files_of_a_report(written: Path) -> None:
    assert written.name == "index.html"
    names = {p.name for p in (written.parent / "pictures").iterdir()}
    kinds = {"accuracy", "gain"}
    assert names == {f"small-run-quick-{k}.svg" for k in kinds} | {
        f"small-run-{k}.svg" for k in kinds
    }
    assert {p.name for p in written.parent.iterdir()} == {"index.html", "tables.md", "pictures"}


def test_the_tables_alone_are_those_of_the_report_and_of_the_page(
    written: Path, results_folder: Path, tmp_path: Path
) -> None:
    alone = write_tables([results_folder], tmp_path / "docs" / "TABLES.md").read_text()
    assert alone == (written.parent / "tables.md").read_text()
    numbers = re.findall(r"\d\.\d{3}", alone)
    assert len(numbers) > 100
    assert set(numbers) <= set(re.findall(r"\d\.\d{3}", written.read_text()))


def test_the_tables_that_come_along_are_those_of_the_results(tmp_path: Path) -> None:
    studies = ("ml-1m", "amazon-video-games", "goodbooks", "events")
    written = write_tables([RESULTS / f"{name}.json" for name in studies], tmp_path / "TABLES.md")
    assert written.read_text() == (RESULTS / "TABLES.md").read_text()


def test_markdown_tables_are_whole(content: Content) -> None:
    text = render_tables([reported(content)])
    assert re.findall(r"^## (.*)$", text, re.M) == [
        "Accuracy",
        "Simulated feedback",
        "Beyond accuracy",
        f"{content['title']}: parameters and cost".replace("<", "\\<"),
    ]
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        assert len({line.count("|") for line in block.splitlines()}) == 1
    teaser = next(m for m in content["models"] if m["kind"] == "Teaser")["metrics"]
    row = next(line for line in text.splitlines() if line.startswith("| TEASER |"))
    assert re.findall(r"(\d\.\d{3})\*{0,2} ±", row) == [
        f"{teaser[m]['mean']:.3f}" for m in ("recall@20", "recall@100", "ndcg@100")
    ]


def test_nothing_is_written_for_bad_results(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"study": "x"}')
    with pytest.raises(DataError):
        write_report([tmp_path / "x.json"], tmp_path / "report")
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_the_page_in_a_browser(browser: Browser, written: Path, scheme: Any, width: int) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    troubles: list[str] = []
    shown = context.new_page()
    shown.on("console", lambda message: troubles.append(message.text))
    shown.goto(written.as_uri())
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(shown)
    assert found.violations_count == 0, found.generate_report()
    line = shown.locator("figure svg text").first
    ink = line.evaluate("e => getComputedStyle(e).fill")
    bright = sum(map(int, re.findall(r"\d+", ink)[:3])) > 3 * 128
    assert bright is (scheme == "dark")
    assert troubles == []
    context.close()


def set_gap(content: Content, a: str, b: str, mean: float, low: float, high: float) -> None:
    for found in content["comparisons"]:
        if (found["a"], found["b"], found["metric"]) == (a, b, "ndcg@100"):
            found.update(mean=mean, low=low, high=high)


def set_value(content: Content, name: str, mean: float) -> None:
    model = next(m for m in content["models"] if m["name"] == name)
    model["metrics"]["ndcg@100"]["mean"] = mean


def said(content: Content, beginning: str) -> str:
    return next((s for s in headlines(reported(content)) if s.startswith(beginning)), "")


def test_the_share_of_ease_is_that_of_the_json(content: Content) -> None:
    values = {m["name"]: m["metrics"]["ndcg@100"]["mean"] for m in content["models"]}
    share = f"{100 * values['TEASER'] / values['EASE']:.0f} %"
    sentence = said(content, f"TEASER reaches {share} of EASE's nDCG@100")
    assert f"{values['TEASER']:.3f} against {values['EASE']:.3f} on 80 users" in sentence
    assert said(content, "TEASER reaches 98 %") == "" or share == "98 %"


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        ((-0.007, -0.009, -0.005), "the loss (−0.007, 95 % interval −0.009 to −0.005) is more"),
        ((0.004, 0.001, 0.007), "the gain (+0.004, 95 % interval +0.001 to +0.007) is more"),
        ((-0.002, -0.006, 0.002), "(−0.002, 95 % interval −0.006 to +0.002) may be chance"),
    ],
)
def test_a_difference_is_called_what_its_interval_allows(
    content: Content, gap: tuple[float, float, float], words: str
) -> None:
    set_value(content, "EASE", 0.420)
    set_value(content, "TEASER", 0.420 + gap[0])
    set_gap(content, "EASE", "TEASER", *gap)
    assert words in said(content, "TEASER reaches")


def test_what_was_not_run_is_not_spoken_of(
    content: Content, without: Callable[..., Content]
) -> None:
    assert said(without("simulations"), "Three presses") == ""
    assert "was not examined" in said(without("comparisons"), "TEASER reaches")
    alone = {**content, "models": [m for m in content["models"] if m["kind"] == "Popularity"]}
    assert headlines(reported(alone)) == []
