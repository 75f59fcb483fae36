"""Laws of undo and redo, whatever was done; the state depends on the events alone."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.app.people.events import KINDS, Event, State, StateFold, check, fold
from teaser.errors import (
    MalformedTagError,
    NotHiddenError,
    NothingToRedoError,
    NothingToUndoError,
    NotInHistoryError,
    ParameterError,
    PressRangeError,
    TeaserError,
)

ITEMS = st.one_of(st.integers(0, 3), st.sampled_from(["a", "b", "0"]))
TAGS = st.sampled_from(["town=Ghent", "town=Liège", "type=film"])
PEOPLE = st.sampled_from(["age=young", "age=old", "sex=F"])
ACTS = st.one_of(
    st.builds(
        lambda kind, item: Event(kind, {"item": item}),
        st.sampled_from(["view", "remove", "hide", "unhide"]),
        ITEMS,
    ),
    st.builds(
        lambda item, x: Event("view", {"item": item, "strength": x}),
        ITEMS,
        st.sampled_from([0.5, 2.0, -0.25]),
    ),
    st.builds(
        lambda presses: Event("press", {"presses": presses}),
        st.dictionaries(TAGS, st.integers(-5, 5), min_size=1),
    ),
    st.builds(lambda variety: Event("vary", {"variety": variety}), st.floats(0, 1)),
    st.builds(lambda balance: Event("balance", {"balance": balance}), st.floats(0, 1)),
    st.builds(lambda about: Event("about", {"about": about}), st.lists(PEOPLE, max_size=3)),
    st.just(Event("reset")),
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


@given(COURSES.map(possible), ACTS)
def test_undo_restores_the_exact_earlier_state(course: list[Event], act: Event) -> None:
    assert now(fold([*course, act, Event("undo")])) == now(fold(course))
    assert fold([*course, act, Event("undo")]).undoable == fold(course).undoable


@given(COURSES.map(possible))
def test_undo_then_redo_changes_nothing(course: list[Event]) -> None:
    before = fold(course)
    again = fold([*course, Event("undo"), Event("redo")])
    if before.undoable is not None:
        assert replace(again, n_events=0) == replace(before, n_events=0)


@given(COURSES.map(possible))
def test_everything_can_be_undone_to_the_beginning_and_made_again(course: list[Event]) -> None:
    state = fold(course)
    back = list(course)
    steps = 0
    while fold(back).undoable is not None:
        back.append(Event("undo"))
        steps += 1
    assert now(fold(back)) == State()
    assert now(fold([*back, *[Event("redo")] * steps])) == now(state)


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


@given(COURSES)
def test_the_state_stays_within_its_bounds(course: list[Event]) -> None:
    state = fold(course)
    assert len(set(state.history)) == len(state.history)
    assert len(set(state.hidden)) == len(state.hidden)
    assert all(0 < abs(steps) <= 5 for steps in state.presses.values())
    assert 0 <= state.variety <= 1
    assert 0 <= state.balance <= 1
    assert len(set(state.about)) == len(state.about)


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
        before = folded.state
        folded.add(event)
        assert before == fold(course)
        assert folded.state == fold([*course, event])


def view(item: Any) -> Event:
    return Event("view", {"item": item})


def press(**tags: int) -> Event:
    return Event("press", {"presses": {f"tag={name}": steps for name, steps in tags.items()}})


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


class TestCheck:
    @pytest.mark.parametrize(
        ("event", "found"),
        [
            (Event("dance"), "'dance'"),
            (Event("view"), "'view'"),
            (Event("view", {"item": ["a"]}), "'view'"),
            (Event("press"), "tag"),
            (Event("press", {"presses": {}}), "tag"),
            (Event("press", {"presses": {"tag=a": 1.5}}), "tag=a .* 1.5"),
            (Event("press", {"presses": {"tag=a": True}}), "tag=a .* True"),
            (Event("press", {"presses": {"tag=a": 0}}), "tag=a .* 0"),
            (Event("press", {"presses": {f"tag=a{n}": 1 for n in range(21)}}), "20 tags.* 21"),
            (Event("vary", {"variety": 1.5}), "variety .* 1.5"),
            (Event("vary", {"variety": float("nan")}), "variety .* nan"),
            (Event("vary", {"variety": "much"}), "variety .* 'much'"),
            (Event("vary"), "variety .* None"),
            (Event("balance", {"balance": True}), "balance .* True"),
            (Event("about"), "about"),
            (Event("about", {"about": "age=young"}), "about"),
            (Event("about", {"about": [7]}), "7"),
            (Event("about", {"about": ["a=b"] * 201}), "200 .* 201"),
        ],
    )
    def test_an_invalid_event_is_refused_with_what_was_found(
        self, event: Event, found: str
    ) -> None:
        with pytest.raises(ParameterError, match=found):
            check(State(), event)

    @pytest.mark.parametrize("strength", [0, float("nan"), float("inf"), "1", True, None, -2e9])
    def test_an_impossible_strength_is_refused(self, strength: Any) -> None:
        with pytest.raises(ParameterError, match="strength of a view must be a number other than"):
            check(State(), Event("view", {"item": "a", "strength": strength}))

    def test_items_that_are_not_there_are_named(self) -> None:
        with pytest.raises(NotInHistoryError) as removed:
            check(fold([Event("hide", {"item": "a"})]), Event("remove", {"item": "a"}))
        with pytest.raises(NotHiddenError) as shown:
            check(fold([view("a")]), Event("unhide", {"item": "a"}))
        assert removed.value.item_id == shown.value.item_id == "a"

    def test_a_tag_is_written_as_feature_and_value(self) -> None:
        with pytest.raises(MalformedTagError) as raised:
            check(State(), Event("press", {"presses": {"Ghent": 1}}))
        assert raised.value.tag == "Ghent"

    def test_presses_out_of_range_are_named(self) -> None:
        state = fold([press(a=3)])
        check(state, press(a=2))
        check(state, press(a=-8))
        for steps, net in ((3, 6), (-9, -6)):
            with pytest.raises(PressRangeError) as raised:
                check(state, press(a=steps))
            assert str(raised.value.tag) == "tag=a"
            assert (raised.value.presses, raised.value.limit) == (net, 5)

    def test_presses_that_are_taken_back_do_not_count_as_tags(self) -> None:
        old = press(**{f"old{n}": 1 for n in range(15)})
        moved = press(**{f"old{n}": -1 for n in range(15)}, **{f"new{n}": 1 for n in range(20)})
        check(fold([old]), moved)
        with pytest.raises(ParameterError, match=r"20 tags.* 35"):
            check(State(), moved)

    def test_events_of_earlier_versions_with_more_tags_are_folded_and_undone(self) -> None:
        many = press(**{f"tag{n}": 1 for n in range(215)})
        assert len(fold([many]).presses) == 215
        assert fold([many, Event("undo")]).presses == {}
        assert len(fold([many, Event("undo"), Event("redo")]).presses) == 215

    def test_what_can_happen_passes(self) -> None:
        state = fold([view("a"), Event("hide", {"item": "b"}), Event("undo")])
        data: dict[str, dict[str, Any]] = {
            "view": {"item": 1},
            "remove": {"item": "a"},
            "press": {"presses": {"tag=a": -5}},
            "hide": {"item": "c"},
            "vary": {"variety": 0.5},
            "balance": {"balance": 0},
            "about": {"about": []},
        }
        for kind in KINDS:
            if kind != "unhide":
                check(state, Event(kind, data.get(kind, {})))
