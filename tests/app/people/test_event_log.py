"""The rows of events: each place is taken once, and they come back in order."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from teaser.app.people.event_log import (
    STRIDE,
    append_event,
    extend,
    last_place,
    read_events,
)
from teaser.app.people.events import Event
from teaser.app.people.fold import StateFold, fold
from teaser.app.people.store import Store
from teaser.app.people.tables import event as events
from teaser.errors import UnknownPersonError

NOW = datetime(2026, 5, 1, tzinfo=UTC)
VIEWS = [Event("view", {"item": f"i{n}"}) for n in range(5)]


def test_events_come_back_in_order_and_in_parts(store: Store) -> None:
    person, other = store.create_person()[0], store.create_person()[0]
    with store._writing() as connection:
        assert last_place(connection, person) == 0
        for place in (2, 1, 4, 3):
            append_event(connection, person, place, VIEWS[place], NOW)
        append_event(connection, other, 1, VIEWS[0], NOW)
    with store._reading() as connection:
        assert last_place(connection, person) == 4
        assert [e.place for e in read_events(connection, person)] == [1, 2, 3, 4]
        part = read_events(connection, person, after=1, until=3)
        assert [(e.place, e.kind, e.data, e.at) for e in part] == [
            (2, "view", {"item": "i2"}, NOW),
            (3, "view", {"item": "i3"}, NOW),
        ]
        assert [e.place for e in read_events(connection, person, after=1, limit=2)] == [2, 3]
        folded = StateFold()
        assert not extend(connection, person, folded, 3)
        assert folded.state_at(None) == fold(VIEWS[1:4])
        assert not extend(connection, person, folded, None)
        assert folded.state_at(None) == fold(VIEWS[1:5])


def test_a_place_is_taken_once(store: Store) -> None:
    person = store.create_person()[0]
    with store._writing() as connection:
        append_event(connection, person, 1, VIEWS[0], NOW)
    with pytest.raises(IntegrityError), store._writing() as connection:
        append_event(connection, person, 1, VIEWS[1], NOW)
    assert [event.data for event in store.events(person)] == [VIEWS[0].data]


def test_with_a_lock_the_person_must_be_known(database_url: str) -> None:
    store = Store(database_url)
    store.migrate()
    person, visitor = store.create_person()[0], store.create_person(with_token=True)[0]
    if database_url.startswith("postgresql"):
        for known, ids in ((store, (person, visitor)), (store.without_site, (person,))):
            for each in ids:
                with store._writing() as connection:
                    place = last_place(connection, each) + 1
                    known._append(connection, each, place, VIEWS[place], NOW)
        with pytest.raises(IntegrityError), store._writing() as connection:
            store._append(connection, person, 2, VIEWS[3], NOW)
        for known, each in ((store, "nobody"), (store.without_site, visitor)):
            with pytest.raises(UnknownPersonError), store._writing() as connection:
                known._append(connection, each, 9, VIEWS[0], NOW)
        assert [event.data for event in store.events(person)] == [v.data for v in VIEWS[1:3]]
    for known, each in ((store, "nobody"), (store.without_site, visitor)):
        with pytest.raises(UnknownPersonError), known._reading() as connection:
            known._snapshots.read(connection, each, None)
    store.close()


def test_a_long_past_is_read_in_several_transactions(store: Store) -> None:
    person = store.create_person()[0]
    with store._writing() as connection:
        row = {"person_id": person, "kind": "view", "data": VIEWS[0].data, "at": NOW}
        rows = [{**row, "place": place} for place in range(1, STRIDE + 3)]
        connection.execute(insert(events), rows)
    with store._reading() as connection:
        folded = StateFold()
        assert extend(connection, person, folded, None)
        assert folded.n_events == STRIDE
    assert store.state(person).n_events == STRIDE + 2
    assert store.state(person, until=STRIDE).n_events == STRIDE
