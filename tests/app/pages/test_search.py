"""The suggestions under the search field."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

from app.conftest import TestClient

from teaser import Teaser, load
from teaser.app.pages.search import N_SUGGESTED_ITEMS, N_SUGGESTED_TAGS

_MARKUP = r"(?s)<svg.*?</svg>|<[^>]+>"


class TestSuggest:
    def options(self, page: str) -> list[tuple[str, str]]:
        pairs = re.findall(r'role="option"[^>]*data-href="([^"]+)">(.*?)</div>', page, re.S)
        return [(unescape(h), unescape(re.sub(_MARKUP, "", text)).strip()) for h, text in pairs]

    def test_tags_items_and_all(self, client: TestClient) -> None:
        page = client.get("/suggest?q=event+1").text
        options = self.options(page)
        assert all(path.startswith("/item/i1") for path, _ in options[:-1])
        assert all(text.startswith("Event 1") for _, text in options[:-1])
        assert len(options) == N_SUGGESTED_ITEMS + 1
        assert options[-1] == ("/search?q=event%201", "All that is found for “event 1”")
        assert f'data-said="{N_SUGGESTED_ITEMS} suggestions"' in page
        tagged = self.options(client.get("/suggest?q=type").text)
        assert (
            1
            < len([path for path, _ in tagged if path.startswith("/tag?tag=")])
            <= N_SUGGESTED_TAGS
        )

    def test_an_item_of_that_very_title_comes_before_groups_named_by_it(
        self, serve: Callable[..., TestClient], events_folder: Path
    ) -> None:
        client, model = serve(model=events_folder), load(events_folder, Teaser)
        titles = {model.title(i) for i in range(len(model.items_))}
        parts = [tag.value.split(", ") for tag in model.tags_ if tag.discovered]
        title = next(part for named in parts for part in named if part in titles)
        options = self.options(client.get("/suggest", params={"q": title.upper()}).text)
        assert options[0][0].startswith("/item/")
        assert options[0][1].startswith(title)
        assert any(path.startswith("/tag?tag=discovered") for path, _ in options)
        page = client.get("/search", params={"q": title}).text
        assert 0 < page.index("<h2>Items") < page.index("<h2>Tags")
        page = client.get("/search", params={"q": title[:-2]}).text
        assert 0 < page.index("<h2>Tags") < page.index("<h2>Items")

    def test_what_is_typed_is_never_markup(self, client: TestClient) -> None:
        page = client.get("/suggest", params={"q": 'event "><script>'}).text
        assert "<script" not in page
        page = client.get("/suggest", params={"q": "event " + "x" * 5000}).text
        assert len(page) < 1000

    def test_it_asks_nothing_of_the_store_and_may_be_kept_a_while(
        self, serve: Callable[..., TestClient], tmp_path: Path
    ) -> None:
        client = serve(database_url=f"sqlite:///{tmp_path / 'gone.db'}")
        client.post("/act", data={"view": "i1"}, headers={"origin": "http://testserver"})
        for path in tmp_path.glob("gone.db*"):
            path.unlink()
        response = client.get("/suggest?q=event")
        assert response.status_code == 200
        assert response.headers["cache-control"] == "private, max-age=60"
