"""The rows of events: each place is taken once, and they come back in order."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import delete, insert, update
from sqlalchemy import event as hooks
from sqlalchemy.exc import IntegrityError

from teaser.app.people.event_log import (
    STRIDE,
    Decided,
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
                    known._decider._append(connection, each, place, VIEWS[place], NOW)
        with pytest.raises(IntegrityError), store._writing() as connection:
            store._decider._append(connection, person, 2, VIEWS[3], NOW)
        for known, each in ((store, "nobody"), (store.without_site, visitor)):
            with pytest.raises(UnknownPersonError), store._writing() as connection:
                known._decider._append(connection, each, 9, VIEWS[0], NOW)
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


def view(store: Store, person: str, number: int) -> Decided:
    """Let a person view an item."""
    return store.decide(person, lambda _: Event("view", {"item": number}))


def statements(store: Store, act: Callable[[], object]) -> list[str]:
    """Return the statements about tables that an action takes."""
    said: list[str] = []

    def note(*args: Any) -> None:
        said.append(args[2])

    def begin(connection: Any, *_: object) -> None:
        connection.set_trace_callback(said.append)

    def end(connection: Any, *_: object) -> None:
        connection.set_trace_callback(None)

    is_sqlite = store._engine.dialect.name == "sqlite"  # SQLAlchemy knows not all that it is asked
    noting = (
        [("checkout", begin), ("checkin", end)] if is_sqlite else [("before_cursor_execute", note)]
    )
    for name, noted in noting:
        hooks.listen(store._engine, name, noted)
    act()
    for name, noted in noting:
        hooks.remove(store._engine, name, noted)
    return [text for text in said if "event" in text or "person" in text]


def test_a_further_action_takes_one_statement(store: Store) -> None:
    person = store.create_person()[0]
    view(store, person, 0)
    said = statements(store, lambda: view(store, person, 1))
    assert len(said) == 1
    assert said[0].startswith("INSERT INTO event")
    assert store.state(person).history == (0, 1)
    store.decide(person, lambda _: Event("undo"))
    done = store.decide(person, lambda _: Event("redo"))
    assert done.after == store.state(person)
    assert done.after.history == (0, 1)


def test_actions_of_two_processes_are_one_after_the_other(database_url: str) -> None:
    stores = [Store(database_url), Store(database_url)]
    stores[0].migrate()
    person = stores[0].create_person()[0]
    for number in range(60):
        done = view(stores[number // 3 % 2], person, number)
        assert done.before.history == tuple(range(number))
        assert done.after.history == tuple(range(number + 1))
    assert [e.place for e in stores[0].events(person)] == list(range(1, 61))
    # What stores nothing, or is refused, is decided on what the other has stored.
    view(stores[0], person, 60)
    view(stores[1], person, 61)
    assert stores[0].decide(person, lambda _: None).after.history == tuple(range(62))
    for store in stores:
        store.close()


def test_what_is_in_memory_does_not_outlive_its_events(database_url: str) -> None:
    store, other = Store(database_url), Store(database_url)
    store.migrate()
    person = store.create_person()[0]
    for number in range(5):
        view(store, person, number)
    with other._writing() as connection:  # as after the return to an earlier copy of the database
        connection.execute(delete(events).where(events.c.place > 3))
    assert view(store, person, 7).after.history == (0, 1, 2, 7)
    with other._writing() as connection:  # the last event is another one
        late = update(events).where(events.c.place == 4)
        connection.execute(late.values(at=NOW, data={"item": 9}))
    assert view(store, person, 8).after.history == (0, 1, 2, 9, 8)
    other.delete_person(person)
    with pytest.raises(UnknownPersonError):
        view(store, person, 9)
    with store._reading() as connection:
        assert read_events(connection, person) == []
    store.close()
    other.close()


def test_a_view_of_the_store_keeps_its_own_persons_only(database_url: str) -> None:
    store = Store(database_url)
    store.migrate()
    visitor = store.create_person(with_token=True)[0]
    view(store, visitor, 0)
    with pytest.raises(UnknownPersonError):
        view(store.without_site, visitor, 1)
    assert store.state(visitor).history == (0,)
    store.close()
