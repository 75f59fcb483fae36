"""Templates: escaped, with the way back; and the visitor behind a request."""

from typing import Any

import pytest
from app.conftest import TestClient, services_of
from fastapi import FastAPI, Request

from teaser import Tag
from teaser.app.brand import Brand
from teaser.app.http import TOKEN, Services, new_token
from teaser.app.i18n.texts import MINUS, texts_in
from teaser.app.pages.cards import ReasonRow, TagRow, ViewedRow
from teaser.app.pages.render import Visitor, ensure_person, environment, render, visitor_of


def request(path: str, query: str = "", method: str = "GET") -> Request:
    app = FastAPI()
    app.state.brand = Brand()
    return Request(
        {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [],
            "app": app,
        }
    )


def page(where: Request) -> str:
    visitor = Visitor(None, texts_in("en"), "dark", False, False)
    answer = render(where, visitor, "error.html", status=404, code=404, message="<b>")
    assert answer.status_code == 404
    return bytes(answer.body).decode()


def part(name: str, language: str, *values: Any) -> str:
    """Return the output of a macro that pages share."""
    macro = getattr(environment().get_template("parts.html").module, name)
    return str(macro(texts_in(language), *values))


def test_a_page_is_escaped_and_has_the_theme() -> None:
    found = page(request("/"))
    assert 'data-theme="dark"' in found
    assert "<p data-message>&lt;b&gt;</p>" in found


@pytest.mark.parametrize(
    ("where", "back"),
    [
        (request("/item/a/b", "x=1&did=3&x=%C3%A9"), "/item/a/b?x=1&amp;x=%C3%A9"),
        (request("/", "did=3"), "/"),
        (request("/share", "", "POST"), "/"),
    ],
)
def test_forms_know_the_way_back(where: Request, back: str) -> None:
    assert f'name="back" value="{back}"' in page(where)


def test_a_row_shows_its_numbers_and_where_its_buttons_end() -> None:
    rows = [
        TagRow(Tag("a", name), f"a={name}", name, affinity, presses)
        for name, affinity, presses in (("x", 0.5, 2), ("y", -0.256, 0), ('"><script>', 0.0, -5))
    ]
    first, second, third = (part("tag_line", "en", row, "p") for row in rows)
    assert "+0.50" in first
    assert '<span class="sr">pressed </span>+2</span>' in first
    assert f"{MINUS}0.26" in second
    assert "pressed" not in second
    assert third.count('aria-disabled="true"') == 1
    assert third.index("aria-disabled") < third.index(">−</button>")
    assert "<script>" not in third
    assert "<button" not in part("tag_line", "en", rows[0], "p", False)
    assert "Moins de" in part("tag_line", "fr", rows[0], "p")


def test_a_reason_can_be_pressed_where_it_stands() -> None:
    row = TagRow(Tag("a", "x"), "a=x", "<x>", 0.5, 5)
    up, down = ReasonRow(row, 0.123, 0.0), ReasonRow(row, -0.5, 12.3, matters_more=True)
    shown = part("reason_line", "en", up, "item 7", True)
    assert "+12\N{NARROW NO-BREAK SPACE}%" in shown
    assert 'data-key="item 7+a=x"' in shown
    assert shown.count('aria-disabled="true"') == 1
    assert "<x>" not in shown
    assert "matters more here" not in shown
    assert "<button" not in part("reason_line", "en", up, "item 7", False)
    against = part("reason_line", "en", down, "item 7", True)
    assert f"{MINUS}50\N{NARROW NO-BREAK SPACE}%" in against
    assert "matters more here" in against


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("because you disliked ", "because they disliked ")),
        ("nl", ("u niet beviel", "hen niet beviel")),
        ("fr", ("vous n’avez pas aimé ", "ils n’ont pas aimé ")),
    ],
)
def test_a_disliked_item_is_named_as_such(language: str, words: tuple[str, str]) -> None:
    disliked, viewed = (ReasonRow(ViewedRow("i1", "One", d), -0.1, 0.0) for d in (True, False))
    for steer, said in zip((True, False), words, strict=True):
        assert said in part("reason_line", language, disliked, 0, steer)
        assert said not in part("reason_line", language, viewed, 0, steer)


def visitor(client: TestClient, cookie: str = "", **headers: str) -> Visitor:
    raw = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    scope = {"type": "http", "headers": [(b"cookie", cookie.encode()), *raw], "app": client.app}
    return visitor_of(Request(scope))


@pytest.fixture
def services(client: TestClient) -> Services:
    return services_of(client)


def test_cookies_and_headers_are_read(client: TestClient) -> None:
    new = visitor(client)
    assert (new.person_id, new.token, new.texts.language) == (None, None, "en")
    assert (new.theme, new.has_skipped, new.has_script) == ("auto", False, False)
    cookie = "teaser_theme=dark; teaser_skipped=1; teaser_language=fr"
    found = visitor(client, cookie, accept_language="nl", x_teaser_script="1")
    assert (found.theme, found.has_skipped, found.has_script) == ("dark", True, True)
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
