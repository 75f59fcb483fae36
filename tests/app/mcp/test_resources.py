"""Resources: the vocabulary in pages, items, the model; bad addresses are a sentence."""

from typing import Any

import pytest
from app.conftest import API, TestClient
from app.mcp.conftest import read, with_client
from hypothesis import given
from hypothesis import strategies as st
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate
from mcp_types import ResourceTemplateReference

from teaser.app.mcp.resources import PAGE, RESOURCES
from teaser.app.serving.catalogue import Catalogue


def test_the_vocabulary_names_every_feature(stateless: Server[Any], catalogue: Catalogue) -> None:
    found = read(stateless, "teaser://vocabulary")
    assert [f["feature"] for f in found["features"]] == list(catalogue.features)
    assert found["n_items"] == 40
    assert found["numbers"] == list(catalogue.numbers)
    for feature in found["features"]:
        whole = read(stateless, feature["all"])
        assert whole["n_tags"] == feature["n_tags"]
        assert whole["tags"][: len(feature["most_common"])] == feature["most_common"]


def test_pages_of_a_feature_hold_every_tag_once(
    stateless: Server[Any], catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teaser.app.mcp.resources.PAGE", 2)
    tags: list[str] = []
    n_pages = read(stateless, "teaser://vocabulary/town")["n_pages"]
    for page in range(1, n_pages + 1):
        found = read(stateless, f"teaser://vocabulary/town?page={page}")
        tags += [tag["tag"] for tag in found["tags"]]
        assert found["page"] == page
    assert tags == [str(tag) for tag in catalogue.features["town"]]
    assert n_pages > 1
    assert PAGE > 2


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


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_any_id_and_any_feature_has_an_address(name: str) -> None:
    for resource in RESOURCES:
        template = UriTemplate.parse(resource.template)
        for variable in {"item_id", "feature"} & set(template.variable_names):
            uri = template.expand({variable: name})
            assert resource.match(uri) == {variable: name}
            assert [r.name for r in RESOURCES if r.match(uri) is not None] == [resource.name]


def test_all_resources_are_listed_and_features_are_completed(stateless: Server[Any]) -> None:
    async def ask(client: Any) -> Any:
        fixed = [r.uri for r in (await client.list_resources()).resources]
        listed = await client.list_resource_templates()
        families = [t.uri_template for t in listed.resource_templates]
        reference = ResourceTemplateReference(uri="teaser://vocabulary/{feature}{?page}")
        begun = await client.complete(reference, {"name": "feature", "value": "T"})
        other = await client.complete(reference, {"name": "page", "value": "1"})
        return {*fixed, *families}, begun.completion.values, other.completion.values

    addresses, begun, other = with_client(stateless, ask)
    assert addresses == {resource.template for resource in RESOURCES}
    assert set(begun) == {"town", "type"}
    assert other == []
