"""Templates: whole pages or parts, always escaped."""

import pytest
from fastapi import FastAPI, Request

from teaser import Tag
from teaser.app.brand.brand import Brand
from teaser.app.cache import Cache
from teaser.app.i18n.texts import MINUS, texts_in
from teaser.app.pages.view import rendering
from teaser.app.pages.view.card_view import ReasonRow, ViewedRow
from teaser.app.pages.view.kept_page import KeptPage
from teaser.app.pages.view.profile_view import TagRow
from teaser.app.pages.view.rendering import part, reason_lines, render, render_filled, tag_lines
from teaser.app.pages.view.visitor import Visitor


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


def test_a_page_is_kept_by_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "_kept_pages", kept := Cache[KeptPage](200))
    long = "a" * 100_000
    for code, said, is_kept, n_kept in (
        (404, "a", True, 1),
        (404, "a", True, 1),
        (500, "a", True, 2),
        (404, "b", False, 2),
        (404, long, True, 2),
    ):
        values = {"state": None, "page_path": "/", "steer": True, "message": said, "code": code}
        answer = render_filled(
            request("/"), visitor(), "error.html", {"effect": ["b"]}, "", is_kept=is_kept, **values
        )
        assert f"<p data-message>{said}</p>" in bytes(answer.body).decode()
        assert len(kept) == n_kept


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


def test_a_line_shows_the_numbers_of_its_row_and_not_those_of_another() -> None:
    rows = [
        TagRow(Tag("a", name), f"a={name}", name, affinity, presses)
        for name, affinity, presses in (("x", 0.5, 2), ("y", -0.256, 0), ("z", 0.0, -5))
    ]
    both = str(tag_lines(texts_in("en"), rows, "p", True))
    first, second, third = both.split("</li>")[:3]
    assert 'width="50.0"' in first
    assert '<span class="number up">+0.50</span>' in first
    assert '<span class="sr">pressed </span>+2</span>' in first
    assert 'x="-25.6"' in second
    assert f'<span class="number down">{MINUS}0.26</span>' in second
    assert "pressed" not in second
    assert third.count(' aria-disabled="true" title="that is as far as it goes."') == 1
    assert third.index("aria-disabled") < third.index(">−</button>")
    assert " disabled" not in both
    assert '<span class="number ">0.00</span>' in third
    assert "<button" not in tag_lines(texts_in("en"), rows, "p", False)
    assert tag_lines(texts_in("en"), rows[1:2], "p", True) == second + "</li>"


def test_a_reason_can_be_pressed_where_it_stands() -> None:
    row = TagRow(Tag("a", "x"), "a=x", "<x>", 0.5, 5)
    reasons = [ReasonRow(row, 0.123, 0.0), ReasonRow(row, -0.5, 12.3)]
    said = reason_lines(texts_in("en"), reasons, "item 7", True)
    assert said.count("<li>") == 2
    assert '<b class="number up">+12\N{NARROW NO-BREAK SPACE}%</b>' in said
    assert f'<b class="number down">{MINUS}50\N{NARROW NO-BREAK SPACE}%</b>' in said
    assert 'data-key="item 7+a=x"' in said
    assert said.count(' aria-disabled="true"') == 2
    assert said.count('<span class="sr">pressed </span>+5') == 2
    assert "<x>" not in said
    assert "<button" not in reason_lines(texts_in("en"), reasons, "item 7", False)
    assert "matters more here" not in said
    more = [ReasonRow(row, 0.123, 0.0, matters_more=True)]
    assert "matters more here" in reason_lines(texts_in("en"), more, "item 7", True)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("because you disliked ", "because they disliked ")),
        ("nl", ("u niet beviel", "hen niet beviel")),
        ("fr", ("vous n’avez pas aimé ", "ils n’ont pas aimé ")),
    ],
)
def test_a_disliked_item_is_told_as_such(language: str, words: tuple[str, str]) -> None:
    texts = texts_in(language)
    disliked, viewed = (ReasonRow(ViewedRow("i1", "One", d), -0.1, 0.0) for d in (True, False))
    for steer, said in zip((True, False), words, strict=True):
        assert said in reason_lines(texts, [disliked], 0, steer)
        assert said not in reason_lines(texts, [viewed], 0, steer)


def test_a_line_is_kept_once_for_all_cards_and_numbers() -> None:
    row = TagRow(Tag("a", "kept"), "a=kept", "kept", 0.5, 1)
    viewed = ViewedRow("i9", "Kept")
    before = part.cache_info().currsize
    lines = {
        str(reason_lines(texts_in("en"), [ReasonRow(row, share, 0.0), reason], where, True))
        for share in (0.1, 0.2, 0.3)
        for where in ("i1", 'i"2', 3)
        for reason in [ReasonRow(viewed, share, 0.0)]
    }
    assert len(lines) == 9
    assert sum('data-key="i&#34;2+a=kept"' in line for line in lines) == 3
    assert sum('data-key="3 remove i9"' in line for line in lines) == 3
    assert part.cache_info().currsize == before + 2


def test_the_memory_of_parts_is_bounded() -> None:
    assert (part.cache_info().maxsize or 0) <= 8_000
