"""Texts and errors in every language: translated, filled in, written as people write."""

import re
import string
from collections.abc import Callable
from datetime import date
from html import unescape
from pathlib import Path

import pytest
from app.conftest import MINUS, OWN, TestClient
from babel.messages.pofile import read_po

import teaser.app
from teaser import Tag
from teaser.app.i18n.error_messages import error_message
from teaser.app.i18n.texts import LANGUAGES, choose_language, texts_in
from teaser.app.state import LIMITS
from teaser.errors import UnknownNameError
from teaser.profile import POPULARITY

APP = Path(teaser.app.__file__).parent
TRANSLATED = [code for code in LANGUAGES if code != "en"]
_QUOTED = r"""(?:"([^"]+)"|'([^']+)')"""


def used() -> set[str]:
    """Return every text that the templates and the modules of the site name."""
    found = set()
    folders = (APP, APP.parent / "userstudy")
    paths = [
        p for folder in folders for kind in ("templates/*.html", "*.py") for p in folder.rglob(kind)
    ]
    for path in paths:
        source = path.read_text()
        if path.name == "texts.py":
            source = source.split('"""', 4)[4]
        for call in re.finditer(rf"\b(?:t|texts|self)(?:\.html|\.count)?\(\s*{_QUOTED}", source):
            found.add(call[1] or call[2])
        if path.name == "describe.py":
            found |= set(re.findall(r'"(\w[^"\n]*\{title\}[^"\n]*)"', source))
        if path.name == "error_messages.py":
            found |= set(re.findall(r'(?<!")"([A-Z][^"\n]*\.)"(?!")', source))
    return {text for text in found if text != "en"} | set(LIMITS)


def fields(text: str) -> set[str | None]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated(language: str) -> None:
    texts = used()
    assert len(texts) > 120
    with (APP / "i18n" / "locale" / f"{language}.po").open("rb") as file:
        catalogue = read_po(file, locale=language)
    ids = {m.id if isinstance(m.id, str) else m.id[0] for m in catalogue if m.context is None}
    assert texts - ids == set()
    assert ids - texts - {""} == set(), "texts that are not used any more"


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_fill_in_the_same_places(language: str) -> None:
    with (APP / "i18n" / "locale" / f"{language}.po").open("rb") as file:
        catalogue = read_po(file, locale=language)
    for message in catalogue:
        if not message.id:
            continue
        ids = [message.id] if isinstance(message.id, str) else list(message.id)
        strings = (
            [message.string] if isinstance(message.string, str) else list(message.string or ())
        )
        assert all(strings), ids
        allowed = set().union(*map(fields, ids))
        for text in strings:
            assert fields(text) <= allowed
            assert len(ids) > 1 or fields(text) == allowed, text


@pytest.mark.parametrize(
    ("cookie", "accepted", "language"),
    [
        ("nl", "fr", "nl"),
        ("xx", "fr", "fr"),
        (None, "de,nl-BE;q=0.8,fr;q=0.9", "fr"),
        (None, "en-GB", "en"),
        (None, "de", "en"),
        (None, None, "en"),
        (None, ";;q=,=;q=x,nl;q=abc", "nl"),
        (None, "fr;q=0.2, nl;q=0.7", "nl"),
    ],
)
def test_the_language_is_chosen(cookie: str | None, accepted: str | None, language: str) -> None:
    assert choose_language(cookie, accepted) == language


def test_numbers() -> None:
    english, french = texts_in("en"), texts_in("fr")
    assert english.signed(0.634) == "+0.63"
    assert english.signed(-1.5) == f"{MINUS}1.50"
    assert english.signed(0) == "0.00"
    assert english.signed(0.0004) == "+0.0004"
    assert french.signed(-0.5) == f"{MINUS}0,50"
    assert english.number(2.0) == "2.00"
    assert english.percent(0.372) == "37\N{NARROW NO-BREAK SPACE}%"
    assert english.percent(-0.06, sign=True) == f"{MINUS}6\N{NARROW NO-BREAK SPACE}%"
    assert english.steps(2) == "+2"
    assert english.steps(-2) == f"{MINUS}2"
    assert english.integer(12_345) == "12,345"


def test_names_of_data_are_translated_where_known() -> None:
    dutch = texts_in("nl")
    assert dutch.tag(Tag("type", "Exhibition")) == "Tentoonstelling"
    assert dutch.tag(Tag("director", "Agnès Varda")) == "Agnès Varda"
    assert dutch.tag(Tag("town", "Mouscron")) == "Moeskroen"
    assert texts_in("fr").tag(Tag("town", "Ronse")) == "Renaix"
    assert dutch.feature("price_band") == "Prijsklasse"
    assert texts_in("en").feature("price_band") == "Price band"
    assert texts_in("en").tag(POPULARITY) == "Popular with others"


def test_dates_and_lists() -> None:
    day = date(2026, 6, 20)
    assert texts_in("en").date(day) == "Sat 20 Jun 2026"
    assert texts_in("en").date(date(2026, 9, 19)) == "Sat 19 Sep 2026"
    assert texts_in("nl").date(day) == "za 20 jun 2026"
    assert texts_in("fr").join(["a", "b", "c"]) == "a, b et c"
    assert texts_in("fr").join(["a"]) == "a"
    assert texts_in("fr").join([]) == ""


def test_markup_of_values_is_escaped() -> None:
    said = texts_in("en").html("{sign} on {tag}", sign="+", tag="<i>")
    assert said == "+ on &lt;i&gt;"


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
    ("POST", "/act", {"press": "+9 type=film"}, 422, "This tag cannot be pressed further."),
    ("POST", "/act", {"undo": "1"}, 422, "There is nothing to undo."),
    ("POST", "/act", {"redo": "1"}, 422, "There is nothing to redo."),
    ("POST", "/act", {"remove": "i3"}, 404, "This is no longer among what you looked at."),
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
        assert name in error_message(404, str(error), texts_in("nl"), error)[0]
