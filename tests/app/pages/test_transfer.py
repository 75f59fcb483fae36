"""Import: an export comes back whole, after a look at it; files of other kinds get a sentence."""

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from app.conftest import TestClient, services_of

from teaser.app.http.cookies import TOKEN
from teaser.app.state import State

OWN = {"origin": "http://testserver"}


def state_of(client: TestClient) -> State:
    """Return the state of the visitor whose cookie a client has; that of nobody without one."""
    store = services_of(client).store
    person_id = store.find_person(str(client.cookies.get(TOKEN, "")))
    return store.state(person_id) if person_id else State()


def kept(state: State) -> State:
    """Return a state without what tells how it came about."""
    return replace(state, undoable=None, redoable=None, n_events=0)


def send(client: TestClient, content: bytes, **headers: str) -> Any:
    files = {"file": ("teaser.json", content, "application/json")}
    return client.post("/import", files=files, headers=headers)


def take_over(client: TestClient, page: str) -> Any:
    """Send the form of a preview."""
    found = re.search(r'name="export" value="([^"]*)"', page)
    assert found
    return client.post("/import", files={"export": (None, html.unescape(found[1]))})


@pytest.fixture
def visitor(client: TestClient) -> TestClient:
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
    def test_brings_back_the_whole_state_on_the_same_server(self, visitor: TestClient) -> None:
        export, before = visitor.get("/export").content, state_of(visitor)
        listed = re.findall(r'class="card" data-card="([^"]+)"', visitor.get("/").text)
        visitor.cookies.clear()
        visitor.post("/act", data={"view": "i5"})
        own = state_of(visitor)
        page = send(visitor, export).text
        assert state_of(visitor) == own, "a look changes nothing"
        assert "Everything in it is known here." in page
        told = dict(
            re.findall(r'scope="row">([^<]+)</th><td class="n">\d+</td><td class="n">(\d+)', page)
        )
        assert told == {
            "viewed items": "2",
            "pressed tags": "3",
            "feeds": "1",
            "filters": "1",
            "hidden items": "1",
            "hidden tags": "1",
            "things that end by themselves": "2",
        }
        assert "Feeds: Friday night. You would see Friday night." in page
        assert re.findall(r'class="small" data-card="([^"]+)"', page) == listed[:6]
        done = take_over(visitor, page)
        assert "Imported a profile" in done.text
        assert kept(state_of(visitor)) == kept(before)
        assert re.findall(r'class="card" data-card="([^"]+)"', done.text) == listed
        visitor.post("/act", data={"undo": "1"})
        assert kept(state_of(visitor)) == kept(own)

    def test_somebody_new_can_import(self, visitor: TestClient) -> None:
        export, before = visitor.get("/export").content, state_of(visitor)
        visitor.cookies.clear()
        take_over(visitor, send(visitor, export).text)
        assert kept(state_of(visitor)) == kept(before)

    def test_what_does_not_match_is_listed_and_kept(self, visitor: TestClient) -> None:
        export = json.loads(visitor.get("/export").content)
        state = export["state"]
        state["history"].append("elsewhere")
        state["hidden_tags"].append("type=opera")
        state["filters"]["at_most"] = {"weight": 3}
        page = send(visitor, json.dumps(export).encode()).text
        part = page.split('id="unmatched"')[1].split("</section>")[0]
        plain = re.sub(r"<[^>]+>", "", part)
        assert "Items: elsewhere" in plain
        assert "Tags: Type: opera" in plain
        assert "Numbers: Weight" in plain
        take_over(visitor, page)
        after = state_of(visitor)
        assert after.history[-1] == "elsewhere"
        assert "type=opera" in after.hidden_tags

    def test_many_names_are_counted(self, visitor: TestClient) -> None:
        export = json.loads(visitor.get("/export").content)
        export["state"]["history"] += [f"x{n}" for n in range(70)]
        page = send(visitor, json.dumps(export).encode()).text
        assert "x49, 20 more" in page

    def test_an_export_of_an_earlier_version(self, client: TestClient) -> None:
        client.headers.update(OWN)
        state = {"history": ["i1"], "presses": [{"tag": "type=film", "steps": 2}], "hidden": []}
        take_over(client, send(client, json.dumps({"state": state}).encode()).text)
        found = state_of(client)
        assert (found.history, found.presses) == (("i1",), {"type=film": 2})

    def test_a_large_export_passes_and_a_larger_one_is_refused(
        self, visitor: TestClient, serve: Callable[..., TestClient]
    ) -> None:
        export = json.loads(visitor.get("/export").content)
        export["events"] = [{"note": "x" * 200}] * 1000
        large = json.dumps(export).encode()
        assert "What it would bring" in send(visitor, large).text
        small = serve(max_import=100_000)
        small.headers.update(OWN)
        response = send(small, large)
        assert response.status_code == 413
        assert "Nothing was changed" in response.text

    def test_a_long_history_passes_from_the_look_to_the_state(self, visitor: TestClient) -> None:
        export = json.loads(visitor.get("/export").content)
        export["state"]["history"] = [f"{'x' * 30}{n}" for n in range(10_000)]
        page = send(visitor, json.dumps(export).encode()).text
        assert take_over(visitor, page).status_code == 200
        assert len(state_of(visitor).history) == 10_000


class TestProblems:
    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "No file was chosen, or the file is empty."),
            (b" \n", "No file was chosen, or the file is empty."),
            (b"\x89PNG\r\n\x1a\n\x00\xff", "This is no export"),
            (b"hello", "This is no export"),
            (b"[" * 100_000, "This is no export"),
            (b"[1, 2]", "This file is of another kind"),
            (b'{"name": "<script>alert(1)</script>"}', "This file is of another kind"),
            (b'{"state": null}', "This file is of another kind"),
            (b'{"state": {"history": ["i1"], "pre', "a part of it is missing"),
            (b'{"state": {"history": [%s]}}' % (b"1" * 5_000), "was changed"),
            (b'{"state": {"history": [], "variety": NaN}}', "was changed"),
            (b'{"state": {}}', "something in it that no export has"),
            (b'{"state": {"history": [1.5], "presses": [], "hidden": []}}', "no export has"),
            (
                b'{"state": {"history": [], "presses": [{"tag": "type=film", "steps": 99}],'
                b' "hidden": []}}',
                "no export has",
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
        assert "Nothing was changed." in response.text
        assert "<script>alert" not in response.text
        assert 'type="file"' in response.text
        assert state_of(visitor) == before

    @pytest.mark.parametrize("language", ["nl", "fr"])
    def test_in_the_language_of_the_visitor(self, visitor: TestClient, language: str) -> None:
        page = send(visitor, b"hello", **{"accept-language": language}).text
        assert {"nl": "Dit is geen export", "fr": "Ce n’est pas un export"}[language] in page

    def test_too_much_is_refused_with_its_number(self, visitor: TestClient) -> None:
        before = state_of(visitor)
        hidden = [f"x{n}" for n in range(20_000)]
        export = json.dumps({"state": {"history": [], "presses": [], "hidden": hidden}})
        for answer in (
            send(visitor, export.encode()),
            visitor.post("/import", files={"export": (None, export)}),
        ):
            assert answer.status_code == 422
            assert "There would be 20,000 hidden items, and at most 1,000 can be" in answer.text
        assert (
            "20.000 verborgen" in send(visitor, export.encode(), **{"accept-language": "nl"}).text
        )
        assert state_of(visitor) == before

    def test_every_cut_of_an_export_is_refused(self, visitor: TestClient) -> None:
        export = visitor.get("/export").content
        before = state_of(visitor)
        for end in range(1, len(export) - 3, max(1, len(export) // 15)):
            assert send(visitor, export[:end]).status_code == 422, end
        assert state_of(visitor) == before

    def test_no_file_no_form_and_a_form_of_another_site(self, visitor: TestClient) -> None:
        before = state_of(visitor)
        assert visitor.post("/import").status_code == 422
        assert visitor.post("/import", data={"file": "text"}).status_code == 422
        assert visitor.post("/import", data={"export": "{}"}).status_code == 422
        digits = '{"state": {"history": [%s], "presses": [], "hidden": []}}' % ("1" * 5_000)
        assert visitor.post("/import", data={"export": digits}).status_code == 422
        export = visitor.get("/export").content
        foreign = {"origin": "https://evil.example"}
        assert send(visitor, export, **foreign).status_code == 403
        sent = {"export": (None, export.decode())}
        assert visitor.post("/import", files=sent, headers=foreign).status_code == 403
        assert state_of(visitor) == before

    def test_the_page_is_in_the_menu(self, visitor: TestClient) -> None:
        assert 'href="/import"' in visitor.get("/").text
        assert 'enctype="multipart/form-data"' in visitor.get("/import").text
