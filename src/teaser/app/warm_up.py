"""Fill the caches of a catalogue before it is served, so that no visitor waits for them."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from teaser.app.i18n.texts import LANGUAGES, texts_in
from teaser.app.pages.cards import card_views, plain_card
from teaser.app.pages.home import about_view, quick_start
from teaser.app.pages.profile import profile_view
from teaser.app.pages.say import say_example
from teaser.app.serving.catalogue import Catalogue, find_names, vocabulary_of
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.settings import Settings
from teaser.app.state import State
from teaser.app.telemetry.logs import access_log
from teaser.errors import ArtifactError, StoreError
from teaser.words.interpreter import read

_UNKNOWN = "abracadabra"
_N_VISITORS = 6
_ORIGIN = "http://localhost"


def warm_up(catalogue: Catalogue, synonyms: str = "") -> Iterator[None]:
    """Make what the first pages of a catalogue need, for a few usual visitors, in each language.

    It yields after each small step, so that whoever runs it can let requests go first.

    Parameters
    ----------
    synonyms
        The owner's file of words for requests in words; see `Settings`.
    """
    picks = quick_start(catalogue, (), ())
    yield
    usual = list(_usual(catalogue))
    vocabulary = vocabulary_of(catalogue, synonyms)
    yield
    for language in LANGUAGES:
        texts = texts_in(language)
        find_names(catalogue, "a", texts)
        yield
        say_example(catalogue, texts)
        read(_UNKNOWN, vocabulary, language=language)  # looks for names that are spelled alike
        yield
        for item_id in picks:
            plain_card(catalogue, item_id, texts)
            yield
        for personal in usual:
            profile_view(personal, texts)
            yield
            about_view(personal)
            shown = personal.rank()
            yield
            card_views(personal, shown, texts)
            yield


def _usual(catalogue: Catalogue) -> Iterator[PersonalModel]:
    """Yield somebody new, and somebody who viewed the first item and pressed the first tag."""
    yield PersonalModel(catalogue, State())
    items, tags = catalogue.model.items_, catalogue.model.tags_
    if len(items) > 1:
        presses = {str(tags[0]): 1} if tags else {}
        yield PersonalModel(catalogue, State(history=(items[0],), presses=presses))


def visit(
    make_app: Callable[[Settings], Any], settings: Settings, catalogue: Catalogue
) -> Iterator[None]:
    """Let some visitors use a catalogue in this process before others do, in one step.

    It makes what only requests make: templates, forms, statements, parts of pages. The visitors
    have an application and a database of their own, so nothing of them is counted or stored. They
    stay away if there is no room for that database.

    Parameters
    ----------
    make_app
        Makes an application of that catalogue.
    settings
        The settings of the server.
    catalogue
        What is served.

    Raises
    ------
    ArtifactError
        If a page cannot be made.
    """
    own = {"shared_folder": "", "rate": 0, "secure_cookies": False, "traces": False, "mcp": False}
    before, access_log.disabled = access_log.disabled, True
    try:
        with suppress(StoreError, OSError), tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{Path(folder) / 'visitors.db'}"
            app = make_app(settings.model_copy(update={**own, "database_url": url}))
            try:
                asyncio.run(_visit(app, catalogue))
            finally:
                app.state.services.store.close()
    finally:
        access_log.disabled = before
    yield


async def _visit(app: Any, catalogue: Catalogue) -> None:
    items, tags = catalogue.model.items_, catalogue.model.tags_
    languages = list(LANGUAGES)
    for n in range(_N_VISITORS):
        item = str(items[n * len(items) // _N_VISITORS])
        actions = [{"view": item}, {"hide": item}, {"undo": "1"}]
        if tags:
            actions.insert(1, {"press": f"1 {tags[n * len(tags) // _N_VISITORS]}"})
        cookie = await _ask(app, "GET", "/", "", [])
        headers = [("cookie", cookie), ("accept-language", languages[n % len(languages)])]
        for action in actions:
            body = urlencode({**action, "back": "/"})
            await _ask(app, "POST", "/act", body, [*headers, ("x-teaser-script", "1")])
        for path in ("/", f"/item/{quote(item, safe='')}", "/search"):
            await _ask(app, "GET", path, "", headers)


async def _ask(app: Any, method: str, path: str, body: str, headers: list[tuple[str, str]]) -> str:
    """Send one request to an application, and return the cookie that it sets."""
    kind = ("content-type", "application/x-www-form-urlencoded")
    sent = [("host", "localhost"), ("origin", _ORIGIN), kind, *headers]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "",
        "query_string": b"q=a", "client": ("127.0.0.1", 0), "server": ("localhost", 80),
        "headers": [(name.encode(), value.encode()) for name, value in sent], "state": {},
    }  # fmt: skip
    answer: dict[str, Any] = {}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body.encode(), "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.update(message)

    await app(scope, receive, send)
    if answer["status"] == 500:
        raise ArtifactError(f"the page of {method} {path} cannot be made")
    cookies = [value.decode() for name, value in answer["headers"] if name == b"set-cookie"]
    return cookies[0].partition(";")[0] if cookies else ""
