"""Wishes, feeds, ends and actions in words."""

import json
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.app.catalogue import Catalogue
from teaser.app.i18n.texts import LANGUAGES, texts_in
from teaser.app.pages.describe import (
    Clock,
    describe_wish,
    ending_presses,
    filter_text,
    filter_wishes,
    without_wish,
)
from teaser.app.state import Ending, ListFilter, State, ending, read_time
from teaser.words.wishes import BARE, MOST_STEPS, NAMES, SLIGHT, Wish

# A Monday, already the next day in Brussels.
LATE = datetime(2026, 11, 15, 23, 30, tzinfo=UTC)


def said(lasts: str, clock: Clock, language: str = "en") -> str:
    until = read_time(ending(lasts, clock.zone, now=clock.now)["until"])
    return clock.describe_end(until, texts_in(language)).words


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Europe/Brussels", "Pacific/Pago_Pago"])
def test_every_end_can_be_described(zone: str) -> None:
    clock = Clock(LATE, ZoneInfo(zone))
    for until in (datetime.max, datetime.min):
        assert clock.describe_end(until.replace(tzinfo=UTC), texts_in("en")).exact


EN = texts_in("en")
NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
CLOCK = Clock(NOW, UTC)
TAGS = st.lists(st.sampled_from(["a=b", "a=c", "b=d"]), unique=True).map(tuple)
BOUNDS = st.dictionaries(st.sampled_from(["price", "year"]), st.integers(0, 9).map(float))
PERIODS = st.sampled_from(["", "weekend", "2026-11-20.."])
FILTERS = st.builds(
    ListFilter, only=TAGS, without=TAGS, at_most=BOUNDS, at_least=BOUNDS, when=PERIODS
)


@given(FILTERS)
def test_each_condition_can_be_taken_off_alone(filters: ListFilter) -> None:
    wishes = filter_wishes(filters)
    assert bool(wishes) == bool(filters)
    for wish in wishes:
        left = filter_wishes(without_wish(filters, wish))
        assert left == [other for other in wishes if other != wish]


@given(FILTERS)
def test_conditions_survive_a_form(filters: ListFilter) -> None:
    assert ListFilter.from_json(json.loads(filter_text(filters))) == filters


def test_presses_that_end_can_be_taken_back_exactly(catalogue: Catalogue) -> None:
    until = NOW + timedelta(days=1)
    state = State(
        presses={"type=film": 2},
        ends=(Ending("press", "type=film", 2, until), Ending("hide", "i3", 0, until, True)),
    )
    (found,) = ending_presses(state, catalogue, EN, CLOCK)
    assert (found.steps, found.label) == (2, "film")
    assert found.value == f"{until.isoformat()} -2 type=film"


TODAY = date(2026, 11, 16)


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
