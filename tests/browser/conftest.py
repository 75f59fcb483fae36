"""The real server on loopback and a real Chromium in front of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from chromium import open_chromium
from playwright.sync_api import Browser, Page

from teaser import Teaser
from teaser.app.server import create_app
from teaser.app.settings import Settings
from teaser.data import demo
from teaser.userstudy import simulate


@contextmanager
def served(model: Teaser, folder: Path, **given: Any) -> Iterator[str]:
    """Serve a model on loopback, and give its address."""
    model.save(folder / "model")
    database = f"sqlite:///{folder / 'p.db'}"
    given = {"rate": 0, "store_timeout": 30, **given}
    settings = Settings(model=folder / "model", database_url=database, **given)
    with listening(create_app(settings)) as address:
        yield address


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """Serve an application on loopback, and give its address."""
    with simulate.served(app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def events_model() -> Teaser:
    """A model of the built-in events."""
    return Teaser().fit(demo.dataset(n_events=400, n_users=1200, start=date(2026, 1, 1)))


@pytest.fixture(scope="module")
def site(events_model: Teaser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of the built-in events."""
    with served(events_model, tmp_path_factory.mktemp("site")) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_chromium() as opened:
        yield opened


@pytest.fixture
def visit(browser: Browser, site: str) -> Iterator[Callable[..., Page]]:
    """Open the site as somebody new; errors on the page fail the test."""
    contexts = []
    troubles: list[str] = []

    def come(
        *,
        tour: bool = False,
        may_fail: bool = False,
        width: int = 1320,
        height: int = 900,
        **given: Any,
    ) -> Page:
        context = browser.new_context(
            base_url=site,
            viewport={"width": width, "height": height},
            **{"locale": "en-GB", "reduced_motion": "reduce", **given},
        )
        contexts.append(context)
        context.set_default_timeout(10_000)
        if not tour:
            context.add_init_script("localStorage.setItem('teaser-tour', 'seen')")
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        if not may_fail:  # a status of 404 or 503 is an error to the console, too
            page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
        page.goto("/")
        return page

    yield come
    for context in contexts:
        context.close()
    assert troubles == []
