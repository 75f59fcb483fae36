"""Laws of undo and redo, whatever was done; the state depends on the events and the time alone."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.app.people.checks import check
from teaser.app.people.events import KINDS, Event, parts_of, time_text
from teaser.app.people.fold import StateFold, fold, state_after
from teaser.app.people.state import Ending, Feed, ListFilter, State
from teaser.app.people.values import Values
from teaser.errors import NothingToRedoError, NothingToUndoError, TeaserError

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
        "passing": [[tag, steps, time_text(at)] for (tag, at), steps in passing.items()],
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
    values = Values()
    for part in parts:
        values = values.after(part)
    return Event("import", {"state": json.loads(json.dumps(values.to_json()))})


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
            check(fold(kept), event)
        except TeaserError:
            continue
        kept.append(event)
    return kept


@given(COURSES.map(possible), ACTS, NOWS)
def test_undo_restores_the_exact_earlier_state(
    course: list[Event], act: Event, at: datetime | None
) -> None:
    assert now(fold([*course, act, Event("undo")], at)) == now(fold(course, at))
    assert fold([*course, act, Event("undo")]).undoable == fold(course).undoable


@given(COURSES.map(possible), NOWS)
def test_undo_then_redo_changes_nothing(course: list[Event], at: datetime | None) -> None:
    before = fold(course, at)
    again = fold([*course, Event("undo"), Event("redo")], at)
    if before.undoable is not None:
        assert replace(again, n_events=0) == replace(before, n_events=0)


@given(COURSES.map(possible), NOWS)
def test_everything_can_be_undone_to_the_beginning_and_made_again(
    course: list[Event], at: datetime | None
) -> None:
    state = fold(course, at)
    back = list(course)
    steps = 0
    while fold(back).undoable is not None:
        back.append(Event("undo"))
        steps += 1
    assert now(fold(back, at)) == State()
    assert now(fold([*back, *[Event("redo")] * steps], at)) == now(state)


@given(COURSES.map(possible), ACTS)
def test_a_new_act_forgets_what_was_undone(course: list[Event], act: Event) -> None:
    assert fold([*course, act]).redoable is None
    assert fold([*course, act]).undoable == act


@given(COURSES.map(possible))
def test_reset_begins_again_and_can_be_undone(course: list[Event]) -> None:
    assert now(fold([*course, Event("reset")])) == State()
    assert now(fold([*course, Event("reset"), Event("undo")])) == now(fold(course))


@given(COURSES)
def test_the_state_depends_on_the_events_alone(course: list[Event]) -> None:
    kept = [Event(event.kind, dict(event.data)) for event in course]
    assert fold(iter(course)) == fold(course) == fold(kept)
    assert course == kept
    assert fold(course).n_events == len(course)


@given(COURSES, NOWS)
def test_the_state_stays_within_its_bounds(course: list[Event], at: datetime | None) -> None:
    state = fold(course, at)
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
    states = [fold(course), *(fold(course, at) for at in times)]
    for earlier, later in pairwise(states):
        assert set(later.ends) <= set(earlier.ends)
        assert set(later.hidden) <= set(earlier.hidden)
        gone = set(earlier.ends) - set(later.ends)
        assert {end.name for end in gone if end.is_item} == set(earlier.hidden) - set(later.hidden)
        changed = {end.name for end in gone if end.kind == "press"}
        for tag in {*earlier.presses, *later.presses} - changed:
            assert earlier.presses.get(tag) == later.presses.get(tag)
        assert earlier.lasting_presses == later.lasting_presses
        assert earlier.history == later.history
        assert list(earlier.feeds) == list(later.feeds)


@given(COURSES.map(possible), ACTS, NOWS)
def test_an_action_on_a_state_gives_what_the_fold_gives(
    course: list[Event], act: Event, at: datetime | None
) -> None:
    assert now(state_after(fold(course, at), act, at)) == now(fold([*course, act], at))


@given(COURSES.map(possible), st.lists(PARTS, min_size=1, max_size=4), NOWS)
def test_several_actions_are_one_step(
    course: list[Event], parts: list[Event], at: datetime | None
) -> None:
    whole = together(parts)
    assert parts_of(whole) == parts
    assert now(fold([*course, whole], at)) == now(fold([*course, *parts], at))
    assert fold([*course, whole]).n_events == len(course) + 1


@given(COURSES.map(possible), COURSES.map(possible), NOWS)
def test_an_import_replaces_all(
    course: list[Event], other: list[Event], at: datetime | None
) -> None:
    values = Values.of(fold(other, at))
    event = Event("import", {"state": json.loads(json.dumps(values.to_json()))})
    check(fold(course), event)
    assert now(fold([*course, event], at)) == now(fold(other, at))


@given(COURSES.map(possible))
def test_undo_and_redo_are_possible_when_the_state_says_so(course: list[Event]) -> None:
    state = fold(course)
    for kind, offered, error in (
        ("undo", state.undoable, NothingToUndoError),
        ("redo", state.redoable, NothingToRedoError),
    ):
        if offered is None:
            with pytest.raises(error):
                check(state, Event(kind))
        else:
            check(state, Event(kind))


@given(COURSES.map(possible), ACTS)
def test_an_event_added_to_a_fold_gives_what_folding_all_gives(
    course: list[Event], act: Event
) -> None:
    for event in (act, Event("undo"), Event("redo")):
        folded = StateFold(course)
        before = folded.state_at(None)
        folded.add(event)
        assert before == fold(course)
        assert folded.state_at(None) == fold([*course, event])


def view(item: Any) -> Event:
    return Event("view", {"item": item})


def press(**tags: int) -> Event:
    return Event("press", {"presses": {f"tag={name}": steps for name, steps in tags.items()}})


def passing(until: datetime, **tags: int) -> Event:
    """Return presses that end."""
    return Event("press", {**press(**tags).data, "until": time_text(until)})


class TestActs:
    def test_an_item_viewed_again_becomes_the_latest(self) -> None:
        assert fold([view("a"), view("b"), view("a")]).history == ("b", "a")

    def test_the_latest_strength_counts(self) -> None:
        strong, weak = ({"item": "a", "strength": x} for x in (2.0, -0.25))
        events = [Event("view", strong), Event("view", {"item": "b"}), Event("view", weak)]
        assert fold(events).strengths == {"a": -0.25}
        assert fold(events).history == ("b", "a")
        assert fold([*events, Event("undo")]).strengths == {"a": 2.0}
        assert fold([*events, Event("view", {"item": "a"})]).strengths == {}
        assert fold([*events, Event("remove", {"item": "a"})]).strengths == {}

    def test_removing_keeps_the_order_of_the_others(self) -> None:
        course = [view("a"), view("b"), view("c"), Event("remove", {"item": "b"})]
        assert fold(course).history == ("a", "c")
        assert fold([*course, Event("undo")]).history == ("a", "b", "c")

    def test_presses_add_up_and_vanish_at_nought(self) -> None:
        assert fold([press(a=2), press(a=2, b=-1)]).presses == {"tag=a": 4, "tag=b": -1}
        assert fold([press(a=2), press(a=-2)]).presses == {}

    def test_hiding_and_showing_again(self) -> None:
        hidden = [Event("hide", {"item": "a"})]
        assert fold(hidden).hidden == ("a",)
        assert fold([*hidden, Event("unhide", {"item": "a"})]).hidden == ()

    def test_undo_and_redo_walk_several_steps(self) -> None:
        course = [view("a"), view("b"), view("c"), Event("undo"), Event("undo")]
        assert fold(course).history == ("a",)
        assert fold([*course, Event("redo")]).history == ("a", "b")
        assert fold(course).redoable == view("b")

    def test_what_is_set_takes_the_place_of_what_was_set(self) -> None:
        course = [
            Event("balance", {"balance": 0.2}),
            Event("about", {"about": ["age=young", "sex=F", "age=young"]}),
            Event("balance", {"balance": 1}),
        ]
        assert fold(course).balance == 1
        assert fold(course).about == ("age=young", "sex=F")
        assert fold([*course, Event("undo")]).balance == 0.2
        later = [*course, Event("about", {"about": ["age=old"]})]
        assert fold(later).about == ("age=old",)
        again = fold([*later, Event("reset")])
        assert (again.balance, again.about) == (0.5, ())
        assert fold([*later, Event("reset"), Event("undo")]).about == ("age=old",)

    def test_facts_stored_by_earlier_versions_still_count(self) -> None:
        old = [Event("about", {"people": ["age=young"]}), view("a")]
        assert fold(old).about == ("age=young",)
        assert fold([*old, Event("about", {"about": []})]).about == ()

    def test_names_that_no_model_knows_are_kept(self) -> None:
        state = fold([view("long gone"), Event("press", {"presses": {"colour=octarine": 2}})])
        assert state.history == ("long gone",)
        assert state.presses == {"colour=octarine": 2}


class TestFeeds:
    def test_a_new_feed_is_a_copy_and_lists_are_apart(self) -> None:
        course = [press(a=2), Event("make_feed", {"feed": "Friday"}), press(b=1)]
        state = fold(course)
        assert (state.feed, list(state.feeds)) == ("Friday", ["", "Friday"])
        assert state.presses == {"tag=a": 2, "tag=b": 1}
        assert state.feeds[""] == Feed({"tag=a": 2})
        back = fold([*course, Event("switch_feed", {"feed": ""}), view("i")])
        assert (back.presses, back.history) == ({"tag=a": 2}, ("i",))
        assert fold([*course, view("i")]).history == ("i",)

    def test_a_feed_begins_with_what_is_given(self) -> None:
        copy = {"presses": {"tag=z": -1}, "filters": {"only": ["tag=q"]}, "variety": 0.5}
        state = fold([press(a=2), Event("make_feed", {"feed": "other", "copy": copy})])
        assert state.current == Feed({"tag=z": -1}, ListFilter(only=("tag=q",)), variety=0.5)
        assert Feed().to_json() == {"presses": {}, "variety": 0.0, "balance": 0.5}

    def test_renaming_keeps_the_place_and_dropping_goes_back_to_the_main_list(self) -> None:
        made = [Event("make_feed", {"feed": name}) for name in ("a", "b", "c")]
        renamed = [*made, Event("rename_feed", {"feed": "b", "name": "B"})]
        assert list(fold(renamed).feeds) == ["", "a", "B", "c"]
        gone = fold([*renamed, Event("drop_feed", {"feed": "c"})])
        assert (gone.feed, list(gone.feeds)) == ("", ["", "a", "B"])
        assert fold([*renamed, Event("drop_feed", {"feed": "c"}), Event("undo")]).feed == "c"


class TestEnds:
    DAY, WEEK = START + timedelta(1), START + timedelta(7)

    def test_presses_for_now_add_to_those_that_last(self) -> None:
        course = [
            press(a=2),
            Event("press", {"presses": {"tag=a": 2}, "until": time_text(self.DAY)}),
        ]
        before, after = fold(course, START), fold(course, self.DAY)
        assert before.presses == {"tag=a": 4}
        assert before.ends == (Ending("press", "tag=a", 2, self.DAY),)
        assert before.lasting == after.presses == {"tag=a": 2}
        assert (after.ends, after.lasting) == ((), None)

    def test_net_presses_stay_in_range_and_the_rest_comes_back(self) -> None:
        course = [
            press(a=5),
            Event("press", {"presses": {"tag=a": -7}, "until": time_text(self.DAY)}),
        ]
        assert fold(course, START).presses == {"tag=a": -2}
        assert fold([*course, press(a=-5)], START).presses == {"tag=a": -5}
        assert fold(course, self.WEEK).presses == {"tag=a": 5}

    def test_what_is_hidden_for_a_week_is_shown_after_it(self) -> None:
        hide = [
            Event("hide", {"tag": "type=film", "until": time_text(self.WEEK)}),
            Event("hide", {"item": "i1", "until": time_text(self.DAY)}),
            Event("hide", {"item": "i2"}),
        ]
        state = fold(hide, START)
        assert (state.hidden, state.hidden_tags) == (("i1", "i2"), ("type=film",))
        assert [(end.name, end.is_item) for end in state.ends] == [
            ("i1", True),
            ("type=film", False),
        ]
        assert fold(hide, self.DAY).hidden == ("i2",)
        assert fold(hide, self.WEEK).hidden_tags == ()
        # The latest word counts.
        again = [*hide, Event("hide", {"item": "i1"})]
        assert fold(again, self.WEEK).hidden == ("i2", "i1")


def test_every_kind_is_drawn() -> None:
    drawn = {"undo", "redo", "reset", "several", "import", "press", "hide", "unhide", "view"}
    drawn |= {"remove", "vary", "balance", "about", "filter", "make_feed", "switch_feed"}
    assert drawn | {"drop_feed", "rename_feed", "profiling"} == set(KINDS)
