"""The picture of the dial."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from teaser.errors import DataError, ParameterError
from teaser.evaluate.report.pictures.dial import draw_dial, frontier, say_setting
from teaser.evaluate.report.pictures.drawing import style
from teaser.evaluate.report.results import Results
from teaser.evaluate.report.write import write_dial


def a_setting(kind: str, value: float, share: float) -> dict[str, Any]:
    return {
        "kind": kind, "parameters": {"l2_weights": 5.0, "remainder.l2": 1e4}, "value": value,
        "error": 0.01, "tag_share": share, "seconds": 1.0,
    }  # fmt: skip


SETTINGS = [
    a_setting("EASE", 0.42, 0.0),
    a_setting("EASE", 0.41, 0.0),
    a_setting("remainder", 0.423, 0.6),
    a_setting("remainder", 0.40, 0.5),
    a_setting("remainder", 0.413, 0.79),
    a_setting("TEASER", 0.342, 1.0),
]
DIAL = {
    "study": "some", "title": "Some <study>", "quick": False, "metric": "ndcg@100",
    "people": 1500, "shown": 20, "within": 0.01, "settings": SETTINGS, "recommended": SETTINGS[2],
}  # fmt: skip


def test_the_frontier_is_what_nothing_beats_in_both() -> None:
    assert frontier(SETTINGS) == [SETTINGS[2], SETTINGS[4], SETTINGS[5]]
    assert frontier(SETTINGS[:2]) == [SETTINGS[0]]
    assert frontier([]) == []


def test_a_study_whose_dial_was_not_turned_has_no_picture(content: dict[str, Any]) -> None:
    assert draw_dial(Results(content)) is None


def test_the_picture_says_what_it_shows(content: dict[str, Any]) -> None:
    with style("test"):
        found = draw_dial(Results({**content, "dial": DIAL}))
    assert found is not None
    assert found.name == "small-run-dial"
    assert "at most 0.420 for EASE" in found.alt
    assert "at most 0.342 for TEASER" in found.alt
    assert "recommended is 0.423 with 60 % from tags" in found.alt
    assert "1,500 validation people" in found.caption
    assert "l2_weights = 5, remainder.l2 = 10000" in found.caption
    for text in ("TEASER with a remainder", "EASE", "items' scores from tags"):
        assert text in found.svg
    # Every fit is a mark of its kind: two of EASE, three between, one TEASER, and a ring.
    assert len(re.findall(r"<use ", found.svg)) >= 7


def test_settings_are_said_with_few_digits() -> None:
    assert say_setting({"a": 1000.0, "b": 0.5}) == "a = 1000, b = 0.5"


def test_a_dial_is_drawn_by_itself(tmp_path: Path) -> None:
    path = write_dial(DIAL, tmp_path / "some.dial.svg")
    text = path.read_text()
    assert text.startswith("<svg")
    assert "--series-0" in text
    with pytest.raises(ParameterError, match="not turned"):
        write_dial({}, tmp_path / "none.svg")


def test_a_broken_dial_beside_results_is_named(
    results_folder: Path, tmp_path: Path, without: Callable[..., Any]
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes((results_folder / "small_run.json").read_bytes())
    assert "dial" not in Results.read(path).content
    (tmp_path / "a.dial.json").write_text("{")
    with pytest.raises(DataError, match=r"a\.dial\.json cannot be read as json"):
        Results.read(path)
