"""Reasons as sentences."""

from typing import Any

import pytest

from teaser import BoostReason, Reason, Tag
from teaser.reason import ViewedReason, affinity_text, join_values


def test_a_reason_is_said_in_a_sentence() -> None:
    cases: list[Any] = [
        (
            Reason(Tag("setting", "outdoors"), 0.4, 0.37, 0.4),
            "37 % because of your affinity of 0.4 with outdoors",
        ),
        (
            Reason(Tag("type", "film"), -0.1, -0.062, -0.24),
            "-6 % because of your affinity of -0.2 with film",
        ),
        (
            Reason(Tag("type", "film"), 0.0, 0.05, 0.004),
            "5 % because of your affinity of 0.004 with film",
        ),
        (
            Reason(Tag("type", "film"), -0.001, -0.004, -0.1),
            "under 1 % against it because of your affinity of -0.1 with film",
        ),
    ]
    for reason, said in cases:
        assert reason.sentence() == said


def test_affinities_are_said_briefly() -> None:
    cases: list[Any] = [(0.0, "0.0"), (0.449, "0.4"), (-1.26, "-1.3"), (0.0321, "0.03")]
    for value, said in cases:
        assert affinity_text(value) == said


def test_values_are_joined_in_words() -> None:
    jazz = Tag("genre", "jazz")
    assert join_values([jazz]) == "jazz"
    assert join_values([jazz, Tag("min_players", "2"), jazz]) == "jazz, Min players: 2 and jazz"


def test_a_small_share_of_a_viewed_item_is_said_so() -> None:
    assert ViewedReason("i", 0.001, 0.001, "A").sentence() == "under 1 % because you viewed A"
    against = ViewedReason("i", -0.001, -0.001, "A")
    assert against.sentence() == "under 1 % against it because you viewed A"


@pytest.mark.parametrize(
    ("name", "part", "wanted"),
    [
        (Tag("promoted", "yes"), 0.12, "12 % because the site promotes it (yes)"),
        ("e5", -0.12, "-12 % because the site plays it down (e5)"),
        (17, 0.001, "under 1 % because the site promotes it (17)"),
    ],
)
def test_a_boost_is_said_to_be_the_sites_own(
    name: Tag | int | str, part: float, wanted: str
) -> None:
    assert BoostReason(name, part, part).sentence() == wanted


def test_a_boost_is_named_by_its_tag_or_its_id() -> None:
    assert BoostReason(Tag("a", "b"), 1, 1).named == ("a", "b")
    assert BoostReason(17, 1, 1).named == (None, "17")
