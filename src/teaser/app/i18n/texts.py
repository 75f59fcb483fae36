"""The texts of the site in each language, from gettext files, with numbers and dates."""

import gettext
import math
import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from functools import cache, lru_cache
from importlib import resources
from io import BytesIO
from typing import Any

from babel.core import negotiate_locale
from babel.dates import format_date, format_skeleton
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from markupsafe import Markup, escape

from teaser.data.tags import DISCOVERED, Tag, feature_label
from teaser.profile import GENERAL, NOT_STATED, POPULARITY

LANGUAGES = {"en": "English", "nl": "Nederlands", "fr": "Français"}
MINUS = "\N{MINUS SIGN}"
# The spaces of French before : ; ? ! and inside its quotes, where a line must not break.
_FRENCH_SPACE = re.compile("(?<=«) | (?=[:;?!»])")

# A language of an Accept-Language header, with its weight.
_PREFERENCE = re.compile(r"([a-zA-Z-]+)\s*(?:;\s*q=([01](?:\.\d*)?))?")


class Texts:
    """The texts of one language; the English texts stand in the code.

    Examples
    --------
    >>> Texts("en")("More of {tag}", tag="Concert")
    'More of Concert'
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self._messages = _read(language)
        self._point = "." if language == "en" else ","

    def __call__(self, text: str, **values: object) -> str:
        """Return the translation of a text, with its placeholders filled in."""
        text = self._messages.gettext(text)
        return text.format(**values) if values else text

    def html(self, text: str, **values: object) -> Markup:
        """Return the translation as markup; values that are not markup are escaped."""
        # The `format` of markup reads the text letter by letter, which takes ten times as long.
        escaped = {name: escape(value) for name, value in values.items()}
        return Markup(self(text).format(**escaped))  # noqa: S704 - texts are our own

    def count(self, one: str, many: str, n: int, **values: object) -> str:
        """Return the singular or plural of a text for a number, which fills in {n}."""
        return self._messages.ngettext(one, many, n).format(n=self.integer(n), **values)

    def feature(self, name: str) -> str:
        """Return the name of a feature on screen."""
        if name == POPULARITY.feature:
            return self("Popularity")
        if name == GENERAL.feature:
            return self("General appeal")
        if name == DISCOVERED:
            return self("Groups found")
        return self._messages.pgettext("feature", feature_label(name))

    def tag(self, tag: Tag) -> str:
        """Return the value of a tag on screen."""
        if tag == POPULARITY:
            return self("Popular with others")
        if tag == GENERAL:
            return self("General appeal")
        if tag.value == NOT_STATED:
            return self("other or not stated")
        # Groups are named by titles, which stay as they are.
        return tag.value if tag.discovered else self._messages.pgettext("tag", tag.value)

    def full_tag(self, tag: Tag) -> str:
        """Return the value of a tag where its feature is not shown: a number is shown with it."""
        if tag.is_titles:
            return self("items like {titles}", titles=tag.value)
        if tag.is_bare:
            feature = self.feature(tag.feature)
            return self("{feature}: {value}", feature=feature, value=self.tag(tag))
        return self.tag(tag)

    def join(self, names: Sequence[str]) -> str:
        """Join names with commas and a last `and`."""
        if len(names) < 2:
            return "".join(names)
        return self("{first} and {last}", first=", ".join(names[:-1]), last=names[-1])

    def join_html(self, names: Sequence[Markup]) -> Markup:
        """Join markup with commas and a last `and`."""
        if len(names) < 2:
            return Markup().join(names)
        return self.html("{first} and {last}", first=Markup(", ").join(names[:-1]), last=names[-1])

    def integer(self, n: int) -> str:
        """Format an integer, with separators from 1000 on."""
        if abs(n) < 1000:
            return str(n)
        # Babel fails beyond the digits of the decimal context.
        return (
            f"{Decimal(n):.6g}" if abs(n) > 1e15 else str(format_decimal(n, locale=self.language))
        )

    def signed(self, value: float, digits: int = 2) -> str:
        """Format a number with its sign; small numbers get more digits instead of 0.00."""
        if value and abs(value) < 0.5 * 10**-digits:
            digits = min(6, -math.floor(math.log10(abs(value))))
        size = f"{abs(value):.{digits}f}"
        sign = "" if not size.strip("0.") else "+" if value > 0 else MINUS
        return sign + size.replace(".", self._point)

    def number(self, value: float, digits: int = 2) -> str:
        """Format a number without a plus sign."""
        return self.signed(value, digits).removeprefix("+")

    def percent(self, share: float, *, sign: bool = False) -> str:
        """Format a share from 0 to 1 as a percentage."""
        size = round(100 * share)
        mark = ("+" if size > 0 else MINUS if size < 0 else "") if sign else ""
        return f"{mark}{abs(size)}\N{NARROW NO-BREAK SPACE}%"

    def steps(self, presses: int) -> str:
        """Format a number of presses with its sign."""
        return f"{MINUS if presses < 0 else '+'}{abs(presses)}" if presses else "0"

    def date(self, day: date) -> str:
        """Format a date with its weekday."""
        return _format_date(day, self.language)


@cache
def texts_in(language: str) -> Texts:
    """Return the texts of a language."""
    return Texts(language)


def choose_language(cookie: str | None, accepted: str | None) -> str:
    """Return the language in the cookie, or the first in Accept-Language that the site has."""
    if cookie in LANGUAGES:
        return str(cookie)
    given = _PREFERENCE.findall(accepted or "")[:20]
    wanted = [name for name, _ in sorted(given, key=lambda pair: -float(pair[1] or 1))]
    return negotiate_locale(wanted, list(LANGUAGES), sep="-") or "en"


def _read(language: str) -> gettext.NullTranslations:
    if language == "en":
        return gettext.NullTranslations()
    path = resources.files("teaser.app.i18n") / "locale" / f"{language}.po"
    with path.open("rb") as file:
        messages = read_po(file, locale=language)
    if language == "fr":
        for message in messages:
            forms: Any = message.string
            one = isinstance(forms, str)
            message.string = _spaced(forms) if one else tuple(map(_spaced, forms))
    compiled = BytesIO()
    write_mo(compiled, messages)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


def _spaced(text: str) -> str:
    """Return a text with spaces that do not break before French marks and inside its quotes."""
    return _FRENCH_SPACE.sub("\u202f", text)


@lru_cache(maxsize=4096)
def _format_date(day: date, language: str) -> str:
    if language == "en":  # the day before the month, as in Europe
        return format_date(day, "EEE d MMM y", locale="en_GB").replace("Sept", "Sep")
    return format_skeleton("yMMMEd", day, locale=language)
