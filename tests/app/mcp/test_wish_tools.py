"""Wishes of a person: applied together, undone together, refused together."""

from typing import Any

import pytest
from app.conftest import API, TestClient, append
from app.mcp.conftest import call, found, refused, without_sentences
from mcp.server import Server

from teaser.app.mcp.source import People
from teaser.app.people.events import Event

WISHES = ["press +2 type=film", "only town=Ghent", "never labels=late for week", "variety 0.5"]


def test_wishes_are_one_action(server: Server[Any], people: People, person_id: str) -> None:
    before = people.store.state(person_id)
    applied = found(call(server, "apply", person_id=person_id, wishes=WISHES))
    state = people.store.state(person_id)
    assert state.presses == {"type=film": 2}
    assert state.filters.only == ("town=Ghent",)
    assert state.hidden_tags == ("labels=late",)
    assert state.variety == 0.5
    assert applied["presses"] == [{"tag": "type=film", "steps": 2}]
    assert "One undo" in applied["sentences"][0]
    assert "Ghent" in applied["sentences"][0]
    shown = "\n".join(found(call(server, "person", person_id=person_id))["sentences"])
    assert "only town=Ghent" in shown
    assert "Never shown: labels=late." in shown
    listed = found(call(server, "recommend", person_id=person_id, k=40))["recommendations"]
    assert listed
    for entry in listed:
        assert found(call(server, "item", item_id=entry["item_id"]))["facts"]["town"] == ["Ghent"]
    undone = found(call(server, "undo", person_id=person_id))
    assert "+ twice on type=film" in undone["undone"]
    after = people.store.state(person_id)
    assert (after.presses, after.filters, after.hidden_tags, after.variety) == (
        before.presses,
        before.filters,
        before.hidden_tags,
        before.variety,
    )


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ([], "wishes"),
        (["more jazz"], "more jazz"),
        (["press +9 type=film"], "-5 to 5"),
        (["press +2 type=flm"], "type=film"),
        (["press +1 type=film", "never type=film"], "type=film"),
        (["at_most price 20"], "price"),
        (["like i999"], "i999"),
        (["only town=Ghent"] * 200, "entries"),
        (["x" * 3_000], "characters"),
    ],
)
def test_one_wrong_wish_leaves_all_as_it_was(
    server: Server[Any], people: People, person_id: str, wishes: list[str], said: str
) -> None:
    assert said in refused(call(server, "apply", person_id=person_id, wishes=wishes))
    assert people.store.state(person_id).n_events == 0


def test_a_wish_that_moves_nothing_is_not_stored(
    server: Server[Any], people: People, person_id: str
) -> None:
    call(server, "press", person_id=person_id, tag="type=film", steps=5)
    applied = found(call(server, "apply", person_id=person_id, wishes=["press +2 type=film"]))
    assert "as far as it goes" in applied["note"]
    assert applied["note"] in applied["sentences"]
    assert people.store.state(person_id).n_events == 1


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


def test_the_answer_is_that_of_the_api(stateless: Server[Any], client: TestClient) -> None:
    asked = {"text": "plus de films à Gand", "language": "fr"}
    answer = without_sentences(found(call(stateless, "say", **asked)))
    assert answer == client.post(f"{API}/words", json=asked).json()


def test_a_list_for_wishes_is_the_one_that_they_lead_to(
    server: Server[Any], people: People, person_id: str
) -> None:
    wishes = WISHES[:2]
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


def test_what_contradicts_is_a_question(stateless: Server[Any]) -> None:
    said = found(call(stateless, "say", text="more films, no films"))
    assert said["contradictions"] == [[wish["wish"] for wish in said["wishes"]]]
    assert "Only one can hold" in "\n".join(said["sentences"])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"text": "x" * 2_001}, "2,000 characters"),
        ({"text": ""}, "at least 1 character"),
        ({"text": "films", "language": "de"}, "language"),
        ({}, "text: is missing"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(
    stateless: Server[Any], asked: dict[str, str], said: str
) -> None:
    assert said in refused(call(stateless, "say", **asked))


def test_words_without_a_wish_say_so(stateless: Server[Any]) -> None:
    assert "No wish was found in it." in found(call(stateless, "say", text="???"))["sentences"]
