"""The owner's file: what it may say, and what it does to names."""

from pathlib import Path
from typing import Any

import pytest

from teaser.errors import RuleError
from teaser.model.extensions.groups import Edits, shown_names

FOUND = ["A, B", "C, D", "E, F", "G, H"]


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "groups.toml"
    path.write_text(
        'drop = ["G, H"]\n[rename]\n"A, B" = " First "\n[merge]\n"Rest" = ["C, D", "E, F"]\n'
    )
    edits = Edits.read(path)
    assert edits == Edits({"A, B": "First"}, {"Rest": ("C, D", "E, F")}, ("G, H",))
    assert edits.origin == str(path)
    assert Edits.from_dict(edits.as_dict()) == edits
    assert shown_names(edits, FOUND, {}) == ["First", "Rest", "Rest", None]
    assert Edits.from_dict({"drop": []}) == Edits()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("renames = {}", "Unknown entry 'renames'.*Closest: rename"),
        ("rename = 1", "rename"),
        ('[rename]\n"A" = " "', "rename"),
        ('[merge]\n"A" = "B"', "merge"),
        ('[merge]\n"A" = []', "merge"),
        ('[merge]\n"" = ["A"]', "without a name"),
        ('drop = "A"', "drop"),
        ("drop = [1]", "drop"),
        ("drop = [", "could not be read"),
    ],
)
def test_a_file_that_cannot_be_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "groups.toml"
    path.write_text(text)
    with pytest.raises(RuleError, match=f"(?s){said}") as caught:
        Edits.read(path)
    assert str(path) in str(caught.value)
    with pytest.raises(RuleError, match="There is no file of groups"):
        Edits.read(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ({"rename": {"A, C": "X"}}, "renames 'A, C', and there is no such group.*Closest: A, B"),
        ({"drop": ["A"]}, "drops 'A'"),
        ({"drop": ["A, B"], "rename": {"A, B": "X"}}, "drops 'A, B', and renames it too"),
        ({"merge": {"X": ["A, B"], "Y": ["A, B"]}}, "merges 'A, B', and merges it too"),
        ({"drop": ["Old", "A, B"]}, "drops 'A, B', and drops it too"),
        ({"rename": {"A, B": "X", "C, D": "X"}}, "two groups the name 'X'"),
        ({"rename": {"A, B": "C, D"}}, "two groups the name 'C, D'"),
        ({"rename": {"A, B": "X"}, "merge": {"X": ["C, D"]}}, "two groups the name 'X'"),
        ({"merge": {"G, H": ["A, B", "C, D"]}}, "two groups the name 'G, H'"),
    ],
)
def test_edits_that_contradict_are_refused(edits: dict[str, Any], said: str) -> None:
    with pytest.raises(RuleError, match=said):
        shown_names(Edits.from_dict(edits), FOUND, {"Old": "A, B"})


def test_names_can_change_places_and_a_merge_can_take_a_name_of_its_own() -> None:
    swap = Edits(rename={"A, B": "C, D", "C, D": "A, B"})
    assert shown_names(swap, FOUND, {}) == ["C, D", "A, B", "E, F", "G, H"]
    merge = Edits(merge={"A, B": ("A, B", "E, F")})
    assert shown_names(merge, FOUND, {}) == ["A, B", "C, D", "A, B", "G, H"]


def test_groups_are_found_by_former_names_and_retired_ones_are_passed_over() -> None:
    edits = Edits(rename={"Old": "New"}, drop=("Gone",))
    shown = shown_names(edits, FOUND, {"Old": "A, B", "Lost": "Z"}, ["Gone"])
    assert shown == ["New", "C, D", "E, F", "G, H"]
    assert edits.names == ("Old", "Gone")
    with pytest.raises(RuleError, match="'Lost'"):
        shown_names(Edits(drop=("Lost",)), FOUND, {"Lost": "Z"})
