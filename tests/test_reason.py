"""Reasons as sentences."""

from typing import Any

import pytest

from teaser import Tag
from teaser.explain import (
    AnyReason,
    BoostReason,
    Reason,
    ViewedReason,
    affinity_text,
    join_values,
    main_reasons,
    named_reason,
    short_reasons,
    tell_reasons,
)


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
    club = Tag("type", "club")
    assert join_values([jazz, Tag("min_players", "2"), club]) == "jazz, Min players: 2 and club"


def test_equal_values_are_told_apart_by_their_features() -> None:
    directed, wrote = Tag("director", "Varda"), Tag("screenWriter", "Varda")
    film = Tag("type", "film")
    assert join_values([directed, film, wrote]) == "Varda (director and screen writer) and film"
    reasons: list[AnyReason] = [
        Reason(directed, 0.2, 0.2, 0.5),
        ViewedReason("i", 0.1, 0.1, "A"),
        Reason(wrote, 0.1, 0.1, 0.4),
        Reason(film, 0.1, 0.1, 0.4),
    ]
    assert short_reasons(reasons) == [
        "Varda (director)",
        "viewed A",
        "Varda (screen writer)",
        "film",
    ]
    assert tell_reasons(reasons) == [
        "20 % because of your affinity of 0.5 with Varda (director)",
        "10 % because you viewed A",
        "10 % because of your affinity of 0.4 with Varda (screen writer)",
        "10 % because of your affinity of 0.4 with film",
    ]
    # Alone, a value needs no feature.
    assert tell_reasons(reasons[:1]) == [reasons[0].sentence()]


def test_a_small_share_of_a_viewed_item_is_said_so() -> None:
    assert ViewedReason("i", 0.001, 0.001, "A").sentence() == "under 1 % because you viewed A"
    against = ViewedReason("i", -0.001, -0.001, "A")
    assert against.sentence() == "under 1 % against it because you viewed A"


@pytest.mark.parametrize(
    ("name", "part", "wanted"),
    [
        (Tag("promoted", "yes"), 0.12, "12 % because the site promotes it (Promoted: yes)"),
        (Tag("MaxPlayers", "6"), 0.07, "7 % because the site promotes it (Max players: 6)"),
        (Tag("town", "Ghent"), 0.07, "7 % because the site promotes it (Ghent)"),
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


def test_a_reason_has_a_name_and_a_kind() -> None:
    cases: list[Any] = [
        (Reason(Tag("genre", "jazz"), 0.4, 0.4, 0.4), ("jazz", "Genre"), "jazz"),
        (ViewedReason("i", 0.1, 0.1, "A"), ("A", "viewed"), "viewed A"),
        (ViewedReason(5, -0.1, -0.1, disliked=True), ("5", "disliked"), "disliked 5"),
        (BoostReason(Tag("MaxPlayers", "6"), 1, 1), ("Max players: 6", "boost"), None),
        (BoostReason("promoted", 1, 1), ("promoted", "boost"), "boost promoted"),
    ]
    for reason, named, short in cases:
        assert named_reason(reason) == named
        assert short is None or short_reasons([reason]) == [short]


def test_boosts_are_always_among_the_main_reasons() -> None:
    tags: list[Any] = [Reason(Tag("a", str(n)), 1.0, 0.5 - n / 50, 1.0) for n in range(7)]
    small = BoostReason("promoted", 0.001, 0.001)
    against = BoostReason("old", -0.001, -0.001)
    every = [*tags, small, against]
    assert main_reasons(every) == (*tags[:3], small, against)
    assert main_reasons(every, negative=False) == (*tags[:4], small)
    assert main_reasons([*tags, small], n=1) == (small,)
    many = [BoostReason(n, 0.1, 0.01) for n in range(7)]
    assert main_reasons([*tags, *many]) == tuple(many)
    assert main_reasons(tags) == tuple(tags[:5])
