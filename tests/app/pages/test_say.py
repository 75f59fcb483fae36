"""A request in words over HTTP: shown first, applied as one step, nothing silently."""

import html
import re

import pytest
from app.conftest import TestClient, do, listed, notice, services_of, state_of, text_of
from app.pages.test_feeds import feeds_of

from teaser.app.i18n.texts import LANGUAGES


def chips(page: str) -> dict[str, bool]:
    """Return the text forms that the page offers, and which of them are on."""
    form = r'<input type="(?:checkbox|radio)" name="wish\d*" value="([^"]*)"([^>]*)'
    found = re.findall(form, page)
    return {html.unescape(text): " checked" in rest for text, rest in found}


def n_events(client: TestClient) -> int:
    """Return how many actions of the visitor are stored."""
    store, token = services_of(client).store, client.cookies.get("teaser")
    person_id = store.find_person(token) if token else None
    return len(store.export(person_id).events) if person_id else 0


def send(client: TestClient, *wishes: str, **fields: str) -> str:
    response = client.post("/say", data={"wish": list(wishes), **fields})
    assert response.status_code == 200, response.text
    return str(response.text)


class TestReading:
    def test_what_is_understood_is_shown_and_nothing_applies(self, visitor: TestClient) -> None:
        before = listed(visitor.get("/").text)
        page = visitor.get("/say?text=more film, no concert, dragons").text
        assert chips(page) == {"press +4 type=film": True, "without type=concert": True}
        assert "more film" in text_of(page)
        assert "no concert" in text_of(page)
        assert "Not understood: dragons" in text_of(page)
        assert listed(visitor.get("/").text) == before
        assert n_events(visitor) == 0

    @pytest.mark.parametrize(
        "text", ["xyzzy plugh", "Привет мир", "日本語", "<script>alert(1)</script>", "“” — … !?"]
    )
    def test_only_unknown_words_are_said_plainly(self, visitor: TestClient, text: str) -> None:
        response = visitor.get("/say", params={"text": text})
        assert response.status_code == 200
        assert "nothing changes" in text_of(response.text)
        assert "<script>alert" not in response.text
        assert chips(response.text) == {}
        assert 'id="preview"' not in response.text

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_the_example_is_understood(self, at_events: TestClient, language: str) -> None:
        at_events.post("/language", data={"language": language})
        home = html.unescape(at_events.get("/").text)
        example = re.search(r'id="say"[^>]*placeholder="([^"]*)"', home)
        assert example
        _, _, text = example[1].partition(":")
        page = at_events.get("/say", params={"text": text.strip()}).text
        assert len(chips(page)) == 3
        assert 'class="unknown"' not in page


class TestApplying:
    def test_all_is_one_step_of_undo(self, visitor: TestClient) -> None:
        before = listed(visitor.get("/").text)
        page = send(
            visitor, "press +4 type=film", "without town=Ghent", "never town=Deinze for week"
        )
        state = state_of(visitor)
        assert state.presses == {"type=film": 4}
        assert state.filters.without == ("town=Ghent",)
        assert state.hidden_tags == ("town=Deinze",)
        assert n_events(visitor) == 1
        for part in ("+4 on film", "no Ghent", "Hid Deinze , until "):
            assert part in notice(page)
        assert listed(do(visitor, undo="1")) == before
        assert not state_of(visitor).hidden_tags

    def test_it_can_be_kept_as_a_feed(self, visitor: TestClient) -> None:
        do(visitor, press="+1 town=Ghent")
        page = send(visitor, "only type=film", feed="Friday night", keep="1")
        assert feeds_of(page) == [("", False), ("Friday night", True)]
        assert state_of(visitor).filters.only == ("type=film",)
        assert state_of(visitor).presses == {"town=Ghent": 1}
        page = do(visitor, undo="1")
        assert feeds_of(page) == []
        assert not state_of(visitor).filters

    def test_a_taken_name_is_refused_and_nothing_applied(self, visitor: TestClient) -> None:
        do(visitor, make_feed="Friday")
        before = state_of(visitor)
        fields = {"wish": "only type=film", "feed": "friday", "keep": "1"}
        assert visitor.post("/say", data=fields).status_code == 422
        assert state_of(visitor) == before


class TestQuestions:
    def test_it_has_to_be_answered(self, visitor: TestClient) -> None:
        fields = {"text": "more film, no film, more concert", "questions": "wish1", "kept": "1"}
        page = send(visitor, "press +4 type=concert", **fields)
        assert "Choose one first. Nothing was changed." in text_of(page)
        assert chips(page)["press +4 type=concert"]
        assert n_events(visitor) == 0
        send(visitor, "press +4 type=concert", wish1="without type=film", **fields)
        assert state_of(visitor).filters.without == ("type=film",)
        assert state_of(visitor).presses == {"type=concert": 4}
