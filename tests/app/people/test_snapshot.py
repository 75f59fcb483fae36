"""Snapshots: a state read from one is the state of all events, wherever it was taken."""

import json
import sqlite3
from datetime import datetime
from functools import partial

import pytest
from app.conftest import append
from app.people.test_fold import COURSES, NOWS, possible
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, select, text, update

from teaser.app.database.deadline import StoreUse, using
from teaser.app.people import snapshot as module
from teaser.app.people.events import Event
from teaser.app.people.fold import StateFold, fold
from teaser.app.people.snapshot import restored, stored
from teaser.app.people.state import State
from teaser.app.people.store import Store
from teaser.app.people.tables import event as events
from teaser.app.people.tables import snapshot

UNDO, REDO = Event("undo"), Event("redo")
WALKS = st.lists(st.sampled_from([UNDO, REDO]), max_size=12)


def saved(folded: StateFold) -> StateFold:
    """Return a fold as it comes back from the database."""
    return restored(folded.n_events, json.loads(json.dumps(stored(folded))))


@pytest.fixture
def reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots after every fourth event."""
    monkeypatch.setattr("teaser.app.people.snapshot.REACH", 4)
    monkeypatch.setattr("teaser.app.people.store.REACH", 4)
    monkeypatch.setattr("teaser.app.people.event_log.REACH", 4)


@settings(max_examples=80)
@given(COURSES.map(possible), COURSES, WALKS, st.integers(0, 6), NOWS)
def test_a_fold_that_goes_on_from_a_snapshot_is_the_fold_of_all_events(
    earlier: list[Event], later: list[Event], walk: list[Event], reach: int, at: datetime | None
) -> None:
    folded = StateFold(earlier)
    folded.narrow(reach)
    back = saved(folded)
    assert back.is_whole
    assert back.state_at(at) == fold(earlier, at)
    course = [*earlier]
    for event in (*walk, *later):
        course.append(event)
        back.add(event)
        if back.is_whole:
            whole = fold(course, at)
            assert back.state_at(at) == whole
            assert list(back.state_at(at).presses) == list(whole.presses)
            assert list(back.state_at(at).feeds) == list(whole.feeds)
            back = saved(back) if len(course) % 3 == 0 else back
        else:  # it says so, and is not asked again
            return


@settings(max_examples=50)
@given(COURSES.map(possible), st.integers(0, 6))
def test_undo_and_redo_go_as_far_as_promised(course: list[Event], reach: int) -> None:
    for kind in (UNDO, REDO):
        folded = StateFold(course)
        folded.narrow(reach)
        back = restored(folded.n_events, stored(folded))
        for steps in range(1, reach + 1):
            back.add(kind)
            assert back.is_whole
            assert back.state_at(None) == fold([*course, *[kind] * steps])


def long_course() -> list[Event]:
    """Return events with a walk far back and forth."""
    views = [Event("view", {"item": f"i{n}"}) for n in range(14)]
    press = Event("press", {"presses": {"town=Ghent": 1, "type=film": -1}})
    feed = [Event("make_feed", {"feed": "Friday"}), Event("hide", {"tag": "type=film"})]
    walk = [*[UNDO] * 11, *[REDO] * 9, press, Event("reset"), UNDO, *[UNDO] * 9]
    return [*views, *feed, press, *walk]


def chosen(event: Event, _: State) -> Event:
    return event


def rows_of(store: Store) -> list[tuple[int, int]]:
    engine = create_engine(store.url)
    with engine.connect() as connection:
        query = select(snapshot.c.place, snapshot.c.version).order_by(snapshot.c.place)
        found = [tuple(row) for row in connection.execute(query)]
    engine.dispose()
    return found


@pytest.mark.usefixtures("reach")
class TestStored:
    def test_every_state_is_that_of_all_events_and_few_rows_stay(self, store: Store) -> None:
        person, _ = store.create_person()
        course = long_course()
        links = {}
        for n, event in enumerate(course, 1):
            done = store.decide(person, partial(chosen, event))
            assert (done.before, done.after) == (fold(course[: n - 1]), fold(course[:n]))
            assert store.state(person) == done.after
            assert store.last_action(person, n) == (done.before, event)
            if n in (3, 7, 8, 21):
                links[n] = store.make_share(person)[0]
        assert rows_of(store)[-1][0] > len(course) - 4
        assert len(rows_of(store)) <= 2 + len(links)
        for place, token in links.items():
            assert store.shared_state(token) == fold(course[:place])
        for until in range(len(course)):
            assert store.state(person, until=until) == fold(course[:until])

    def test_a_read_takes_few_events_from_the_database(self, store: Store) -> None:
        person, _ = store.create_person()
        course = long_course()
        for event in course:
            append(store, person, event)
        token = store.make_share(person)[0]
        engine = create_engine(store.url)
        with engine.begin() as connection:  # what is not read cannot spoil the state
            spoilt = update(events).where(events.c.place <= len(course) - 4)
            connection.execute(spoilt.values(kind="reset"))
        engine.dispose()
        assert store.state(person) == store.shared_state(token) == fold(course)
        assert append(store, person, UNDO) == fold([*course, UNDO])

    def test_snapshots_of_another_version_are_not_read(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        person, _ = store.create_person()
        course = long_course()
        for event in course:
            append(store, person, event)
        engine = create_engine(store.url)
        with engine.begin() as connection:
            connection.execute(update(snapshot).values(version=0, data={"from": "before"}))
        engine.dispose()
        assert store.state(person) == fold(course)
        assert rows_of(store) == [(len(course), module.VERSION)]  # made by the read

    def test_people_of_before_have_one_after_the_first_read(self, store: Store) -> None:
        person, _ = store.create_person()
        course = long_course()
        for event in course:
            append(store, person, event)
        token = store.make_share(person)[0]
        engine = create_engine(store.url)
        with engine.begin() as connection:
            connection.execute(text("DELETE FROM snapshot"))
        engine.dispose()
        assert store.shared_state(token) == fold(course)
        assert [place for place, _ in rows_of(store)] == [len(course)]

    def test_a_deleted_person_has_none(self, store: Store) -> None:
        person, _ = store.create_person()
        for _ in range(6):
            append(store, person, Event("view", {"item": "i1"}))
        assert rows_of(store)
        store.delete_person(person)
        assert rows_of(store) == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_one_that_must_wait_takes_little_of_the_time_of_a_request(
    database_url: str, reach: None
) -> None:
    store = Store(database_url, timeout=2.0)
    store.migrate()
    person_id, _ = store.create_person()
    for number in range(5):
        append(store, person_id, Event("view", {"item": number}))
    other = sqlite3.connect(database_url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("DELETE FROM snapshot")
    other.execute("BEGIN IMMEDIATE")
    with using(StoreUse(2.0)):
        assert store.state(person_id).n_events == 5
        assert store.last_action(person_id, 5)[0].n_events == 4  # there is time left for it
    assert not store.is_hanging
    other.close()
    store.close()
