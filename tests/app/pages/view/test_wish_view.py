"""Wishes in words: every kind, in three languages."""

from datetime import date

import pytest

from teaser.app.i18n.texts import LANGUAGES, texts_in
from teaser.app.pages.view.wish_view import describe_wish
from teaser.app.serving.catalogue import Catalogue
from teaser.words.wishes import BARE, MOST_STEPS, NAMES, SLIGHT, Wish

EN = texts_in("en")
TODAY = date(2026, 11, 16)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("press +1 type=film", "a bit more film"),
        ("press +2 type=film", "a bit more film"),
        ("press +3 type=film", "more film"),
        ("press +4 type=film", "more film"),
        ("press +5 type=film for week", "much more film, for a week"),
        ("press -2 type=film for today", "a bit less film, for today"),
        ("press -4 type=film", "less film"),
        ("press -5 type=film", "much less film"),
        ("press -4 general appeal=general appeal", "less mainstream"),
        ("press -1 year=1994", "a bit less “Year: 1994”"),
        ("only town=Ghent", "only Ghent"),
        ("without town=Ghent", "no Ghent"),
        ("never type=film", "never film"),
        ("never type=film for week", "hide film, for a week"),
        ("at_most price 20", "Price at most 20"),
        ("at_least price 2.5", "Price at least 2.50"),
        ("when weekend", "this weekend: Sat 21 Nov 2026 – Sun 22 Nov 2026"),
        ("when today", "today: Mon 16 Nov 2026"),
        ("when 2026-11-20..", "from Fri 20 Nov 2026"),
        ("when ..2026-12-24", "until Thu 24 Dec 2026"),
        ("like i3", "like Event 3"),
        ("like gone", "like gone"),
        ("variety 0.6", "variety at 60\N{NARROW NO-BREAK SPACE}%"),
    ],
)
def test_every_kind_is_said(catalogue: Catalogue, text: str, said: str) -> None:
    assert describe_wish(Wish.parse(text), catalogue, EN, TODAY) == said


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_wishes_look_alike(catalogue: Catalogue, language: str) -> None:
    degrees = (SLIGHT, BARE, MOST_STEPS)
    wishes = [Wish("press", "type=film", steps=n * sign) for n in degrees for sign in (-1, 1)]
    wishes += [Wish("press", "type=film", steps=4, lasts=x) for x in ("today", "week")]
    wishes += [Wish(kind, "type=film") for kind in ("only", "without", "never")]
    wishes += [Wish("never", "type=film", lasts=x) for x in ("today", "week")]
    wishes += [Wish("at_most", "price", number=2), Wish("at_least", "price", number=2)]
    wishes += [Wish("when", name) for name in NAMES]
    said = [describe_wish(wish, catalogue, texts_in(language), TODAY) for wish in wishes]
    assert len(set(said)) == len(said)
