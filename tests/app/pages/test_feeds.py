"""Feeds, filters that stay, what is never shown, and the list without profile, over HTTP."""

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


class TestFilters:
    def test_filters_can_be_kept_and_taken_off(self, visitor: TestClient) -> None:
        do(visitor, view="i1")
        page = visitor.get("/?only=type%3Dfilm&only=town%3DGhent").text
        chosen = listed(page)
        page = do(visitor, filter=button(page, "filter"))
        assert listed(page) == chosen
        assert state_of(visitor).filters.only == ("type=film", "town=Ghent")
        assert "Filters of this list: only film, only Ghent" in notice(page)
        page = do(visitor, filter=button(page, "filter"))
        assert state_of(visitor).filters.only == ("town=Ghent",)
        page = do(visitor, filter=button(page, "filter"))
        assert not state_of(visitor).filters
        assert "No filters in this list" in notice(page)
        assert 'class="chips"' not in page

    def test_filters_that_leave_nothing_can_be_taken_off(self, visitor: TestClient) -> None:
        types = [str(tag) for tag in services_of(visitor).holder.current.features["type"]]
        page = do(visitor, filter=json.dumps({"without": types}))
        assert listed(page) == []
        assert "Nothing passes these filters." in text_of(page)
        assert listed(do(visitor, filter="{}"))


class TestNever:
    def test_a_tag_is_never_shown_until_it_is_again(self, visitor: TestClient) -> None:
        before = visitor.get("/").text
        page = do(visitor, hide_tag="type=film")
        assert notice(page).startswith("Hid film")
        for item in listed(page):
            assert "film" not in services_of(visitor).holder.current.card(item).facts["type"]
        picks = re.findall(r'data-card="pick ([^"]+)"', page)
        assert picks
        for item in picks:
            assert "film" not in services_of(visitor).holder.current.card(item).facts["type"]
        page = visitor.get("/profile").text
        assert "1 hidden" in text_of(page)
        assert "never shown" in text_of(page)
        page = do(visitor, unhide_tag=button(page, "unhide_tag"))
        assert listed(page) == listed(before)

    def test_a_tag_or_item_can_be_muted(self, visitor: TestClient) -> None:
        page = do(visitor, mute_tag="week type=film", back="/profile")
        assert ", until " in notice(page)
        assert re.search(r'<time class="until" datetime="[^"]+" title="ends on [^"]+">until', page)
        page = do(visitor, mute="today i3", back="/profile")
        assert "today only" in notice(page)
        assert "2 hidden" in text_of(page)
        assert len(state_of(visitor).ends) == 2
        for text in ("type=film", "soon type=film"):
            assert visitor.post("/act", data={"mute_tag": text}).status_code == 422

    def test_the_pages_of_tags_and_items_have_the_buttons(self, visitor: TestClient) -> None:
        page = visitor.get("/tag?tag=type%3Dfilm").text
        assert button(page, "hide_tag") == "type=film"
        assert button(page, "mute_tag") == "week type=film"
        do(visitor, mute_tag="week type=film")
        page = visitor.get("/tag?tag=type%3Dfilm").text
        assert "Items with this tag are not shown." in text_of(page)
        assert button(page, "unhide_tag") == "type=film"
        page = visitor.get("/item/i3").text
        assert button(page, "hide") == "i3"
        assert button(page, "mute") == "week i3"


class TestForNow:
    def test_presses_last_as_chosen(self, visitor: TestClient) -> None:
        assert 'name="lasts" value=' not in visitor.get("/").text
        page = visitor.post("/lasts", data={"lasts": "today"}).text
        assert '<input type="hidden" name="lasts" value="today">' in page
        assert "Your presses last until midnight." in page
        page = do(visitor, press="+1 type=film", lasts="today", back="/profile")
        assert notice(page).startswith("+ on film , today only")
        assert "1 press for now" in text_of(page)
        (ending,) = state_of(visitor).ends
        assert (ending.name, ending.steps) == ("type=film", 1)
        assert state_of(visitor).permanent_presses == {}

    def test_a_press_for_now_can_be_ended(self, visitor: TestClient) -> None:
        before = listed(visitor.get("/").text)
        do(visitor, press="+1 town=Deinze", lasts="week")
        page = do(visitor, press="+1 town=Deinze", lasts="week")
        assert listed(page) != before
        page = do(visitor, end_press=button(visitor.get("/profile").text, "end_press"))
        assert listed(page) == before
        assert state_of(visitor).ends == ()
        assert state_of(visitor).presses == {}

    def test_an_end_in_the_last_year_of_the_calendar_breaks_no_page(
        self, at_events: TestClient
    ) -> None:
        far = "9999-12-31T23:59:59+00:00"
        tag = button(at_events.get("/profile").text, "press").partition(" ")[2]
        page = do(at_events, end_press=f"{far} +1 {tag}", back="/profile")
        assert "1 press for now" in text_of(page)
        shared = at_events.post("/share", data={"main_feed": "1"}).text
        link = re.search(r'value="http://testserver(/s/[\w-]{43})"', shared)
        assert link
        assert at_events.get(link[1]).status_code == 200
        assert at_events.post(link[1]).status_code == 200
        export = at_events.get("/export").json()
        export["state"]["ends"][0]["until"] = far
        sent = {"export": (None, json.dumps(export))}
        assert at_events.post("/import", files=sent).status_code == 200
        page = at_events.get("/profile").text
        do(at_events, end_press=button(page, "end_press"))
        assert state_of(at_events).ends == ()

    def test_an_unknown_duration_is_refused(self, visitor: TestClient) -> None:
        assert visitor.post("/lasts", data={"lasts": "ever"}).status_code == 422
        fields = {"press": "+1 type=film", "lasts": "ever"}
        assert visitor.post("/act", data=fields).status_code == 422


class TestWithoutProfile:
    def test_the_list_is_everybodys_and_the_profile_stays(self, visitor: TestClient) -> None:
        everybody = listed(visitor.get("/").text)
        for item in ("i1", "i2", "i4"):
            do(visitor, view=item)
        own = do(visitor, press="+1 type=film")
        page = do(visitor, profiling="appeal")
        assert notice(page).startswith("Without your profile")
        assert "This is the same list for everybody." in text_of(page)
        assert listed(page) == everybody
        assert "3 items seen, 1 press" in text_of(page)
        assert page.count(">liked by many") == len(listed(page))
        assert listed(visitor.get("/").text) == everybody
        page = do(visitor, press="+1 town=Deinze")
        assert "your profile is switched off" in notice(page)
        do(visitor, undo="1")
        page = do(visitor, profiling="on")
        assert listed(page) == listed(own)
        assert notice(page).startswith("With your profile")

    def test_by_date_cards_and_the_page_of_a_tag_say_so(self, at_events: TestClient) -> None:
        page = do(at_events, profiling="newest")
        order = listed(page)
        assert page.count(">by date<") == len(order)
        assert "liked by many" not in page
        assert 'name="vary"' not in at_events.get("/options").text
        whole = listed(at_events.get("/?n=96").text)
        tag = text_of(at_events.get("/tag?tag=type=Concert").text)
        concerts = listed(at_events.get("/?only=type=Concert").text)
        assert f"number {whole.index(concerts[0]) + 1} in your list" in tag
        assert "without this tag" not in tag

    def test_dates_order_it_where_there_are_dates(
        self, at_events: TestClient, visitor: TestClient
    ) -> None:
        page = do(at_events, profiling="newest")
        catalogue = services_of(at_events).holder.current
        dates = catalogue.dates
        assert dates is not None
        shown = [dates[catalogue.model.items_.index_of(i)] for i in listed(page)]
        ahead = [d for d in shown if d and d >= catalogue.today]
        assert ahead == sorted(ahead)
        assert 'value="newest"' in page
        assert 'value="newest"' not in do(visitor, profiling="appeal")
        assert visitor.post("/act", data={"profiling": "newest"}).status_code == 422
        assert visitor.post("/act", data={"profiling": "maybe"}).status_code == 422


class TestOtherPages:
    def test_what_is_hidden_is_not_among_the_similar(self, visitor: TestClient) -> None:
        alike = r'<li class="small" data-card="([^"]+)"'
        before = re.findall(alike, visitor.get("/item/i3").text.split('class="panel alike"')[1])
        do(visitor, hide=before[0])
        after = re.findall(alike, visitor.get("/item/i3").text.split('class="panel alike"')[1])
        assert after[: len(before) - 1] == before[1:]

    def test_search_finds_it_and_says_so(self, visitor: TestClient) -> None:
        do(visitor, hide="i3")
        found = visitor.get("/search?q=Event 3").text
        card = found.split('data-card="i3"')[1].split("</li>")[0]
        assert "hidden" in text_of(card)

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
