"""A wish: one thing that a visitor asks of a list, with a text form for forms, files and APIs."""

import math
import re
from dataclasses import dataclass, field
from typing import Literal, Self, get_args

from teaser.errors import WishError
from teaser.words.period import Period

Kind = Literal[
    "press", "only", "without", "never", "at_most", "at_least", "when", "like", "variety"
]
Lasts = Literal["today", "week", "always"]

KINDS: tuple[Kind, ...] = get_args(Kind)
LASTS: tuple[Lasts, ...] = get_args(Lasts)
# The most steps of one wish, in either direction.
MOST_STEPS = 5
# The largest bound of a column, in either direction: every page can write it.
MAX_BOUND = 1e15
# The kinds that name a tag, those that name a column and a number, and those that may end.
OF_TAGS = frozenset({"press", "only", "without", "never"})
OF_COLUMNS = frozenset({"at_most", "at_least"})
ENDING = frozenset({"press", "never"})

_ENDS = re.compile(r" for (today|week|always)$")
_STEPS = re.compile(r"[+-]?[1-9]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
# The letters of a wish that an error repeats.
_SHOWN = 80


@dataclass(frozen=True)
class Wish:
    """One thing that a visitor asks of a list.

    A wish that is not possible in any catalogue, such as a press of no steps, cannot be made.
    Whether its tag, column or item exists is for the one who applies it.

    Parameters
    ----------
    kind
        `press` (steps on a tag), `only` and `without` (filters of this list), `never` (hidden in
        all lists), `at_most` and `at_least` (bounds on a column of numbers), `when` (dates),
        `like` (an item as a start) or `variety`.
    name
        The tag as `feature=value`, the column, the period (see `Period`) or the item id.
    steps
        Presses, from -5 to 5 and not 0; for `press` alone.
    number
        The bound of a column, or the variety from 0 to 1.
    lasts
        Until when a `press` or a `never` counts: the end of `today`, a `week`, or `always`.
    words
        The words that it was read from; two wishes may differ in them and be equal.

    Examples
    --------
    >>> str(Wish("press", "theme=Jazz", steps=4, lasts="today"))
    'press +4 theme=Jazz for today'
    >>> Wish.parse("at_most price 20").number
    20.0
    """

    kind: Kind
    name: str = ""
    steps: int = 0
    number: float | None = None
    lasts: Lasts = "always"
    words: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        problem = self._problem()
        if problem:
            raise WishError(f"{self.kind} {self.name}".strip()[:_SHOWN], problem)

    def __str__(self) -> str:
        parts: list[str] = [self.kind]
        if self.kind == "press":
            parts.append(f"{self.steps:+d}")
        if self.name:
            parts.append(self.name)
        if self.number is not None:
            parts.append(_written(self.number))
        text = " ".join(parts)
        # A name may itself end in "for today"; then the end is written in any case.
        if self.lasts != "always" or (self.kind in ENDING and _ENDS.search(self.name)):
            text += f" for {self.lasts}"
        return text

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the wish of a text form; `str` of it is the same text in its usual form.

        Raises
        ------
        WishError
            If the text is no wish.
        """
        kind, _, rest = text.partition(" ")
        if kind not in KINDS:
            raise WishError(text[:_SHOWN], f"It has to begin with one of {', '.join(KINDS)}.")
        if kind == "variety":
            return cls(kind, number=_number(text, rest))
        if kind == "when":
            return cls(kind, str(Period.parse(rest)))
        if kind in OF_COLUMNS:
            name, _, number = rest.rpartition(" ")
            return cls(kind, name, number=_number(text, number))
        lasts: Lasts = "always"
        ends = _ENDS.search(rest) if kind in ENDING else None
        if ends:
            lasts = next(each for each in LASTS if each == ends[1])
            rest = rest[: ends.start()]
        if kind != "press":
            return cls(kind, rest, lasts=lasts)
        steps, _, name = rest.partition(" ")
        if not _STEPS.fullmatch(steps):
            raise WishError(text[:_SHOWN], "Write the steps before the tag, such as +4 or -2.")
        return cls(kind, name, steps=int(steps), lasts=lasts)

    def _problem(self) -> str:
        """Return what makes this wish impossible, or nothing."""
        if self.kind not in KINDS:
            return f"A wish is one of {', '.join(KINDS)}."
        if self.lasts not in LASTS or (self.lasts != "always" and self.kind not in ENDING):
            return "A press or a never lasts for today, for week or for always; all others always."
        if (self.kind == "press") != (self.steps != 0) or abs(self.steps) > MOST_STEPS:
            return f"A press has {-MOST_STEPS} to {MOST_STEPS} steps and not 0; all others none."
        if self.kind in OF_TAGS and not all(part.strip() for part in self.name.partition("=")):
            return "Name a tag as feature=value."
        if self.kind == "when":
            Period.parse(self.name)
        elif self.kind != "variety" and not self.name.strip():
            return "Name a column and a number." if self.kind in OF_COLUMNS else "Name an item."
        return self._problem_of_number()

    def _problem_of_number(self) -> str:
        if self.kind not in OF_COLUMNS and self.kind != "variety":
            return "" if self.number is None else "It takes no number."
        if self.number is None or not math.isfinite(self.number):
            return "It needs a finite number."
        if self.kind == "variety":
            if self.name:
                return "Variety has no name."
            return "" if 0 <= self.number <= 1 else "Variety is a number from 0 to 1."
        if abs(self.number) > MAX_BOUND:
            return f"A bound is a number from {-MAX_BOUND:g} to {MAX_BOUND:g}."
        return ""


def _written(number: float) -> str:
    """Return a number as a person writes it: no decimal point if it is whole."""
    whole = float(number).is_integer() and abs(number) < 2**53
    return str(int(number)) if whole else repr(float(number))


def _number(text: str, number: str) -> float:
    if not _NUMBER.fullmatch(number):
        raise WishError(text[:_SHOWN], "It has to end in a number, such as 20 or 0.5.")
    return float(number)
