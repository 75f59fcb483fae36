"""Texts: every one is translated, with the same places to fill in; numbers as people write them."""

import re
import string
from datetime import date
from pathlib import Path

import pytest
from app.conftest import MINUS
from babel.messages.pofile import read_po

import teaser.app
from teaser import Tag
from teaser.app.i18n.texts import LANGUAGES, choose_language, texts_in
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
    return {text for text in found if text != "en"}


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
