"""The server and its resources: what it says of itself, and bad addresses."""

from dataclasses import replace
from typing import Any

import anyio
import jsonschema
import pytest
from app.conftest import API, TestClient
from app.mcp.conftest import call, found, read, refused, with_client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from teaser._version import __version__
from teaser.app.catalogue import Catalogue
from teaser.app.mcp.server import RESOURCES, build_server
from teaser.app.mcp.tools import TOOLS, People, Source

FIELDS = sorted({name for tool in TOOLS for name in tool.arguments.model_fields})
# What a field may hold: names that the model has, names that it lacks, and any JSON.
names = st.sampled_from(
    ["i0", "i39", "town=Ghent", "type=film", "town=", "=", "me", "a" * 43, "only town=Ghent"]
)
numbers = st.integers() | st.floats() | st.sampled_from([0, 1, 2, 5, -1, 10**30])
leaves = st.none() | st.booleans() | numbers | names | st.text(max_size=5)
presses = st.fixed_dictionaries({"tag": leaves, "steps": leaves})
values = st.recursive(
    leaves | presses,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
NAMED = {"search", "recommend", "profile", "press", "undo", "explain", "compare", "lift", "similar"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_clients_of_both_eras_find_the_tools(server: Server[Any], mode: str) -> None:
    async def ask(client: Any) -> Any:
        tools = (await client.list_tools()).tools
        answer = await client.call_tool("recommend", {"k": 2})
        return {tool.name: tool for tool in tools}, answer, client.instructions

    tools, answer, instructions = with_client(server, ask, mode=mode)
    assert tools.keys() >= NAMED
    assert len(found(answer)["recommendations"]) == 2
    assert "search" in instructions
    changing = {name for name, tool in tools.items() if not tool.annotations.read_only_hint}
    assert changing == {"press", "view", "undo", "new_person", "apply"}


def test_a_tool_that_is_not_there_is_a_sentence(server: Server[Any]) -> None:
    with pytest.raises(MCPError, match="Closest: search"):
        call(server, "serach")
    with pytest.raises(MCPError, match="no tool"):
        call(server, "x" * 10_000)


def test_it_says_whose_state_is_used(source: Source, people: People) -> None:
    many = build_server(source, title="Events")
    own = build_server(replace(source, people=replace(people, own_id="a" * 43)), title="Events")
    none = build_server(replace(source, people=None), title="Events")
    assert "'me'" in str(own.instructions)
    assert "'me'" not in str(many.instructions)
    assert "Nothing is stored" in str(none.instructions)
    assert (many.name, many.title, many.version) == ("teaser", "Events", __version__)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(TOOLS),
    st.dictionaries(st.sampled_from(FIELDS), values, max_size=4),
    st.booleans(),
)
def test_whatever_is_given_the_answer_is_a_result_or_a_sentence(
    source: Source, person_id: str, tool: Any, asked: dict[str, Any], is_personal: bool
) -> None:
    given = {**asked, "person_id": person_id} if is_personal else asked
    known = {name: value for name, value in given.items() if name in tool.arguments.model_fields}
    answer = anyio.run(lambda: tool.call(source, known))
    if answer.is_error:
        assert "on our side" not in refused(answer)
    else:
        jsonschema.validate(found(answer), tool.described.output_schema)


def test_the_vocabulary_names_every_feature(stateless: Server[Any], catalogue: Catalogue) -> None:
    found = read(stateless, "teaser://vocabulary")
    assert [f["feature"] for f in found["features"]] == list(catalogue.features)
    assert found["n_items"] == 40
    assert found["numbers"] == list(catalogue.numbers)
    for feature in found["features"]:
        whole = read(stateless, feature["all"])
        assert whole["n_tags"] == feature["n_tags"]
        assert whole["tags"][: len(feature["most_common"])] == feature["most_common"]


def test_items_the_model_and_what_decides_are_those_of_the_api(
    stateless: Server[Any], client: TestClient
) -> None:
    card = client.get(f"{API}/items", params={"item_id": "i3"}).json()
    assert read(stateless, "teaser://item/i3") == card
    assert read(stateless, "teaser://model")["items"] == 40
    decides = read(stateless, "teaser://transparency")
    assert decides.pop("sentences")
    assert decides == client.get(f"{API}/transparency").json()


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("teaser://item/i999", "i999"),
        ("teaser://vocabulary/twn", "Closest: town"),
        ("teaser://vocabulary/town?page=0", "from 1 to 1"),
        ("teaser://vocabulary/town?page=2", "from 1 to 1"),
        ("teaser://vocabulary/town?page=x", "whole number"),
        ("teaser://vocabulary/town?page=" + "9" * 9000, "no resource"),
        ("teaser://nothing", "There are teaser://vocabulary"),
        ("file:///etc/passwd", "no resource"),
        ("", "no resource"),
    ],
)
def test_a_wrong_address_is_a_sentence(stateless: Server[Any], uri: str, said: str) -> None:
    with pytest.raises(MCPError, match=said):
        read(stateless, uri)


def test_all_resources_are_listed(stateless: Server[Any]) -> None:
    async def ask(client: Any) -> set[str]:
        fixed = [r.uri for r in (await client.list_resources()).resources]
        listed = await client.list_resource_templates()
        return {*fixed, *(t.uri_template for t in listed.resource_templates)}

    assert with_client(stateless, ask) == {resource.template for resource in RESOURCES}
