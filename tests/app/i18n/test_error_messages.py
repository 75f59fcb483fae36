"""Errors as people read them: every one that a visitor can meet, in every language."""

import re
from collections.abc import Callable
from html import unescape

import pytest
from app.conftest import OWN, TestClient

from teaser.app.i18n.error_messages import error_message
from teaser.app.i18n.texts import LANGUAGES, texts_in
from teaser.errors import UnknownNameError

TRANSLATED = [code for code in LANGUAGES if code != "en"]


def said(page: str) -> str:
    found = re.search(r"<p data-message>([^<]+)</p>", page)
    assert found
    return unescape(found[1])


# What is asked, the status, and what an English page says of it.
MET: list[tuple[str, str, dict[str, str], int, str]] = [
    ("GET", "/item/no such", {}, 404, "There is no item “no such” here."),
    ("GET", "/lift/none", {}, 404, "There is no item “none” here."),
    ("GET", "/tag?tag=type%3Dfilmm", {}, 404, "There is no tag “type=filmm” here."),
    ("GET", "/tag?tag=film", {}, 404, "There is no tag “film” here."),
    ("GET", "/tags?feature=colour", {}, 404, "There is no feature “colour” here."),
    ("GET", "/nowhere", {}, 404, "There is nothing at this address."),
    ("GET", "/s/none", {}, 404, "There is no such link. Perhaps its owner ended it."),
    ("GET", "/act", {}, 405, "This address cannot be used in that way."),
    ("GET", "/tags", {}, 422, "What was sent cannot be understood. Go back and try again."),
    ("POST", "/act", {}, 422, "What was sent cannot be understood. Go back and try again."),
    ("POST", "/act", {"view": "none"}, 404, "There is no item “none” here."),
    ("POST", "/act", {"press": "+1 type=opera"}, 404, "There is no tag “type=opera” here."),
    (
        "POST",
        "/act",
        {"press": "+9 type=film"},
        422,
        "That is as far as this tag goes; it cannot be pressed further.",
    ),
    ("POST", "/act", {"undo": "1"}, 422, "There is nothing to undo."),
    ("POST", "/act", {"redo": "1"}, 422, "There is nothing to redo."),
    ("POST", "/act", {"remove": "i3"}, 404, "This is not among what you looked at any more."),
    ("POST", "/act", {"unhide": "i3"}, 404, "This is not hidden any more."),
]


@pytest.mark.parametrize(("method", "path", "data", "status", "sentence"), MET)
def test_what_a_visitor_can_meet(
    client: TestClient, method: str, path: str, data: dict[str, str], status: int, sentence: str
) -> None:
    pages = {}
    for language in LANGUAGES:
        headers = {**OWN, "accept-language": language}
        response = client.request(method, path, data=data or None, headers=headers)
        assert response.status_code == status
        pages[language] = said(response.text)
    assert pages["en"] == sentence
    assert len(set(pages.values())) == len(LANGUAGES), "each language says it in its own words"


@pytest.mark.parametrize("language", TRANSLATED)
def test_too_much_and_too_often(serve: Callable[..., TestClient], language: str) -> None:
    client = serve(rate=2, max_body=100)
    headers = {**OWN, "accept-language": language}
    large = client.post("/act", data={"view": "x" * 200}, headers=headers)
    assert large.status_code == 413
    assert said(large.text) == texts_in(language)(
        "That is more than can be sent at once. Nothing was changed."
    )
    for _ in range(2):
        often = client.get("/", headers=headers)
    assert often.status_code == 429
    assert said(often.text) == texts_in(language)(
        "Too many requests came from your address. Wait a minute and try again."
    )


def test_facts_are_filled_in_as_they_are_and_cut_where_very_long() -> None:
    for error, name in (
        (UnknownNameError("item", "x" * 900), f"geen item “{'x' * 80}…”"),
        (UnknownNameError("item", 17_000), "geen item “17000”"),
        (UnknownNameError("tag", "a=b. c'", ["a=b"]), "geen label “a=b. c'”"),
        (UnknownNameError("tag", "a={b}"), "geen label “a={b}”"),
        (UnknownNameError("feature", "{0}"), "“{0}”"),
    ):
        assert name in error_message(404, str(error), texts_in("nl"), error).text
