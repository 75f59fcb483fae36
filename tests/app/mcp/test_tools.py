"""Tools answer as the API does, change what the site changes, and refuse with a sentence."""

import logging
import secrets
from dataclasses import replace
from typing import Any

import anyio
import pytest
from app.conftest import API, TestClient, append
from app.mcp.conftest import call, found, refused, with_client, without_sentences
from hypothesis import strategies as st
from mcp.server import Server

from teaser.app.mcp.server import build_server
from teaser.app.mcp.tools import Answer, Nothing, People, Pressed, Source, Tool
from teaser.app.state import Event
from teaser.errors import ParameterError, StoreError

TASTE: dict[str, Any] = {"history": ["i0", "i3"], "presses": [{"tag": "town=Liège", "steps": 2}]}
CASES: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("recommend", {"k": 4, **TASTE}, "recommend", {"k": 4, **TASTE}),
    ("recommend", {"where": ["type=film"], "k": 3}, "recommend", {"where": ["type=film"], "k": 3}),
    ("recommend", {"variety": 0.7, **TASTE}, "recommend", {"variety": 0.7, "k": 10, **TASTE}),
    ("recommend", {"history": {"i0": -0.5}}, "recommend", {"history": {"i0": -0.5}, "k": 10}),
    ("profile", {"top": 2, **TASTE}, "profile", {"top": 2, **TASTE}),
    ("profile", {"features": ["town"]}, "profile", {"features": ["town"], "top": 5}),
    ("explain", {"item_id": "i5", **TASTE}, "explain", {"item_id": "i5", **TASTE}),
    ("lift", {"item_id": "i39", "k": 5, **TASTE}, "lift", {"item_id": "i39", "k": 5, **TASTE}),
    (
        "compare",
        {"item_id": "i5", "other_id": "i2", **TASTE},
        "compare",
        {"item_id": "i5", "other_id": "i2", **TASTE},
    ),
    (
        "like",
        {"item_id": "i5", "changes": [{"old": "town=Liège", "new": "town=Ghent"}]},
        "variation",
        {"item_id": "i5", "changes": [{"old": "town=Liège", "new": "town=Ghent"}], "k": 10},
    ),
    ("similar", {"item_id": "i5", "k": 3}, "similar", {"item_id": "i5", "k": 3}),
]


@pytest.mark.parametrize(("tool", "given", "path", "asked"), CASES)
def test_the_answer_is_that_of_the_api(
    stateless: Server[Any],
    client: TestClient,
    tool: str,
    given: dict[str, Any],
    path: str,
    asked: dict[str, Any],
) -> None:
    answer = without_sentences(found(call(stateless, tool, **given)))
    assert answer == client.post(f"{API}/{path}", json=asked).json()


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("recommend", {"k": 4}),
        ("profile", {}),
        ("explain", {"item_id": "i5"}),
        ("lift", {"item_id": "i39"}),
        ("compare", {"item_id": "i5", "other_id": "i8"}),
        ("like", {"item_id": "i5"}),
    ],
)
def test_a_person_gets_what_their_state_gives(
    server: Server[Any], people: People, person_id: str, tool: str, given: dict[str, Any]
) -> None:
    for item in TASTE["history"]:
        append(people.store, person_id, Event("view", {"item": item}))
    append(people.store, person_id, Event("press", {"presses": {"town=Liège": 2}}))
    stored = found(call(server, tool, person_id=person_id, **given))
    assert stored == found(call(server, tool, **TASTE, **given))
    assert stored != found(call(server, tool, **given))


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("explain", {"item_id": "i999"}, "i999"),
        ("recommend", {"history": ["i999"]}, "i999"),
        ("recommend", {"where": ["town=Gent"]}, "Such as: Ghent"),
        ("recommend", {"first_date": "2026-01-01"}, "no dates"),
        ("profile", {"features": ["twn"]}, "Closest: town"),
        ("lift", {"item_id": "i1", "k": 0}, "equal to 1"),
        ("compare", {"item_id": "i1"}, "other_id: is missing"),
        ("like", {"item_id": "i5", "changes": [{"old": "town=Ghent"}]}, "town=Ghent"),
        ("search", {"words": "x" * 201}, "200 characters"),
        ("search", {"words": "\ud800"}, "Unicode"),
        ("recommend", {"person_id": "a" * 43, "history": ["i0"]}, "person_id and history"),
        ("recommend", {"person_id": "a" * 43}, "stores nothing"),
        ("recommend", {"history": "i0"}, "list of ids"),
    ],
)
def test_bad_questions_are_a_sentence(
    stateless: Server[Any], tool: str, given: dict[str, Any], said: str
) -> None:
    assert said in refused(call(stateless, tool, **given))


TAGS = ["town=Ghent", "town=Liège", "type=film"]
steps = st.integers(-5, 5).filter(bool)


def test_a_press_is_stored_and_undone(server: Server[Any], people: People, person_id: str) -> None:
    pressed = found(call(server, "press", person_id=person_id, tag="town=Ghent", steps=2))
    assert pressed["stored"]
    assert pressed["presses"] == [{"tag": "town=Ghent", "steps": 2}]
    assert people.store.state(person_id).presses == {"town=Ghent": 2}
    assert pressed["affinity_after"] > pressed["affinity_before"]
    undone = found(call(server, "undo", person_id=person_id))
    assert undone["undone"] == "+ twice on town=Ghent"
    assert undone["person"]["presses"] == []
    assert people.store.state(person_id).presses == {}
    assert "nothing to undo" in refused(call(server, "undo", person_id=person_id))


def test_without_a_person_nothing_is_stored(server: Server[Any], people: People) -> None:
    kept = [{"tag": "town=Liège", "steps": -1}]
    pressed = found(call(server, "press", tag="town=Ghent", history=["i0"], presses=kept))
    assert not pressed["stored"]
    assert pressed["presses"] == [*kept, {"tag": "town=Ghent", "steps": 1}]
    with_presses = {"history": ["i0"], "presses": pressed["presses"], "features": ["town"]}
    profile = found(call(server, "profile", **with_presses))["features"][0]["tags"]
    after = {tag["tag"]: tag["affinity"] for tag in profile}
    assert after["town=Ghent"] == pytest.approx(pressed["affinity_after"], abs=1e-12)


def test_unknown_persons_and_visitors_of_the_site_look_the_same(
    server: Server[Any], people: People
) -> None:
    visitor = people.store.create_person(secrets.token_urlsafe(32))
    for tool in ("person", "undo"):
        said = [refused(call(server, tool, person_id=name)) for name in (visitor, "a" * 43)]
        assert said[0] == said[1]


def test_without_a_store_only_the_press_is_left(stateless: Server[Any]) -> None:
    listed = with_client(stateless, lambda client: client.list_tools()).tools
    names = {tool.name for tool in listed}
    assert "press" in names
    assert not names & {"undo", "view", "person", "new_person", "apply"}
    assert found(call(stateless, "press", tag="town=Ghent"))["stored"] is False


def test_a_request_in_words_becomes_wishes_and_applies_nothing(
    server: Server[Any], people: People, person_id: str
) -> None:
    said = found(call(server, "say", text="more films in Ghent, nothing late, with dragons"))
    wishes = [wish["wish"] for wish in said["wishes"]]
    assert "press +4 type=film" in wishes
    assert "only town=Ghent" in wishes
    assert said["unknown"] == ["dragons"]
    assert "dragons" in "\n".join(said["sentences"])
    assert people.store.state(person_id).n_events == 0
    applied = found(call(server, "apply", person_id=person_id, wishes=wishes))
    assert applied["filters"]["only"] == ["town=Ghent"]


def test_a_list_for_wishes_is_the_one_that_they_lead_to(
    server: Server[Any], people: People, person_id: str
) -> None:
    wishes = ["press +2 type=film", "only town=Liège"]
    own = {"history": ["i0"]}
    append(people.store, person_id, Event("view", {"item": "i0"}))
    tried = found(call(server, "recommend", wishes=wishes, **own))
    assert tried == found(call(server, "recommend", person_id=person_id, wishes=wishes))
    assert people.store.state(person_id).n_events == 1
    call(server, "apply", person_id=person_id, wishes=wishes)
    assert tried == found(call(server, "recommend", person_id=person_id))
    assert tried != found(call(server, "recommend", **own))
    assert "i999" in refused(call(server, "recommend", wishes=wishes, history=["i999"]))
    assert "type=flm" in refused(call(server, "recommend", wishes=["press +1 type=flm"]))


def failure(source: Source, error: Exception) -> str:
    """Return what a tool says that meets an error."""

    def fail(source: Source, asked: Nothing) -> Answer[Pressed]:
        raise error

    failing = Tool("Fail", fail, changes=False, needs_people=False)
    return refused(anyio.run(lambda: failing.call(source, {})))


def test_errors_are_sentences_and_tell_nothing_of_the_inside(
    source: Source, caplog: pytest.LogCaptureFixture
) -> None:
    assert failure(source, ParameterError("k is odd.")) == "k is odd."
    assert "internal" not in failure(source, StoreError("host db.internal is down"))
    assert "db.internal" in caplog.text
    with caplog.at_level(logging.ERROR, "teaser"):
        assert "secret" not in failure(source, KeyError("secret"))
    assert "a tool failed" in caplog.text


def test_me_is_the_one_at_this_computer_if_there_is_one(source: Source, people: People) -> None:
    assert "new_person" in refused(call(build_server(source, title="x"), "person", person_id="me"))
    visitor = people.store.create_person(secrets.token_urlsafe(32))
    own = replace(source, people=replace(people, own_id=visitor))
    assert found(call(build_server(own, title="x"), "person", person_id="me"))["history"] == []
