"""States, feeds and filters: what they say of themselves, and their stored form."""

import json
from datetime import UTC, datetime

from app.people.test_fold import COURSES, FILTERS, NOWS, possible
from hypothesis import given

from teaser.app.people.events import Event
from teaser.app.people.fold import fold
from teaser.app.people.state import Ending, Feed, ListFilter, State
from teaser.app.people.values import FeedValues

TIME = datetime(2026, 11, 17, tzinfo=UTC)


@given(FILTERS)
def test_filters_come_back_as_they_were(given: dict[str, object]) -> None:
    filters = ListFilter.of_json(given)
    assert ListFilter.of_json(json.loads(json.dumps(filters.to_json()))) == filters
    assert bool(filters) == bool(filters.to_json())


def test_filters_name_tags_and_columns() -> None:
    filters = ListFilter(("a=1",), ("b=2",), {"price": 20}, {"price": 5, "year": 1990}, "weekend")
    assert filters.tags == ("a=1", "b=2")
    assert filters.columns == ("price", "year")
    assert not ListFilter()


@given(COURSES.map(possible), NOWS)
def test_a_feed_comes_back_as_it_was(course: list[Event], at: datetime | None) -> None:
    for feed in fold(course, at).feeds.values():
        assert FeedValues.of_json(json.loads(json.dumps(feed.to_json()))).at(at) == feed


def test_presses_are_told_apart_by_whether_they_end() -> None:
    plain = State(presses={"a=1": 2})
    assert plain.lasting_presses == {"a=1": 2}
    assert plain.passing_steps("a=1") == 0
    ends = (Ending("press", "a=1", 3, TIME), Ending("press", "a=1", -1, TIME))
    hidden = Ending("hide", "a=1", 0, TIME)
    state = State(presses={"a=1": 4}, ends=(*ends, hidden), lasting={"a=1": 2})
    assert state.lasting_presses == {"a=1": 2}
    assert state.passing_steps("a=1") == 2
    assert state.current == Feed({"a=1": 4}, ends=ends, lasting={"a=1": 2})
