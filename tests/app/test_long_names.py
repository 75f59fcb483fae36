"""Ids and tags of any length that a model has come out of every route."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest
from app.conftest import API, OWN, TestClient
from conftest import RULES, small_tables

from teaser import Category, Dataset, Teaser
from teaser.app.server import create_app
from teaser.app.settings import Settings
from teaser.extensions import DiscoveredTags, Remainder

LONG = 1_000
ITEM, OTHER = (f"i{n}-" + "é" * LONG for n in (1, 3))
TAG = "type=film " + "y" * LONG
FACT = "age=young " + "z" * LONG
NAME = "a" * 60


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a model in which everything has a long name."""
    interactions, items = small_tables(n_users=120)
    long_id = (pl.col("item_id") + "-" + "é" * LONG).alias("item_id")
    items = items.with_columns(
        long_id, pl.col("title") + "x" * LONG, pl.col("type") + " " + "y" * LONG
    )
    users = interactions.select("user_id").unique(maintain_order=True)
    users = users.with_columns(age=pl.lit("young " + "z" * LONG))
    dataset = Dataset.from_tables(
        interactions.with_columns(long_id),
        items,
        rules=RULES,
        users=users,
        user_rules=[Category("age")],
    )
    folder = tmp_path_factory.mktemp("long") / "model"
    Teaser(
        l2_weights=5.0,
        l2_encoder=5.0,
        tol=1e-4,
        remainder=Remainder(neighbours=10, l2=20.0),
        discovered=DiscoveredTags(grains=(5,), factors=4),
    ).fit(dataset).save(folder)
    with ExitStack() as stack:
        app = create_app(Settings(model=folder, hosts="testserver", rate=0))
        stack.callback(app.state.services.store.close)
        yield TestClient(app, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def person(client: TestClient) -> str:
    """The address of a person with long names in everything that is stored."""
    made = f"{API}/people/{client.post(f'{API}/people').json()['person_id']}"
    for method, path, body in (
        ("POST", "views", {"item_id": ITEM, "strength": 0.5}),
        ("POST", "presses", {"tag": TAG, "steps": 2}),
        ("POST", "hidden", {"item_id": OTHER}),
        ("PUT", "about", {"about": [FACT]}),
    ):
        answer = client.request(method, f"{made}/{path}", json=body)
        assert answer.status_code == 200, answer.text
    return made


def calls(group: str) -> dict[tuple[str, str], Any]:
    """Return calls of routes that take or return names: the query or the body of each."""
    taste = {"history": [ITEM], "presses": [{"tag": TAG, "steps": 1}], "about": [FACT]}
    boost = {ITEM: 0.2, TAG: 0.1}
    lists = {"where": [TAG], "items": [ITEM, OTHER], "exclude_history": False}
    own = "/people/{person_id}"
    return {
        ("post", "/recommend"): {**taste, **lists, "boost": boost},
        ("post", "/lift"): {"history": {ITEM: 1.0}, "item_id": OTHER, "k": 1},
        ("post", "/variation"): {**taste, "item_id": OTHER, "changes": [{"old": TAG}]},
        ("get", "/items"): {"item_id": OTHER},
        ("get", "/search"): {"q": "film"},
        ("get", "/groups"): {"tag": group},
        ("get", f"{own}/export"): None,
        ("get", f"{own}/recommendations"): {**lists, "boost": [f"{n}:0.2" for n in boost]},
        ("get", f"{own}/origins"): {"tag": TAG},
        ("get", f"{own}/comparison"): {"item_id": ITEM, "other_id": OTHER},
        ("delete", f"{own}/views"): {"item_id": ITEM},
        ("put", f"{own}/filters"): {"only": [TAG]},
        ("post", f"{own}/wishes"): {"wishes": [f"press +1 {TAG}"]},
    }


def group_of(client: TestClient) -> str:
    found = client.get(f"{API}/search", params={"q": "event", "k": 500}).json()["tags"]
    return str(next(tag["tag"] for tag in found if tag["discovered"]))


def test_routes_of_the_api_with_names_answer(client: TestClient, person: str) -> None:
    group = group_of(client)
    asked = calls(group)
    answers = {}
    for (method, path), fields in asked.items():
        sent: Any = {"json": fields} if method in ("post", "put", "patch") else {"params": fields}
        where = path.replace("/people/{person_id}", person.removeprefix(API))
        answer = client.request(method, f"{API}{where}", **sent)
        assert answer.status_code in (200, 201, 204), (method, path, answer.text[:300])
        answers[method, path] = answer
    assert answers["get", "/items"].json()["item_id"] == OTHER
    export = answers["get", "/people/{person_id}/export"].json()
    assert (export["state"]["history"], export["state"]["hidden"]) == ([ITEM], [OTHER])
    assert export["state"]["presses"] == [{"tag": TAG, "steps": 2}]
    assert [event["item_id"] for event in export["events"]] == [ITEM, None, OTHER, None]


@pytest.mark.parametrize(("path", "field"), [("items", "item_id"), ("groups", "tag")])
def test_a_name_that_is_too_long_to_ask_for_is_refused(
    client: TestClient, path: str, field: str
) -> None:
    answer = client.get(f"{API}/{path}", params={field: "x" * 2_001})
    assert answer.status_code == 422
    assert "2000" in answer.json()["error"]["message"]


def test_every_page_of_the_site_answers(client: TestClient) -> None:
    for fields in (
        {"view": ITEM},
        {"press": f"+2 {TAG}"},
        {"hide": OTHER},
        {"set_about": "1", "about": FACT},
        *[{"press": f"+1 {TAG}"}] * 4,  # the last ones move nothing, and the address says which
        {"undo": "1"},
        {"redo": "1"},
    ):
        answer = client.post("/act", data=fields, headers=OWN)
        assert answer.status_code == 200, (fields, answer.text[:300])
    item, tag = quote(OTHER, safe=""), quote(TAG, safe="")
    pages = ["/", "/search?q=film", "/suggest?q=film", "/tags?feature=type", "/share", "/export"]
    pages += ["/delete", f"/item/{item}", f"/lift/{item}", f"/tag?tag={tag}", f"/?tag={tag}"]
    pages += [f"/like/{item}", f"/compare?item={item}&item={quote(ITEM, safe='')}", "/import"]
    pages += ["/about-recommendations"]
    for page in pages:
        assert client.get(page).status_code == 200, page
    assert client.get(f"/picture/{item}").status_code < 500
    assert client.get("/export").json()["state"]["history"] == [ITEM]
