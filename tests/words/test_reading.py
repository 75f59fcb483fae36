"""What contradicts in a reading."""

from datetime import date

import pytest

from teaser.words.wishes import MOST_WISHES, Reading, Wish, find_contradictions

TODAY = date(2026, 11, 16)


@pytest.mark.parametrize(
    "pair",
    [
        ("press +2 theme=Jazz", "without theme=Jazz"),
        ("press +2 theme=Jazz", "press -2 theme=Jazz"),
        ("press +2 theme=Jazz", "never theme=Jazz for today"),
        ("only theme=Jazz", "without theme=Jazz"),
        ("only theme=Jazz", "press -1 theme=Jazz"),
        ("at_most price 10", "at_least price 20"),
        ("variety 0.6", "variety 0"),
        ("when today", "when tomorrow"),
        ("when weekend", "when ..2026-11-20"),
        ("when 2026-12-01..", "when month"),
    ],
)
def test_wishes_that_cannot_both_hold(pair: tuple[str, str]) -> None:
    one, other = map(Wish.parse, pair)
    assert find_contradictions([one, other], today=TODAY) == ((one, other),)
    assert find_contradictions([other, one], today=TODAY) == ((other, one),)


@pytest.mark.parametrize(
    "pair",
    [
        ("press +2 theme=Jazz", "without theme=Folk"),
        ("press +2 theme=Jazz", "press +1 theme=Jazz"),
        ("press +2 theme=Jazz", "only theme=Jazz"),
        ("without theme=Jazz", "never theme=Jazz"),
        ("press -1 theme=Jazz", "without theme=Jazz"),
        ("only town=Ghent", "only town=Bruges"),
        ("at_most price 20", "at_least price 10"),
        ("at_most price 10", "at_least rating 20"),
        ("at_most price 10", "at_most price 20"),
        ("when weekend", "when week"),
        ("when 2026-11-01..", "when month"),
        ("like e1", "like e2"),
    ],
)
def test_wishes_that_go_together(pair: tuple[str, str]) -> None:
    assert find_contradictions(map(Wish.parse, pair), today=TODAY) == ()


def test_a_reading_holds_each_wish_once_and_says_whether_all_was_understood() -> None:
    jazz, ghent = Wish("press", "theme=Jazz", 2), Wish("only", "town=Ghent")
    assert Reading.of([jazz, ghent, jazz]).wishes == (jazz, ghent)
    assert Reading.of([jazz]).understood
    assert not Reading.of([jazz], ["dragons"]).understood
    assert not Reading.of([]).understood
    assert not Reading.of([jazz, Wish("without", "theme=Jazz")]).understood


def test_no_more_than_twenty_wishes_stay_and_the_rest_is_named() -> None:
    single = [Wish("only", f"theme=T{i}", words=f"t{i}") for i in range(MOST_WISHES - 2)]
    group = [Wish("only", f"price=P{i}", words="cheaper") for i in range(4)]
    reading = Reading.of([*single, *group, Wish("variety", number=0.6)], ["dragons"])
    assert reading.wishes == tuple(single)
    assert reading.unknown == ("dragons", "cheaper", "variety 0.6")
    assert len(Reading.of([*single, *group[:2]]).wishes) == MOST_WISHES
