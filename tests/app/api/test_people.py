"""Persons over the API: actions, exports, imports and links."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from app.conftest import API, TestClient, error_of, new_person

HISTORY = ["i0", "i2", "i4"]
GHENT = {"tag": "town=Ghent", "steps": 3}
EMPTY_EXPORT: dict[str, Any] = {"state": {"history": [], "presses": [], "hidden": []}}


class TestPeople:
    def test_lists_and_profiles_equal_the_stateless_ones(self, client: TestClient) -> None:
        person = new_person(client)
        client.post(f"{person}/views", json={"item_id": "i3"})
        client.post(f"{person}/presses", json=GHENT)
        taste = {"history": ["i3"], "presses": [GHENT]}
        options: dict[str, Any] = {
            "k": 7,
            "where": ["type=film", "type=concert"],
            "negative_reasons": False,
            "variety": 0.4,
            "scale": "paper",
        }
        with_state = client.get(f"{person}/recommendations", params=options).json()
        assert with_state == client.post(f"{API}/recommend", json={**taste, **options}).json()
        options = {"top": 1, "features": ["town", "type"], "scale": "paper"}
        with_state = client.get(f"{person}/profile", params=options).json()
        assert with_state == client.post(f"{API}/profile", json={**taste, **options}).json()

    def test_a_view_may_have_a_strength(self, client: TestClient) -> None:
        person = new_person(client)
        given = {"i0": 1, "i2": 0.5, "i4": -0.25}
        for item_id, strength in given.items():
            view = {"item_id": item_id, "strength": strength}
            state = client.post(f"{person}/views", json=view).json()
        assert state["history"] == list(given)
        assert state["strengths"] == {"i2": 0.5, "i4": -0.25}
        for path, name, more in (
            ("recommend", "recommendations", {"k": 40}),
            ("profile", "profile", {}),
            ("explain", "explanation", {"item_id": "i7"}),
            ("origins", "origins", {"tag": "town=Ghent"}),
        ):
            stored = client.get(f"{person}/{name}", params=more).json()
            assert stored == client.post(f"{API}/{path}", json={"history": given, **more}).json()
        listed = client.get(f"{person}/recommendations", params={"k": 40}).json()
        assert not {r["item_id"] for r in listed["recommendations"]} & set(given)
        events = client.get(f"{person}/export").json()["events"]
        assert [e["strength"] for e in events] == [1.0, 0.5, -0.25]
        again = client.post(f"{person}/views", json={"item_id": "i4"}).json()
        assert again["strengths"] == {"i2": 0.5}
        assert client.post(f"{person}/undo").json()["strengths"] == state["strengths"]
        for bad, said in (
            (0, "other than 0"),
            ("1x", "must be a valid number"),
            (1e10, "less than"),
        ):
            wrong = client.post(f"{person}/views", json={"item_id": "i4", "strength": bad})
            assert said in error_of(wrong, 422)["message"]

    def test_links_are_made_listed_and_ended_one_by_one(self, client: TestClient) -> None:
        person = new_person(client)
        client.post(f"{person}/views", json={"item_id": "i0"})
        answer = client.post(f"{person}/shares")
        assert answer.status_code == 201
        first, second = answer.json(), client.post(f"{person}/shares").json()
        assert first["place"] == 1
        assert re.search(r"\bEvent 0\b", client.get(first["path"]).text)
        listed = client.get(f"{person}/shares").json()["shares"]
        assert [link["share_id"] for link in listed] == [first["share_id"], second["share_id"]]
        assert first["path"].removeprefix("/s/") not in json.dumps(listed)
        assert client.delete(f"{person}/shares/{first['share_id']}").status_code == 204
        assert client.get(first["path"]).status_code == 404
        assert client.get(second["path"]).status_code == 200
        assert len(client.get(f"{person}/shares").json()["shares"]) == 1
        said = error_of(client.delete(f"{person}/shares/{first['share_id']}"), 404)
        assert said["code"] == "unknown_share"

    def test_nobody_ends_or_sees_the_links_of_another(self, client: TestClient) -> None:
        person, other = new_person(client), new_person(client)
        made = client.post(f"{person}/shares").json()
        error_of(client.delete(f"{other}/shares/{made['share_id']}"), 404)
        assert client.get(f"{other}/shares").json() == {"shares": []}
        assert client.get(made["path"]).status_code == 200
        for wrong in ("x", "%25" * 16, "0" * 15 + "_", "G" * 16):
            assert client.delete(f"{person}/shares/{wrong}").status_code in (404, 422)
        assert len(client.get(f"{person}/shares").json()["shares"]) == 1

    def test_views_can_be_removed_and_hiding_taken_back(self, client: TestClient) -> None:
        person = new_person(client)
        for item_id in HISTORY:
            client.post(f"{person}/views", json={"item_id": item_id})
        assert client.delete(f"{person}/views?item_id=i2").json()["history"] == ["i0", "i4"]
        assert client.post(f"{person}/hidden", json={"item_id": "i2"}).json()["hidden"] == ["i2"]
        assert client.delete(f"{person}/hidden?item_id=i2").json()["hidden"] == []
        for path in ("views?item_id=i2", "hidden?item_id=i2", "views?item_id=none"):
            said = error_of(client.delete(f"{person}/{path}"), 404)
            assert said["code"] == "unknown_name"
            assert repr(path.partition("=")[2]) in said["message"]

    def test_undo_redo_and_reset(self, client: TestClient) -> None:
        person = new_person(client)
        client.post(f"{person}/views", json={"item_id": "i0"})
        pressed = client.post(f"{person}/presses", json=GHENT).json()
        undone = client.post(f"{person}/undo").json()
        assert undone["presses"] == []
        assert undone["can_redo"] is True
        redone = client.post(f"{person}/redo").json()
        assert {**redone, "n_events": 0} == {**pressed, "n_events": 0}
        cleared = client.post(f"{person}/reset").json()
        assert (cleared["history"], cleared["presses"]) == ([], [])
        restored = client.post(f"{person}/undo").json()
        assert (restored["history"], restored["presses"]) == (["i0"], [GHENT])

    def test_presses_stay_within_their_range(self, client: TestClient) -> None:
        person = new_person(client)
        assert client.post(f"{person}/presses", json={"tag": "type=film"}).json()["presses"] == [
            {"tag": "type=film", "steps": 1}
        ]
        for steps in (5, 6, -7, 0, 1.5, True, "1"):
            asked = {"tag": "type=film", "steps": steps}
            error_of(client.post(f"{person}/presses", json=asked), 422)
        assert client.get(person).json()["n_events"] == 1
        full = client.post(f"{person}/presses", json={"tag": "type=film", "steps": 4}).json()
        once_more = client.post(f"{person}/presses", json={"tag": "type=film"}).json()
        assert once_more == {**full, "note": "type=film: that is as far as it goes."}

    def test_an_export_holds_everything_with_its_time(self, client: TestClient) -> None:
        person = new_person(client)
        start = datetime.now(UTC)
        client.post(f"{person}/views", json={"item_id": "i0"})
        client.post(f"{person}/presses", json=GHENT)
        client.put(f"{person}/variety", json={"variety": 0.5})
        client.post(f"{person}/undo")
        client.post(f"{person}/shares")
        found = client.get(f"{person}/export").json()
        assert found["person_id"] == person.split("/")[-1]
        assert found["state"] == client.get(person).json()
        assert found["shares"] == client.get(f"{person}/shares").json()["shares"]
        assert len(found["shares"]) == 1
        events = found["events"]
        times = [datetime.fromisoformat(event.pop("at")) for event in events]
        assert times == sorted(times)
        assert start <= times[0] <= times[-1] <= datetime.now(UTC)
        nothing: dict[str, Any] = {"item_id": None, "presses": [], "variety": None}
        nothing |= {"balance": None, "about": None, "strength": None, "data": {}}
        assert events == [
            {**nothing, "place": 1, "kind": "view", "item_id": "i0", "strength": 1.0},
            {**nothing, "place": 2, "kind": "press", "presses": [GHENT]},
            {**nothing, "place": 3, "kind": "vary", "variety": 0.5},
            {**nothing, "place": 4, "kind": "undo"},
        ]

    def test_a_deleted_person_is_unknown_everywhere(self, client: TestClient) -> None:
        person = new_person(client)
        client.post(f"{person}/views", json={"item_id": "i0"})
        gone = client.delete(person)
        assert (gone.status_code, gone.content) == (204, b"")
        answers = [
            client.get(person),
            client.delete(person),
            client.post(f"{person}/views", json={"item_id": "i0"}),
            client.post(f"{person}/undo"),
            *(client.get(f"{person}/{p}") for p in ("recommendations", "export", "feeds")),
            client.post(f"{person}/wishes", json={"wishes": ["variety 0.5"]}),
            client.post(f"{person}/import", json=EMPTY_EXPORT),
        ]
        assert {error_of(answer, 404)["code"] for answer in answers} == {"unknown_person"}

    def test_nobody_reads_or_changes_another(self, client: TestClient) -> None:
        mine, other = new_person(client), new_person(client)
        client.post(f"{mine}/views", json={"item_id": "i0"})
        assert client.get(other).json()["history"] == []
        client.post(f"{other}/reset")
        assert client.get(mine).json()["history"] == ["i0"]
        error_of(client.get(mine[:-1] + ("A" if mine[-1] != "A" else "B")), 404)
        for wrong in ("x", "%27%20OR%201=1", "a" * 44, "%00" * 43, "*" * 43):
            error_of(client.get(f"{API}/people/{wrong}"), 422)


def test_a_boost_in_the_query_is_that_of_the_stateless_call(client: TestClient) -> None:
    person = new_person(client)
    for item_id in HISTORY:
        client.post(f"{person}/views", json={"item_id": item_id})
    asked: dict[str, Any] = {"k": 5, "boost": ["i9:40", "town=Ghent:-0.5"]}
    found = client.get(f"{person}/recommendations", params=asked).json()
    body = {"history": HISTORY, "k": 5, "boost": {"i9": 40, "town=Ghent": -0.5}}
    assert found == client.post(f"{API}/recommend", json=body).json()
    assert found["recommendations"][0]["item_id"] == "i9"
    options = {"item_id": "i9", "boost": ["i9:40"]}
    said = client.get(f"{person}/explanation", params=options).json()
    assert said["boost"] == pytest.approx(40)
    parts = said["general"] + said["from_tags"] + said["from_viewed"] + said["boost"]
    assert parts == pytest.approx(said["score"])


HOW = ("person_id", "can_undo", "can_redo", "n_events", "note", "unmatched")


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
        ({"state": {**STATE, "ends": [{**END, "until": "soon"}]}}, "soon"),
        ({"state": {**STATE, "filters": {"when": "soon"}}}, "'soon'"),
        ({"state": {**STATE, "feeds": [{"feed": "a"}, {"feed": "A"}]}}, "name"),
        ({"state": {**STATE, "strengths": {"i0": 0}}}, "strength"),
        ({"presses": [GHENT]}, "state"),  # some other file
    ],
)
def test_a_damaged_or_foreign_file_is_refused_and_changes_nothing(
    client: TestClient, sent: Any, said: str
) -> None:
    person = new_person(client)
    before = client.get(person).json()
    answer = client.post(f"{person}/import", json=sent)
    assert said in error_of(answer, 422)["message"]
    assert client.get(person).json() == before
