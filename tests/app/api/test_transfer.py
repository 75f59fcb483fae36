"""Data that a person takes along: an import gives the state of the export, or changes nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app.conftest import API, TestClient, error_of, new_person

HOW = ("person_id", "can_undo", "can_redo", "n_events", "note", "unmatched")
GHENT = {"tag": "town=Ghent", "steps": 3}


def state_of(person: dict[str, Any]) -> dict[str, Any]:
    """Leave out what tells who it is and how the state was reached."""
    return {name: value for name, value in person.items() if name not in HOW}


def busy_person(client: TestClient) -> str:
    """Return a person who used everything that there is."""
    person = new_person(client)
    client.post(f"{person}/views", json={"item_id": "i0"})
    client.post(f"{person}/views", json={"item_id": "i2", "strength": -0.5})
    client.post(f"{person}/presses", json=GHENT)
    client.post(f"{person}/presses", json={"tag": "town=Ghent", "steps": -2, "lasts": "week"})
    client.post(f"{person}/hidden", json={"item_id": "i6", "lasts": "today"})
    client.post(f"{person}/hidden", json={"item_id": "i7"})
    client.post(f"{person}/hidden", json={"tag": "type=film", "lasts": "week"})
    client.post(f"{person}/feeds", json={"feed": "Friday night"})
    client.put(f"{person}/variety", json={"variety": 0.5})
    client.put(f"{person}/filters", json={"only": ["town=Ghent"]})
    client.post(f"{person}/feeds", json={"feed": "with the kids"})
    client.put(f"{person}/feed", json={"feed": "Friday night"})
    client.put(f"{person}/profiling", json={"on": False})
    return person


def test_an_import_of_an_export_gives_the_same_state_and_lists(
    serve: Callable[..., TestClient],
) -> None:
    first, second = serve(), serve()  # another server with the same names
    person, other = busy_person(first), new_person(second)
    second.post(f"{other}/views", json={"item_id": "i9"})
    export = first.get(f"{person}/export").json()
    found = second.post(f"{other}/import", json=export).json()
    assert state_of(found) == state_of(first.get(person).json())
    assert (found["unmatched"], found["n_events"]) == ([], 2)
    lists = [c.get(f"{p}/recommendations").json() for c, p in ((first, person), (second, other))]
    assert lists[0] == lists[1]
    # The import is one action: undo brings back what was there, redo the import.
    assert second.post(f"{other}/undo").json()["history"] == ["i9"]
    again = second.post(f"{other}/redo").json()
    assert state_of(again) == state_of(found)
    # What was imported can be exported again.
    twice = second.get(f"{other}/export").json()
    assert state_of(twice["state"]) == state_of(found)
    assert [event["kind"] for event in twice["events"]] == ["view", "import", "undo", "redo"]


def test_names_that_the_model_does_not_have_are_listed_and_kept(
    serve: Callable[..., TestClient], events_folder: Path
) -> None:
    small, events = serve(), serve(model=events_folder)
    person = busy_person(small)
    other = new_person(events)
    found = events.post(f"{other}/import", json=small.get(f"{person}/export").json()).json()
    assert set(found["unmatched"]) == {"i0", "i2", "i6", "i7", "type=film"}
    assert state_of(found)["history"] == ["i0", "i2"]
    assert found["hidden_tags"] == ["type=film"]
    # They come back on a server that has them.
    back = new_person(small)
    exported = events.get(f"{other}/export").json()
    home = small.post(f"{back}/import", json=exported).json()
    assert home["unmatched"] == []
    assert state_of(home) == state_of(small.get(person).json())


def test_an_export_of_an_earlier_version_is_read(client: TestClient) -> None:
    person = new_person(client)
    old = {
        "person_id": "x",
        "created_at": "2025-01-01T00:00:00Z",
        "state": {
            "person_id": "x",
            "history": ["i0", "i1"],
            "presses": [GHENT],
            "hidden": ["i6"],
            "variety": 0.3,
            "can_undo": True,
            "unknown_items": [],
        },
        "shares": [],
        "events": [{"place": 1, "kind": "view"}],
    }
    found = client.post(f"{person}/import", json=old).json()
    assert (found["history"], found["presses"], found["hidden"]) == (["i0", "i1"], [GHENT], ["i6"])
    assert (found["variety"], found["balance"], found["feed"]) == (0.3, 0.5, "")


STATE: dict[str, Any] = {"history": ["i0"], "presses": [], "hidden": []}
END = {"kind": "press", "name": "town=Ghent", "steps": 1, "until": "2026-11-17T00:00:00Z"}


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, "state"),
        ([], "body"),
        ({"state": {"history": []}}, "presses"),
        ({"state": {**STATE, "history": "i0"}}, "history"),
        ({"state": {**STATE, "presses": [{"tag": "town=Ghent", "steps": 9}]}}, "steps"),
        ({"state": {**STATE, "presses": [{"tag": "Ghent", "steps": 1}]}}, "'Ghent'"),
        ({"state": {**STATE, "ends": [{**END, "until": "soon"}]}}, "'soon'"),
        ({"state": {**STATE, "ends": [{**END, "name": "Ghent"}]}}, "'Ghent'"),
        ({"state": {**STATE, "ends": [{**END, "steps": 11}]}}, "steps"),
        ({"state": {**STATE, "filters": {"when": "soon"}}}, "'soon'"),
        ({"state": {**STATE, "filters": {"color": "red"}}}, "color"),
        ({"state": {**STATE, "feeds": [{"feed": "a"}, {"feed": "A"}]}}, "name"),
        ({"state": {**STATE, "feeds": [{"feed": " a"}]}}, "' a'"),
        ({"state": {**STATE, "hidden_tags": ["film"]}}, "'film'"),
        ({"state": {**STATE, "strengths": {"i0": 0}}}, "strength"),
        ({"state": {**STATE, "order": "best"}}, "order"),
        ({"presses": [GHENT]}, "state"),  # some other file
    ],
)
def test_a_damaged_or_foreign_file_is_refused_and_changes_nothing(
    client: TestClient, sent: Any, said: str
) -> None:
    person = busy_person(client)
    before = client.get(person).json()
    answer = client.post(f"{person}/import", json=sent)
    assert said in error_of(answer, 422)["message"]
    assert client.get(person).json() == before


def test_what_is_no_json_is_said(client: TestClient) -> None:
    person = new_person(client)
    kind = {"content-type": "application/json"}
    text = json.dumps({"state": STATE})
    for body in (text[:-4], "once upon a time", "\x00\xff".encode("latin-1")):
        error_of(client.post(f"{person}/import", content=body, headers=kind), 400)


def test_a_large_export_is_taken_and_a_larger_one_refused(
    serve: Callable[..., TestClient],
) -> None:
    client = serve(max_body=2_000, max_import=50_000)
    person = new_person(client)
    export = {"state": {**STATE, "history": [f"gone {n}" for n in range(1_000)]}}
    found = client.post(f"{person}/import", json=export).json()
    assert len(found["history"]) == len(found["unmatched"]) == 1_000
    error_of(client.post(f"{person}/import", json={**export, "events": ["x" * 50_000]}), 413)
    error_of(client.post(f"{person}/wishes", json={"wishes": ["x" * 2_000]}), 413)


def test_nobody_imports_into_another(client: TestClient) -> None:
    answer = client.post(f"{API}/people/{'x' * 43}/import", json={"state": STATE})
    assert error_of(answer, 404)["code"] == "unknown_person"
