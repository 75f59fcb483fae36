"""The pictures of a real study: what is on them is in the json, and what was not run is not."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from reports import Content, reported

from teaser.evaluate.report.pictures.accuracy import draw_by_tags, draw_tail
from teaser.evaluate.report.pictures.convergence import draw_convergence
from teaser.evaluate.report.pictures.drawing import Picture, style
from teaser.evaluate.report.pictures.feedback import draw_gain
from teaser.evaluate.report.pictures.study import draw_pictures

ALL = ["accuracy", "gain", "tail", "tags", "surface", "convergence"]


def pictures(content: Mapping[str, Any]) -> dict[str, Picture]:
    return {p.name.rpartition("-")[2]: p for p in draw_pictures(reported(content))}


@pytest.fixture(scope="module")
def whole(results_folder: Path) -> dict[str, Picture]:
    """The pictures of the study as it was run."""
    return pictures(json.loads((results_folder / "small_run.json").read_text(encoding="utf-8")))


def texts(picture: Picture) -> list[str]:
    root = ET.fromstring(picture.svg)  # noqa: S314
    return ["".join(e.itertext()).strip() for e in root.iter() if e.tag.endswith("text")]


def test_a_whole_study_has_all_pictures(whole: dict[str, Picture]) -> None:
    assert list(whole) == ALL
    for picture in whole.values():
        assert picture.title
        assert picture.caption
        assert picture.alt
        assert len(re.findall(r"(?<![\w-])#[0-9a-f]{6}", picture.svg)) == 0 or "surface" in (
            picture.name
        ), "a colour that does not follow the page"


def test_what_was_not_run_is_not_drawn(without: Callable[..., Content]) -> None:
    study = reported(without("simulations", "by_tags", "convergence"))
    for draw in (draw_gain, draw_by_tags, draw_convergence):
        assert draw(study) is None


def test_a_study_without_teaser_has_no_pictures_of_it(content: Content) -> None:
    content["models"] = [m for m in content["models"] if m["kind"] == "EASE"]
    content["simulations"] = content["convergence"] = []
    assert list(pictures(content)) == ["accuracy", "tail"]


def test_a_curve_that_is_missing_is_left_out(content: Content) -> None:
    for model in content["models"]:
        if model["kind"] != "EASE":
            del model["popularity_curve"]
    with style("test"):
        picture = draw_tail(reported(content))
    assert picture is not None
    assert "EASE" in texts(picture)
    assert "TEASER" not in texts(picture)
    del next(m for m in content["models"] if m["kind"] == "EASE")["popularity_curve"]
    assert draw_tail(reported(content)) is None


def test_words_for_those_who_cannot_see_hold_the_figures(
    content: Content, whole: dict[str, Picture]
) -> None:
    found = whole
    for model in content["models"]:
        assert f"{model['metrics']['ndcg@100']['mean']:.3f}" in found["accuracy"].alt
        assert f"{100 * model['popularity_curve'][4]:.0f} %" in found["tail"].alt
    for each in content["by_tags"]:
        text = f"{each['metrics']['ndcg@100']['mean']:.3f} with {each['n_tags']:,} tags"
        assert text in found["tags"].alt
    for run in content["convergence"]:
        assert f"after {len(run['residuals'])} iterations" in found["convergence"].alt
    for each in content["simulations"]:
        assert f"{abs(each['gain']['ndcg@100']['mean']):.3f}" in found["gain"].alt


def test_every_model_and_way_to_press_is_on_the_picture_of_gains(
    whole: dict[str, Picture],
) -> None:
    found = texts(whole["gain"])
    for text in ("one tag +3", "two tags +3", "one tag −3", "two tags −3"):
        assert found.count(text) == 1
    assert found.count("TEASER") == found.count("WMF-S") == 4
    assert "EASE" not in found


def test_lines_end_where_their_figures_end(content: Content, whole: dict[str, Picture]) -> None:
    """The last residual of the second panel is drawn lower than the first."""
    svg = whole["convergence"].svg
    paths = re.findall(r'<path d="([^"]*)" clip-path[^>]*stroke: var\(--series-0\)', svg)
    runs = [run for run in content["convergence"] if run["solver"] == "cg"]
    points = [re.findall(r"[ML] ([\d.]+) ([\d.]+)", path) for path in paths]
    assert [len(each) for each in points] == [len(runs[0]["residuals"])] * 2
    for each in points:
        heights = [float(y) for _, y in each]
        falls = runs[0]["residuals"][-1] < runs[0]["residuals"][0]
        assert (heights[-1] > heights[0]) is falls


def test_missing_errors_do_not_stop_the_drawing(content: Content) -> None:
    for model in content["models"]:
        for value in model["metrics"].values():
            value["error"] = None
    content["models"][0]["metrics"]["ndcg@100"]["mean"] = None
    content["by_tags"][0]["metrics"]["ndcg@100"]["mean"] = None
    content["simulations"][0]["gain"]["ndcg@100"]["low"] = None
    assert list(pictures(content)) == ALL


def test_the_same_results_give_the_same_pictures(
    content: Content, whole: dict[str, Picture]
) -> None:
    assert pictures(content) == whole
