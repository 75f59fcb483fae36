"""Groups are called by what people know of them."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from teaser import Dataset, Tag
from teaser.data.matrix import Ids
from teaser.model.extensions.groups import (
    central_items,
    label_groups,
    name_group,
    short_title,
    speaking_titles,
    title_of,
)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("A Film (1999)", "A Film"),
        ("A Book (A Series, #1) [Reprint]", "A Book"),
        ("(500) Days", "(500) Days"),
        ("(untitled)", "(untitled)"),
        (" two\n lines\t", "two lines"),
        ("one\x00two", "one two"),
        ("A title of many words that goes on and on", "A title of many words that goes on…"),
        ("A word " + "x" * 60, "A word " + "x" * 28 + "…"),
        ("", ""),
    ],
)
def test_a_title_is_cut_to_what_names_it(text: str, short: str) -> None:
    assert short_title(text) == short
    assert len(short_title(text)) <= 36


def test_central_items_are_near_and_well_known() -> None:
    cosines = sp.csr_array(np.array([[0.9, 0.0], [0.5, 0.6], [0.8, 0.0], [0.0, 0.7], [0.1, 0.0]]))
    counts = np.array([2, 1000, 50, 50, 50])
    # 0.8 log 51 > 0.9 log 3 > 0.1 log 51; item 1 is nearer to the second group: last in the first.
    assert central_items(cosines, counts, 10) == [[2, 0, 4, 1], [1, 3]]
    assert central_items(cosines, counts, 2) == [[2, 0], [1, 3]]


def test_a_name_has_two_or_three_items_and_more_only_to_be_its_own() -> None:
    titles = ["Anna", "Bert", "anna", "Carl", "Dora", "Emil"]
    taken: set[str] = set()
    names = []
    for _ in range(5):
        names.append(name_group(titles, taken))
        taken.add(names[-1].casefold())
    assert names == [
        "Anna, Bert, Carl",
        "Anna, Bert, Carl, Dora",
        "Anna, Bert, Carl, Dora, Emil",
        "Anna, Bert, Carl, Dora, Emil (2)",
        "Anna, Bert, Carl, Dora, Emil (3)",
    ]
    long = ["x" * 36, "y" * 36, "z" * 36]
    assert name_group(long, set()) == f"{long[0]}, {long[1]}"
    assert name_group(["One"], set()) == "One"


def test_ids_follow_the_label_where_items_have_no_titles() -> None:
    ids = Ids(["a", "b", "c"])
    label = Tag("category", "Wii")
    assert speaking_titles([2, 0], lambda i: f"T{i}", ids, label) == ["T2", "T0"]
    known = {0: "A", 1: "B"}
    assert speaking_titles([2, 1, 0], known.get, ids, label) == ["B", "A"]
    assert speaking_titles([2, 0], known.get, ids, label) == ["Wii: c", "A"]
    assert speaking_titles([2, 0], lambda i: None, ids, None) == ["c", "a"]


def test_titles_are_those_of_the_metadata(dataset: Dataset) -> None:
    column = dataset.rules.roles.get("title")
    assert title_of(dataset)(3) == (None if column is None else "Event 3")
    shown = replace(dataset, rules=replace(dataset.rules, roles={"title": "title"}))
    assert title_of(shown)(3) == "Event 3"
    bare = replace(dataset, rules=replace(dataset.rules, roles={}))
    assert title_of(bare)(3) is None


def test_a_label_is_clearly_over_represented() -> None:
    # Ten items: tag 0 on all, tag 1 on the four of the first group, tag 2 on two of them.
    S = np.zeros((10, 3))
    S[:, 0] = 1
    S[:4, 1] = 1
    S[:2, 2] = 1
    members = np.zeros((10, 3))
    members[:4, 0] = [1, 1, 1, 0.5]
    members[4:, 1] = 1
    members[:2, 2] = 1
    found = label_groups(sp.csr_array(members), sp.csr_array(S))
    # Tag 0 has no lift; tag 2 has two carriers only, as has everything in the last group.
    assert found == [(1, 1.0), None, None]
    assert label_groups(sp.csr_array(members), sp.csr_array((10, 0))) == [None] * 3


def test_of_several_tags_share_times_log_lift_decides() -> None:
    S = np.zeros((100, 2))
    S[:45, 0] = 1  # carried by all ten members: share 1, lift 2.2, 0.80
    S[:7, 1] = 1  # carried by seven: share 0.7, lift 10, 1.61
    members = np.zeros((100, 1))
    members[:10] = 1
    found = label_groups(sp.csr_array(members), sp.csr_array(S))[0]
    assert found is not None
    assert found[0] == 1
    assert found[1] == pytest.approx(0.7)
