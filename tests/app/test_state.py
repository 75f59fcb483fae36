"""The state of a person: laws of undo and redo, what actions do, and what is refused."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.app.state import (
    LIMITS,
    Draft,
    Event,
    State,
    check,
    ending,
    parts_of,
    read_feed,
    read_time,
    state_after,
    state_of,
    time_text,
)
from teaser.errors import LimitError, ParameterError, TeaserError

START = datetime(2026, 11, 16, 12, tzinfo=UTC)
TIMES = st.integers(1, 4).map(lambda days: START + timedelta(days))
MOMENTS = st.integers(0, 5).map(lambda days: START + timedelta(days))
NOWS = st.one_of(st.none(), MOMENTS)
UNTIL: st.SearchStrategy[dict[str, str]] = st.one_of(
    st.just({}), TIMES.map(lambda at: {"until": time_text(at)})
)
ITEMS = st.one_of(st.integers(0, 3), st.sampled_from(["a", "b", "0"]))
TAGS = st.sampled_from(["town=Ghent", "town=Liège", "type=film"])
PEOPLE = st.sampled_from(["age=young", "age=old", "sex=F"])
FEEDS = st.sampled_from(["Friday night", "with the kids", "x"])
BOUNDS = st.dictionaries(st.sampled_from(["price", "year"]), st.integers(0, 9), max_size=1)
FILTERS = st.builds(
    lambda only, without, most, when: {
        "only": only,
        "without": [tag for tag in without if tag not in only],
        "at_most": most,
        "when": when,
    },
    st.lists(TAGS, max_size=2, unique=True),
    st.lists(TAGS, max_size=2, unique=True),
    BOUNDS,
    st.sampled_from(["", "weekend", "2026-11-20..", "..2026-12-24"]),
)
PRESSES = st.builds(
    lambda presses, until: Event("press", {"presses": presses, **until}),
    st.dictionaries(TAGS, st.integers(-5, 5), min_size=1),
    UNTIL,
)
SHARES = st.sampled_from([0.0, 0.25, 0.5, 1.0])
COPIES = st.builds(
    lambda presses, passing, filters, variety: {
        "presses": presses,
        "temporary": [[tag, steps, time_text(at)] for (tag, at), steps in passing.items()],
        "filters": filters,
        "variety": variety,
        "balance": 0.5,
    },
    st.dictionaries(TAGS, st.integers(-5, 5)),
    st.dictionaries(st.tuples(TAGS, TIMES), st.integers(1, 5), max_size=2),
    FILTERS,
    SHARES,
)
# Parts of one step; a reset or an import is a step of its own.
PARTS = st.one_of(
    st.builds(
        lambda kind, item: Event(kind, {"item": item}),
        st.sampled_from(["view", "remove", "unhide"]),
        ITEMS,
    ),
    st.builds(
        lambda item, x: Event("view", {"item": item, "strength": x}),
        ITEMS,
        st.sampled_from([0.5, 2.0, -0.25]),
    ),
    st.builds(lambda item, until: Event("hide", {"item": item, **until}), ITEMS, UNTIL),
    st.builds(lambda tag, until: Event("hide", {"tag": tag, **until}), TAGS, UNTIL),
    st.builds(lambda tag: Event("unhide", {"tag": tag}), TAGS),
    PRESSES,
    st.builds(lambda variety: Event("vary", {"variety": variety}), st.floats(0, 1)),
    st.builds(lambda balance: Event("balance", {"balance": balance}), st.floats(0, 1)),
    st.builds(lambda about: Event("about", {"about": about}), st.lists(PEOPLE, max_size=3)),
    st.builds(lambda filters: Event("filter", {"filters": filters}), FILTERS),
    st.builds(lambda feed: Event("make_feed", {"feed": feed}), FEEDS),
    st.builds(lambda feed, copy: Event("make_feed", {"feed": feed, "copy": copy}), FEEDS, COPIES),
    st.builds(
        lambda kind, feed: Event(kind, {"feed": feed}),
        st.sampled_from(["switch_feed", "drop_feed"]),
        st.one_of(FEEDS, st.just("")),
    ),
    st.builds(lambda feed, name: Event("rename_feed", {"feed": feed, "name": name}), FEEDS, FEEDS),
    st.builds(
        lambda on, order: Event("profiling", {"on": on, **order}),
        st.booleans(),
        st.sampled_from([{}, {"order": "newest"}, {"order": "appeal"}]),
    ),
)


def together(parts: list[Event]) -> Event:
    return Event("several", {"actions": [[part.kind, dict(part.data)] for part in parts]})


def imported(parts: list[Event]) -> Event:
    """Return the import of a state that some actions lead to."""
    draft = Draft()
    for part in parts:
        draft.apply(part)
    return Event("import", {"state": json.loads(json.dumps(draft.to_json()))})


ACTS = st.one_of(
    PARTS,
    PARTS,
    st.just(Event("reset")),
    st.lists(PARTS, min_size=1, max_size=4).map(together),
    st.lists(PARTS, max_size=6).map(imported),
)
COURSES = st.lists(st.one_of(ACTS, st.sampled_from([Event("undo"), Event("redo")])), max_size=25)


def now(state: State) -> State:
    """Leave out what tells how the state was reached."""
    return replace(state, undoable=None, redoable=None, n_events=0)


def possible(course: list[Event]) -> list[Event]:
    """Keep those events that can happen where they stand."""
    kept: list[Event] = []
    for event in course:
        try:
            check(state_of(kept), event)
        except TeaserError:
            continue
        kept.append(event)
    return kept


@given(COURSES.map(possible), ACTS, NOWS)
def test_undo_restores_the_exact_earlier_state(
    course: list[Event], act: Event, at: datetime | None
) -> None:
    assert now(state_of([*course, act, Event("undo")], at)) == now(state_of(course, at))
    assert state_of([*course, act, Event("undo")]).undoable == state_of(course).undoable


@given(COURSES.map(possible), NOWS)
def test_everything_can_be_undone_to_the_beginning_and_made_again(
    course: list[Event], at: datetime | None
) -> None:
    state = state_of(course, at)
    back = list(course)
    steps = 0
    while state_of(back).undoable is not None:
        back.append(Event("undo"))
        steps += 1
    assert now(state_of(back, at)) == State()
    assert now(state_of([*back, *[Event("redo")] * steps], at)) == now(state)


@given(COURSES.map(possible), ACTS)
def test_a_new_act_forgets_what_was_undone(course: list[Event], act: Event) -> None:
    assert state_of([*course, act]).redoable is None
    assert state_of([*course, act]).undoable == act


@given(COURSES, NOWS)
def test_the_state_stays_within_its_bounds(course: list[Event], at: datetime | None) -> None:
    state = state_of(course, at)
    assert len(set(state.history)) == len(state.history)
    assert len(set(state.hidden)) == len(state.hidden)
    assert all(0 < abs(steps) <= 5 for steps in state.presses.values())
    assert 0 <= state.variety <= 1
    assert 0 <= state.balance <= 1
    assert len(set(state.about)) == len(state.about)
    assert state.current == state.feeds[state.feed]
    assert next(iter(state.feeds)) == ""
    assert all(at is None or end.until > at for end in state.ends)
    assert sorted(state.ends, key=lambda end: end.until) == list(state.ends)


@given(COURSES.map(possible), st.lists(MOMENTS, min_size=2, max_size=4).map(sorted))
def test_what_ends_does_not_come_back_and_nothing_else_changes(
    course: list[Event], times: list[datetime]
) -> None:
    states = [state_of(course), *(state_of(course, at) for at in times)]
    for earlier, later in pairwise(states):
        assert set(later.ends) <= set(earlier.ends)
        assert set(later.hidden) <= set(earlier.hidden)
        gone = set(earlier.ends) - set(later.ends)
        assert {end.name for end in gone if end.is_item} == set(earlier.hidden) - set(later.hidden)
        changed = {end.name for end in gone if end.kind == "press"}
        for tag in {*earlier.presses, *later.presses} - changed:
            assert earlier.presses.get(tag) == later.presses.get(tag)
        assert earlier.permanent == later.permanent
        assert earlier.history == later.history
        assert list(earlier.feeds) == list(later.feeds)


@given(COURSES.map(possible), ACTS, NOWS)
def test_an_action_on_a_state_gives_what_the_fold_gives(
    course: list[Event], act: Event, at: datetime | None
) -> None:
    assert now(state_after(state_of(course, at), act, at)) == now(state_of([*course, act], at))


@given(COURSES.map(possible), st.lists(PARTS, min_size=1, max_size=4), NOWS)
def test_several_actions_are_one_step(
    course: list[Event], parts: list[Event], at: datetime | None
) -> None:
    whole = together(parts)
    assert parts_of(whole) == parts
    assert now(state_of([*course, whole], at)) == now(state_of([*course, *parts], at))
    assert state_of([*course, whole]).n_events == len(course) + 1


@given(COURSES.map(possible), COURSES.map(possible), NOWS)
def test_an_import_replaces_all(
    course: list[Event], other: list[Event], at: datetime | None
) -> None:
    draft = Draft.from_state(state_of(other, at))
    event = Event("import", {"state": json.loads(json.dumps(draft.to_json()))})
    check(state_of(course), event)
    assert now(state_of([*course, event], at)) == now(state_of(other, at))


@given(COURSES.map(possible))
def test_undo_and_redo_are_possible_when_the_state_says_so(course: list[Event]) -> None:
    state = state_of(course)
    for kind, offered in (("undo", state.undoable), ("redo", state.redoable)):
        if offered is None:
            with pytest.raises(ParameterError, match=f"nothing to {kind}"):
                check(state, Event(kind))
        else:
            check(state, Event(kind))


def press(**tags: int) -> Event:
    return Event("press", {"presses": {f"tag={name}": steps for name, steps in tags.items()}})


def passing(until: datetime, **tags: int) -> Event:
    """Return presses that end."""
    return Event("press", {**press(**tags).data, "until": time_text(until)})


class TestEnds:
    DAY, WEEK = START + timedelta(1), START + timedelta(7)

    def test_net_presses_stay_in_range_and_the_rest_comes_back(self) -> None:
        course = [
            press(a=5),
            Event("press", {"presses": {"tag=a": -7}, "until": time_text(self.DAY)}),
        ]
        assert state_of(course, START).presses == {"tag=a": -2}
        assert state_of([*course, press(a=-5)], START).presses == {"tag=a": -5}
        assert state_of(course, self.WEEK).presses == {"tag=a": 5}


@given(COURSES.map(possible), ACTS)
def test_an_action_changes_neither_its_data_nor_the_state_before(
    course: list[Event], act: Event
) -> None:
    data, state = json.dumps(act.data), state_of(course)
    draft = Draft.from_state(state)
    draft.apply(act)
    draft.apply(Event("press", {"presses": {"town=Ghent": 1}}))
    assert json.dumps(act.data) == data
    assert state == state_of(course)


END = "2030-01-01T00:00:00+00:00"


class TestCheck:
    def test_presses_that_are_taken_back_do_not_count_as_tags(self) -> None:
        old = press(**{f"old{n}": 1 for n in range(15)})
        moved = press(**{f"old{n}": -1 for n in range(15)}, **{f"new{n}": 1 for n in range(20)})
        check(state_of([old]), moved)
        with pytest.raises(ParameterError, match=r"20 tags.* 35"):
            check(State(), moved)


def large_state(**given: Any) -> dict[str, Any]:
    """Return the state of an import, as it is stored, with something replaced."""
    found = {**Draft().to_json(), **given}
    return {**found, "feeds": [[name, read_feed(feed)] for name, feed in found["feeds"]]}


LARGE: dict[str, dict[str, Any]] = {
    "viewed items": {"history": [[f"i{n}", 1.0] for n in range(LIMITS["viewed items"] + 1)]},
    "hidden items": {"hidden": [[n, None] for n in range(LIMITS["hidden items"] + 1)]},
    "hidden tags": {"hidden_tags": [[f"a={n}", None] for n in range(LIMITS["hidden tags"] + 1)]},
    "pressed tags": {
        "feeds": [
            ["", {"presses": {f"a={n}": 1 for n in range(LIMITS["pressed tags"] // 2)}}],
            ["x", {"presses": {f"a={n}": 1 for n in range(LIMITS["pressed tags"] // 2 + 1)}}],
        ]
    },
    "things that end by themselves": {
        "feeds": [["", {"temporary": [[f"a={n}", 1, END] for n in range(200)]}]],
        "hidden": [["i1", END]],
    },
    "feeds": {"feeds": [["", {}], *([f"x{n}", {}] for n in range(LIMITS["feeds"] + 1))]},
}


@pytest.mark.parametrize("kind", LIMITS)
def test_an_import_of_too_much_is_refused_with_its_number(kind: str) -> None:
    limit = LIMITS[kind]
    with pytest.raises(LimitError, match=f"{limit + 1:,} {kind} .* most {limit:,} ") as raised:
        check(State(), Event("import", {"state": large_state(**LARGE[kind])}))
    assert raised.value.facts["n"] == limit + 1


def test_actions_lead_to_no_more_than_an_import_can_bring() -> None:
    hidden = State(hidden=tuple(range(LIMITS["hidden items"])))
    tags = State(hidden_tags=tuple(f"a={n}" for n in range(LIMITS["hidden tags"])))
    seen = State(history=tuple(range(LIMITS["viewed items"])))
    many = {f"a={n}": 1 for n in range(LIMITS["pressed tags"])}
    pressed = State(presses=many)
    for state, event in (
        (hidden, Event("hide", {"item": "new"})),
        (tags, Event("hide", {"tag": "b=new"})),
        (seen, Event("view", {"item": "new"})),
        (pressed, Event("press", {"presses": {"b=new": 1}})),
        (pressed, Event("make_feed", {"feed": "copy"})),
        (State(), Event("make_feed", {"feed": "x", "copy": {"presses": {**many, "b=new": 1}}})),
    ):
        with pytest.raises(LimitError, match="can be kept"):
            check(state, event)
    check(hidden, Event("hide", {"item": 5}))
    check(seen, Event("view", {"item": 5}))
    check(pressed, Event("press", {"presses": {"a=5": 1}}))
    more = State(hidden=tuple(range(2 * LIMITS["hidden items"])))
    check(more, Event("view", {"item": "new"}))


BRUSSELS = ZoneInfo("Europe/Brussels")


@pytest.mark.parametrize(
    ("now", "today", "week"),
    [
        # Half an hour before midnight in Brussels, in winter and in summer.
        ("2026-11-16T22:30+00:00", "2026-11-16T23:00", "2026-11-23T23:00"),
        ("2026-07-01T21:30+00:00", "2026-07-01T22:00", "2026-07-08T22:00"),
        # The clock goes back on 25 October: the week is an hour longer.
        ("2026-10-20T12:00+00:00", "2026-10-20T22:00", "2026-10-27T23:00"),
    ],
)
def test_a_day_ends_at_midnight_at_the_site(now: str, today: str, week: str) -> None:
    at = datetime.fromisoformat(now)
    assert ending("today", BRUSSELS, now=at) == {"until": f"{today}:00+00:00"}
    assert ending("week", BRUSSELS, now=at) == {"until": f"{week}:00+00:00"}
    assert ending("always", BRUSSELS, now=at) == {}


def test_times_are_stored_in_utc_and_those_of_no_calendar_are_refused() -> None:
    at = datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert time_text(at) == "2026-05-01T10:00:00+00:00"
    assert read_time(time_text(at)) == at
    far = ("9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00")
    for text in ("2026-05-01T10:00:00", "tomorrow", 7, None, "", *far):
        with pytest.raises(ParameterError, match="until"):
            read_time(text)
