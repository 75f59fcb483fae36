"""The picture of the dial."""

import re
from dataclasses import replace
from pathlib import Path

from reports import SETTINGS, a_dial, a_setting

from teaser.evaluate.report.pictures.dial import draw_dial, format_setting, frontier
from teaser.evaluate.report.pictures.drawing import style
from teaser.evaluate.report.write import write_dial


def test_the_frontier_is_what_no_setting_beats_in_both() -> None:
    assert frontier(SETTINGS) == [SETTINGS[2], SETTINGS[4], SETTINGS[5]]
    assert frontier(SETTINGS[:2]) == [SETTINGS[0]]
    assert frontier([]) == []


def test_the_picture_says_what_it_shows() -> None:
    with style("test"):
        found = draw_dial(a_dial())
    assert found.name == "some-dial"
    assert "at most 0.420 for EASE" in found.alt
    assert "at most 0.342 for TEASER" in found.alt
    assert "recommended is 0.423 with 60 % from tags" in found.alt
    assert "1,500 validation users" in found.caption
    assert "l2_weights = 5, remainder.l2 = 10000" in found.caption
    for text in ("tags and viewed items", "EASE", "items' scores from tags", "EASE's accuracy"):
        assert text in found.svg
    # Every fit is a mark of its kind: two of EASE, three between, one TEASER, and a ring.
    assert len(re.findall(r"<use ", found.svg)) >= 7


def test_most_tags_at_the_accuracy_of_ease_have_a_square() -> None:
    near = a_setting("NeighbourEASE", 0.4, 0.0)
    plain = a_dial()
    dial = replace(plain, settings=(*plain.settings, near), at_ease=SETTINGS[2])
    with style("test"):
        found, without = draw_dial(dial), draw_dial(plain)
    assert "The square is around the one with most from tags, 60 %, at EASE's" in found.caption
    assert "square" not in without.caption
    assert "EASE on neighbours" in found.svg
    assert "EASE on neighbours" not in without.svg
    bare = replace(plain, settings=SETTINGS[2:])
    with style("test"):
        assert "EASE's accuracy" not in draw_dial(bare).svg


def test_settings_have_few_digits() -> None:
    assert format_setting({"a": 1000.0, "b": 0.5}) == "a = 1000, b = 0.5"


def test_a_dial_is_drawn_by_itself(tmp_path: Path) -> None:
    text = write_dial(a_dial(), tmp_path / "some.dial.svg").read_text()
    assert text.startswith("<svg")
    assert "--series-0" in text
