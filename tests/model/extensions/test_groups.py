"""Groups: as shown after the owner's edits, matched over refits; the owner's file."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import tomlkit
from numpy.testing import assert_allclose, assert_array_equal

from teaser import Tag
from teaser.data.matrix import Ids
from teaser.data.tags import DISCOVERED
from teaser.errors import RuleError
from teaser.model.extensions.groups import (
    LEAST_OVERLAP,
    Edits,
    Group,
    Groups,
    match_groups,
    shown_names,
)

WEIGHTS = np.array(
    [[1.0, 0.5, 0.0], [1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.8, 1.0, 0.0], [0.0, 0.7, 1.0]]
)


def tag(name: str) -> Tag:
    return Tag(DISCOVERED, name)


def make(**changes: Any) -> Groups:
    """Return three groups of five items, the first two of one grain."""
    labels = [Tag("genre", "jazz"), None, Tag("genre", "rock")]
    exemplars = [("a", "b", "d"), ("c", "d", "a"), ("e", "b")]
    found = tuple(
        Group(tag(name), grain, size, items, label, 0.5 if label else 0.0)
        for name, grain, size, items, label in zip(
            ("A, B", "C, D", "E, B"), (20, 20, 6), (3, 4, 2), exemplars, labels, strict=True
        )
    )
    return replace(Groups(Ids("abcde"), found, sp.csr_array(WEIGHTS)), **changes)


def test_edits_change_names_and_columns_and_leave_aliases() -> None:
    edits = Edits(rename={"E, B": "Rock"}, merge={"Both": ("A, B", "C, D")})
    groups = make(edits=edits)
    assert groups.tags == (tag("Both"), tag("Rock"))
    assert groups.aliases == {
        tag("A, B"): tag("Both"), tag("C, D"): tag("Both"), tag("E, B"): tag("Rock"),
    }  # fmt: skip
    # Weights of a merge add up, to 1 at most.
    merged = np.minimum(WEIGHTS[:, 0] + WEIGHTS[:, 1], 1)
    assert_allclose(groups.members.toarray(), np.column_stack([merged, WEIGHTS[:, 2]]))
    both = groups.of(tag("A, B"))
    assert both == groups.groups[0]
    # The largest first, turn by turn, each item once.
    assert both == Group(tag("Both"), 20, 5, ("c", "a", "d", "b"), None, 0.0)
    dropped = make(edits=Edits(drop=("C, D",)))
    assert dropped.tags == (tag("A, B"), tag("E, B"))
    assert dropped.aliases == {}
    assert_allclose(dropped.members.toarray(), WEIGHTS[:, [0, 2]])
    with pytest.raises(KeyError):
        dropped.of(tag("C, D"))


def test_the_owners_file_lists_every_group_and_does_what_was_edited(tmp_path: Path) -> None:
    edits = Edits({"E, B": 'The "Rock"'}, {"Both": ("A, B",)}, ("C, D",))
    groups = make(edits=edits)
    path = tmp_path / "groups.toml"
    groups.write(path, {"a": "Title\nof a"})
    text = path.read_text()
    assert Edits.read(path) == edits
    assert "# 3 items, grain 20, 50% genre=jazz: Title of a, b, d\n" in text
    assert '# "Both" = "Both"\n' in text
    assert "#" in make().to_toml()
    assert Edits.from_dict(tomlkit.parse(make().to_toml()).unwrap()) == Edits()
    # Every line for a group is valid as soon as its # is removed.
    lines = make().to_toml().splitlines()
    opened = [line[2:] if line.startswith('# "') else line for line in lines]
    named = Edits.from_dict(tomlkit.parse("\n".join(opened)).unwrap())
    assert named.rename == {name: name for name in ("A, B", "C, D", "E, B")}
    assert make(edits=named).tags == make().tags
    with pytest.raises(RuleError, match="could not be written"):
        groups.write(tmp_path / "none" / "groups.toml")


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_matched_to_those_that_overlap_most(seed: int) -> None:
    rng = np.random.default_rng(seed)
    old = (rng.random((30, 4)) < 0.4).astype(float)
    order = rng.permutation(4)
    new = old[:, order].copy()
    flipped = rng.random(new.shape) < 0.05
    new[flipped] = 1 - new[flipped]
    found = match_groups(sp.csr_array(old), sp.csr_array(new))

    def overlap(i: int, j: int) -> float:
        a, b = old[:, i] > 0, new[:, j] > 0
        return float((a & b).sum() / (a | b).sum())

    # By trying all orders; pairs that overlap too little are left out.
    best = max(
        itertools.permutations(range(4)), key=lambda p: sum(overlap(i, j) for j, i in enumerate(p))
    )
    wanted = {j: i for j, i in enumerate(best) if overlap(i, j) >= LEAST_OVERLAP}
    assert found == wanted
    assert_array_equal([found[j] for j in sorted(found)], order)


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
        ('[merge]\n"" = ["A"]', "no name is empty"),
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
