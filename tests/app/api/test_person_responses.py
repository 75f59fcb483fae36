"""What is kept of a person, as the API says it: whole, with examples that are valid."""

from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from app.conftest import append

from teaser.app.api import person_responses
from teaser.app.people.events import KINDS, Event, fold
from teaser.app.people.store import Store, StoredEvent
from teaser.app.serving.model_holder import ModelHolder
from teaser.errors import UnknownPersonError


def test_an_export_holds_state_links_and_actions(store: Store, model_folder: Path) -> None:
    catalogue = ModelHolder(model_folder).current
    person = store.create_person()[0]
    for event in (
        Event("view", {"item": "i1"}),
        Event("press", {"presses": {"town=Ghent": 2}}),
        Event("hide", {"item": "gone"}),
        Event("vary", {"variety": 0.5}),
        Event("balance", {"balance": 0.25}),
        Event("about", {"about": ["age=young"]}),
    ):
        append(store, person, event)
    token = store.make_share(person)[0]
    found = person_responses.export_of(store, person, catalogue)
    assert found.state == person_responses.Person.of(person, store.state(person), catalogue)
    assert (found.state.history, found.state.hidden) == (["i1"], ["gone"])
    assert (found.state.variety, found.state.unknown_items) == (0.5, ["gone"])
    assert (found.state.balance, found.state.about) == (0.25, ["age=young"])
    assert found.state.unknown_about == ["age=young"]
    kinds = ["view", "press", "hide", "vary", "balance", "about"]
    assert [event.kind for event in found.events] == kinds
    assert [event.balance for event in found.events] == [None] * 4 + [0.25, None]
    assert [event.about for event in found.events] == [None] * 5 + [["age=young"]]
    assert [link.place for link in found.shares] == [6]
    assert token not in found.model_dump_json()
    with pytest.raises(UnknownPersonError):
        person_responses.export_of(store, "nobody", catalogue)
    new = person_responses.export_of(store, None, catalogue)
    assert (new.events, new.shares, new.state.history, new.state.n_events) == ([], [], [], 0)


def test_a_state_names_what_the_model_does_not_know(model_folder: Path) -> None:
    state = fold(
        [
            Event("view", {"item": "gone"}),
            Event("view", {"item": "i1"}),
            Event("hide", {"item": 99}),
            Event("press", {"presses": {"colour=red": 1, "town=Ghent": -1}}),
        ]
    )
    made = person_responses.Person.of("p", state, ModelHolder(model_folder).current)
    assert made.history == ["gone", "i1"]
    assert made.unknown_items == ["gone", 99]
    assert made.unknown_tags == ["colour=red"]
    assert [(p.tag, p.steps) for p in made.presses] == [("colour=red", 1), ("town=Ghent", -1)]


def test_every_kind_of_event_can_be_exported() -> None:
    kinds = get_args(person_responses.ExportedEvent.model_fields["kind"].annotation)
    assert kinds == KINDS
    at = datetime(2026, 5, 1, tzinfo=UTC)
    for kind in KINDS:
        assert person_responses.ExportedEvent.of(StoredEvent(1, at, kind, {})).kind == kind
