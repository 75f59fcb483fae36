"""All pictures of a study: which there are, and that they do not change by themselves."""

import re

from reports import Content, reported

from teaser.evaluate.report.pictures.drawing import Picture
from teaser.evaluate.report.pictures.study import draw_pictures

ALL = ["accuracy", "gain", "tail", "tags", "surface", "convergence"]


def names(content: Content) -> list[str]:
    return [picture.name.rpartition("-")[2] for picture in draw_pictures(reported(content))]


def test_a_whole_study_has_all_pictures(pictures: dict[str, Picture]) -> None:
    assert list(pictures) == ALL
    for name, picture in pictures.items():
        assert picture.title
        assert picture.caption
        assert picture.alt
        if name != "surface":
            fixed = re.findall(r"(?<![\w-])#[0-9a-f]{6}", picture.svg)
            assert not fixed, "a colour that does not follow the page"


def test_a_study_without_teaser_has_no_pictures_of_it(content: Content) -> None:
    content["models"] = [m for m in content["models"] if m["kind"] == "EASE"]
    content["simulations"] = content["convergence"] = []
    assert names(content) == ["accuracy", "tail"]


def test_missing_errors_do_not_stop_the_drawing(content: Content) -> None:
    for model in content["models"]:
        for value in model["metrics"].values():
            value["error"] = None
    content["models"][0]["metrics"]["ndcg@100"]["mean"] = None
    content["by_tags"][0]["metrics"]["ndcg@100"]["mean"] = None
    content["simulations"][0]["gain"]["ndcg@100"]["low"] = None
    assert names(content) == ALL


def test_the_same_results_give_the_same_pictures(
    content: Content, pictures: dict[str, Picture]
) -> None:
    assert draw_pictures(reported(content)) == list(pictures.values())
