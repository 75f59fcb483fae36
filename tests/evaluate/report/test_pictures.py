"""Pictures show the figures of the results, in words and in colours that stand out."""

import re
import sys
import xml.etree.ElementTree as ET

import pytest
from reports import Content, reported

from teaser.errors import MissingPackageError
from teaser.evaluate.report.pictures import (
    INK,
    PALETTE,
    SERIES,
    Picture,
    draw_pictures,
    finish,
    new_figure,
)

ALL = ["accuracy", "gain"]


def drawn(name: str = "one", alt: str = 'More & "less" <b>\\1') -> Picture:
    with new_figure(name, 3.0) as figure:
        axes = figure.subplots()
        for k in range(8):
            axes.plot([0, 1], [k, 1], color=SERIES[k], label=f"line {k}")
        axes.text(0, 0, "words & <words>", color=INK)
        return finish(figure, title="T", caption="C", alt=alt)


def names(content: Content) -> list[str]:
    return [picture.name.rpartition("-")[2] for picture in draw_pictures(reported(content))]


def test_one_element_with_words_for_those_who_cannot_see_it() -> None:
    found = drawn()
    root = ET.fromstring(found.svg)  # noqa: S314
    assert root.tag.endswith("svg")
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'More & "less" <b>\\1'
    assert "words & <words>" in [e.text for e in root.iter() if e.tag.endswith("text")]
    assert "<metadata" not in found.svg
    assert "<style" not in found.svg


def brightness(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [0, 1])
def test_colours_stand_out_from_the_ground(dark: int) -> None:
    ground = brightness(PALETTE["ground"][dark])
    for name, pair in PALETTE.items():
        if name not in ("ground", "line"):
            low, high = sorted((ground, brightness(pair[dark])))
            need = 4.5 if name in ("ink", "soft") else 3
            assert (high + 0.05) / (low + 0.05) >= need, name


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"recommender\[evaluate\]"), new_figure("x", 3):
        pass


def test_a_whole_study_has_all_pictures_and_their_words_hold_the_figures(
    content: Content, pictures: dict[str, Picture]
) -> None:
    assert list(pictures) == ALL
    for picture in pictures.values():
        fixed = re.findall(r"(?<![\w-])#[0-9a-f]{6}", picture.svg)
        assert not fixed, "a colour that does not follow the page"
    for model in content["models"]:
        assert f"{model['metrics']['ndcg@100']['mean']:.3f}" in pictures["accuracy"].alt
    for each in content["simulations"]:
        assert f"{abs(each['gain']['ndcg@100']['mean']):.3f}" in pictures["gain"].alt
    assert draw_pictures(reported(content)) == list(pictures.values())


def test_what_was_not_run_has_no_picture(content: Content) -> None:
    assert names({**content, "simulations": []}) == ["accuracy"]
