"""The home page over HTTP: what it shows, what its buttons do, what it refuses; preferences."""

import html
import json
import re

from app.conftest import OWN, TestClient, do, history, listed, notice, services_of, text_of

from teaser import Teaser
from teaser.app.pages import home as pages
from teaser.app.store import StoredEvent
from teaser.explain import Reason


def events_of(client: TestClient) -> list[StoredEvent]:
    store = services_of(client).store
    return store.export(store.find_person(client.cookies["teaser"]) or "").events


class TestFirstVisit:
    def test_shows_what_is_popular_and_asks_for_picks(
        self, visitor: TestClient, model: Teaser
    ) -> None:
        page = visitor.get("/").text
        assert listed(page) == [r.item_id for r in model.recommend([], k=12)]
        assert "Pick a few" in page
        assert "I know nothing about you yet" in page
        assert "100" not in re.sub(r"(?s)<svg.*?</svg>", "", page.split('class="cards"')[1])
        assert page.count(">liked by many</p>") == 12
        assert history(visitor.get("/profile").text) == []

    def test_keeps_nothing_before_the_first_action(self, visitor: TestClient) -> None:
        visitor.get("/")
        store = services_of(visitor).store
        assert store.find_person(visitor.cookies["teaser"]) is None

    def test_the_quick_start_can_be_skipped(self, visitor: TestClient) -> None:
        page = visitor.post("/skip").text
        assert "Pick a few" not in page
        assert "Pick a few" not in visitor.get("/").text

    def test_picks_follow_each_pick_and_end(self, visitor: TestClient) -> None:
        offers = []
        for _ in range(pages.ENOUGH_PICKS):
            offered = re.findall(r'data-card="pick ([^"]+)"', visitor.get("/").text)
            offers.append(offered)
            do(visitor, view=offered[0])
        assert offers[0] != offers[1]
        assert offers[0][0] not in offers[1]
        assert "Pick a few" not in visitor.get("/").text


class TestActions:
    def test_a_view_enters_the_history_and_leaves_the_list(self, visitor: TestClient) -> None:
        item = listed(visitor.get("/").text)[0]
        page = do(visitor, view=item)
        assert history(visitor.get("/profile").text) == [item]
        assert item not in listed(page)
        assert notice(page).startswith("You looked at Event")

    def test_the_list_equals_the_library(self, visitor: TestClient, model: Teaser) -> None:
        do(visitor, view="i1")
        page = do(visitor, press="+1 type=concert")
        expected = model.recommend(["i1"], {"type=concert": 1}, k=12)
        assert listed(page) == [r.item_id for r in expected]
        shown = re.search(r'<li class="card".*?</article>', page, re.S)
        assert shown
        assert "because of <b>" in shown[0].casefold()
        why = visitor.get(f"/why/{expected[0].item_id}").text
        assert ("all other tags and viewed items" in why) == (expected[0].other_share != 0)
        for reason in expected[0].reasons:
            assert isinstance(reason, Reason)
            assert f'value="+1 {reason.tag}"' in why
        percent = f"{round(100 * abs(expected[0].reasons[0].share))}\N{NARROW NO-BREAK SPACE}%"
        assert percent in why

    def test_undo_and_redo_restore_the_lists(self, visitor: TestClient) -> None:
        first = listed(visitor.get("/").text)
        second = listed(do(visitor, press="+1 town=Deinze"))
        assert first != second
        page = do(visitor, undo="1")
        assert listed(page) == first
        assert notice(page).startswith("Undone: + on Deinze")
        page = do(visitor, redo="1")
        assert listed(page) == second
        assert notice(page).startswith("Redone: + on Deinze")

    def test_remove_hide_unhide_and_reset(self, visitor: TestClient) -> None:
        do(visitor, view="i1")
        do(visitor, view="i2")
        assert history(do(visitor, remove="i1", back="/profile")) == ["i2"]
        item = listed(visitor.get("/").text)[0]
        page = do(visitor, hide=item)
        assert item not in listed(page)
        assert "1 hidden" in text_of(visitor.get("/profile").text)
        assert item in listed(do(visitor, unhide=item))
        page = do(visitor, reset="1")
        assert history(visitor.get("/profile").text) == []
        assert "Liked by many" in page

    def test_buttons_stop_at_five(self, visitor: TestClient) -> None:
        for _ in range(5):
            page = do(visitor, press="+1 type=film")
        button = re.search(r'<button[^>]*value="\+1 type=film" data-key="p\+[^>]*>', page)
        assert button
        assert 'aria-disabled="true" title="that is as far as it goes."' in button[0]
        page = do(visitor, press="+1 type=film")
        assert notice(page) == "+ on film : that is as far as it goes."
        assert 'data-key="notice undo"' not in page
        assert len(events_of(visitor)) == 5

    def test_one_press_denies_a_statement_and_one_undo_takes_it_back(
        self, visitor: TestClient
    ) -> None:
        for item in ("i3", "i5", "i7", "i9", "i11"):
            page = do(visitor, view=item)
        sentence = re.search(r'<ul class="statements">.*?<p>(.*?)</p>', page, re.S)
        button = re.search(r'name="presses" value="([^"]+)" data-key="deny 1"', page)
        assert sentence
        assert button
        after = do(visitor, presses=html.unescape(button[1]))
        assert sentence[1] not in after
        assert len(events_of(visitor)) == 6
        assert sentence[1] in do(visitor, undo="1")


class TestList:
    def test_filters_hold_and_stay(self, visitor: TestClient, model: Teaser) -> None:
        only = ["type=film", "", "town=Deinze"]
        page = do(visitor, set_filter="1", filter='{"without": ["town=Ghent"]}', only=only)
        films = {
            i
            for i in model.items_
            if {"film", "Deinze"} <= {t.value for t in model.explain(i, []).contributions}
        }
        assert films
        assert set(listed(page)) == films
        page = visitor.get("/options").text
        assert '<option value="type=film" selected>' in page
        assert "{&#34;without&#34;:[&#34;town=Ghent&#34;]}" in page
        assert set(listed(do(visitor, undo="1"))) != films

    def test_dates_narrow_the_list(self, at_events: TestClient) -> None:
        june = {"set_filter": "1", "filter": "{}", "from": "2026-06-30", "to": "2026-06-01"}
        page = do(at_events, **june)
        days = re.findall(r'</h3>\s*<p class="facts">[^<]* \d+ (\w+) 2026</p>', page)
        assert days
        assert set(days) == {"Jun"}
        assert 'name="from" value="2026-06-01"' in at_events.get("/options").text
        page = do(at_events, set_filter="1", filter="{}", **{"from": "2031-01-01"})
        assert listed(page) == []
        assert "Nothing passes these filters." in page
        assert listed(do(at_events, set_filter="1", filter="{}"))

    def test_more_can_be_shown(self, visitor: TestClient) -> None:
        assert len(listed(visitor.get("/?n=24").text)) == 24
        assert len(listed(visitor.get("/?n=99999").text)) == 12
        assert len(listed(visitor.get("/?n=x").text)) == 12

    def test_search_shows_all_that_is_found_page_by_page(self, visitor: TestClient) -> None:
        found: list[str] = []
        path, n_pages = "/search?q=event", 0
        while path:
            page = visitor.get(path).text
            found += re.findall(r'class="small" data-card="([^"]+)"', page)
            more = re.search(r'rel="next" href="([^"]+)"', page)
            path, n_pages = html.unescape(more[1]) if more else "", n_pages + 1
            assert f"Page {n_pages} of 2" in page
        assert sorted(found) == sorted(f"i{i}" for i in range(40))
        assert "25 to 40 of 40" in text_of(page)
        assert 'rel="prev" href="/search?q=event&amp;page=1"' in page
        for odd in ("0", "-1", "x", "²", "1" * 30):
            assert "1 to 24 of 40" in text_of(visitor.get(f"/search?q=event&page={odd}").text)
        assert "25 to 40 of 40" in visitor.get("/search?q=event&page=99").text
        assert "rel=" not in visitor.get("/search?q=event 17").text.split("<main")[1]

    def test_all_tags_of_a_feature(self, visitor: TestClient) -> None:
        page = visitor.get("/tags?feature=town").text
        assert {"Ghent", "Liège", "Deinze"} <= set(text_of(page).split())
        assert "Ghent" not in text_of(visitor.get("/tags?feature=town&q=dei").text)
        assert visitor.get("/tags?feature=colour").status_code == 404
        assert visitor.get("/tags").status_code == 422


class TestLanguages:
    def test_the_browser_is_followed(self, visitor: TestClient) -> None:
        page = visitor.get("/", headers={"accept-language": "fr-BE,fr;q=0.9,en;q=0.5"})
        assert 'lang="fr"' in page.text
        assert "Choisissez-en quelques-uns" in html.unescape(page.text)
        assert page.headers["content-language"] == "fr"

    def test_a_choice_is_remembered(self, visitor: TestClient) -> None:
        assert 'lang="nl"' in visitor.post("/language", data={"language": "nl"}).text
        page = visitor.get("/", headers={"accept-language": "fr"}).text
        assert 'lang="nl"' in page
        assert "Kies er enkele" in page
        assert visitor.post("/language", data={"language": "xx"}).status_code == 422


def test_no_page_runs_or_styles_inline(visitor: TestClient) -> None:
    do(visitor, view="i1")
    paths = ["/", "/profile", "/options", "/why/i3", "/item/i3", "/tag?tag=type=film"]
    for path in (*paths, "/search?q=e", "/share", "/delete", "/x"):
        page = visitor.get(path).text
        assert " style=" not in page
        assert "<style" not in page
        assert not re.search(r"\son\w+=", page)
        assert re.findall(r"<script[^>]*>(.*?)</script>", page) in ([], [""])


def test_all_that_is_hidden_or_ends_can_be_taken_back(client: TestClient) -> None:
    client.headers.update(OWN)
    end = "2099-01-01T00:00:00+00:00"
    state = {
        "history": [],
        "presses": [],
        "lasting": [],
        "hidden": [f"x{n}" for n in range(150)],
        "hidden_tags": [f"type=x{n}" for n in range(30)],
        "ends": [
            {"kind": "press", "name": f"type=y{n}", "steps": 1, "until": end} for n in range(120)
        ],
    }
    sent = {"file": ("export.json", json.dumps({"state": state}))}
    assert client.post("/import", files=sent).status_code == 200
    page = client.get("/profile").text
    assert page.count('name="unhide') == 180
    assert page.count('name="end_press"') == 120
    assert "180 hidden" in page
    assert "120 presses for now" in page
