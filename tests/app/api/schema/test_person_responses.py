"""What is kept of a person, as the API says it: whole, with examples that are valid."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from app.conftest import append

from teaser.app.api.schema import person_responses
from teaser.app.people.event_log import StoredEvent
from teaser.app.people.events import KINDS, Event
from teaser.app.people.fold import fold
from teaser.app.people.store import Store
from teaser.app.serving.model_holder import ModelHolder
from teaser.errors import UnknownPersonError


def test_an_export_holds_state_links_and_actions(store: Store, model_folder: Path) -> None:
    catalogue = ModelHolder(model_folder).current
    before = datetime.now(UTC)
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
    text = "".join(person_responses.export_of(store, person, catalogue))
    found = person_responses.Export.model_validate_json(text)
    assert found.created_at == store.kept(person).created_at
    assert before <= found.created_at <= found.events[0].at
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
    assert token not in text
    with pytest.raises(UnknownPersonError):
        person_responses.export_of(store, "nobody", catalogue)
    text = "".join(person_responses.export_of(store, None, catalogue))
    new = person_responses.Export.model_validate_json(text)
    assert (new.events, new.shares, new.state.history, new.state.n_events) == ([], [], [], 0)
    assert new.created_at is None


def test_an_export_is_read_in_pages_and_holds_no_transaction(
    store: Store, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teaser.app.people.store._PAGE", 3)
    catalogue = ModelHolder(model_folder).current
    person = store.create_person()[0]
    for n in range(8):
        append(store, person, Event("view", {"item": f"i{n}"}))
    pieces = person_responses.export_of(store, person, catalogue)
    begun = [next(pieces), next(pieces)]
    append(store, person, Event("view", {"item": "too late"}))
    whole = [*begun, *pieces]
    assert [piece.count('"place"') for piece in whole] == [0, 3, 3, 2, 0]
    assert [event["item_id"] for event in json.loads("".join(whole))["events"]] == [
        f"i{n}" for n in range(8)
    ]
    pieces = person_responses.export_of(store, person, catalogue, with_id=False)
    begun = [next(pieces), next(pieces)]
    store.delete_person(person)
    cut = json.loads("".join([*begun, *pieces]))
    assert [event["place"] for event in cut["events"]] == [1, 2, 3]
    assert (cut["state"]["n_events"], "person_id" in cut) == (9, False)


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
