"""What was acknowledged is stored, on both databases; what the database refuses is said."""

import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from app.conftest import PLUS, VIEW, append, people_with_events
from sqlalchemy import create_engine, insert, inspect, text

from teaser.app.state import Draft, Event, State, state_of, time_text
from teaser.app.store import (
    MAX_SHARES,
    Decided,
    Store,
    Visits,
    share_id_of,
    study_participant,
    study_session,
)
from teaser.errors import LimitError, ParameterError, UnknownNameError


def shown(state: State) -> State:
    """Return what a link shows of a state: nobody can undo anything there."""
    return replace(state, undoable=None, redoable=None)


class TestPeople:
    def test_ids_and_texts_of_any_script_come_back_as_they_were(self, store: Store) -> None:
        person_id = store.create_person()
        for item in (17, "17", "Liège ☂", "a\x00b", 2**62):
            append(store, person_id, Event("view", {"item": item}))
        state = append(store, person_id, Event("press", {"presses": {"town=Liège=☂": -2}}))
        assert store.state(person_id) == state
        assert state.history == (17, "17", "Liège ☂", "a\x00b", 2**62)

    def test_a_deleted_person_is_gone_with_all_that_was_kept(self, store: Store) -> None:
        token = secrets.token_urlsafe(32)
        person_id = store.create_person(token)
        other = store.create_person()
        append(store, person_id, VIEW)
        append(store, other, VIEW)
        shared = store.make_share(person_id)[0]
        store.delete_person(person_id)
        with pytest.raises(UnknownNameError, match="no such person"):
            store.state(person_id)
        with pytest.raises(UnknownNameError, match="no such person"):
            append(store, person_id, VIEW)
        with pytest.raises(UnknownNameError, match="no such person"):
            store.delete_person(person_id)
        assert store.find_person(token) is None
        assert store.shared_state(shared) is None
        assert people_with_events(store) == [other]

    def test_people_not_seen_for_long_are_removed_and_nobody_else(self, database_url: str) -> None:
        now = datetime(2026, 1, 1, tzinfo=UTC)
        store = Store(database_url, clock=lambda: now)
        store.migrate()
        idle, active, quiet, studied = (store.create_person() for _ in range(4))
        for person_id in (idle, active):
            append(store, person_id, VIEW)
        token = store.make_share(idle)[0]
        session = {"participant_id": "p", "position": 0, "arm": "a", "person_id": studied}
        participant = {"id": "p", "study": "s", "mode": "real", "place": 0, "code_hash": "h"}
        participant |= {"arm_order": 0, "language": "en", "consent": "c", "step": 0, "version": 0}
        participant |= {"created_at": now, "active_at": now, "hashes": {}, "state": {}}
        store.database.write(lambda c: c.execute(insert(study_participant).values(participant)))
        store.database.write(lambda c: c.execute(insert(study_session).values(session)))
        many = [store.create_person() for _ in range(120)]
        now += timedelta(days=20)
        append(store, active, VIEW)
        new = store.create_person()
        now += timedelta(days=11)
        assert store.remove_unseen(40) == 0
        assert store.remove_unseen(30) == 122
        for person_id in (idle, quiet, *many):
            with pytest.raises(UnknownNameError):
                store.state(person_id)
        assert store.shared_state(token) is None
        assert store.state(active).n_events == 2
        assert store.state(new) == store.state(studied) == State()
        assert store.remove_unseen(30) == 0
        store.close()

    def test_no_more_is_kept_than_allowed(self, database_url: str) -> None:
        store = Store(database_url, max_events=3)
        store.migrate()
        person_id = store.create_person()
        for _ in range(3):
            append(store, person_id, VIEW)
        with pytest.raises(LimitError) as raised:
            append(store, person_id, PLUS)
        assert raised.value.facts["limit"] == 3
        assert len(store.export(person_id).events) == 3
        store.close()


class TestSecrets:
    def test_no_more_links_than_allowed(self, store: Store) -> None:
        person = store.create_person()
        tokens = [store.make_share(person)[0] for _ in range(MAX_SHARES)]
        with pytest.raises(LimitError) as raised:
            store.make_share(person)
        assert raised.value.facts["limit"] == MAX_SHARES
        store.revoke_share(person, share_id_of(tokens[0]))
        assert store.make_share(person)[0]

    def test_one_token_makes_one_person_however_many_bring_it(self, store: Store) -> None:
        token = "t" * 43
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda _: store.create_person(token), range(8)))
        assert len(set(made)) == 1
        assert made[0] == store.find_person(token)

    def test_keys_work_until_revoked(self, store: Store) -> None:
        key, other = store.create_key("site"), store.create_key("batch")
        assert key.startswith("tk_")
        assert store.key_name(key) == "site"
        assert store.key_name(key + "x") is None
        store.revoke_key("site")
        assert store.key_name(key) is None
        assert store.key_name(other) == "batch"
        listed = store.keys()
        assert [(name, gone is None) for name, _, gone in listed] == [
            ("site", False),
            ("batch", True),
        ]
        assert all(made.utcoffset() == timedelta(0) for _, made, _ in listed)

    @pytest.mark.parametrize("name", ["", "  ", "x" * 101])
    def test_a_key_needs_a_sensible_name(self, store: Store, name: str) -> None:
        with pytest.raises(ParameterError, match="name of 1 to 100"):
            store.create_key(name)

    def test_a_key_is_named_and_revoked_once(self, store: Store) -> None:
        store.create_key("site")
        with pytest.raises(ParameterError, match="already"):
            store.create_key("site")
        store.revoke_key("site")
        with pytest.raises(ParameterError, match="no key named"):
            store.revoke_key("site")

    def test_no_secret_is_in_the_database(self, store: Store) -> None:
        token = secrets.token_urlsafe(32)
        person_id = store.create_person(token)
        told = [token, store.create_key("site"), store.make_share(person_id)[0]]
        engine = create_engine(store.url)
        with engine.connect() as connection:
            kept = str(
                [
                    connection.execute(text(f"SELECT * FROM {name}")).all()  # noqa: S608
                    for name in inspect(connection).get_table_names()
                ]
            )
        engine.dispose()
        assert person_id in kept
        assert store.signing_key.decode() in kept
        assert not [secret for secret in told if secret in kept]


def test_what_ends_is_gone_when_its_time_has_come(database_url: str) -> None:
    now = datetime(2026, 11, 16, 12, tzinfo=UTC)
    store = Store(database_url, clock=lambda: now)
    store.migrate()
    person_id = store.create_person()
    until = time_text(now + timedelta(days=1))
    append(store, person_id, Event("hide", {"tag": "type=film", "until": until}))
    pressed = append(store, person_id, Event("press", {"presses": {"a=b": 2}, "until": until}))
    assert (pressed.presses, pressed.hidden_tags) == ({"a=b": 2}, ("type=film",))
    token, _ = store.make_share(person_id)
    now += timedelta(days=1)
    after = store.state(person_id)
    assert (after.presses, after.hidden_tags, after.ends) == ({}, (), ())
    assert store.shared_state(token) == shown(after)
    assert store.last_action(person_id, 2)[0].hidden_tags == ()
    with pytest.raises(UnknownNameError, match="not hidden"):
        append(store, person_id, Event("unhide", {"tag": "type=film"}))
    # Time does not stand in the way of undo.
    assert append(store, person_id, Event("undo")).undoable == Event(
        "hide", {"tag": "type=film", "until": until}
    )
    store.close()


class TestManyAtOnce:
    def test_a_decision_is_made_again_after_another_that_came_first(self, store: Store) -> None:
        person = store.create_person()
        other = Store(store.url)
        seen: list[State] = []

        def slow(state: State) -> Event:
            seen.append(state)
            if len(seen) == 1:  # another process is quicker; no lock of this one stops it
                append(other, person, PLUS)
            return VIEW

        done = store.decide(person, slow)
        assert seen == [State(), state_of([PLUS])]
        assert done == Decided(state_of([PLUS]), state_of([PLUS, VIEW]), VIEW)
        assert store.state(person) == done.after
        other.close()

    def test_whoever_is_deleted_meanwhile_is_unknown(self, store: Store) -> None:
        person_id = store.create_person()

        def act(number: int) -> str | None:
            try:
                if number == 12:
                    store.delete_person(person_id)
                else:
                    append(store, person_id, Event("view", {"item": number}))
            except UnknownNameError as error:
                return error.kind
            return None

        with ThreadPoolExecutor(8) as pool:
            done = list(pool.map(act, range(40)))
        assert done[12] is None
        assert set(done) <= {None, "person"}
        with pytest.raises(UnknownNameError, match="no such person"):
            append(store, person_id, VIEW)
        assert people_with_events(store) == []


def visitor(store: Store, *events: Event) -> str:
    person_id = store.create_person(secrets.token_urlsafe(32))
    for event in events:
        append(store, person_id, event)
    return person_id


def view(item: str | int, strength: float = 1.0) -> Event:
    return Event("view", {"item": item, **({} if strength == 1 else {"strength": strength})})


def seen(visits: Visits) -> list[tuple[str | int, float]]:
    return [(each.item, each.strength) for each in visits.views]


def test_nothing_is_read_unless_learning_is_switched_on(store: Store) -> None:
    visitor(store, view("a"), view("b"))
    assert store.learn_since is None
    with pytest.raises(ParameterError, match="TEASER_LEARN"):
        list(store.visits())


def test_only_views_after_the_opt_in_count(store: Store) -> None:
    person = visitor(store, view("before"), view("twice"))
    store.switch_learning(True)
    since = store.learn_since
    append(store, person, view("after"))
    append(store, person, view("twice"))
    store.switch_learning(True)  # another worker, or a restart
    assert store.learn_since == since
    (found,) = store.visits()
    assert seen(found) == [("after", 1.0), ("twice", 1.0)]
    assert since is not None
    assert all(each.at >= since for each in found.views)
    # The later view of "twice" is undone: the one that stands was made before the opt-in.
    append(store, person, Event("undo"))
    (found,) = store.visits()
    assert seen(found) == [("after", 1.0)]
    # After a break, the views before it do not count.
    store.switch_learning(False)
    with pytest.raises(ParameterError):
        list(store.visits())
    store.switch_learning(True)
    assert list(store.visits()) == []


def test_only_views_that_stand_count(store: Store) -> None:
    store.switch_learning(True)
    visitor(
        store,
        view("kept"),
        view("strong", 2.5),
        view("disliked", -1),
        view("removed"),
        Event("remove", {"item": "removed"}),
        view("hidden"),
        Event("hide", {"item": "hidden"}),
        Event("press", {"presses": {"type=film": 2}}),
        view("undone"),
        Event("undo"),
    )
    visitor(store, view("forgotten"), Event("reset"))
    (found,) = store.visits()
    assert seen(found) == [("kept", 1.0), ("strong", 2.5)]
    assert found.presses == {"type=film": 2}


def test_deleted_people_and_people_of_the_api_do_not_count(store: Store) -> None:
    store.switch_learning(True)
    gone = visitor(store, view("gone"))
    of_api = store.create_person()
    append(store, of_api, view("api"))
    for number in range(60):  # more than one page of people
        visitor(store, view(number))
    store.delete_person(gone)
    items = {each.views[0].item for each in store.visits()}
    assert items == set(range(60))
    items = {each.views[0].item for each in store.visits(with_api=True)}
    assert items == {*range(60), "api"}


def test_views_among_several_actions_count_and_imported_ones_do_not(store: Store) -> None:
    store.switch_learning(True)
    state = Draft(history={"imported": 1.0, "again": 2.0}, hidden={"hidden": None}).to_json()
    both = [["view", {"item": "one"}], ["hide", {"item": "two"}], ["view", {"item": "two"}]]
    visitor(
        store,
        view("forgotten"),
        Event("import", {"state": state}),
        Event("several", {"actions": [*both, ["press", {"presses": {"type=film": 1}}]]}),
        view("again"),
        view("hidden"),
        Event("make_feed", {"feed": "Friday"}),
        Event("press", {"presses": {"town=Ghent": 2}}),
        Event("switch_feed", {"feed": ""}),
    )
    (found,) = store.visits()
    assert seen(found) == [("one", 1.0), ("again", 1.0)]
    assert found.presses == {"type=film": 1, "town=Ghent": 2}
