"""Bounds on numbers in a request: under 20 euro, between 10 and 20, at least 8 stars, 2 hours."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from teaser.words.phrases.lexicon import Lexicon
from teaser.words.phrases.tokens import Token
from teaser.words.vocabulary import Vocabulary

Bound = Literal["at_most", "at_least"]

_MINUTES = 60.0
_CURRENCY = frozenset("€$£")
# What a unit is about, and by how much a number is multiplied.
_UNITS = {
    "price": ("price", 1.0),
    "minutes": ("length", 1.0),
    "hours": ("length", _MINUTES),
    "rating": ("rating", 1.0),
    "other": ("other", 1.0),
}


@dataclass(frozen=True)
class Limit:
    """A bound on a column."""

    kind: Bound
    column: str
    number: float

    def reversed(self) -> "Limit":
        """Return the other bound: "nothing over 20" is at most 20."""
        other: Bound = "at_least" if self.kind == "at_most" else "at_most"
        return Limit(other, self.column, self.number)


@dataclass(frozen=True)
class _Amount:
    number: float
    about: str
    length: int


@dataclass(frozen=True)
class LimitReader:
    """Reads bounds at places of a request; see `DateReader` for the parameters."""

    tokens: Sequence[Token]
    words: list[str]
    lexicon: Lexicon
    vocabulary: Vocabulary

    def at(self, place: int) -> tuple[tuple[Limit, ...], int] | None:
        """Return the bounds that stand at a place, and how many words they take.

        A bound on what the items have no column for is an empty one.
        """
        topic = self.lexicon.find("about", self.words, place)
        if topic:
            start = place + topic[1]
            start += self._fillers(start)
            found = self._range(start, topic[0]) or self._single(start, topic[0])
            if found:
                return found[0], found[1] + start - place
        return self._range(place, "") or self._single(place, "")

    def _range(self, place: int, topic: str) -> tuple[tuple[Limit, ...], int] | None:
        """Read `between 10 and 20 euro`, `10 to 20 euro`, `10-20 euro`."""
        opening = self.lexicon.find_key("bound", "between", self.words, place)
        low = self._amount(place + opening)
        if low is None:
            return None
        middle = place + opening + low.length
        joint = self.lexicon.find_key("bound", "to", self.words, middle)
        if not joint and self._mark(middle) in ("-", "–", "—"):
            joint = 1
        high = self._amount(middle + joint) if joint else None
        if high is None:
            return None
        about = high.about or low.about or topic
        length = middle + joint + high.length - place
        if (not about and not opening) or low.number > high.number:
            return None
        if not about and self.words[place] not in ("between", "tussen", "entre"):
            return None
        scale = _MINUTES if high.about == "length" and not low.about else 1.0
        hours = high.number / _MINUTES if high.about == "length" else 0.0
        numbers = (low.number * scale if hours and low.number < hours else low.number, high.number)
        column = self._column(about, high.number)
        if column is None:
            return (), length
        least = Limit("at_least", column, numbers[0])
        return (least, Limit("at_most", column, numbers[1])), length

    def _single(self, place: int, topic: str) -> tuple[tuple[Limit, ...], int] | None:
        """Read `under 20 euro`, `20 euro at most`, `8 stars`, `rating 8`."""
        bound = self.lexicon.find("bound", self.words, place)
        kind, opening = (bound[0], bound[1]) if bound else ("", 0)
        if kind not in ("at_most", "at_least"):
            kind = next((k for k in ("at_most", "at_least") if self._bound(k, place)), "")
            opening = self._bound(kind, place) if kind else 0
        start = place + opening
        if opening:
            start += self._fillers(start)
        elif not topic:
            # "for 15 euro"
            start += int(self.words[place] in ("for", "voor", "pour"))
        amount = self._amount(start)
        if amount is None:
            return None
        about = amount.about or topic
        end = start + amount.length
        after = self._after(end)
        if after:
            kind, end = after[0], end + after[1]
            unit = None if about else self.lexicon.find("unit", self.words, end)
            if unit:  # 8+ stars
                about, end = _UNITS[unit[0]][0], end + unit[1]
        if not about and not kind:
            return None
        if not about and opening and not after and self.words[place] in _WEAK:
            return None
        if not about and not after and self._counts_items(end):
            return (), end - place
        column = self._column(about, amount.number)
        if column is None:
            return ((), end - place) if about else None
        if not kind:
            is_rating = self.vocabulary.kinds.get(column) == "rating"
            kind = "at_least" if is_rating else "at_most"
        named: Bound = "at_most" if kind == "at_most" else "at_least"
        return (Limit(named, column, amount.number),), end - place

    def _counts_items(self, place: int) -> bool:
        """Return whether a number counts items, by what follows: no more than two concerts."""
        start = place + self._fillers(place)
        found = self.vocabulary.names.at(self.words, start, self.lexicon.language)
        named = [name for each in found for name in each.values]
        return any(not self.vocabulary.is_place(name.tag) for name in named)

    def _bound(self, kind: str, place: int) -> int:
        return self.lexicon.find_key("bound", kind, self.words, place)

    def _after(self, place: int) -> tuple[str, int] | None:
        """Read what follows an amount: at most, or more, +."""
        if self._mark(place) == "+" and self.tokens[place].glued:
            return "at_least", 1
        for key, kind in (("after_at_most", "at_most"), ("after_at_least", "at_least")):
            length = self.lexicon.find_key("bound", key, self.words, place)
            if length:
                return kind, length
        return None

    def _amount(self, place: int) -> _Amount | None:
        """Read a number with its unit: 20 euro, €20, 2 hours, 1h30, an hour and a half."""
        before = self._mark(place) in _CURRENCY
        start = place + int(before)
        number, length = self._number(start)
        if length == 0:
            return None
        unit = self.lexicon.find("unit", self.words, start + length)
        if before or self._mark(start + length) in _CURRENCY:
            more = int(self._mark(start + length) in _CURRENCY)
            return _Amount(number, "price", length + more + int(before))
        if not unit:
            return _Amount(number, "", length)
        about, factor = _UNITS[unit[0]]
        total = length + unit[1]
        number *= factor
        if unit[0] == "price":
            # 20 euro per person
            again = self.lexicon.find_key("unit", "price", self.words, start + total)
            total += again
        if unit[0] == "hours":
            minutes, extra = self._number(start + total)
            if extra and minutes < _MINUTES and self.tokens[start + total].kind == "number":
                number, total = number + minutes, total + extra
                total += self.lexicon.find_key("unit", "minutes", self.words, start + total)
            else:
                number, total = self._and_a_half(number, start, total)
        return _Amount(number, about, total)

    def _and_a_half(self, number: float, start: int, total: int) -> tuple[float, int]:
        for phrase in _HALVES:
            if tuple(self.words[start + total : start + total + len(phrase)]) == phrase:
                return number + _MINUTES / 2, total + len(phrase)
        return number, total

    def _number(self, place: int) -> tuple[float, int]:
        """Return a number in figures or words and its length; length 0 if there is none."""
        token = self.tokens[place] if 0 <= place < len(self.tokens) else None
        if token is None:
            return 0.0, 0
        if token.number is not None:
            return token.number, 1
        spoken = self.lexicon.find("number", self.words, place)
        if spoken is None:
            return 0.0, 0
        # "a" and "een" are numbers only before a unit.
        if float(spoken[0]) in (0.5, 1.0) and not self._unit_follows(place + spoken[1]):
            return 0.0, 0
        return float(spoken[0]), spoken[1]

    def _unit_follows(self, place: int) -> bool:
        found = self.lexicon.find("unit", self.words, place)
        return bool(found) and found is not None and found[0] in ("hours", "minutes")

    def _fillers(self, place: int) -> int:
        """Return how many small words stand before a number: a rating of at least ..."""
        length = 0
        while place + length < len(self.words) and self.words[place + length] in _SMALL:
            if self.lexicon.find("bound", self.words, place + length):
                break
            length += 1
        return length

    def _mark(self, place: int) -> str:
        found = self.tokens[place] if 0 <= place < len(self.tokens) else None
        return found.key if found is not None and found.kind == "mark" else " "

    def _column(self, about: str, number: float) -> str | None:
        """Return the column that a number is about; without a unit, the one it fits in."""
        if about:
            return self.vocabulary.column_of(about)
        price = self.vocabulary.column_of("price")
        if price:
            return price
        known = ("price", "length", "rating")
        fitting = [
            name
            for name, (low, high) in self.vocabulary.columns.items()
            if low <= number <= high and self.vocabulary.kinds.get(name) in known
        ]
        return fitting[0] if len(fitting) == 1 else None


# Words that open a bound only where a unit says what the number is.
_WEAK = frozenset(
    [
        "in",
        "from",
        "until",
        "within",
        "inside",
        "van",
        "tot",
        "binnen",
        "budget",
        "i",
        "spend",
        "pay",
        "dans",
        "des",
        "sous",
        "a",
    ]
)
_SMALL = frozenset(
    [
        "of",
        "is",
        "at",
        "the",
        "a",
        "an",
        "om",
        "op",
        "van",
        "de",
        "le",
        "la",
        "les",
        "un",
        "une",
        "d",
        "du",
        "than",
        "dan",
        "que",
        "with",
        "met",
        "avec",
        "are",
        "on",
    ]
)
_HALVES = (
    ("and", "a", "half"),
    ("en", "een", "half"),
    ("en", "half"),
    ("et", "demie"),
    ("et", "demi"),
)
