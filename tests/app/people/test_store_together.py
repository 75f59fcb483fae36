"""Several who decide at once, in threads and processes: each decision sees the state before it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from app.conftest import append
from app.people.actions import PLUS, VIEW, kept_events

from teaser.app.people.event_log import Decided
from teaser.app.people.events import Event
from teaser.app.people.fold import fold
from teaser.app.people.state import State
from teaser.app.people.store import Store
from teaser.errors import (
    ParameterError,
    UnknownPersonError,
)


class TestManyAtOnce:
    def test_a_decision_is_made_again_after_another_that_came_first(self, store: Store) -> None:
        person, _ = store.create_person()
        other = Store(store.url)
        seen: list[State] = []

        def slow(state: State) -> Event:
            seen.append(state)
            if len(seen) == 1:  # another process is quicker; no lock of this one stops it
                append(other, person, PLUS)
            return VIEW

        done = store.decide(person, slow)
        assert seen == [State(), fold([PLUS])]
        assert done == Decided(fold([PLUS]), fold([PLUS, VIEW]), VIEW)
        assert store.state(person) == done.after
        other.close()

    def test_a_decision_that_others_precede_again_and_again_gets_its_turn(
        self, store: Store
    ) -> None:
        person, _ = store.create_person()
        other = Store(store.url)
        before, after = threading.Event(), threading.Event()
        seen: list[State] = []

        def late(state: State) -> Event:
            seen.append(state)
            if len(seen) <= 3:
                append(other, person, VIEW)
            else:  # now the person is locked: whoever comes next waits
                before.set()
                assert not after.wait(0.2)
            return PLUS

        def next_one() -> None:
            assert before.wait(20)
            append(other, person, Event("view", {"item": "i2"}))
            after.set()

        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(next_one)
            done = store.decide(person, late)
            waiting.result()
        assert [state.n_events for state in seen] == [0, 1, 2, 3]
        assert done.after.n_events == 4
        assert store.state(person).history == ("i1", "i2")
        other.close()

    def test_presses_at_once_on_one_person_are_all_stored(self, store: Store) -> None:
        person_id, _ = store.create_person()

        def view(number: int) -> State:
            return append(store, person_id, Event("view", {"item": number}))

        with ThreadPoolExecutor(16) as pool:
            list(pool.map(view, range(64)))
        assert set(store.state(person_id).history) == set(range(64))
        assert [e.place for e in store.events(person_id)] == list(range(1, 65))

    def test_a_bound_holds_however_many_press_at_once(self, store: Store) -> None:
        person_id, _ = store.create_person()

        def press(_: int) -> bool:
            try:
                append(store, person_id, PLUS)
            except ParameterError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            done = list(pool.map(press, range(12)))
        assert sum(done) == 5
        assert store.state(person_id).presses == {"town=Ghent": 5}

    def test_whoever_is_deleted_meanwhile_is_unknown(self, store: Store) -> None:
        person_id, _ = store.create_person()

        def act(number: int) -> type[Exception] | None:
            try:
                if number == 12:
                    store.delete_person(person_id)
                else:
                    append(store, person_id, Event("view", {"item": number}))
            except UnknownPersonError:
                return UnknownPersonError
            return None

        with ThreadPoolExecutor(8) as pool:
            done = list(pool.map(act, range(40)))
        assert done[12] is None
        assert set(done) <= {None, UnknownPersonError}
        with pytest.raises(UnknownPersonError):
            append(store, person_id, VIEW)
        assert kept_events(store) == []
