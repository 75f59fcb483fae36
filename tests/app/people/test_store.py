"""What was acknowledged is stored, on both databases; what the database refuses is said."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from app.conftest import Postgres, append
from forked import forked
from sqlalchemy import column, create_engine, insert, inspect, table, text

from teaser.app.people.events import Event, time_text
from teaser.app.people.fold import fold
from teaser.app.people.keys import hash_of
from teaser.app.people.shares import MAX_SHARES, share_id_of
from teaser.app.people.state import State
from teaser.app.people.store import Decided, Store
from teaser.app.people.tables import event as events
from teaser.app.people.tables import metadata, person, snapshot
from teaser.errors import (
    ActionLimitError,
    ParameterError,
    ShareLimitError,
    StoreError,
    TagNotHiddenError,
    UnknownPersonError,
    UnknownShareError,
)

VIEW = Event("view", {"item": "i1"})
PLUS = Event("press", {"presses": {"town=Ghent": 1}})


def kept_events(store: Store) -> list[str]:
    """Return whose events are in the database."""
    engine = create_engine(store.url)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT person_id FROM event")).scalars().all()
    engine.dispose()
    return list(rows)


class TestPeople:
    def test_a_new_person_has_done_nothing(self, store: Store) -> None:
        person_id, token = store.create_person()
        assert store.state(person_id) == State()
        assert token is None

    def test_acts_are_kept_in_order_and_folded(self, store: Store) -> None:
        person_id, _ = store.create_person()
        append(store, person_id, VIEW)
        after = append(store, person_id, PLUS)
        assert after.history == ("i1",)
        assert after.presses == {"town=Ghent": 1}
        assert store.state(person_id) == after
        assert [(e.place, e.kind, e.data) for e in store.events(person_id)] == [
            (1, "view", {"item": "i1"}),
            (2, "press", {"presses": {"town=Ghent": 1}}),
        ]

    def test_a_decision_is_given_the_state_and_returns_both_states(self, store: Store) -> None:
        person, _ = store.create_person()
        undo = Event("undo")
        given: list[State] = []

        def decision(state: State) -> Event | None:
            given.append(state)
            return PLUS if not state.presses else undo if state.undoable else None

        assert store.decide(person, decision) == Decided(State(), fold([PLUS]), PLUS)
        both = fold([PLUS, undo])
        assert store.decide(person, decision) == Decided(fold([PLUS]), both, undo)
        assert store.decide(person, lambda _: None) == Decided(both, both, None)
        assert given == [State(), fold([PLUS])]
        assert store.state(person) == both

    def test_times_are_of_now_and_name_their_zone(self, store: Store) -> None:
        person_id, _ = store.create_person()
        before = datetime.now(UTC)
        append(store, person_id, VIEW)
        at = store.events(person_id)[0].at
        assert at.utcoffset() == timedelta(0)
        assert before <= at <= datetime.now(UTC)

    def test_a_state_can_be_seen_as_it_was(self, store: Store) -> None:
        person_id, _ = store.create_person()
        earlier = append(store, person_id, VIEW)
        append(store, person_id, PLUS)
        assert store.state(person_id, until=1) == earlier

    def test_ids_and_texts_of_any_script_come_back_as_they_were(self, store: Store) -> None:
        person_id, _ = store.create_person()
        for item in (17, "17", "Liège ☂", "a\x00b", 2**62):
            append(store, person_id, Event("view", {"item": item}))
        state = append(store, person_id, Event("press", {"presses": {"town=Liège=☂": -2}}))
        assert store.state(person_id) == state
        assert state.history == (17, "17", "Liège ☂", "a\x00b", 2**62)

    def test_what_cannot_happen_is_refused_and_not_kept(self, store: Store) -> None:
        person_id, _ = store.create_person()
        for action in (
            Event("undo"),
            Event("remove", {"item": "i1"}),
            Event("press", {"presses": {"town=Ghent": 6}}),
            Event("dance"),
        ):
            with pytest.raises(ParameterError):
                append(store, person_id, action)
        assert store.events(person_id) == []

    def test_a_deleted_person_is_gone_with_all_that_was_kept(self, store: Store) -> None:
        person_id, token = store.create_person(with_token=True)
        other, _ = store.create_person()
        append(store, person_id, VIEW)
        append(store, other, VIEW)
        shared = store.make_share(person_id)[0]
        store.delete_person(person_id)
        with pytest.raises(UnknownPersonError):
            store.state(person_id)
        with pytest.raises(UnknownPersonError):
            append(store, person_id, VIEW)
        with pytest.raises(UnknownPersonError):
            store.delete_person(person_id)
        assert store.find_person(token or "") is None
        assert store.shared_state(shared) is None
        assert kept_events(store) == [other]

    def test_no_more_is_kept_than_allowed(self, database_url: str) -> None:
        store = Store(database_url, max_events=3)
        store.migrate()
        person_id, _ = store.create_person()
        for _ in range(3):
            append(store, person_id, VIEW)
        with pytest.raises(ActionLimitError) as raised:
            append(store, person_id, PLUS)
        assert raised.value.limit == 3
        assert len(store.events(person_id)) == 3
        store.close()


class TestSecrets:
    def test_ids_and_tokens_are_256_random_bits(self, store: Store) -> None:
        made = [store.create_person(with_token=True) for _ in range(20)]
        secrets = [text for pair in made for text in pair]
        assert len(set(secrets)) == 40
        assert all(text is not None and len(text) == 43 for text in secrets)

    def test_a_person_is_found_by_their_token_alone(self, store: Store) -> None:
        mine, token = store.create_person(with_token=True)
        other, _ = store.create_person(with_token=True)
        assert token is not None
        assert store.find_person(token) == mine
        assert store.find_person(token[:-1]) is None
        assert store.find_person(other) is None
        assert store.find_person("") is None

    def test_a_share_shows_its_moment_and_names_nobody(self, store: Store) -> None:
        person_id, _ = store.create_person()
        then = append(store, person_id, VIEW)
        token = store.make_share(person_id)[0]
        append(store, person_id, PLUS)
        assert store.shared_state(token) == then
        assert store.shared_state(person_id) is None
        assert store.find_person(token) is None

    def test_shares_are_listed_and_end_one_by_one(self, store: Store) -> None:
        person, other = store.create_person()[0], store.create_person()[0]
        assert store.shares(person) == []
        first = store.make_share(person)[0]
        append(store, person, Event("view", {"item": "i1"}))
        second, made = store.make_share(person)
        listed = store.shares(person)
        assert [s.share_id for s in listed] == [share_id_of(first), share_id_of(second)]
        assert [s.place for s in listed] == [0, 1]
        assert listed[1] == made
        assert store.shares(other) == []
        with pytest.raises(UnknownShareError):
            store.revoke_share(other, share_id_of(first))
        store.revoke_share(person, share_id_of(first))
        assert store.shared_state(first) is None
        assert store.shared_state(second) == store.state(person)
        for wrong in (share_id_of(first), "", "%", share_id_of(second)[:8]):
            with pytest.raises(UnknownShareError):
                store.revoke_share(person, wrong)
        assert store.shared_state(second) is not None
        kept = store.kept(person)
        assert (kept.shares, kept.n_events) == (store.shares(person), 1)

    def test_no_more_links_than_allowed(self, store: Store) -> None:
        person = store.create_person()[0]
        tokens = [store.make_share(person)[0] for _ in range(MAX_SHARES)]
        with pytest.raises(ShareLimitError) as raised:
            store.make_share(person)
        assert raised.value.limit == MAX_SHARES
        store.revoke_share(person, share_id_of(tokens[0]))
        assert store.make_share(person)[0]

    def test_one_token_makes_one_person_however_many_bring_it(self, store: Store) -> None:
        token = "t" * 43
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda _: store.create_person(token=token), range(8)))
        assert len(set(made)) == 1
        assert made[0] == (store.find_person(token), token)

    def test_keys_work_until_revoked(self, store: Store) -> None:
        key, other = store.create_key("site"), store.create_key("batch")
        assert key.startswith("tk_")
        assert store.has_key(key)
        assert not store.has_key(key + "x")
        store.revoke_key("site")
        assert not store.has_key(key)
        assert store.has_key(other)
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
        person_id, token = store.create_person(with_token=True)
        secrets = [token or "", store.create_key("site"), store.make_share(person_id)[0]]
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
        assert not [secret for secret in secrets if secret in kept]


class TestSite:
    def test_its_people_are_unknown_to_whoever_goes_by_ids(self, store: Store) -> None:
        narrow = store.without_site
        hers, token = store.create_person(with_token=True)
        own, _ = narrow.create_person()
        append(store, hers, VIEW)
        for ask in (
            lambda: narrow.state(hers),
            lambda: narrow.events(hers),
            lambda: narrow.kept(hers),
            lambda: append(narrow, hers, PLUS),
            lambda: narrow.make_share(hers),
            lambda: narrow.shares(hers),
            lambda: narrow.revoke_share(hers, "0" * 16),
            lambda: narrow.delete_person(hers),
        ):
            with pytest.raises(UnknownPersonError):
                ask()
        assert store.find_person(token or "") == hers
        assert store.state(hers).history == ("i1",)
        assert append(narrow, own, PLUS) == store.state(own)

    def test_all_sign_with_one_key_also_after_a_new_start(self, store: Store) -> None:
        key = store.signing_key
        again = Store(store.url)
        again.migrate()
        assert again.signing_key == key
        assert len(key) == 43
        again.close()


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


ENDLESS = """
import sys
from teaser.app.people.events import Event
from teaser.app.people.store import Store

store = Store(sys.argv[1])
number = int(sys.argv[3])
while True:
    view = Event("view", {"item": number})
    store.decide(sys.argv[2], lambda _: view)
    print(number, flush=True)
    number += 1
"""


def test_a_killed_process_loses_nothing_that_it_acknowledged(
    database_url: str, store: Store
) -> None:
    person_id, _ = store.create_person()
    stored: list[int] = []
    for length in (1, 7, 40):
        with forked(ENDLESS, database_url, person_id, str(len(stored))) as running:
            said = [running.stdout.readline() for _ in range(length)]
            running.kill()
            said += running.stdout.readlines()
        assert running.process.exitcode == -9
        acknowledged = int([line for line in said if line.endswith("\n")][-1])
        stored = [e.data["item"] for e in store.events(person_id)]
        assert stored == list(range(len(stored)))
        assert acknowledged + 1 <= len(stored) <= acknowledged + 2
    assert append(store, person_id, PLUS).n_events == len(stored) + 1


MIXED = """
import sys
from teaser.app.people.events import Event
from teaser.app.people.store import Store

store = Store(sys.argv[1])
number = int(sys.argv[3])
until = "2100-01-01T00:00:00+00:00"
while True:
    name = f"feed {number}"
    event = [
        Event("make_feed", {"feed": name}),
        Event("filter", {"filters": {"only": [f"tag={number}"]}}),
        Event("hide", {"tag": f"tag={number}", "until": until}),
        Event("several", {"actions": [
            ["press", {"presses": {f"tag={number}": 2}, "until": until}],
            ["drop_feed", {"feed": f"feed {number - 3}"}],
        ]}),
    ][number % 4]
    store.decide(sys.argv[2], lambda _: event)
    print(number, flush=True)
    number += 1
"""


def test_a_kill_loses_no_feed_and_nothing_hidden_that_was_acknowledged(
    database_url: str, store: Store
) -> None:
    person_id, _ = store.create_person()
    n_stored = 0
    for length in (2, 9, 150):
        with forked(MIXED, database_url, person_id, str(n_stored)) as running:
            said = [running.stdout.readline() for _ in range(length)]
            running.kill()
            said += running.stdout.readlines()
        acknowledged = int([line for line in said if line.endswith("\n")][-1])
        stored = store.events(person_id)
        n_stored = len(stored)
        assert acknowledged + 1 <= n_stored <= acknowledged + 2
        # The state of the snapshots is that of all events.
        state = store.state(person_id)
        now = datetime.now(UTC)
        assert state == fold([Event(e.kind, e.data) for e in stored], now)
        assert len(state.hidden_tags) == (n_stored + 1) // 4
        assert [e.kind for e in state.ends if e.kind == "hide"] == ["hide"] * ((n_stored + 1) // 4)


def test_a_database_of_an_earlier_version_gives_the_same_states(database_url: str) -> None:
    """Begin with the tables of before feeds, and with a snapshot that this version cannot read."""
    engine = create_engine(database_url.replace("postgresql:", "postgresql+psycopg:"))
    config = Config()
    migrations = resources.files("teaser.app.people") / "migrations"
    config.set_main_option("script_location", str(migrations))
    course = [VIEW, PLUS, Event("hide", {"item": "i2"}), Event("about", {"people": ["age=young"]})]
    person_id, at = "p" * 43, datetime.now(UTC)
    own = {"person_id": person_id}
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0003")
        connection.execute(insert(person).values(id=person_id, created_at=at))
        for place, event in enumerate(course, 1):
            row = {**own, "place": place, "kind": event.kind, "data": event.data, "at": at}
            connection.execute(insert(events).values(row))
        old = {"done": [[1, 4]], "undone": [], "base": 4, "history": ["i1"], "strengths": []}
        connection.execute(insert(snapshot).values(**own, place=4, version=1, data=old))
        link = {**own, "token_hash": hash_of("a link"), "place": 2, "created_at": at}
        connection.execute(insert(table("share", *map(column, link))).values(link))
    engine.dispose()
    new = Store(database_url)
    new.migrate()
    state = new.state(person_id)
    assert state == fold(course)
    assert (state.history, state.presses) == (("i1",), {"town=Ghent": 1})
    assert (state.hidden, state.about) == (("i2",), ("age=young",))
    assert new.shared_state("a link") == fold(course[:2])
    assert [share.feed for share in new.shares(person_id)] == [None]
    assert append(new, person_id, Event("make_feed", {"feed": "Friday"})).presses == state.presses
    new.close()


def test_what_ends_is_gone_when_its_time_has_come(database_url: str) -> None:
    now = datetime(2026, 11, 16, 12, tzinfo=UTC)
    store = Store(database_url, clock=lambda: now)
    store.migrate()
    person_id, _ = store.create_person()
    until = time_text(now + timedelta(days=1))
    append(store, person_id, Event("hide", {"tag": "type=film", "until": until}))
    pressed = append(store, person_id, Event("press", {"presses": {"a=b": 2}, "until": until}))
    assert (pressed.presses, pressed.hidden_tags) == ({"a=b": 2}, ("type=film",))
    token, _ = store.make_share(person_id)
    now += timedelta(days=1)
    after = store.state(person_id)
    assert (after.presses, after.hidden_tags, after.ends) == ({}, (), ())
    assert store.shared_state(token) == after
    assert store.last_action(person_id, 2)[0].hidden_tags == ()
    with pytest.raises(TagNotHiddenError):
        append(store, person_id, Event("unhide", {"tag": "type=film"}))
    # Time does not stand in the way of undo.
    assert append(store, person_id, Event("undo")).undoable == Event(
        "hide", {"tag": "type=film", "until": until}
    )
    store.close()


MIGRATE = """
import sys
from teaser.app.people.store import Store

sys.stdin.readline()
Store(sys.argv[1]).migrate()
"""


class TestMigrations:
    def test_they_lead_to_exactly_the_tables_that_the_code_sees(self, store: Store) -> None:
        engine = create_engine(store.url)
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            assert compare_metadata(context, metadata) == []
            assert set(inspect(connection).get_table_names()) == {
                *metadata.tables,
                "alembic_version",
            }
        engine.dispose()

    def test_twice_is_harmless(self, store: Store) -> None:
        person_id, _ = store.create_person()
        append(store, person_id, VIEW)
        store.migrate()
        assert store.state(person_id).history == ("i1",)

    def test_several_processes_may_begin_at_once(self, database_url: str) -> None:
        with ExitStack() as stack:
            running = [stack.enter_context(forked(MIGRATE, database_url)) for _ in range(4)]
            for each in running:
                print("go", file=each.stdin, flush=True)
            for each in running:
                each.process.join()
        assert [each.process.exitcode for each in running] == [0] * 4
        store = Store(database_url)
        person_id, _ = store.create_person()
        assert store.state(person_id) == State()
        store.close()


class TestTrouble:
    @pytest.mark.parametrize(
        "url",
        [
            "sqlite:////nowhere/at/all/people.db",
            "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2",
            "oracle://nobody@nowhere/none",
            "no address at all",
        ],
    )
    def test_a_database_that_cannot_be_reached_is_said(self, url: str) -> None:
        with pytest.raises(StoreError, match="database"):
            Store(url).ping()

    def test_tables_that_are_missing_are_said(self, database_url: str) -> None:
        store = Store(database_url)
        with pytest.raises(StoreError):
            store.ping()
        store.close()

    def test_a_file_that_is_no_database_is_said_and_left_alone(self, tmp_path: Path) -> None:
        file = tmp_path / "people.db"
        file.write_text("once upon a time " * 100)
        with pytest.raises(StoreError, match="not a database"):
            Store(f"sqlite:///{file}").migrate()
        assert file.read_text() == "once upon a time " * 100

    def test_a_read_only_database_refuses_and_says_so(
        self, store: Store, database_url: str, tmp_path: Path
    ) -> None:
        person_id, _ = store.create_person()
        append(store, person_id, VIEW)
        if database_url.startswith("sqlite"):
            url = f"sqlite:///file:{tmp_path / 'people.db'}?mode=ro&uri=true"
        else:
            url = f"{database_url}&options=-c%20default_transaction_read_only%3Don"
        fixed = Store(url)
        for _ in range(3):
            with pytest.raises(StoreError, match=r"read-?only"):
                append(fixed, person_id, PLUS)
        fixed.close()
        assert store.state(person_id).presses == {}

    def test_what_takes_no_writing_is_neither_ready_nor_begun_with(
        self, store: Store, database_url: str, tmp_path: Path
    ) -> None:
        if database_url.startswith("sqlite"):
            url = f"sqlite:///file:{tmp_path / 'people.db'}?mode=ro&uri=true"
        else:
            url = f"{database_url}&options=-c%20default_transaction_read_only%3Don"
        fixed = Store(url)
        assert fixed.keys() == []  # it can be read
        for ask in (fixed.ping, fixed.migrate):
            with pytest.raises(StoreError, match=r"read-?only.* Let the server's user write to it"):
                ask()
        fixed.close()
        store.ping()

    def test_a_full_disk_refuses_and_loses_nothing(self, tmp_path: Path) -> None:
        store = Store(f"sqlite:///{tmp_path / 'people.db'}")
        store.migrate()
        person_id, _ = store.create_person()
        with store._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=1")
        stored: list[State] = []

        def fill() -> None:
            for _ in range(10_000):
                stored.append(append(store, person_id, Event("view", {"item": "x" * 200})))

        with pytest.raises(StoreError, match="full"):
            fill()
        assert len(store.events(person_id)) == len(stored) > 0
        store.close()

    def test_a_server_that_goes_away_and_comes_back(
        self, new_postgres: Callable[[], Postgres]
    ) -> None:
        server = new_postgres()
        store = Store(server.emptied())
        store.migrate()
        person_id, _ = store.create_person()
        append(store, person_id, VIEW)
        server.kill()
        for _ in range(3):
            with pytest.raises(StoreError):
                append(store, person_id, PLUS)
        server.start()
        assert append(store, person_id, PLUS).history == ("i1",)
        store.close()
