"""Feeds and what lasts for now, by the forms of the site."""

import html
import json
import re

from app.conftest import TestClient, do, listed, notice, services_of, state_of, text_of


def feeds_of(page: str) -> list[tuple[str, bool]]:
    """Return the names in the bar of feeds, and which one is current."""
    found = re.findall(r'name="(?:main_)?feed"[^>]*data-key="feed ([^"]*)"([^>]*)>', page)
    return [(html.unescape(name), "aria-current" in rest) for name, rest in found]


def button(page: str, name: str) -> str:
    """Return the value of the first button with a name."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return html.unescape(found[1])


class TestFeeds:
    def test_each_feed_has_its_own_presses(self, visitor: TestClient) -> None:
        main = listed(do(visitor, press="+1 type=film"))
        page = do(visitor, make_feed="Friday night")
        assert feeds_of(page) == [("", False), ("Friday night", True)]
        assert notice(page) == "New feed: Friday night : the list stays as it was."
        friday = listed(do(visitor, presses='{"type=film": -2, "town=Deinze": 3}'))
        assert friday != main
        page = do(visitor, main_feed="1")
        assert listed(page) == main
        assert notice(page).startswith("Now you see For you")
        assert listed(do(visitor, feed="friday  NIGHT")) == friday
        assert listed(do(visitor, undo="1")) == main

    def test_rename_copy_drop_and_undo(self, visitor: TestClient) -> None:
        do(visitor, make_feed="A")
        do(visitor, press="+1 type=film")
        do(visitor, rename_feed="A", name="B")
        do(visitor, main_feed="1")
        page = do(visitor, make_feed="C", copy_of="B")
        assert feeds_of(page) == [("", False), ("B", False), ("C", True)]
        assert state_of(visitor).presses == {"type=film": 1}
        page = do(visitor, make_feed="D", copy_main="1")
        assert state_of(visitor).presses == {}
        assert [name for name, _ in feeds_of(page)] == ["", "B", "C", "D"]
        page = do(visitor, drop_feed="D")
        assert feeds_of(page)[0] == ("", True)
        assert notice(page).startswith("Dropped the feed D")
        assert feeds_of(do(visitor, undo="1"))[-1] == ("D", True)
        page = do(visitor, undo="1")
        assert feeds_of(page) == [("", False), ("B", False), ("C", True)]

    def test_the_page_says_what_each_holds(self, visitor: TestClient) -> None:
        do(visitor, make_feed="<b>Friday</b>")
        do(visitor, presses='{"type=film": -2}')
        do(visitor, filter=json.dumps({"only": ["town=Ghent"]}))
        do(visitor, vary="0.5")
        page = visitor.get("/feeds").text
        assert "<b>Friday" not in page
        said = text_of(page)
        assert "2 presses · variety at 50 % · only Ghent" in said
        assert "shown now" in said
        answer = visitor.post("/act", data={"drop_feed": "<b>Friday</b>", "back": "/feeds"})
        assert answer.url.path == "/feeds"
        assert "<b>Friday" not in answer.text.split("data-notice")[0]


class TestForNow:
    def test_a_tag_or_item_can_be_muted(self, visitor: TestClient) -> None:
        page = do(visitor, mute_tag="week type=film", back="/profile")
        assert ", until " in notice(page)
        page = do(visitor, mute="today i3", back="/profile")
        assert "today only" in notice(page)
        assert "2 hidden" in text_of(page)
        assert len(state_of(visitor).ends) == 2
        for text in ("type=film", "soon type=film"):
            assert visitor.post("/act", data={"mute_tag": text}).status_code == 422

    def test_a_press_for_now_can_be_ended(self, visitor: TestClient) -> None:
        before = listed(visitor.get("/").text)
        do(visitor, press="+1 town=Deinze", lasts="week")
        page = do(visitor, press="+1 town=Deinze", lasts="week")
        assert listed(page) != before
        page = do(visitor, end_press=button(visitor.get("/profile").text, "end_press"))
        assert listed(page) == before
        assert state_of(visitor).ends == ()
        assert state_of(visitor).presses == {}

    def test_an_end_on_no_calendar_is_refused(self, at_events: TestClient) -> None:
        far = "9999-12-31T23:59:59+00:00"
        form = at_events.post("/act", data={"end_press": f"{far} +1 town=Ghent"})
        assert form.status_code == 422
        end = {"kind": "press", "name": "town=Ghent", "steps": 1, "until": far}
        state = {"history": [], "presses": [], "hidden": [], "ends": [end]}
        sent = {"file": ("export.json", json.dumps({"state": state}))}
        assert at_events.post("/import", files=sent).status_code == 422


class TestOtherPages:
    def test_no_press_lifts_what_cannot_be_shown(self, visitor: TestClient) -> None:
        catalogue = services_of(visitor).holder.current
        item = listed(visitor.get("/").text)[-1]
        tag = f"type={catalogue.card(item).facts['type'][0]}"
        do(visitor, hide_tag=tag)
        assert "You hid one of its tags" in text_of(visitor.get(f"/lift/{item}").text)
        do(visitor, unhide_tag=tag)
        do(visitor, filter=json.dumps({"without": [tag]}))
        assert "Your filters leave it out" in text_of(visitor.get(f"/lift/{item}").text)
        do(visitor, filter="{}")
        do(visitor, profiling="appeal")
        assert "Your profile is switched off" in text_of(visitor.get(f"/lift/{item}").text)
