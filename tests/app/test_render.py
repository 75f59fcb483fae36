"""Templates: whole pages or parts, always escaped."""

import pytest
from fastapi import FastAPI, Request

from teaser import Tag
from teaser.app.render import part, render
from teaser.app.texts import texts_in
from teaser.app.view import TagRow
from teaser.app.visitor import Visitor


def request(path: str, query: str = "", method: str = "GET") -> Request:
    return Request(
        {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [],
            "app": FastAPI(),
        }
    )


def visitor(*, fragment: bool = False) -> Visitor:
    return Visitor(None, texts_in("en"), "dark", False, fragment)


def page(where: Request, *, fragment: bool = False) -> str:
    answer = render(
        where, visitor(fragment=fragment), "error.html", status=404, code=404, message="<b>"
    )
    assert answer.status_code == 404
    return bytes(answer.body).decode()


def test_whole_or_in_parts() -> None:
    whole, parts = page(request("/")), page(request("/"), fragment=True)
    assert whole.count("<html") == 1
    assert 'data-theme="dark"' in whole
    assert "<html" not in parts
    assert 'id="main"' in parts
    assert "<p data-message>&lt;b&gt;</p>" in whole


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


def test_parts_are_escaped_and_remembered() -> None:
    tag = Tag("a", '"><script>')
    row = TagRow(tag, str(tag), tag.value, 0.5, 0)
    line = part("tag_line", "en", row, "p", True)
    assert "<script>" not in line
    assert line is part("tag_line", "en", row, "p", True)
    assert "Moins de" in part("tag_line", "fr", row, "p", True)
