"""One's own data: shared without any button, exported whole, deleted for good."""

import re

import pytest
from app.conftest import TestClient

OWN = {"origin": "http://testserver"}


@pytest.fixture
def visitor(client: TestClient) -> TestClient:
    client.headers.update(OWN)
    client.post("/act", data={"view": "i1"})
    client.post("/act", data={"press": "+1 type=film"})
    return client


def share(client: TestClient) -> str:
    found = re.search(r'value="http://testserver(/s/[\w-]{43})"', client.post("/share").text)
    assert found
    return found[1]


class TestShare:
    def test_shows_the_moment_and_nothing_to_press(self, visitor: TestClient) -> None:
        own = re.findall(r'class="card" data-card="([^"]+)"', visitor.get("/").text)
        link = share(visitor)
        visitor.post("/act", data={"view": "i2"})
        visitor.cookies.clear()
        page = visitor.get(link).text
        assert re.findall(r'class="card" data-card="([^"]+)"', page) == own
        assert "Event 1" in page
        assert "Event 2" not in page.split('id="list"')[0]
        assert 'action="/act"' not in page
        assert 'form="act"' not in page
        assert "set-cookie" not in visitor.get(link).headers

    def test_somebody_new_can_share_too(self, client: TestClient) -> None:
        client.headers.update(OWN)
        assert client.get(share(client)).status_code == 200

    def test_unknown_links(self, visitor: TestClient) -> None:
        link = share(visitor)
        assert visitor.get("/s/x").status_code == 404
        assert visitor.get(link[:-1]).status_code == 404

    def test_says_what_it_will_do(self, visitor: TestClient) -> None:
        assert "Make a link" in visitor.get("/share").text


class TestExport:
    def test_holds_every_action(self, visitor: TestClient) -> None:
        response = visitor.get("/export")
        assert "attachment" in response.headers["content-disposition"]
        events = response.json()["events"]
        assert [(e["place"], e["kind"], e["data"]) for e in events] == [
            (1, "view", {"item": "i1"}),
            (2, "press", {"presses": {"type=film": 1}}),
        ]

    def test_of_somebody_new_is_empty(self, client: TestClient) -> None:
        assert client.get("/export").json() == {"events": []}


class TestDelete:
    def test_asks_first(self, visitor: TestClient) -> None:
        page = visitor.get("/delete").text
        assert "2 actions are kept of you" in page
        assert len(visitor.get("/export").json()["events"]) == 2

    def test_leaves_nothing(self, visitor: TestClient) -> None:
        link = share(visitor)
        page = visitor.post("/delete").text
        assert "Nothing is kept of you any more." in page
        assert visitor.get("/export").json() == {"events": []}
        assert "You looked at" not in visitor.get("/").text
        assert visitor.get(link).status_code == 404

    def test_of_somebody_new_is_no_error(self, client: TestClient) -> None:
        assert client.post("/delete", headers=OWN).status_code == 200
