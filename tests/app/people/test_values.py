"""Values: their stored form is exact, and a copy is apart from what it is copied from."""

import json
from datetime import datetime

from app.people.test_fold import ACTS, COURSES, NOWS, possible
from hypothesis import given
from hypothesis import strategies as st

from teaser.app.people.events import Event
from teaser.app.people.fold import fold
from teaser.app.people.state import State
from teaser.app.people.values import FeedValues, Values


@given(st.lists(ACTS, max_size=12), NOWS)
def test_values_come_back_as_they_were(acts: list[Event], at: datetime | None) -> None:
    values = Values()
    for act in acts:
        values = values.after(act)
    back = Values.of_json(json.loads(json.dumps(values.to_json())))
    assert back == values
    assert back.state_at(at) == values.state_at(at)
    assert list(back.state_at(at).presses) == list(values.state_at(at).presses)


@given(COURSES.map(possible), NOWS)
def test_the_values_of_a_state_lead_to_it(course: list[Event], at: datetime | None) -> None:
    state = fold(course, at)
    again = Values.of(state).state_at(None)
    for name in ("history", "strengths", "presses", "hidden", "hidden_tags", "ends", "feeds"):
        assert getattr(again, name) == getattr(state, name)
    assert (again.feed, again.profiling, again.order) == (state.feed, state.profiling, state.order)


@given(COURSES.map(possible), ACTS)
def test_a_copy_is_apart(course: list[Event], act: Event) -> None:
    values = Values.of(fold(course))
    before = json.dumps(values.to_json())
    values.copy().after(act)
    assert json.dumps(values.to_json()) == before


def test_a_kind_of_a_later_version_changes_nothing() -> None:
    assert Values().after(Event("dance", {"with": "whom"})).state_at(None) == State()


def test_what_a_feed_does_not_say_is_as_in_a_new_one() -> None:
    assert FeedValues.of_json({}) == FeedValues()
