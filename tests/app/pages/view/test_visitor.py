"""The visitor behind a request: person, language, theme and quick start, from its headers."""

import pytest
from app.conftest import TestClient, services_of
from fastapi import Request

from teaser.app.dependencies import Services
from teaser.app.http.cookies import TOKEN, new_token
from teaser.app.pages.view.visitor import Visitor, ensure_person, visitor_of


def visitor(client: TestClient, cookie: str = "", **headers: str) -> Visitor:
    raw = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    scope = {"type": "http", "headers": [(b"cookie", cookie.encode()), *raw], "app": client.app}
    return visitor_of(Request(scope))


@pytest.fixture
def services(client: TestClient) -> Services:
    return services_of(client)


def test_somebody_new(client: TestClient) -> None:
    found = visitor(client)
    assert (found.person_id, found.token, found.texts.language) == (None, None, "en")
    assert (found.theme, found.has_skipped, found.wants_fragment) == ("auto", False, False)


def test_cookies_and_headers_are_read(client: TestClient) -> None:
    cookie = "teaser_theme=dark; teaser_skipped=1; teaser_language=fr"
    found = visitor(client, cookie, accept_language="nl", x_teaser_fragment="1")
    assert (found.theme, found.has_skipped, found.wants_fragment) == ("dark", True, True)
    assert found.texts.language == "fr"
    odd = visitor(client, "teaser_theme=pink; teaser_language=xx", accept_language="nl")
    assert (odd.theme, odd.texts.language) == ("auto", "nl")


def test_a_person_is_created_once_with_the_token(client: TestClient, services: Services) -> None:
    token = new_token(services.store.signing_key)
    new = visitor(client, f"{TOKEN}={token}")
    assert (new.person_id, new.token) == (None, token)
    person_id, given = ensure_person(new, services)
    assert given == token
    known = visitor(client, f"{TOKEN}={token}")
    assert known.person_id == person_id
    assert ensure_person(known, services) == (person_id, None)


def test_a_planted_token_is_not_used(client: TestClient, services: Services) -> None:
    planted = visitor(client, f"{TOKEN}=planted")
    assert planted.token is None
    _, given = ensure_person(planted, services)
    assert given != "planted"
