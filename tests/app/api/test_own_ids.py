"""People known by ids of the caller's own, which belong to the caller's key."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app.conftest import API, TestClient, error_of, services_of

from teaser import Dataset, Teaser
from teaser.model import load

OWN = f"{API}/people/own"


class Caller:
    """A program with a key, which names its users by its own ids."""

    def __init__(self, client: TestClient, key_name: str) -> None:
        self.client = client
        self.key = services_of(client).store.create_key(key_name)

    def ask(self, user_id: str | bytes, path: str = "", method: str = "GET", **given: Any) -> Any:
        name = user_id.encode() if isinstance(user_id, str) else user_id
        headers: Any = {"Authorization": f"Bearer {self.key}", "User-Id": name}
        return self.client.request(method, OWN + path, headers=headers, **given)

    def listed(self, user_id: str) -> list[str]:
        found = self.ask(user_id, "/recommendations?k=5").json()["recommendations"]
        return [entry["item_id"] for entry in found]


@pytest.fixture(scope="session")
def fitted(dataset: Dataset, model: Teaser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows the folder of its data."""
    folder = tmp_path_factory.mktemp("fitted")
    dataset.save(folder / "data")
    model.save(folder / "plain")
    own = load(folder / "plain", Teaser)
    own.dataset_path_ = str(folder / "data")
    own.save(folder / "model")
    return folder / "model"


@pytest.fixture
def client(serve: Callable[..., TestClient], fitted: Path) -> TestClient:
    return serve(alone=True, keys="on", model=fitted)


@pytest.fixture
def shop(client: TestClient) -> Caller:
    return Caller(client, "shop")


def test_a_user_of_the_data_has_the_history_of_the_data(shop: Caller, dataset: Dataset) -> None:
    user = str(dataset.users[3])
    state = shop.ask(user).json()
    assert state["history"] == list(dataset.history(user))
    asked = {"history": state["history"], "k": 5}
    key = {"Authorization": f"Bearer {shop.key}"}
    stateless = shop.client.post(f"{API}/recommend", json=asked, headers=key).json()
    assert shop.listed(user) == [e["item_id"] for e in stateless["recommendations"]]


def test_what_the_caller_posts_is_stored_under_the_id(shop: Caller) -> None:
    views = [{"item_id": "i1"}, {"item_id": "i2", "strength": -0.5}, {"item_id": "gone"}]
    error_of(shop.ask("anna@example.org", "/history", "POST", json={"views": views}), 404)
    given = {"views": views, "unknown": "ignore"}
    assert shop.ask("anna@example.org", "/history", "POST", json=given).status_code == 200
    press = {"tag": "town=Ghent", "steps": 2}
    assert shop.ask("anna@example.org", "/presses", "POST", json=press).status_code == 200
    state = shop.ask("anna@example.org").json()
    assert (state["history"], state["presses"]) == (["i1", "i2"], [press])
    shop.ask("anna@example.org", "/undo", "POST")
    assert shop.ask("anna@example.org").json()["presses"] == []
    assert shop.ask("anna@example.org", method="DELETE").status_code == 204
    assert shop.ask("anna@example.org").json()["history"] == []
    none = {"views": [{"item_id": "gone"}], "unknown": "ignore"}
    error_of(shop.ask("anna@example.org", "/history", "POST", json=none), 422)


def test_the_same_id_of_another_key_is_another_person(client: TestClient, shop: Caller) -> None:
    other, next_key = Caller(client, "library"), Caller(client, "shop/2")
    shop.ask("anna", "/views", "POST", json={"item_id": "i1"})
    assert other.ask("anna").json()["history"] == []
    assert next_key.ask("anna").json()["history"] == ["i1"], "a new key of the same owner"
    assert shop.ask("Anna").json()["history"] == []


def test_no_other_key_opens_a_person_of_own_ids(client: TestClient, shop: Caller) -> None:
    person_id = shop.ask("anna").json()["person_id"]
    other = {"Authorization": f"Bearer {Caller(client, 'library').key}"}
    for method in ("GET", "DELETE"):
        answer = client.request(method, f"{API}/people/{person_id}", headers=other)
        assert "own" in error_of(answer, 422)["message"]
    assert shop.ask("anna").status_code == 200


@pytest.mark.parametrize("user_id", ["", " ", "x" * 201])
def test_an_id_that_cannot_be_one_gets_a_sentence(shop: Caller, user_id: Any) -> None:
    assert "User-Id" in error_of(shop.ask(user_id), 422)["message"]


@pytest.mark.parametrize("keys", ["on", "off"])
def test_without_a_key_there_are_no_own_ids(serve: Callable[..., TestClient], keys: str) -> None:
    client = serve(keys=keys)
    said = error_of(client.get(OWN, headers={"User-Id": "anna"}), 401)
    assert "key" in said["message"]
    assert Caller(client, f"shop {keys}").ask("anna").status_code == 200


def test_own_ids_are_in_no_log_and_not_in_the_database(
    shop: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        shop.ask("anna-4711", "/views", "POST", json={"item_id": "i1"})
        shop.ask("anna-4711", "/views", "POST", json={"item_id": "nothing"})
        shop.ask("anna-4711" * 40)
    lines = [f"{record.getMessage()} {vars(record)}" for record in caplog.records]
    assert any("/people/{person_id}/views" in line for line in lines)
    assert not [line for line in lines if "anna-4711" in line]
    database = Path(services_of(shop.client).settings.database.removeprefix("sqlite:///"))
    written = b"".join(file.read_bytes() for file in database.parent.glob(database.name + "*"))
    assert b"anna-4711" not in written
