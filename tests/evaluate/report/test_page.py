"""The page: well-formed, whole in one file, everything said and nothing injected."""

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from reports import Content, reported

from teaser.errors import MissingPackageError
from teaser.evaluate.report.page import facts, render_page
from teaser.evaluate.report.pictures.study import draw_pictures
from teaser.evaluate.report.write import tables_text
from teaser.evaluate.study.groups import ShownGroup

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Reader(HTMLParser):
    """Checks that elements are closed in order, and collects what tests ask about."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.named: list[str] = []
        self.svgs: list[dict[str, str | None]] = []
        self.links: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        self.named += str(given.get("aria-labelledby") or "").split()
        self.links += [str(given[k]) for k in ("src", "href", "xlink:href") if k in given]
        if tag == "svg":
            self.svgs.append(given)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

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


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_well_formed_with_names_of_its_own(content: Content) -> None:
    text = page(content, {**content, "study": "second", "title": "Second"}, drawn=True)
    assert text.startswith("<!DOCTYPE html>")
    reader = read(text)
    assert len(reader.ids) == len(set(reader.ids))
    assert set(reader.named) <= set(reader.ids)


def test_every_picture_has_words(whole: str) -> None:
    reader = read(whole)
    assert len(reader.svgs) == 6
    for svg in reader.svgs:
        assert svg["role"] == "img"
        assert len(str(svg["aria-label"])) > 20


def test_nothing_is_fetched_from_elsewhere(whole: str) -> None:
    text = whole
    assert all(link.startswith("#") for link in read(text).links)
    assert not re.search(r"@import|url\((?!#)|<script", text)
    assert set(re.findall(r"https?://[\w./-]+", text)) <= {
        "http://www.w3.org/1999/xlink",
        "http://www.w3.org/2000/svg",
    }


def test_titles_of_studies_are_text_not_markup(content: Content) -> None:
    text = page({**content, "title": "<script>alert(1)</script>"})
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_discovered_groups_are_shown_as_text(content: Content) -> None:
    assert "discovered groups" not in page(content)
    groups = (
        ShownGroup("Jazz <b>nights</b>", 12, ("First & second", "Third"), "type=Concert", 0.75),
        ShownGroup("Others", 3, ("Fourth",)),
    )
    study = replace(reported(content), groups=groups)
    text = render_page([study], [[]])
    words = " ".join(read(text).words)
    for said in ("Jazz <b>nights</b>", "12", "type=Concert (75\xa0%)", "First & second; Third"):
        assert said in words
    assert "2 of the groups that the system found" in words
    assert "<b>nights" not in text
    # Titles of items stay out of the tables, which may be passed on.
    assert "Jazz" not in tables_text([study])


def test_light_and_dark_and_narrow(whole: str) -> None:
    assert "prefers-color-scheme:dark" in whole
    assert 'name="viewport"' in whole


def test_what_the_figures_depend_on_is_told(content: Content, whole: str) -> None:
    words = " ".join("".join(read(whole).words).split())
    assert f"commit {content['commit'] or 'unknown'}" in words
    for package, version in content["versions"].items():
        assert (version if package == "teaser" else f"{package} {version}") in words
    found = dict(facts(reported(content)))
    assert found["seed"] == "0"
    assert found["grid search"] == "grid, by nDCG@100"
    assert found["users"].endswith("60 to choose parameters, 80 to test on")
    assert found["held out"] == "20 % of each history"


def test_quick_runs_are_labelled(content: Content, whole: str) -> None:
    assert "Quick run." not in whole
    text = page({**content, "quick": True})
    assert "Quick run." in text
    assert "(quick run)" in text


def test_parts_that_were_not_run_are_left_out(without: Callable[..., Content]) -> None:
    text = page(without("simulations", "by_tags", "convergence", "comparisons"), drawn=True)
    words = "".join(read(text).words)
    for heading in ("Simulated feedback", "Convergence", "number of tags", "Scales and steps"):
        assert heading not in words
    assert "Accuracy by model" in words


def test_without_jinja_the_extra_is_named(
    content: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingPackageError, match=r"recommender\[evaluate\]"):
        page(content)


def test_the_facts_say_what_was_held_out_by_time(content: Content) -> None:
    for kind, begin in (("last", "the last interaction"), ("time", "all from a time on")):
        study = reported(content)
        split = replace(study.results.split, kind=kind, notes=("3 users are new.",))
        found = dict(facts(replace(study, results=replace(study.results, split=split))))
        assert found["held out"].startswith(begin)
        assert found["held out"].endswith("3 users are new.")
