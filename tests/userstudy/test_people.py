"""People of a study in a database: one place each, balanced orders, frozen plans, withdrawal."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from app.conftest import connected
from sqlalchemy import func, select

from teaser.app.state import Event
from teaser.app.store import Store, metadata
from teaser.errors import ParameterError, UnknownNameError
from teaser.userstudy.plan import UserStudy
from teaser.userstudy.store import MAX_ROWS, Change, StudyStore, spaced_code

NOW = datetime(2026, 11, 18, tzinfo=UTC)


@pytest.fixture
def study(write: Callable[..., Path]) -> UserStudy:
    return UserStudy.read(write())


def orders(people: StudyStore) -> Counter[int]:
    return Counter(row["arm_order"] for row in people.rows()["participants"])


def count_rows(store: Store) -> dict[str, int]:
    """Return how many rows each table has."""
    with connected(store) as connection:
        return {
            name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in metadata.tables.items()
        }


def test_200_at_once_get_one_place_each_and_balanced_orders(store: Store, study: UserStudy) -> None:
    people = StudyStore(store, replace(study, people=200))

    def come(n: int) -> Any:
        # Every fourth one comes twice, as with two tabs.
        return people.join(f"token {n - n % 4 // 3}", language="en")

    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(come, range(200)))
    assert None not in found
    assert len({each.id for each in found}) == 150
    places = [row["place"] for row in people.rows()["participants"]]
    assert places == list(range(1, 151))
    counts = orders(people)
    assert len(counts) == 6
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_plan_is_full_with_its_number_of_people(store: Store, study: UserStudy) -> None:
    people = StudyStore(store, replace(study, people=7))
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: people.join(f"{n}", language="en"), range(20)))
    assert sum(each is not None for each in found) == 7
    assert people.is_full()
    assert count_rows(store)["study_participant"] == 7


def test_places_of_drop_outs_are_given_to_others_and_orders_stay_balanced(
    store: Store, study: UserStudy
) -> None:
    now = NOW
    people = StudyStore(store, replace(study, people=24), clock=lambda: now)
    came = [people.join(f"first {n}", language="en") for n in range(24)]
    for each in came[:9]:  # who is done; the others never come back
        assert each is not None
        people.act(each, lambda _: Change(len(study.steps(0)) - 1))
    assert people.join("late", language="en") is None
    now = NOW + timedelta(hours=2)
    later = [people.join(f"later {n}", language="en") for n in range(20)]
    assert sum(each is not None for each in later) == 15
    done = [each for each in (*came[:9], *later) if each is not None]
    counts = Counter(each.order for each in done)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_seed_decides_on_the_orders(store: Store, study: UserStudy) -> None:
    def assigned(name: str, seed: int) -> list[int]:
        people = StudyStore(store, replace(study, name=name, seed=seed))
        found = [people.join(f"{name} {n}", language="en") for n in range(12)]
        return [each.order for each in found if each is not None]

    assert assigned("one", 1) == assigned("two", 1)
    assert assigned("three", 2) != assigned("one", 1)


def test_a_changed_study_is_refused_after_the_first_participant(
    store: Store, write: Callable[..., Path], tmp_path: Path, events: Path
) -> None:
    pilot = StudyStore(store, UserStudy.read(write()), "pilot")
    pilot.join("somebody", language="en")
    changed = UserStudy.read(write(("people = 60 ", "people = 61 ")))
    people = StudyStore(store, changed)
    people.check_frozen()  # a pilot does not freeze
    assert people.join("a token", language="en") is not None
    StudyStore(store, changed).check_frozen()
    other = StudyStore(store, UserStudy.read(write()))
    with pytest.raises(ParameterError, match=r"frozen since .* this changed: file") as error:
        other.check_frozen()
    assert "--pilot" in str(error.value)
    with pytest.raises(ParameterError, match="frozen"):
        other.join("another", language="en")
    assert len(people.rows()["participants"]) == 1
    (tmp_path / "events").unlink()
    (tmp_path / "events").mkdir()
    for path in events.iterdir():
        (tmp_path / "events" / path.name).write_bytes(path.read_bytes())
    manifest = tmp_path / "events" / "manifest.json"
    manifest.write_text(manifest.read_text() + " ")
    again = UserStudy.read(write(("people = 60 ", "people = 61 ")))
    with pytest.raises(ParameterError, match="this changed: model of arm list, model of"):
        StudyStore(store, again).check_frozen()
    StudyStore(store, again, "pilot").check_frozen()


def test_who_acts_very_often_can_still_go_on(store: Store, study: UserStudy) -> None:
    people = StudyStore(store, study)
    found = people.join("token", language="en")
    assert found is not None
    many: list[tuple[str, dict[str, Any]]] = [("shown", {})] * (MAX_ROWS - 1)
    people.act(found, lambda _: Change(log=many))
    people.act(found, lambda _: Change(log=[("shown", {})]))  # not logged any more
    assert people.act(found, lambda _: Change(1, log=[("done", {})])).step == 1
    assert len(people.rows()["log"]) == MAX_ROWS + 1


def test_withdrawal_leaves_no_row_of_the_person_and_all_of_the_others(
    store: Store, study: UserStudy
) -> None:
    people = StudyStore(store, study)
    empty = count_rows(store)
    other = people.join("other", language="en")
    with_other = count_rows(store)
    found = people.join("token", language="en")
    assert found is not None
    assert other is not None
    people.act(found, lambda _: Change(1, log=[("done", {})], answers={"age": 30.0}))
    for person_id in found.persons.values():
        store.decide(person_id, lambda _: Event("view", {"item": "e0001"}))
    assert count_rows(store) != with_other
    code = spaced_code(people.withdrawal_code(found.id))
    assert not people.withdraw("AAAA-BBBB-CCCC-DDDD")
    assert people.withdraw(f" {code.lower()} ")
    assert count_rows(store) == with_other
    with pytest.raises(UnknownNameError):
        people.get(found.id)
    assert people.withdraw(people.withdrawal_code(other.id))
    assert count_rows(store) == empty
