"""What the pages say, in the languages that they speak: gettext catalogues, read once."""

import gettext
import math
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from babel.core import negotiate_locale
from babel.dates import format_date, format_skeleton
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from markupsafe import Markup

from teaser.data.tagging.tag import Tag
from teaser.profile import POPULARITY

LANGUAGES = {"en": "English", "nl": "Nederlands", "fr": "Français"}
MINUS = "\N{MINUS SIGN}"

Messages = dict[tuple[str | None, str], str | tuple[str, ...]]


class Texts:
    """The texts of one language; English is the source and needs no catalogue.

    Examples
    --------
    >>> Texts("en")("More of {tag}", tag="Concert")
    'More of Concert'
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self._messages, self._form = _read(language)
        self._point = "." if language == "en" else ","

    def __call__(self, text: str, **values: object) -> str:
        """Return a text in this language, with its places filled in."""
        found = self._messages.get((None, text), text)
        said = found if isinstance(found, str) else found[0]
        return said.format(**values) if values else said

    def html(self, text: str, **values: object) -> Markup:
        """Return a text whose values may be markup; any that is not is escaped."""
        return Markup(self(text)).format(**values)  # noqa: S704 - texts are our own

    def count(self, one: str, many: str, n: int, **values: object) -> str:
        """Return the form of a text that suits a number, which it may name as {n}."""
        found = self._messages.get((None, one))
        forms = found if isinstance(found, tuple) else (one, many)
        return forms[self._form(n)].format(n=self.whole(n), **values)

    def feature(self, name: str) -> str:
        """Return a feature's name as people read it."""
        if name == POPULARITY.feature:
            return self("Popularity")
        return self.named("feature", _readable(name))

    def tag(self, tag: Tag) -> str:
        """Return a tag's value as people read it."""
        if tag == POPULARITY:
            return self("Popular with others")
        return self.named("tag", tag.value)

    def named(self, context: str, name: str) -> str:
        """Return a name of the data in this language, or as it is."""
        found = self._messages.get((context, name), name)
        return found if isinstance(found, str) else found[0]

    def join(self, names: list[str]) -> str:
        """Join names as a sentence does."""
        if len(names) < 2:
            return "".join(names)
        return self("{first} and {last}", first=", ".join(names[:-1]), last=names[-1])

    def whole(self, n: int) -> str:
        """Write a whole number, in groups of three digits where it is long."""
        return str(n) if abs(n) < 1000 else str(format_decimal(n, locale=self.language))

    def signed(self, value: float, digits: int = 2) -> str:
        """Write a number with its sign, and with more digits where few would say zero."""
        if value and abs(value) < 0.5 * 10**-digits:
            digits = min(6, -math.floor(math.log10(abs(value))))
        size = f"{abs(value):.{digits}f}"
        sign = "" if not size.strip("0.") else "+" if value > 0 else MINUS
        return sign + size.replace(".", self._point)

    def plain(self, value: float, digits: int = 2) -> str:
        """Write a number without a plus."""
        return self.signed(value, digits).removeprefix("+")

    def percent(self, share: float, *, sign: bool = False) -> str:
        """Write a share of one as a percentage."""
        size = round(100 * share)
        mark = ("+" if size > 0 else MINUS if size < 0 else "") if sign else ""
        return f"{mark}{abs(size)}\N{NARROW NO-BREAK SPACE}%"

    def steps(self, presses: int) -> str:
        """Write a number of presses with its sign."""
        return f"{MINUS if presses < 0 else '+'}{abs(presses)}" if presses else "0"

    def date(self, day: date) -> str:
        """Write a day with its weekday."""
        return _written(day, self.language)


@cache
def texts_in(language: str) -> Texts:
    """Return the texts of a language."""
    return Texts(language)


def choose_language(cookie: str | None, accepted: str | None) -> str:
    """Return the language that a person chose, or the first that their browser asks for."""
    if cookie in LANGUAGES:
        return str(cookie)
    wanted = list(_preferences(accepted or ""))
    return negotiate_locale(wanted, list(LANGUAGES), sep="-") or "en"


def _preferences(header: str) -> Iterator[str]:
    """Read an Accept-Language header, the most wanted first."""
    parts = []
    for place, part in enumerate(header.split(",")[:20]):
        name, _, quality = part.strip().partition(";q=")
        try:
            weight = float(quality or 1)
        except ValueError:
            weight = 0.0
        parts.append((-weight, place, name.strip()[:20]))
    yield from (name for _, _, name in sorted(parts) if name)


@cache
def _read(language: str) -> tuple[Messages, Callable[[int], int]]:
    if language == "en":
        return {}, lambda n: int(n != 1)
    path = resources.files("teaser.app.i18n") / "locale" / f"{language}.po"
    with path.open("rb") as file:
        catalogue = read_po(file, locale=language)
    form: Callable[[int], int] = gettext.c2py(catalogue.plural_expr)
    return {_key(m): _said(m) for m in catalogue if m.id and m.string}, form


def _key(message: Any) -> tuple[str | None, str]:
    return message.context, message.id if isinstance(message.id, str) else message.id[0]


def _said(message: Any) -> str | tuple[str, ...]:
    return message.string if isinstance(message.string, str) else tuple(message.string)


@lru_cache(maxsize=4096)
def _written(day: date, language: str) -> str:
    if language == "en":  # day before month, as in Belgium and around it
        return format_date(day, "EEE d MMM y", locale="en_GB").replace("Sept", "Sep")
    return format_skeleton("yMMMEd", day, locale=language)


@lru_cache(maxsize=4096)
def _readable(name: str) -> str:
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]
