"""A report on disk and in a browser."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from chromium import open_chromium
from playwright.sync_api import Browser
from reports import Content, reported

from teaser.errors import DataError
from teaser.evaluate.report.write import tables_text, write_report, write_tables

RESULTS = Path(__file__).resolve().parents[3] / "experiments" / "results"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def page(results_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the study and its quick version."""
    return write_report([results_folder], tmp_path_factory.mktemp("report") / "new")


def test_all_files_of_a_report(page: Path) -> None:
    assert page.name == "index.html"
    names = {p.name for p in (page.parent / "pictures").iterdir()}
    kinds = {"accuracy", "gain", "tail", "surface", "convergence"}
    assert names == {f"small-run-quick-{k}.svg" for k in kinds} | {
        f"small-run-{k}.svg" for k in kinds | {"tags"}
    }
    assert {p.name for p in page.parent.iterdir()} == {"index.html", "tables.md", "pictures"}


def test_the_same_results_give_the_same_report(
    page: Path, results_folder: Path, tmp_path: Path
) -> None:
    again = write_report([results_folder], tmp_path)
    assert again.read_text() == page.read_text()


def test_tables_are_the_same_alone(results_folder: Path, tmp_path: Path) -> None:
    results = [results_folder / "small_run.json"]
    write_report(results, tmp_path / "report")
    alone = write_tables(results, tmp_path / "docs" / "TABLES.md")
    assert alone.read_text() == (tmp_path / "report" / "tables.md").read_text()


def test_the_tables_that_come_along_are_those_of_the_results(tmp_path: Path) -> None:
    studies = ("ml-1m", "amazon-video-games", "goodbooks", "events")
    written = write_tables([RESULTS / f"{name}.json" for name in studies], tmp_path / "TABLES.md")
    assert written.read_text() == (RESULTS / "TABLES.md").read_text()


def test_markdown_tables_are_whole(content: Content) -> None:
    text = tables_text([reported(content)])
    assert re.findall(r"^## (.*)$", text, re.M) == [
        "Accuracy",
        "Simulated feedback",
        "Scales and steps",
        "Beyond accuracy",
        f"{content['title']}: parameters and cost",
    ]
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        assert len({line.count("|") for line in block.splitlines()}) == 1
    teaser = next(m for m in content["models"] if m["kind"] == "Teaser")["metrics"]
    row = next(line for line in text.splitlines() if line.startswith("| TEASER |"))
    assert re.findall(r"(\d\.\d{3})\*{0,2} ±", row) == [
        f"{teaser[m]['mean']:.3f}" for m in ("recall@20", "recall@100", "ndcg@100")
    ]


def test_every_number_of_the_markdown_is_of_the_page(content: Content, tmp_path: Path) -> None:
    page = write_report([reported(content).results], tmp_path).read_text()
    cells = re.findall(r"\d\.\d{3}", (tmp_path / "tables.md").read_text())
    assert len(cells) > 100
    assert set(cells) <= set(re.findall(r"\d\.\d{3}", page))


def test_quick_tables_say_so(content: Content) -> None:
    assert "do not rely on" not in tables_text([reported(content)])
    assert "do not rely on" in tables_text([reported({**content, "quick": True})])


def test_parts_that_were_not_run(without: Callable[..., Content], tmp_path: Path) -> None:
    study = reported(without("simulations", "by_tags", "convergence"))
    write_report([study.results], tmp_path)
    assert "Simulated" not in (tmp_path / "tables.md").read_text()
    assert len(list((tmp_path / "pictures").iterdir())) == 3


def test_nothing_is_written_for_bad_results(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"study": "x"}')
    with pytest.raises(DataError):
        write_report([tmp_path / "x.json"], tmp_path / "report")
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_the_page_in_a_browser(browser: Browser, page: Path, scheme: Any, width: int) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    troubles: list[str] = []
    shown = context.new_page()
    shown.on("console", lambda message: troubles.append(message.text))
    shown.goto(page.as_uri())
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(shown)
    assert found.violations_count == 0, found.generate_report()
    line = shown.locator("figure svg text").first
    ink = line.evaluate("e => getComputedStyle(e).fill")
    bright = sum(map(int, re.findall(r"\d+", ink)[:3])) > 3 * 128
    assert bright is (scheme == "dark")
    assert troubles == []
    context.close()
