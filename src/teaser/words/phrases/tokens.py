"""A request as tokens: words without capitals and accents, numbers, and marks."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

# A day, a number with decimals or slashes, a word with apostrophes, or any other letter.
_TOKEN = re.compile(
    r"(?P<day>\d{4}-\d{1,2}-\d{1,2})(?!\d)"
    r"|(?P<number>\d{1,9}(?:[.,/]\d{1,9}){0,2})"
    r"|(?P<word>[^\W\d_]+(?:['’ʼ`´][^\W\d_]+)*)"
    r"|(?P<mark>[^\w\s])"
    r"|(?P<line>\n+)"
)
# French words that lose their last letter before a vowel.
_ELIDED = frozenset(
    ["l", "d", "j", "n", "qu", "s", "c", "m", "t", "jusqu", "lorsqu", "puisqu", "quoiqu"]
)
_APOSTROPHES = re.compile("['’ʼ`´]")
# Letters that do not fall apart into a letter and an accent.
_LIGATURES = str.maketrans(
    {"œ": "oe", "æ": "ae", "ß": "ss", "ø": "o", "ł": "l", "đ": "d", "\N{KELVIN SIGN}": "k"}
)
_QUOTES = frozenset("\"“”„«»‹›'’‘`´*_#")

TokenKind = Literal["word", "number", "mark"]


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a request.

    Parameters
    ----------
    kind
        A word, a number (also a date in figures) or a mark.
    key
        The word without capitals and accents, the figures, or the mark; a new line is ``;``.
    start, end
        Where it stands in the request.
    glued
        Whether no space stands before it.
    """

    kind: TokenKind
    key: str
    start: int
    end: int
    glued: bool = False

    @property
    def number(self) -> float | None:
        """The value of a number with a decimal point or comma; None for all else."""
        if self.kind != "number" or "/" in self.key or self.key.count("-") > 1:
            return None
        text = self.key.replace(",", ".")
        return float(text) if text.count(".") <= 1 else None


def fold(text: str) -> str:
    """Return a text without capitals and accents.

    Examples
    --------
    >>> fold("Liège"), fold("Œuvre")
    ('liege', 'oeuvre')
    """
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold().translate(_LIGATURES))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a text, in its order.

    Hyphens separate words; apostrophes end a French article and vanish from other words. Quotes
    are left out.
    """
    found: list[Token] = []
    last = -1
    for match in _TOKEN.finditer(text):
        kind, start, end = match.lastgroup, match.start(), match.end()
        glued, last = start == last, -1 if kind == "line" else end
        if kind == "word":
            found += _words(match[0], start, glued)
        elif kind == "mark":
            if match[0] not in _QUOTES and not _is_hyphen(text, start):
                found.append(Token("mark", fold(match[0]), start, end, glued))
        elif kind == "line":
            found.append(Token("mark", ";", start, end))
        else:
            found.append(Token("number", match[0], start, end, glued))
    return found


@lru_cache(maxsize=16_384)
def keys(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a name or phrase, without its marks.

    Examples
    --------
    >>> keys("Louvain-la-Neuve"), keys("I don't like")
    (('louvain', 'la', 'neuve'), ('i', 'dont', 'like'))
    """
    return tuple(token.key for token in tokenize(text) if token.kind != "mark")


def _words(text: str, start: int, glued: bool) -> list[Token]:
    """Return the tokens of a word: one, or French articles and what follows them."""
    found: list[Token] = []
    while (mark := _APOSTROPHES.search(text)) and fold(text[: mark.start()]) in _ELIDED:
        end = start + mark.end()
        found.append(Token("word", fold(text[: mark.start()]), start, end, glued))
        text, start, glued = text[mark.end() :], end, True
    key = fold(_APOSTROPHES.sub("", text))
    return [*found, Token("word", key, start, start + len(text), glued)]


def _is_hyphen(text: str, place: int) -> bool:
    """Return whether a mark joins two words, as in stand-up."""
    if text[place] not in "-‐‑_":
        return False
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    return (before.isalpha() and after.isalpha()) or (before.isdigit() and after.isalpha())
