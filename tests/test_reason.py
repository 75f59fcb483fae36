"""Reasons as sentences."""

from typing import Any

import pytest

from teaser import Tag
from teaser.explain import (
    AnyReason,
    BoostReason,
    Reason,
    ViewedReason,
    join_values,
    main_reasons,
    short_reasons,
    tell_reasons,
)


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
