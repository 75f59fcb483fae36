"""The visitor's own data: share, export, import, delete."""

import re
from dataclasses import replace
from typing import Any

import pytest
from app.conftest import OWN, TestClient, listed, services_of, state_of

from teaser import Teaser
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.state import ListFilter, State


@pytest.fixture
def visitor(client: TestClient) -> TestClient:
    return come(client)


def come(client: TestClient) -> TestClient:
    """Look at an item and press a tag."""
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
        assert "You lean" not in page
        assert "Event 2" not in page.split('id="list"')[0]
        assert 'action="/act"' not in page
        assert 'form="act"' not in page
        assert "set-cookie" not in visitor.get(link).headers


def names(page: str) -> list[str]:
    return re.findall(r'name="share_id" value="(\w+)"', page)


class TestLinks:
    def test_nobody_ends_a_link_of_another(self, visitor: TestClient) -> None:
        link = share(visitor)
        (name,) = names(visitor.get("/share").text)
        own = dict(visitor.cookies)
        visitor.cookies.clear()
        assert visitor.post("/share/end", data={"share_id": name}).status_code == 404
        visitor.post("/act", data={"view": "i3"})
        assert visitor.post("/share/end", data={"share_id": name}).status_code == 404
        assert visitor.get(link).status_code == 200
        visitor.cookies.clear()
        visitor.cookies.update(own)
        foreign = {"origin": "https://evil.example"}
        response = visitor.post("/share/end", data={"share_id": name}, headers=foreign)
        assert response.status_code == 403
        assert visitor.get(link).status_code == 200


def share_feed(client: TestClient, feed: str) -> str:
    page = client.post("/share", data={"feed": feed} if feed else {"main_feed": "1"}).text
    found = re.search(r'value="http://testserver(/s/[\w-]{43})"', page)
    assert found
    return found[1]


@pytest.fixture
def feeder(visitor: TestClient) -> TestClient:
    """A visitor with a feed of presses and filters."""
    visitor.post("/act", data={"make_feed": "Friday night"})
    visitor.post("/act", data={"press": "+1 town=Ghent"})
    visitor.post("/act", data={"filter": '{"without": ["type=concert"]}'})
    visitor.post("/act", data={"vary": "0.4"})
    return visitor


class TestSharedFeed:
    def test_shows_what_it_asks_for_and_nothing_of_the_owner(
        self, feeder: TestClient, model: Teaser
    ) -> None:
        link = share_feed(feeder, "Friday night")
        feeder.post("/act", data={"press": "-1 town=Ghent"})
        feeder.cookies.clear()
        response = feeder.get(link)
        page = response.text
        assert '<h1 id="feed-title">Friday night</h1>' in page
        asked = page.split('class="asks"')[1].split("</ul>")[0]
        assert re.findall(r">([+-]\d)</b> (\w+)</li>", asked) == [("+1", "film"), ("+1", "Ghent")]
        assert "no concert" in asked
        assert "variety at 40" in asked
        assert "Event 1<" not in page.split('id="list"')[0]
        assert "You looked at" not in page
        assert 'form="act"' not in page
        assert "set-cookie" not in response.headers
        feed = State(
            presses={"type=film": 1, "town=Ghent": 1},
            filters=ListFilter(without=("type=concert",)),
            variety=0.4,
        )
        shown = PersonalModel(Catalogue(model), feed).listed(k=12)
        assert listed(page) == shown


class TestExport:
    def test_does_not_tell_the_id(self, visitor: TestClient) -> None:
        store = services_of(visitor).store
        person_id = store.find_person(visitor.cookies["teaser"])
        text = visitor.get("/export").text
        assert "person_id" not in text
        assert person_id
        assert person_id not in text


class TestDelete:
    def test_leaves_nothing(self, visitor: TestClient) -> None:
        link = share(visitor)
        page = visitor.post("/delete").text
        assert "Nothing is stored about you any more." in page
        assert visitor.get("/export").json()["events"] == []
        assert "You looked at" not in visitor.get("/").text
        assert visitor.get(link).status_code == 404


def kept(state: State) -> State:
    """Return a state without what tells how it came about."""
    return replace(state, undoable=None, redoable=None, n_events=0)


def send(client: TestClient, content: bytes, **headers: str) -> Any:
    files = {"file": ("teaser.json", content, "application/json")}
    return client.post("/import", files=files, headers=headers)


@pytest.fixture
def owner(client: TestClient) -> TestClient:
    """A visitor with something of every kind."""
    client.headers.update(OWN)
    for action in (
        {"view": "i1"},
        {"view": "i2"},
        {"press": "+1 type=film"},
        {"make_feed": "Friday night"},
        {"press": "-1 town=Ghent"},
        {"press": "+1 town=Deinze", "lasts": "week"},
        {"filter": '{"only": ["type=film"]}'},
        {"vary": "0.3"},
        {"hide": "i9"},
        {"mute_tag": "week town=Ghent"},
    ):
        response = client.post("/act", data=action)
        assert response.status_code == 200, (action, response.text)
    return client


class TestImport:
    def test_brings_back_the_whole_state_on_the_same_server(self, owner: TestClient) -> None:
        export, before = owner.get("/export").content, state_of(owner)
        listed = re.findall(r'class="card" data-card="([^"]+)"', owner.get("/").text)
        owner.cookies.clear()
        owner.post("/act", data={"view": "i5"})
        own = state_of(owner)
        done = send(owner, export)
        assert "Imported a profile" in done.text
        assert kept(state_of(owner)) == kept(before)
        assert re.findall(r'class="card" data-card="([^"]+)"', done.text) == listed
        owner.post("/act", data={"undo": "1"})
        assert kept(state_of(owner)) == kept(own)


class TestProblems:
    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "It is not JSON"),
            (b"[" * 100_000, "It is not JSON"),
            (b'{"name": "<script>alert(1)</script>"}', "state"),
            (b'{"state": {"history": [%s]}}' % (b"1" * 5_000), "digits"),
            (b'{"state": {"history": [], "presses": [], "hidden": [], "variety": NaN}}', "variety"),
            (b'{"state": {"history": [1.5], "presses": [], "hidden": []}}', "history"),
            (
                b'{"state": {"history": [], "presses": [{"tag": "type=film", "steps": 99}],'
                b' "hidden": []}}',
                "steps",
            ),
        ],
    )
    def test_a_sentence_and_nothing_changed(
        self, visitor: TestClient, content: bytes, said: str
    ) -> None:
        before = state_of(visitor)
        response = send(visitor, content)
        assert response.status_code == 422
        assert said in response.text
        assert "not a file that was exported here, or it is damaged" in response.text
        assert "<script>alert" not in response.text
        assert state_of(visitor) == before

    def test_no_file_no_form_and_a_form_of_another_site(self, owner: TestClient) -> None:
        before = state_of(owner)
        assert owner.post("/import").status_code == 422
        assert owner.post("/import", data={"file": "text"}).status_code == 422
        export = owner.get("/export").content
        foreign = {"origin": "https://evil.example"}
        assert send(owner, export, **foreign).status_code == 403
        assert state_of(owner) == before
