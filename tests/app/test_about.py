"""Facts about people over HTTP: they count as in the library, are kept, exported and deleted."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from app.conftest import TestClient, check_same

from teaser import Teaser
from teaser.steer import varied

API = "/api/v1"
YOUNG = ["age=young"]


@pytest.fixture
def client(serve: Callable[..., TestClient], people_folder: Path) -> TestClient:
    served = serve(model=people_folder)
    served.headers.update({"origin": "http://testserver"})
    return served


def set_about(client: TestClient, *facts: str) -> str:
    answer = client.post("/act", data={"set_about": "1", "about": list(facts)})
    assert answer.status_code == 200, answer.text
    return str(answer.text)


class TestSite:
    def test_it_is_exported_and_deleted_and_not_shared(self, client: TestClient) -> None:
        set_about(client, "sex=F")
        exported = client.get("/export").json()
        assert exported["state"]["about"] == ["sex=F"]
        assert exported["events"][0]["about"] == ["sex=F"]
        link = re.search(r"/s/[\w-]+", client.post("/share").text)
        assert link
        page = client.get(link[0]).text
        assert "about-you" not in page
        assert "sex=F" not in page
        client.post("/delete")
        left = client.get("/export").json()
        assert left["events"] == []
        assert "sex" not in str(left)


class TestApi:
    def test_lists_profiles_and_origins_equal_the_library(
        self, client: TestClient, people_model: Teaser
    ) -> None:
        asked = {"history": ["i0"], "about": YOUNG}
        found = client.post(f"{API}/recommend", json={**asked, "variety": 0.4}).json()
        expected = varied(people_model, ["i0"], variety=0.4, about=YOUNG)
        check_same(found["recommendations"], expected)
        profile = client.post(f"{API}/profile", json=asked).json()
        assert profile["about"] == YOUNG
        assert profile["certainty"] == people_model.profile(["i0"], about=YOUNG).certainty
        origins = client.post(f"{API}/origins", json={**asked, "tag": "type=film"}).json()
        assert [o["item_id"] for o in origins["origins"]] == ["i0"]
        assert [o["tag"] for o in origins["about"]] == YOUNG
        parts = [o["part"] for o in (*origins["origins"], *origins["about"])]
        assert sum(parts) == pytest.approx(origins["raw"])
        why = client.post(f"{API}/explain", json={**asked, "item_id": "i5"}).json()
        check_same(why, people_model.explain("i5", ["i0"], about=YOUNG))

    def test_what_is_told_is_kept_and_equals_the_stateless(self, client: TestClient) -> None:
        person = f"{API}/people/{client.post(f'{API}/people').json()['person_id']}"
        state = client.put(f"{person}/about", json={"about": [" age = young"]}).json()
        assert (state["about"], state["unknown_about"]) == (YOUNG, [])
        kept = client.get(f"{person}/recommendations").json()
        assert kept == client.post(f"{API}/recommend", json={"about": YOUNG}).json()
        assert kept != client.post(f"{API}/recommend", json={}).json()
        tag = {"tag": "type=film"}
        kept = client.get(f"{person}/origins", params=tag).json()
        assert kept == client.post(f"{API}/origins", json={"about": YOUNG, **tag}).json()
        assert client.put(f"{person}/about", json={"about": []}).json()["about"] == []
        assert client.post(f"{person}/undo").json()["about"] == YOUNG

    def test_what_it_does_not_know_is_refused(
        self, client: TestClient, serve: Callable[..., TestClient]
    ) -> None:
        answer = client.post(f"{API}/recommend", json={"about": ["age=yong"]})
        assert answer.status_code == 404
        assert "Closest: age=young" in answer.json()["error"]["message"]
        plain = serve()
        person = f"{API}/people/{plain.post(f'{API}/people').json()['person_id']}"
        for answer in (
            plain.post(f"{API}/recommend", json={"about": YOUNG}),
            plain.put(f"{person}/about", json={"about": YOUNG}),
        ):
            assert answer.status_code == 422
            assert "without user features" in answer.json()["error"]["message"]
