"""Items, names and the model over the API."""

import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from app.conftest import API, TestClient, error_of, new_person
from conftest import RULES, small_tables

from teaser import Dataset, Teaser

HISTORY = ["i0", "i2", "i4"]
GHENT = {"tag": "town=Ghent", "steps": 3}


class TestCatalogue:
    def test_a_card(self, client: TestClient) -> None:
        assert client.get(f"{API}/items?item_id=i7").json() == {
            "item_id": "i7",
            "title": "Event 7",
            "description": None,
            "link": None,
            "date": None,
            "has_picture": False,
            "facts": {"type": ["film"], "town": ["Deinze"], "labels": ["free", "late"]},
            "groups": [],
        }
        assert "Closest: i7" in error_of(client.get(f"{API}/items?item_id=i77"), 404)["message"]

    def test_a_card_of_the_events(
        self, serve: Callable[..., TestClient], events_folder: Path
    ) -> None:
        card = serve(model=events_folder).get(f"{API}/items?item_id=e0001").json()
        assert card["has_picture"] is True
        assert date.fromisoformat(card["date"])
        assert card["description"]

    def test_ids_may_be_numbers_or_hold_slashes(
        self, serve: Callable[..., TestClient], tmp_path: Path
    ) -> None:
        interactions, items = small_tables()
        names: dict[str, Any] = {f"i{i}": f"a/{i}?b#c d" for i in range(40)}
        numbers: dict[str, Any] = {f"i{i}": i for i in range(40)}
        for number, new in enumerate((names, numbers)):
            frames = [
                frame.with_columns(frame["item_id"].replace_strict(new).alias("item_id"))
                for frame in (interactions, items)
            ]
            folder = tmp_path / str(number)
            Teaser(l2_weights=5.0, l2_encoder=5.0).fit(
                Dataset.from_tables(*frames, rules=RULES)
            ).save(folder)
            client = serve(model=folder)
            path = "a%2F3%3Fb%23c%20d" if new is names else "3"
            assert client.get(f"{API}/items?item_id={path}").json()["item_id"] == new["i3"]
            person = new_person(client)
            viewed = client.post(f"{person}/views", json={"item_id": str(new["i3"])}).json()
            assert viewed["history"] == [new["i3"]]
            assert client.delete(f"{person}/views?item_id={path}").json()["history"] == []

    def test_ids_may_be_any_text(self, serve: Callable[..., TestClient], tmp_path: Path) -> None:
        odd = [".", "..", "a/../b", "/", "%2e%2e", "?", "#", "&", "+", "a b"]
        new = {f"i{i}": name for i, name in enumerate(odd)}
        frames = [frame.with_columns(frame["item_id"].replace(new)) for frame in small_tables()]
        dataset = Dataset.from_tables(*frames, rules=RULES)
        Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset).save(tmp_path / "odd")
        client = serve(model=tmp_path / "odd")
        person = new_person(client)
        for name in odd:
            query = {"item_id": name}
            assert client.get(f"{API}/items", params=query).json()["item_id"] == name
            for kind, field in (("views", "history"), ("hidden", "hidden")):
                assert client.post(f"{person}/{kind}", json=query).json()[field] == [name]
                assert client.delete(f"{person}/{kind}", params=query).json()[field] == []
            explained = client.get(f"{person}/explanation", params=query).json()
            assert explained["item_id"] == name

    def test_search(self, client: TestClient) -> None:
        found = client.get(f"{API}/search", params={"q": "GHENT"}).json()
        assert [t["tag"] for t in found["tags"]] == ["town=Ghent"]
        assert found["tags"][0]["n_items"] == 17
        assert found["items"] == []
        found = client.get(f"{API}/search", params={"q": "event 39"}).json()
        assert found["items"] == [{"item_id": "i39", "title": "Event 39"}]
        found = client.get(f"{API}/search", params={"q": "liege"}).json()
        assert [t["tag"] for t in found["tags"]] == ["town=Liège"]
        query, dutch = {"q": "luik"}, {"accept-language": "nl-BE"}
        assert client.get(f"{API}/search", params=query).json()["tags"] == []
        found = client.get(f"{API}/search", params=query, headers=dutch).json()
        assert [t["tag"] for t in found["tags"]] == ["town=Liège"]
        found = client.get(f"{API}/search", params={"q": "event", "k": 3}).json()
        assert len(found["items"]) == 3
        wrong: list[Any] = [{}, {"q": ""}, {"q": "x" * 201}, {"q": "a", "k": 0}]
        for query in [*wrong, {"q": "a", "x": 1}]:
            error_of(client.get(f"{API}/search", params=query), 422)

    def test_what_is_served(self, client: TestClient, model: Teaser) -> None:
        expected = {**model.describe(), "weights": None, "recipe": None}
        assert client.get(f"{API}/model").json() == expected
        assert (expected["remainder"], expected["discovered"]) == (None, None)


class TestReload:
    @pytest.fixture
    def folder(self, model_folder: Path, tmp_path: Path) -> Path:
        return Path(shutil.copytree(model_folder, tmp_path / "served"))

    @pytest.mark.parametrize("damage", ["vanished", "damaged", "another thing"])
    def test_a_bad_folder_leaves_the_present_model_in_place(
        self, serve: Callable[..., TestClient], folder: Path, damage: str
    ) -> None:
        client = serve(model=folder)
        before = client.post(f"{API}/recommend", json={"history": HISTORY}).json()
        kept = {file.name: file.read_bytes() for file in folder.iterdir()}
        shutil.rmtree(folder)
        if damage != "vanished":
            folder.mkdir()
        for name, content in kept.items():
            if damage == "damaged":
                is_array = name.endswith(".safetensors")
                (folder / name).write_bytes(content[:-7] + b"garbage" if is_array else content)
            elif damage == "another thing":
                (folder / name).write_text("{}")
        for _ in range(2):
            error_of(client.post(f"{API}/admin/reload"), 503)
            now = client.post(f"{API}/recommend", json={"history": HISTORY}).json()
            assert now == before
