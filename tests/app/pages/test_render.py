"""Templates: escaped, with the way back; and the visitor behind a request."""

from typing import Any

import pytest
from app.conftest import TestClient
from fastapi import FastAPI, Request

from teaser.app.brand import Brand
from teaser.app.i18n.texts import texts_in
from teaser.app.pages.cards import ReasonRow, ViewedRow
from teaser.app.pages.render import Visitor, environment, render, visitor_of


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


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "because you disliked "),
        ("nl", "u niet beviel"),
        ("fr", "vous n’avez pas aimé "),
    ],
)
def test_a_disliked_item_is_named_as_such(language: str, words: str) -> None:
    disliked, viewed = (ReasonRow(ViewedRow("i1", "One", d), -0.1) for d in (True, False))
    assert words in part("reason_line", language, disliked, 0)
    assert words not in part("reason_line", language, viewed, 0)


def visitor(client: TestClient, cookie: str = "", **headers: str) -> Visitor:
    raw = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    scope = {"type": "http", "headers": [(b"cookie", cookie.encode()), *raw], "app": client.app}
    return visitor_of(Request(scope))
