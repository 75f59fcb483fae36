"""What the next model may use: views that stand, after the opt-in, of people still there."""

import pytest
from app.conftest import append

from teaser.app.people.events import Event
from teaser.app.people.learning import Visits
from teaser.app.people.store import Store
from teaser.app.people.values import Values
from teaser.errors import ParameterError


def visitor(store: Store, *events: Event) -> str:
    person_id, _ = store.create_person(with_token=True)
    for event in events:
        append(store, person_id, event)
    return person_id


def view(item: str | int, strength: float = 1.0) -> Event:
    return Event("view", {"item": item, **({} if strength == 1 else {"strength": strength})})


def seen(visits: Visits) -> list[tuple[str | int, float]]:
    return [(each.item, each.strength) for each in visits.views]


def test_nothing_is_read_unless_learning_is_switched_on(store: Store) -> None:
    visitor(store, view("a"), view("b"))
    assert store.learning.since is None
    with pytest.raises(ParameterError, match="TEASER_LEARN"):
        list(store.learning.visits())


def test_only_views_after_the_opt_in_count(store: Store) -> None:
    person = visitor(store, view("before"), view("twice"))
    store.learning.switch(True)
    since = store.learning.since
    append(store, person, view("after"))
    append(store, person, view("twice"))
    store.learning.switch(True)  # another worker, or a restart
    assert store.learning.since == since
    (found,) = store.learning.visits()
    assert seen(found) == [("after", 1.0), ("twice", 1.0)]
    assert since is not None
    assert all(each.at >= since for each in found.views)
    # The later view of "twice" is undone: the one that stands was made before the opt-in.
    append(store, person, Event("undo"))
    (found,) = store.learning.visits()
    assert seen(found) == [("after", 1.0)]
    # After a break, the views before it do not count.
    store.learning.switch(False)
    with pytest.raises(ParameterError):
        list(store.learning.visits())
    store.learning.switch(True)
    assert list(store.learning.visits()) == []


def test_only_views_that_stand_count(store: Store) -> None:
    store.learning.switch(True)
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
    (found,) = store.learning.visits()
    assert seen(found) == [("kept", 1.0), ("strong", 2.5)]
    assert found.presses == {"type=film": 2}


def test_deleted_people_and_people_of_the_api_do_not_count(store: Store) -> None:
    store.learning.switch(True)
    gone = visitor(store, view("gone"))
    of_api, _ = store.create_person()
    append(store, of_api, view("api"))
    for number in range(60):  # more than one page of people
        visitor(store, view(number))
    store.delete_person(gone)
    items = {each.views[0].item for each in store.learning.visits()}
    assert items == set(range(60))
    items = {each.views[0].item for each in store.learning.visits(with_api=True)}
    assert items == {*range(60), "api"}


def test_views_among_several_actions_count_and_imported_ones_do_not(store: Store) -> None:
    store.learning.switch(True)
    state = Values(history={"imported": 1.0, "again": 2.0}, hidden={"hidden": None}).to_json()
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
    (found,) = store.learning.visits()
    assert seen(found) == [("one", 1.0), ("again", 1.0)]
    assert found.presses == {"type=film": 1, "town=Ghent": 2}
