"""Wishes, ends and filters in words and addresses."""

import json
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import Tag
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.i18n.texts import LANGUAGES, texts_in
from teaser.app.pages.describe import (
    describe_end,
    describe_no_effect,
    describe_wish,
    ending_presses,
    filter_text,
    filter_wishes,
    without_wish,
)
from teaser.app.pages.home import reading_order
from teaser.app.state import Ending, ListFilter, State
from teaser.words.wishes import BARE, MOST_STEPS, NAMES, SLIGHT, Wish

EN = texts_in("en")


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Europe/Brussels", "Pacific/Pago_Pago"])
def test_every_end_can_be_described(catalogue: Catalogue, zone: str) -> None:
    there = Catalogue(catalogue.model, zone=ZoneInfo(zone))
    for year in (2000, 9000):
        assert describe_end(datetime(year, 1, 1, tzinfo=UTC), there, EN).exact


NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
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
    (found,) = ending_presses(state, catalogue, EN)
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


def test_numbers_are_in_their_own_order() -> None:
    values = ["under 10", "10 to 20", "20 to 100", "100 and over", "A", "b"]
    tags = [Tag("price", value) for value in values]
    assert sorted(set(tags), key=reading_order) == tags
    named = [Tag("price", f"price {v}") for v in ("under 4", "4 to 6", "9 to 14", "14 and over")]
    assert sorted(set(named), key=reading_order) == named
    halls = [Tag("place", value) for value in ("De Kring", "Hall 2", "Hall 10")]
    assert sorted(set(halls), key=reading_order) == halls
    far = [Tag("distance", f"{value} km") for value in ("under 9", "9 to 30", "30 to 100")]
    assert sorted(set(far), key=reading_order) == far
    years = [Tag("year", value) for value in ("990", "1994", "2001–2004", "2010s", "not stated")]
    assert sorted(set(years), key=reading_order) == years


def test_a_press_that_changes_nothing_says_how_many_would(catalogue: Catalogue) -> None:
    told = set()
    for tag in catalogue.model.tags_[:-2]:
        for sign in (1, -1):
            states = [
                State(history=("i1",), presses={str(tag): sign * n} if n else {}) for n in range(6)
            ]
            people = [PersonalModel(catalogue, state) for state in states]
            lists = [person.rank(k=3) for person in people]
            said = describe_no_effect(people[1], people[0], lists[1], EN)
            moved = [n for n in range(2, 6) if not np.array_equal(lists[n], lists[1])]
            told.add(said.split(":")[0].split(";")[0])
            if moved:
                more = moved[0] - 1
                assert said.endswith(
                    f"; {more} more press{'es' if more > 1 else ''} would change it."
                )
            else:
                assert " more press" not in said
                assert said.startswith("the list stays as it was: ")
    assert told == {"the list stays as it was"}
