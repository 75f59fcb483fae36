"""The tools that read: they answer as the API does, for persons and for what a caller keeps."""

from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from app.conftest import API, TestClient, append
from app.mcp.conftest import call, found, refused, with_client, without_sentences
from mcp.server import Server

from teaser.app.mcp.source import People
from teaser.app.people.events import Event

TASTE: dict[str, Any] = {
    "history": ["i0", "i3"],
    "presses": [{"tag": "town=Liège", "steps": 2}],
}
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


def test_search_and_item_answer_as_the_api(stateless: Server[Any], client: TestClient) -> None:
    searched = without_sentences(found(call(stateless, "search", words="event 3", k=4)))
    assert searched == client.get(f"{API}/search", params={"q": "event 3", "k": 4}).json()
    shown = without_sentences(found(call(stateless, "item", item_id="i3")))
    assert shown == client.get(f"{API}/items", params={"item_id": "i3"}).json()


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


def test_hidden_items_of_a_person_are_left_out(
    server: Server[Any], people: People, person_id: str
) -> None:
    first = found(call(server, "recommend", person_id=person_id, k=1))["recommendations"][0]
    append(people.store, person_id, Event("hide", {"item": first["item_id"]}))
    second = found(call(server, "recommend", person_id=person_id, k=40))["recommendations"]
    assert first["item_id"] not in [entry["item_id"] for entry in second]


def test_results_hold_what_their_schema_says(stateless: Server[Any]) -> None:
    listed = with_client(stateless, lambda client: client.list_tools()).tools
    schemas = {tool.name: tool.output_schema for tool in listed}
    for tool, given, _, _ in CASES:
        jsonschema.validate(found(call(stateless, tool, **given)), schemas[tool])


def test_sentences_tell_the_numbers(stateless: Server[Any]) -> None:
    listed = found(call(stateless, "recommend", k=2, **TASTE))
    for entry, line in zip(listed["recommendations"], listed["sentences"], strict=True):
        assert entry["item_id"] in line
        assert f"{round(100 * entry['match'])} %" in line
    told = found(call(stateless, "explain", item_id="i5", **TASTE))
    assert f"{told['score']:.2f}" in told["sentences"][0]
    leaning = found(call(stateless, "profile", **TASTE))["sentences"]
    assert any("Liège" in line for line in leaning)


def test_a_difference_is_told_part_by_part(stateless: Server[Any]) -> None:
    apart = found(call(stateless, "compare", item_id="i5", other_id="i2", **TASTE))
    assert sum(p["difference"] for p in apart["parts"]) == pytest.approx(
        apart["score"] - apart["other_score"], abs=1e-9
    )
    first, scores, *parts = apart["sentences"]
    assert "Event 5" in first
    assert f"{apart['score']:.2f}" in scores
    assert parts[0].startswith(apart["parts"][0]["label"])


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("explain", {"item_id": "i999"}, "i999"),
        ("similar", {"item_id": "nothing"}, "nothing"),
        ("item", {"item_id": "i999"}, "i999"),
        ("recommend", {"history": ["i999"]}, "i999"),
        ("recommend", {"where": ["town=Gent"]}, "Closest: town=Ghent"),
        ("recommend", {"first_date": "2026-01-01"}, "no dates"),
        ("recommend", {"about": ["age=young"]}, "user features"),
        ("profile", {"features": ["twn"]}, "Closest: town"),
        ("profile", {"presses": [{"tag": "town", "steps": 1}]}, "town"),
        ("lift", {"item_id": "i1", "k": 0}, "at least 1"),
        ("compare", {"item_id": "i1", "other_id": "i1"}, "i1"),
        ("compare", {"item_id": "i1"}, "other_id: is missing"),
        ("like", {"item_id": "i5", "changes": [{"old": "town=Ghent"}]}, "town=Ghent"),
        ("search", {"words": "x" * 201}, "200 characters"),
        ("search", {"words": "\ud800"}, "Unicode"),
        ("recommend", {"person_id": "a" * 43, "history": ["i0"]}, "person_id and history"),
        ("recommend", {"person_id": "a" * 43}, "stores nothing"),
        ("recommend", {"history": "i0"}, "list of ids"),
        ("recommend", {"history": ["i0"] * 1001}, "1,000 entries"),
    ],
)
def test_bad_input_is_a_sentence(
    stateless: Server[Any], tool: str, given: dict[str, Any], said: str
) -> None:
    assert said in refused(call(stateless, tool, **given))


def test_a_search_in_another_language_finds_its_names(
    serve: Callable[..., TestClient], stateless: Server[Any]
) -> None:
    dutch = found(call(stateless, "search", words="film", language="nl"))
    assert [tag["tag"] for tag in dutch["tags"]] == ["type=film"]
    assert "language" in refused(call(stateless, "search", words="film", language="de"))
