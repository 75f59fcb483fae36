"""The tools that change a state: stored for a person, or kept by the caller; both move alike."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from app.conftest import append
from app.mcp.conftest import call, found, refused, with_client, without_sentences
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.server import Server

from teaser.app.mcp.source import People
from teaser.app.people.events import Event

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


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(TAGS), steps), min_size=1, max_size=5))
def test_presses_that_a_caller_keeps_move_as_stored_ones(
    server: Server[Any], people: People, presses: list[tuple[str, int]]
) -> None:
    person_id, _ = people.store.create_person()
    append(people.store, person_id, Event("view", {"item": "i0"}))
    kept: list[dict[str, Any]] = []

    async def press_all(client: Any) -> None:
        nonlocal kept
        for tag, n in presses:
            asked = {"tag": tag, "steps": n}
            stored = await client.call_tool("press", {**asked, "person_id": person_id})
            own = await client.call_tool("press", {**asked, "history": ["i0"], "presses": kept})
            assert stored.is_error == own.is_error
            if own.is_error:
                assert stored.content == own.content
                continue
            kept = own.structured_content["presses"]
            for name in ("affinity_before", "affinity_after", "note", "tag"):
                assert stored.structured_content[name] == own.structured_content[name]
            of_person = stored.structured_content["presses"]
            assert sorted(of_person, key=str) == sorted(kept, key=str)

    with_client(server, press_all)


def test_a_press_at_its_limit_is_not_stored_and_says_so(
    server: Server[Any], people: People, person_id: str
) -> None:
    call(server, "press", person_id=person_id, tag="town=Ghent", steps=5)
    n_events = people.store.state(person_id).n_events
    pressed = found(call(server, "press", person_id=person_id, tag="town=Ghent"))
    assert not pressed["stored"]
    assert "as far as it goes" in pressed["note"]
    assert people.store.state(person_id).n_events == n_events


def test_a_press_for_today_ends_at_midnight(
    server: Server[Any], people: People, person_id: str
) -> None:
    asked = {"tag": "town=Ghent", "lasts": "today"}
    assert found(call(server, "press", person_id=person_id, **asked))["stored"]
    (end,) = people.store.state(person_id).ends
    assert (end.name, end.steps) == ("town=Ghent", 1)
    assert datetime.now(UTC) < end.until <= datetime.now(UTC) + timedelta(days=1)
    assert "person_id" in refused(call(server, "press", **asked))


def test_a_press_of_somebody_without_profile_says_that_it_waits(
    server: Server[Any], people: People, person_id: str
) -> None:
    append(people.store, person_id, Event("profiling", {"on": False}))
    pressed = found(call(server, "press", person_id=person_id, tag="town=Ghent"))
    assert pressed["stored"]
    assert pressed["affinity_after"] > pressed["affinity_before"]
    assert "without profile" in pressed["sentences"][-1]


def test_views_are_stored_with_their_strength(
    server: Server[Any], people: People, person_id: str
) -> None:
    viewed = found(call(server, "view", person_id=person_id, item_id="i4", strength=-0.125))
    assert viewed["history"] == ["i4"]
    assert viewed["strengths"] == {"i4": -0.125}
    shown = found(call(server, "person", person_id=person_id))
    assert without_sentences(shown) == without_sentences(viewed)
    assert "i4" in "\n".join(shown["sentences"])


def test_a_new_person_has_an_id_and_nothing_else(server: Server[Any], people: People) -> None:
    made = found(call(server, "new_person"))
    assert made["history"] == made["presses"] == []
    assert made["person_id"] in made["sentences"][0]
    assert people.store.without_site.state(made["person_id"]).n_events == 0


@pytest.mark.parametrize(
    ("tool", "asked", "said"),
    [
        ("press", {"tag": "town=Gent"}, "Closest: town=Ghent"),
        ("press", {"tag": "Ghent"}, "Ghent"),
        ("press", {"tag": "town=Ghent", "steps": 9}, "at most 5"),
        ("press", {"tag": "town=Ghent", "steps": 0}, "must not be 0"),
        ("press", {"tag": "town=Ghent", "steps": "more"}, "whole number"),
        ("press", {}, "tag: is missing"),
        ("view", {"item_id": "i999"}, "i999"),
        ("view", {"item_id": "i1", "strength": 0}, "must not be 0"),
        ("undo", {"steps": 2}, "not a known field"),
    ],
)
def test_bad_input_is_a_sentence_and_changes_nothing(
    server: Server[Any],
    people: People,
    person_id: str,
    tool: str,
    asked: dict[str, Any],
    said: str,
) -> None:
    assert said in refused(call(server, tool, person_id=person_id, **asked))
    assert people.store.state(person_id).n_events == 0


def test_unknown_persons_and_visitors_of_the_site_look_the_same(
    server: Server[Any], people: People
) -> None:
    visitor, _ = people.store.create_person(with_token=True)
    for tool in ("person", "undo"):
        said = [refused(call(server, tool, person_id=name)) for name in (visitor, "a" * 43)]
        assert said[0] == said[1]


def test_without_a_store_only_the_press_is_left(stateless: Server[Any]) -> None:
    listed = with_client(stateless, lambda client: client.list_tools()).tools
    names = {tool.name for tool in listed}
    assert "press" in names
    assert not names & {"undo", "view", "person", "new_person", "apply"}
    assert found(call(stateless, "press", tag="town=Ghent"))["stored"] is False
