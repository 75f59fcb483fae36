"""Wishes, feeds, ends and actions in words."""

import json
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from app.conftest import MINUS
from hypothesis import given
from hypothesis import strategies as st

from teaser import Teaser
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.i18n.texts import LANGUAGES, texts_in
from teaser.app.pages.describe import (
    Clock,
    describe_action,
    describe_no_effect,
    describe_wish,
    ending_presses,
    filter_text,
    filter_wishes,
    without_wish,
)
from teaser.app.state import Ending, Event, ListFilter, State, ending, read_time, state_of
from teaser.words.wishes import BARE, MOST_STEPS, NAMES, SLIGHT, Wish

BRUSSELS = ZoneInfo("Europe/Brussels")
# A Monday, already the next day in Brussels.
LATE = datetime(2026, 11, 15, 23, 30, tzinfo=UTC)
EVENING = Clock(LATE, BRUSSELS)


def said(lasts: str, clock: Clock, language: str = "en") -> str:
    until = read_time(ending(lasts, clock.zone, now=clock.now)["until"])
    return clock.describe_end(until, texts_in(language)).words


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Europe/Brussels", "Pacific/Pago_Pago"])
def test_every_end_can_be_described(zone: str) -> None:
    clock = Clock(LATE, ZoneInfo(zone))
    for until in (datetime.max, datetime.min):
        assert clock.describe_end(until.replace(tzinfo=UTC), texts_in("en")).exact


@pytest.mark.parametrize("days", range(1, 9))
def test_each_end_is_told_by_the_last_day_before_it(days: int) -> None:
    midnight = datetime(2026, 11, 16, tzinfo=BRUSSELS) + timedelta(days=days)
    last = date(2026, 11, 15) + timedelta(days=days)
    words = EVENING.describe_end(midnight, texts_in("en")).words
    if days == 1:
        assert words == "today only"
    elif days <= 7:
        assert words == f"until {last:%A}"
    else:
        assert words == f"until {texts_in('en').date(last)}"


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


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Event("press", {"presses": {"type=film": 1}}), "+ on <b>film</b>"),
        (Event("press", {"presses": {"type=film": -3}}), f"{MINUS}3 on <b>film</b>"),
        (Event("view", {"item": "i1"}), "You looked at <b>Event 1</b>"),
        (Event("remove", {"item": "i1"}), "Removed <b>Event 1</b> from what you looked at"),
        (Event("hide", {"item": "<i>"}), "Hid <b>&lt;i&gt;</b>"),
        (Event("unhide", {"item": "i1"}), "Brought <b>Event 1</b> back"),
        (Event("balance", {"balance": 0}), "Balance: <b>my tags alone</b>"),
        (Event("balance", {"balance": 0.5}), "Balance: <b>both, as learned</b>"),
        (Event("balance", {"balance": 1}), "Balance: <b>people like me alone</b>"),
        (Event("about", {"about": ["age=<b>", "sex=F"]}), "About you: <b>&lt;b&gt; and Sex: F</b>"),
        (Event("about", {"about": []}), "Removed the facts about you"),
        (Event("reset"), "Started again"),
        (Event("hide", {"tag": "type=film"}), "Hid <b>film</b>"),
        (Event("unhide", {"tag": "type=film"}), "Brought <b>film</b> back"),
        (Event("filter", {"filters": {}}), "No filters in this list"),
        (
            Event("filter", {"filters": {"without": ["type=film"], "at_most": {"price": 9}}}),
            "Filters of this list: <b>no film, Price at most 9</b>",
        ),
        (Event("make_feed", {"feed": "<i>"}), "New feed: <b>&lt;i&gt;</b>"),
        (Event("switch_feed", {"feed": ""}), "Now you see <b>For you</b>"),
        (Event("rename_feed", {"feed": "A", "name": "B"}), "Renamed <b>A</b> to <b>B</b>"),
        (Event("drop_feed", {"feed": "A"}), "Dropped the feed <b>A</b>"),
        (Event("profiling", {"on": True}), "With your profile"),
        (Event("profiling", {"on": False}), "Without your profile"),
        (Event("import", {"state": {}}), "Imported a profile"),
        (
            Event("press", {"presses": {"type=film": 2}, "until": "2999-01-02T00:00:00+00:00"}),
            "+2 on <b>film</b>, until Tue 1 Jan 2999",
        ),
        (
            Event("several", {"actions": [["make_feed", {"feed": "A"}], ["vary", {"variety": 0}]]}),
            "New feed: <b>A</b>; Variety at <b>0\N{NARROW NO-BREAK SPACE}%</b>",
        ),
    ],
)
def test_every_action_is_said(model: Teaser, event: Event, said: str) -> None:
    assert describe_action(event, State(), Catalogue(model, zone=UTC), EN) == said


def test_undo_and_redo_name_what_they_took_back(model: Teaser) -> None:
    course = [Event("vary", {"variety": 0.4})]
    before = state_of(course)
    said = describe_action(Event("undo"), before, Catalogue(model), EN)
    assert said.startswith("Taken back: Variety at <b>40")
    before = state_of([*course, Event("undo")])
    said = describe_action(Event("redo"), before, Catalogue(model), EN)
    assert said.startswith("Done again: Variety at <b>40")


def test_a_press_that_changes_nothing_says_how_many_would(catalogue: Catalogue) -> None:
    told = set()
    for tag in catalogue.model.tags_[:-2]:
        for sign in (1, -1):
            states = [
                State(history=("i1",), presses={str(tag): sign * n} if n else {}) for n in range(6)
            ]
            people = [PersonalModel(catalogue, state) for state in states]
            lists = [person.rank(k=3) for person in people]
            said = describe_no_effect(people[1], people[0], lists[1], None, EN)
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
