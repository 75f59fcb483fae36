"""Pictures show the figures of the results, in the colours of the page."""

import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import pytest
from reports import SETTINGS, Content, a_dial, a_setting, reported, texts_of

from teaser.errors import MissingPackageError
from teaser.evaluate.report import write_dial
from teaser.evaluate.report.pictures import (
    INK,
    PALETTE,
    SERIES,
    Picture,
    colour_rules,
    draw_dial,
    draw_gain,
    draw_parts,
    draw_pictures,
    finish,
    frontier,
    new_figure,
)

ALL = ["accuracy", "gain"]
SHARES = {"general": 0.25, "declared": 0.4, "discovered": 0.3, "popularity": 0.0, "viewed": 0.05}


def drawn(name: str = "one", alt: str = 'More & "less" <b>\\1') -> Picture:
    with new_figure(name, 3.0) as figure:
        axes = figure.subplots()
        for k in range(8):
            axes.plot([0, 1], [k, 1], color=SERIES[k], label=f"line {k}")
        axes.text(0, 0, "words & <words>", color=INK)
        return finish(figure, name=name, title="T", caption="C", alt=alt)


def names(content: Content) -> list[str]:
    return [picture.name.rpartition("-")[2] for picture in draw_pictures(reported(content))]


def test_colours_are_variables_of_the_page_and_a_file_brings_them_along() -> None:
    found = drawn()
    for name in ("ink", "soft", "line", *(f"series-{k}" for k in range(8))):
        assert f"var(--{name})" in found.svg
    assert not [colour for colour in (INK, *SERIES) if colour in found.svg]
    for name in PALETTE:
        assert colour_rules().count(f"--{name}:") == 2
    ET.fromstring(found.standalone())  # noqa: S314
    assert colour_rules() in found.standalone()


def test_one_element_with_words_for_those_who_cannot_see_it() -> None:
    found = drawn()
    root = ET.fromstring(found.svg)  # noqa: S314
    assert root.tag.endswith("svg")
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'More & "less" <b>\\1'
    assert "words & <words>" in [e.text for e in root.iter() if e.tag.endswith("text")]
    assert "<metadata" not in found.svg
    assert "<style" not in found.svg


def test_names_of_two_pictures_do_not_collide() -> None:
    ids = []
    for name in ("one", "two"):
        root = ET.fromstring(drawn(name).svg)  # noqa: S314
        ids.append({e.get("id") for e in root.iter() if e.get("id")})
        assert all(f"url(#{name}-" in part for part in drawn(name).svg.split("clip-path=")[1:])
    assert ids[0]
    assert not ids[0] & ids[1]


def test_drawing_is_repeatable_and_leaves_settings_as_they_were() -> None:
    before = dict(mpl.rcParams)
    assert drawn().svg == drawn().svg
    assert dict(mpl.rcParams) == before


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


def test_missing_errors_do_not_stop_the_drawing(content: Content) -> None:
    for model in content["models"]:
        for value in model["metrics"].values():
            value["error"] = None
    content["models"][0]["metrics"]["ndcg@100"]["mean"] = None
    content["simulations"][0]["gain"]["ndcg@100"]["low"] = None
    assert names(content) == ALL


def test_every_model_that_was_pressed_has_a_row(
    content: Content, pictures: dict[str, Picture]
) -> None:
    found = texts_of(pictures["gain"])
    for text in ("one tag +3", "two tags +3", "one tag −3", "two tags −3"):
        assert found.count(text) == 1
    assert found.count("TEASER") == found.count("WMF-S") == 4
    assert "EASE" not in found
    for each in content["simulations"]:
        each["among"] = "declared"
    more = [
        {**s, "among": "discovered"}
        for s in content["simulations"]
        if s["model"] == "teaser" and s["n_tags"] == 1 and s["scale"] == "robust"
    ]
    content["simulations"] += more
    picture = draw_gain(reported(content))
    assert picture is not None
    words = texts_of(picture)
    assert words.count("one declared tag +3") == words.count("one discovered tag +3") == 1
    assert "two discovered tags +3" not in words
    assert (words.count("TEASER"), words.count("WMF-S")) == (6, 4)


def test_every_model_with_tags_has_a_bar(content: Content) -> None:
    for model in content["models"]:
        if model["name"] in ("teaser", "wmf-s"):
            model["shares"] = SHARES
    found = draw_parts(reported(content))
    assert found is not None
    words = texts_of(found)
    assert {"TEASER", "WMF-S", "declared tags", "discovered tags", "general appeal"} <= set(words)
    # Neither a model without shares, nor a part that nobody has.
    assert not {"EASE", "popularity"} & set(words)
    shares = "declared tags 40 %, discovered tags 30 %, viewed items 5 %, general appeal 25 %."
    assert found.alt == f"TEASER: {shares} WMF-S: {shares}"


def test_the_dial_says_what_it_shows(tmp_path: Path) -> None:
    found = draw_dial(a_dial())
    assert found.name == "some-dial"
    assert "at most 0.420 for EASE" in found.alt
    assert "at most 0.342 for TEASER" in found.alt
    assert "recommended is 0.423 with 60 % from tags" in found.alt
    assert "1,500 validation users" in found.caption
    assert "l2_weights = 5, remainder.l2 = 10000" in found.caption
    assert "square" not in found.caption
    for text in ("tags and viewed items", "EASE", "items' scores from tags", "EASE's accuracy"):
        assert text in found.svg
    near = a_setting("NeighbourEASE", 0.4, 0.0)
    other = draw_dial(replace(a_dial(), settings=(*SETTINGS, near), at_ease=SETTINGS[2]))
    assert "The square is around the one with most from tags, 60 %, at EASE's" in other.caption
    assert "EASE on neighbours" in other.svg
    assert "EASE's accuracy" not in draw_dial(replace(a_dial(), settings=SETTINGS[2:])).svg
    assert write_dial(a_dial(), tmp_path / "some.dial.svg").read_text().startswith("<svg")


def test_the_frontier_is_what_no_setting_beats_in_both() -> None:
    assert frontier(SETTINGS) == [SETTINGS[2], SETTINGS[4], SETTINGS[5]]
    assert frontier(SETTINGS[:2]) == [SETTINGS[0]]
