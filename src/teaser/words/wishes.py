"""Wishes and periods with their text forms, readings of requests, and the lists they lead to."""

import calendar
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import combinations
from typing import Any, Literal, Self, cast, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from teaser.data.tags import Tag, resolve_tag
from teaser.errors import ParameterError, UnknownNameError, closest_names, shortened
from teaser.model.tables import History
from teaser.model.tagged import TaggedModel
from teaser.profile import MAX_PRESSES
from teaser.recommend import Recommendations
from teaser.steer.variation import start_presses
from teaser.steer.variety import varied

_DAYS = re.compile(r"(\d{4}-\d{2}-\d{2})?(\.\.)?(\d{4}-\d{2}-\d{2})?", re.ASCII)


@dataclass(frozen=True)
class Period:
    """A period of whole days.

    Parameters
    ----------
    name
        `today`, `tomorrow`, `weekend`, `next_weekend`, `week`, `next_week`, `month` or
        `next_month`; empty for fixed days.
    first, last
        The fixed days, both included; None for an open end.

    Examples
    --------
    >>> Period.parse("weekend").days(date(2026, 11, 16))
    (datetime.date(2026, 11, 21), datetime.date(2026, 11, 22))
    >>> str(Period.parse("..2026-12-24"))
    '..2026-12-24'
    """

    name: str = ""
    first: date | None = None
    last: date | None = None

    def __post_init__(self) -> None:
        fixed = self.first is not None or self.last is not None
        known = self.name in NAMES if self.name else fixed
        if not known or (self.name and fixed):
            raise _no_period(str(self))
        if self.first is not None and self.last is not None and self.last < self.first:
            raise _no_period(str(self))

    def __str__(self) -> str:
        return self.name or f"{self.first or ''}..{self.last or ''}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the period that a text names; a day alone is a period of one day.

        Raises
        ------
        ParameterError
            If it is neither a name of a period nor `2026-11-20..2026-11-22` with one or both days.
        """
        if text in NAMES:
            return cls(text)
        found = _DAYS.fullmatch(text)
        if not found:
            raise _no_period(text)
        try:
            first, last = (date.fromisoformat(day) if day else None for day in found.group(1, 3))
        except ValueError:
            raise _no_period(text) from None
        if found[2] is None:
            if first is None or last is not None:
                raise _no_period(text)
            last = first
        return cls("", first, last)

    def days(self, today: date) -> tuple[date | None, date | None]:
        """Return the first and the last day, given today; None for an open end.

        A period that has begun starts today: on a Sunday, the weekend is that Sunday.
        """
        return NAMES[self.name](today) if self.name else (self.first, self.last)


def month_days(year: int, month: int) -> tuple[date, date]:
    """Return the first and the last day of a month."""
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


def _next_month(today: date) -> tuple[date, date]:
    return month_days(today.year + today.month // 12, today.month % 12 + 1)


def _week_days(today: date, first: int, last: int) -> tuple[date, date]:
    """Return days counted from the Monday of this week, not before today."""
    monday = today - timedelta(days=today.weekday())
    return max(today, monday + timedelta(days=first)), monday + timedelta(days=last)


# The names of periods, and the first and the last day of each given today.
NAMES: dict[str, Callable[[date], tuple[date, date]]] = {
    "today": lambda today: (today, today),
    "tomorrow": lambda today: (today + timedelta(days=1), today + timedelta(days=1)),
    "weekend": lambda today: _week_days(today, 5, 6),
    "next_weekend": lambda today: _week_days(today, 12, 13),
    "week": lambda today: _week_days(today, 0, 6),
    "next_week": lambda today: _week_days(today, 7, 13),
    "month": lambda today: (today, month_days(today.year, today.month)[1]),
    "next_month": _next_month,
}

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
        if self.kind == "when":
            Period.parse(self.name)
        if not self._is_possible():
            raise _no_wish(f"{self.kind} {self.name}".strip())

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
        ParameterError
            If the text is no wish.
        """
        word, _, rest = text.partition(" ")
        kind = cast(Kind, word)
        try:
            if kind == "variety":
                return cls(kind, number=float(rest))
            if kind == "when":
                return cls(kind, str(Period.parse(rest)))
            if kind in OF_COLUMNS:
                name, _, number = rest.rpartition(" ")
                return cls(kind, name, number=float(number))
            lasts: Lasts = "always"
            ends = _ENDS.search(rest) if kind in ENDING else None
            if ends:
                lasts, rest = cast(Lasts, ends[1]), rest[: ends.start()]
            steps, _, name = rest.partition(" ") if kind == "press" else ("0", "", rest)
            return cls(kind, name, steps=int(steps), lasts=lasts)
        except ParameterError:
            raise
        except ValueError:  # no number
            raise _no_wish(text) from None

    def _is_possible(self) -> bool:
        """Whether there can be such a wish in some catalogue."""
        may_end = self.lasts in LASTS if self.kind in ENDING else self.lasts == "always"
        right_steps = (self.kind == "press") == (self.steps != 0) and abs(self.steps) <= MOST_STEPS
        is_named = (self.kind == "variety") != bool(self.name.strip())
        if self.kind in OF_TAGS:
            is_named = all(part.strip() for part in self.name.partition("="))
        lowest, highest = (0, 1) if self.kind == "variety" else (-MAX_BOUND, MAX_BOUND)
        right_number = self.number is None
        if self.kind in OF_COLUMNS or self.kind == "variety":
            right_number = self.number is not None and lowest <= self.number <= highest
        return self.kind in KINDS and may_end and right_steps and is_named and right_number


def _no_wish(text: str) -> ParameterError:
    return ParameterError(
        f"{shortened(text)!r} is not a wish. Write press +2 feature=value ({-MOST_STEPS} to "
        f"{MOST_STEPS}, not 0); only, without or never feature=value; at_most or at_least COLUMN "
        "NUMBER; when PERIOD; like ITEM; or variety 0.5 (0 to 1). A press or a never may end in "
        "'for today' or 'for week'.",
        problem="no wish",
    )


def _no_period(text: str) -> ParameterError:
    return ParameterError(
        "{period!r} is no period. Write today, tomorrow, weekend, next_weekend, week, next_week, "
        "month, next_month, or days such as 2026-11-20..2026-11-22, one of which may be left out.",
        problem="no period",
        period=text,
    )


def _written(number: float) -> str:
    """Return a number as a person writes it: no decimal point if it is whole."""
    whole = float(number).is_integer() and abs(number) < 2**53
    return str(int(number)) if whole else repr(float(number))


# Steps of a mention, by its degree: a bit, plain, much. The last is the bound of a tag.
SLIGHT, BARE, STRONG = 2, 4, 5


@dataclass(frozen=True)
class Sign:
    """What a word of degree or negation makes of the names that it counts for.

    Parameters
    ----------
    kind
        The kind of wish.
    steps
        The presses, for `press`.
    lasts
        Until when it counts.
    """

    kind: Kind
    steps: int = 0
    lasts: Lasts = "always"

    @property
    def negative(self) -> bool:
        """Whether less of something is wished."""
        return self.steps < 0 or self.kind in ("without", "never")

    @classmethod
    def parse(cls, key: str) -> "Sign | None":
        """Return the sign of a key of the lexicon; None for a bare mention.

        Examples
        --------
        >>> Sign.parse("never for week")
        Sign(kind='never', steps=0, lasts='week')
        """
        if key == "bare":
            return None
        if key in ("nor", "than"):
            return cls("without" if key == "nor" else "press", -BARE if key == "than" else 0)
        kind, _, rest = key.partition(" ")
        if kind == "press":
            return cls("press", int(rest))
        lasts = rest.removeprefix("for ") or "always"
        return cls(cast(Kind, kind), 0, cast(Lasts, lasts))

    def ending(self, lasts: Lasts) -> "Sign":
        """Return the same for a time: what is excluded for a time is hidden for it."""
        if self.kind == "without":
            return Sign("never", 0, lasts)
        return replace(self, lasts=lasts) if self.kind in ("press", "never") else self

    def wish(self, name: str, words: str) -> Wish:
        """Return the wish about a tag."""
        return Wish(self.kind, name, self.steps, lasts=self.lasts, words=words)


# The most wishes of one reading: as many as a visitor can look through before they apply.
MOST_WISHES = 20


@dataclass(frozen=True)
class Reading:
    """What was read from a request.

    Parameters
    ----------
    wishes
        In the order of the request, each once.
    unknown
        The words that were not understood, as they were written.
    contradictions
        Pairs of wishes that cannot both hold; the visitor has to choose.
    """

    wishes: tuple[Wish, ...] = ()
    unknown: tuple[str, ...] = ()
    contradictions: tuple[tuple[Wish, Wish], ...] = ()

    @classmethod
    def from_wishes(
        cls, wishes: Iterable[Wish], unknown: Iterable[str] = (), *, today: date | None = None
    ) -> Self:
        """Return a reading with the contradictions among its wishes found; each wish once.

        A reading holds 20 wishes. What further ones were read from is not understood, all of it:
        of the four wishes of "cheaper", none stays without the others.
        """
        each = tuple(dict.fromkeys(wishes))
        left = each[MOST_WISHES:]
        if left:
            cut = {wish.words for wish in left if wish.words}
            left = tuple(w for w in each if w.words in cut) + tuple(w for w in left if not w.words)
            each = tuple(wish for wish in each[:MOST_WISHES] if wish.words not in cut)
            unknown = (*unknown, *(wish.words or str(wish) for wish in left))
        contradictions = find_contradictions(each, today=today)
        return cls(each, tuple(dict.fromkeys(unknown)), contradictions)

    @property
    def understood(self) -> bool:
        """Whether something was read, all of it was understood and nothing contradicts."""
        return bool(self.wishes) and not self.unknown and not self.contradictions


def find_contradictions(
    wishes: Iterable[Wish], *, today: date | None = None
) -> tuple[tuple[Wish, Wish], ...]:
    """Return the pairs of wishes that cannot both hold, in their order.

    They are: presses in both directions on one tag; a tag that is wanted and excluded; bounds
    that leave no number; two periods without a common day; two values for variety.
    """
    now = today or date.today()
    return tuple(pair for pair in combinations(wishes, 2) if _contradict(*pair, now))


def refuse_contradictions(wishes: Iterable[Wish], *, today: date | None = None) -> None:
    """Raise `ParameterError` if two wishes cannot both hold."""
    for one, other in find_contradictions(wishes, today=today):
        raise ParameterError(
            "{one} and {other} cannot both be. Take one of them off.",
            problem="contradiction",
            one=one,
            other=other,
        )


def _contradict(one: Wish, other: Wish, today: date) -> bool:
    kinds = {one.kind, other.kind}
    if kinds == {"variety"}:
        return one.number != other.number
    if kinds == {"when"}:
        return _apart(Period.parse(one.name), Period.parse(other.name), today)
    if one.name != other.name:
        return False
    if kinds == {"at_most", "at_least"}:
        least, most = (one, other) if one.kind == "at_least" else (other, one)
        return (least.number or 0.0) > (most.number or 0.0)
    signs = {_direction(one), _direction(other)}
    return signs == {-1, 1}


def _direction(wish: Wish) -> int:
    """Return 1 for a wish that wants a tag, -1 for one that does not, 0 for one about no tag."""
    if wish.kind == "press":
        return 1 if wish.steps > 0 else -1
    return {"only": 1, "without": -1, "never": -1}.get(wish.kind, 0)


def _apart(one: Period, other: Period, today: date) -> bool:
    """Return whether two periods share no day."""
    (first, last), (other_first, other_last) = one.days(today), other.days(today)
    before = last is not None and other_first is not None and last < other_first
    return before or (other_last is not None and first is not None and other_last < first)


Array = NDArray[Any]


def recommend_for(
    model: TaggedModel,
    wishes: Iterable[Wish],
    history: History = (),
    *,
    k: int = 20,
    today: date | None = None,
) -> Recommendations:
    """Return the k best items for a user with some wishes.

    Parameters
    ----------
    wishes
        What is wished, as `read` returns it or text forms parsed by `Wish.parse`. How long a press
        or an exclusion lasts does not matter for one list.
    history
        The items that the user viewed.
    today
        The day that periods are counted from.

    Raises
    ------
    ParameterError
        If two wishes cannot both hold.
    UnknownNameError
        If the model does not have a tag, an item or a column of numbers.
    """
    each, day = tuple(dict.fromkeys(wishes)), today or date.today()
    refuse_contradictions(each, today=day)
    variety = next((wish.number or 0.0 for wish in each if wish.kind == "variety"), 0.0)
    presses = _presses(model, each)
    allowed = _allowed(model, each, day)
    return varied(model, history, presses, variety=variety, k=k, allowed=allowed)


def _presses(model: TaggedModel, wishes: Iterable[Wish]) -> Mapping[Tag, int]:
    """Return the net presses of wishes, as far as each tag can be pressed."""
    net: dict[Tag, int] = {}
    for wish in wishes:
        if wish.kind == "press":
            steps: Mapping[Tag, int] = {Tag.parse(wish.name): wish.steps}
        elif wish.kind == "like":
            steps = start_presses(model, wish.name)
        else:
            continue
        for tag, n in steps.items():
            net[tag] = max(-MAX_PRESSES, min(MAX_PRESSES, net.get(tag, 0) + n))
    return {tag: n for tag, n in net.items() if n}


def _allowed(model: TaggedModel, wishes: Sequence[Wish], today: date) -> Array:
    """Return which items all filters among the wishes let pass."""

    def tags(*kinds: str) -> list[Tag]:
        names = (wish.name for wish in wishes if wish.kind in kinds)
        return [model.tags_[resolve_tag(name, model.tag_table_.index)] for name in names]

    mask = matching_items(model, tags("only"), without=tags("without", "never"))
    for wish in wishes:
        if wish.kind == "at_most":
            mask &= matching_items(model, at_most={wish.name: wish.number or 0.0})
        elif wish.kind == "at_least":
            mask &= matching_items(model, at_least={wish.name: wish.number or 0.0})
        elif wish.kind == "when":
            if item_dates(model) is None:
                raise ParameterError("The items have no dates. Leave out the days.")
            first, last = Period.parse(wish.name).days(today)
            mask &= matching_items(model, first=first, last=last)
    return mask


def matching_items(
    model: TaggedModel,
    tags: Iterable[Tag] = (),
    *,
    without: Iterable[Tag] = (),
    at_most: Mapping[str, float] | None = None,
    at_least: Mapping[str, float] | None = None,
    first: date | None = None,
    last: date | None = None,
) -> NDArray[np.bool_]:
    """Return a mask of the items that pass the filters of a list.

    An item passes if it has at least one of the tags of every feature that they name, none of
    those of `without`, a number within the bounds in each column that they name, and a day from
    `first` to `last`: its date, or where it has an end, any day until that. Tags that the model
    does not have are carried by no item.

    Raises
    ------
    UnknownNameError
        If a bound is on what is no column of numbers.
    """
    index, decoder = model.tag_table_.index, model.decoder_
    mask = np.ones(len(model.items_), dtype=bool)
    by_feature: dict[str, list[int]] = {}
    for tag in tags:
        by_feature.setdefault(tag.feature, []).extend([index[tag]] if tag in index else [])
    for columns in by_feature.values():
        mask &= np.diff(decoder[:, columns].indptr) > 0
    if excluded := [index[tag] for tag in without if tag in index]:
        mask &= np.diff(decoder[:, excluded].indptr) == 0
    # A number that is missing is NaN, which is within no bound.
    for column, bound in (at_most or {}).items():
        mask &= item_numbers(model, column) <= bound
    for column, bound in (at_least or {}).items():
        mask &= item_numbers(model, column) >= bound
    dates = item_dates(model) if first or last else None
    if dates is not None:
        ends = item_dates(model, "end")
        until = dates if ends is None else ends.fill_null(dates)
        within = (dates <= (last or date.max)) & (until >= (first or date.min))
        mask &= within.fill_null(value=False).to_numpy()
    return mask


def number_columns(model: TaggedModel) -> tuple[str, ...]:
    """Return the columns of numbers, which bounds can be on; the first column has ids."""
    table = model.table_
    return tuple(name for name in table.columns[1:] if table[name].dtype.is_numeric())


def item_numbers(model: TaggedModel, column: str) -> NDArray[np.float64]:
    """Return the number of each item in a column, NaN where there is none.

    Raises
    ------
    UnknownNameError
        If it is no column of numbers.
    """
    known = number_columns(model)
    if column not in known:
        said = "There is no column of numbers named {name!r}."
        raise UnknownNameError("column", column, closest_names(column, known), said)
    return model.table_[column].cast(pl.Float64).fill_null(math.nan).to_numpy()


def item_dates(model: TaggedModel, role: str = "date") -> pl.Series | None:
    """Return the date of each item, or the end; None if the data have none."""
    name = model.tag_table_.rules.roles.get(role)
    if name is None:
        return None
    cells = model.table_[name]
    if cells.dtype == pl.String:
        cells = cells.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    return cells.cast(pl.Date, strict=False)
