"""A model with a remainder over HTTP: the balance of tags and viewed items."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app.conftest import TestClient, check_same, listed

from teaser import Teaser
from teaser.profile import Steering

API = "/api/v1"
HISTORY = ["i0", "i2", "i3"]


@pytest.fixture
def client(serve: Callable[..., TestClient], remainder_folder: Path) -> TestClient:
    served = serve(model=remainder_folder)
    served.headers.update({"origin": "http://testserver"})
    return served


@pytest.fixture
def visitor(client: TestClient) -> TestClient:
    for item in HISTORY:
        client.post("/act", data={"view": item})
    return client


def move(client: TestClient, balance: float) -> str:
    answer = client.post("/act", data={"balance": str(balance)})
    assert answer.status_code == 200
    return str(answer.text)


class TestSite:
    def test_what_would_bring_it_up_is_exact(
        self, visitor: TestClient, remainder_model: Teaser
    ) -> None:
        move(visitor, 0.7)
        steering = Steering(balance=0.7)
        ranked = [r.item_id for r in remainder_model.recommend(HISTORY, k=40, steering=steering)]
        promised = 0
        for place, item in enumerate(ranked[10:20], start=11):
            page = visitor.get(f"/lift/{item}").text
            found = re.search(r'name="presses" value="([^"]+)"', page)
            if found is None:
                continue
            said = re.search(r"Now it is number (\d+)\. These presses make it number (\d+)", page)
            assert said
            assert int(said[1]) == place
            presses = json.loads(html.unescape(found[1]))
            after = remainder_model.recommend(HISTORY, presses, k=40, steering=steering)
            assert [r.item_id for r in after].index(item) + 1 == int(said[2]) <= 10
            promised += 1
        assert promised > 3

    def test_where_tags_do_not_count_no_press_is_promised(self, visitor: TestClient) -> None:
        page = move(visitor, 1.0)
        last = next(f"i{i}" for i in range(39, 0, -1) if f"i{i}" not in listed(page)[:12])
        said = visitor.get(f"/lift/{last}").text
        assert "no press moves the list" in said
        assert 'name="presses"' not in said
        pressed = visitor.post("/act", data={"press": "-1 type=film"}).text
        assert listed(pressed) == listed(page)
        assert "no press moves the list" in pressed


class TestApi:
    @pytest.mark.parametrize("balance", [0.0, 0.25, 1.0])
    def test_recommend_and_explain_equal_the_library(
        self, client: TestClient, remainder_model: Teaser, balance: float
    ) -> None:
        asked: dict[str, Any] = {"history": HISTORY, "balance": balance}
        steering = Steering(balance=balance)
        found = client.post(f"{API}/recommend", json={**asked, "k": 9}).json()["recommendations"]
        check_same(found, remainder_model.recommend(HISTORY, k=9, steering=steering))
        whole = client.post(f"{API}/explain", json={**asked, "item_id": "i5"}).json()
        check_same(whole, remainder_model.explain("i5", HISTORY, steering=steering))
        kinds = {r["kind"] for r in whole["reasons"]}
        assert kinds == ({"tag", "viewed"} if balance else {"tag"})

    def test_a_balance_is_kept_used_and_undone(self, client: TestClient) -> None:
        person = f"{API}/people/{client.post(f'{API}/people').json()['person_id']}"
        for item in HISTORY:
            client.post(f"{person}/views", json={"item_id": item})
        assert client.get(person).json()["balance"] == 0.5
        assert client.put(f"{person}/balance", json={"balance": 0.9}).json()["balance"] == 0.9
        taste = {"history": HISTORY, "balance": 0.9}
        for path, other, asked in (
            ("recommendations", "recommend", {"k": 6}),
            ("profile", "profile", {"top": 2}),
            ("explanation", "explain", {"item_id": "i5"}),
        ):
            kept = client.get(f"{person}/{path}", params=asked).json()
            assert kept == client.post(f"{API}/{other}", json={**taste, **asked}).json()
            instead = client.get(f"{person}/{path}", params={**asked, "balance": 0}).json()
            taste_0 = {**taste, "balance": 0}
            assert instead == client.post(f"{API}/{other}", json={**taste_0, **asked}).json()
            assert instead != kept
        export = client.get(f"{person}/export").json()
        assert export["events"][-1]["kind"] == "balance"
        assert export["events"][-1]["balance"] == 0.9
        assert client.post(f"{person}/undo").json()["balance"] == 0.5
