"""Requests about lists: an export is read whole, and what is no export is named."""

import json
from datetime import datetime
from typing import Any

import pytest
from app.people.test_fold import COURSES, NOWS, now, possible
from hypothesis import assume, given

from teaser import Teaser
from teaser.app.api.schema.person_requests import GivenExport, GivenFeed, NewFilters
from teaser.app.api.schema.person_responses import Feed, Person
from teaser.app.people.checks import check
from teaser.app.people.events import Event
from teaser.app.people.fold import fold, state_after
from teaser.app.people.state import State
from teaser.app.people.values import FeedValues
from teaser.app.serving.catalogue import Catalogue
from teaser.errors import ImportedFileError


@given(COURSES.map(possible), NOWS)
def test_every_state_comes_back_from_its_export(
    model: Teaser, course: list[Event], at: datetime | None
) -> None:
    state = fold(course, at)
    # Strengths are told by the text of an id, and no catalogue has the ids 0 and "0" at once.
    assume(len({str(item) for item in state.history}) == len(state.history))
    exported = Person.of("p", state, Catalogue(model)).model_dump_json()
    event = GivenExport.read(f'{{"state": {exported}, "events": []}}').event()
    check(State(), event)
    assert now(state_after(State(), event)) == now(state)


@given(COURSES.map(possible), NOWS)
def test_every_feed_comes_back_from_its_response(
    model: Teaser, course: list[Event], at: datetime | None
) -> None:
    for name, feed in fold(course, at).feeds.items():
        sent = Feed.of(name, feed, Catalogue(model)).model_dump_json()
        assert FeedValues.of_json(GivenFeed.model_validate_json(sent).stored()).at(None) == feed


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("once upon a time", "not JSON"),
        ("", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("1" * 5_000, "5,000 digits"),
        ('{"state": {"history": [1], "presses": [], "hidden": [-%s]}}' % ("1" * 5_000), "digits"),
        ('{"state": {"history": [], "presses": [], "hidden": [], "variety": NaN}}', "NaN"),
        ('{"state": {"history": [], "presses": [], "hidden": [], "variety": -Infinity}}', "finite"),
        ('{"state": {"history": [], "presses": [], "hidden": [], "variety": 1e999}}', "1e999"),
        ("[]", "JSON object"),
        ("{}", "state"),
        ('{"state": {"history": ["i1"], "presses": []}}', "state.hidden"),
        ('{"state": {"history": [[]], "presses": [], "hidden": []}}', "history"),
    ],
)
def test_what_is_no_export_is_named(text: Any, found: str) -> None:
    with pytest.raises(ImportedFileError, match=found) as raised:
        GivenExport.read(text)
    assert "Nothing was changed" in str(raised.value)


def test_a_time_that_is_none_is_named() -> None:
    end = {"kind": "hide", "name": "i1", "is_item": True, "until": "soon"}
    state = {"history": [], "presses": [], "hidden": ["i1"], "ends": [end]}
    with pytest.raises(ImportedFileError, match="soon"):
        GivenExport.read(json.dumps({"state": state})).event()


def test_two_lists_of_one_name_are_named() -> None:
    state = {"history": [], "presses": [], "hidden": [], "feeds": [{"feed": "Friday"}] * 2}
    with pytest.raises(ImportedFileError, match="Two of its lists have one name, 'Friday'"):
        GivenExport.read(json.dumps({"state": state})).event()


def test_filters_that_are_not_given_are_none() -> None:
    assert NewFilters().model_dump(exclude_defaults=True) == {}
    assert GivenFeed().stored() == FeedValues().to_json()
