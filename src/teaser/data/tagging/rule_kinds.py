"""The kinds of rules: how the cells of a metadata column become tags of a feature."""

import math
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from teaser.data.tagging import cells
from teaser.data.tagging.stopwords import STOP_WORDS
from teaser.errors import RuleError

_MOST_BINS = 1_000


@dataclass(frozen=True)
class Rule:
    """What every rule has: a column, the feature of its tags, and a minimum of items a tag.

    Parameters
    ----------
    column
        The metadata column that is read.
    feature
        The name of the feature; the column's name unless given.
    min_items
        A tag of fewer items is left out, and counted.
    """

    kind: ClassVar[str] = ""
    takes_columns: ClassVar[bool] = False
    column: str | tuple[str, ...]
    feature: str = field(default="", kw_only=True)
    min_items: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        for f in fields(self):
            object.__setattr__(self, f.name, _as_tuple(getattr(self, f.name)))

    @property
    def name(self) -> str:
        """The feature that this rule's tags belong to."""
        return " ".join((self.feature or " ".join(self.columns)).split())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return self.column if isinstance(self.column, tuple) else (self.column,)

    def check(self) -> None:
        """Raise `RuleError` if a setting is invalid."""
        is_named = bool(self.columns) and all(_is(c, str) and c for c in self.columns)
        if not is_named or (isinstance(self.column, tuple) and not self.takes_columns):
            raise RuleError(
                f"A {self.kind} rule needs the name of a column, found {self.column!r}."
            )
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in _WANTED and not _WANTED[f.name][1](value):
                raise self._error(f"needs {_WANTED[f.name][0]} as {f.name}, found {value!r}.")
        if "=" in self.name or not self.name:
            raise self._error(
                f"has a feature called {self.name!r}. Give it a feature name without equal signs."
            )

    def resolve(self, items: pl.DataFrame) -> Self:
        """Return the rule with what it learns from the table, so that new items are read alike."""
        return self

    def bounds(self, n_items: int) -> tuple[int, int]:
        """Return the fewest and the most items of a tag that is kept."""
        return self.min_items, n_items

    def declared(self) -> tuple[str, ...]:
        """Return the values that the rule defines, whether an item has them or not."""
        return ()

    def values(self, items: pl.DataFrame) -> pl.Series:
        """Return the tag values of each item, one list of strings a row."""
        raise NotImplementedError

    def as_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, without defaults."""
        out: dict[str, Any] = {"kind": self.kind}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.default is MISSING or value != f.default:
                out[f.name] = list(value) if isinstance(value, tuple) else value
        return out

    def _error(self, problem: str) -> RuleError:
        return RuleError(f"The {self.kind} rule on {self.column!r} {problem}")

    def _cells(self, items: pl.DataFrame) -> pl.Series:
        return items[self.columns[0]]


@dataclass(frozen=True)
class Category(Rule):
    """One value a cell, unchanged; numbers and booleans become words.

    Parameters
    ----------
    prefix
        Words before each value, such as "players" for "players 4".
    """

    kind: ClassVar[str] = "category"
    prefix: str = field(default="", kw_only=True)

    def values(self, items: pl.DataFrame) -> pl.Series:
        words = cells.as_text(self._cells(items))
        empty = words.str.strip_chars() == ""
        return _one_value((f"{self.prefix} " + words).set(empty, None) if self.prefix else words)


@dataclass(frozen=True)
class ListOf(Rule):
    """Several values a cell, split at `separator`.

    Parameters
    ----------
    separator
        The text between two values; a column of lists needs none.
    """

    kind: ClassVar[str] = "list"
    separator: str = field(default="|", kw_only=True)

    def values(self, items: pl.DataFrame) -> pl.Series:
        words = cells.as_words(self._cells(items))
        return words if words.dtype == pl.List else words.str.split(self.separator)


@dataclass(frozen=True)
class Number(Rule):
    """A number, put into bins with readable labels.

    Parameters
    ----------
    bins
        How many bins of about equally many items, when `edges` is not given.
    edges
        The boundaries of the bins, ascending; the outer bins are open.
    labels
        Names for the bins, one more than `edges`; made from the edges unless given.
    unit
        A word after each number in the labels.
    prefix
        Words before each label, such as "pages" for "pages 200 to 300".
    """

    kind: ClassVar[str] = "number"
    bins: int = field(default=10, kw_only=True)
    edges: tuple[float, ...] = field(default=(), kw_only=True)
    labels: tuple[str, ...] = field(default=(), kw_only=True)
    unit: str = field(default="", kw_only=True)
    prefix: str = field(default="", kw_only=True)

    def check(self) -> None:
        super().check()
        if not 2 <= self.bins <= _MOST_BINS:
            raise self._error(f"needs 2 to {_MOST_BINS:,} bins, found {self.bins:,}.")
        if any(a >= b for a, b in pairwise(self.edges)):
            raise self._error(f"needs edges that ascend, found {list(self.edges)}.")
        if self.labels and not self.edges:
            raise self._error("has labels but no edges. Give both.")
        if self.labels and len(self.labels) != len(self.edges) + 1:
            raise self._error(
                f"has {len(self.edges)} edges and {len(self.labels)} labels. Give one label more "
                "than edges."
            )

    def resolve(self, items: pl.DataFrame) -> Self:
        if self.edges:
            return self
        numbers = cells.as_numbers(self._cells(items)).drop_nulls().to_numpy()
        if len(numbers) == 0:
            raise RuleError(
                f"Column {self.column!r} has no number. Use a category or list rule for it."
            )
        return replace(self, edges=cells.quantile_edges(numbers, self.bins))

    def declared(self) -> tuple[str, ...]:
        labels = self.labels or cells.bin_labels(self.edges, self.unit)
        return tuple(f"{self.prefix} {label}" for label in labels) if self.prefix else labels

    def values(self, items: pl.DataFrame) -> pl.Series:
        numbers = cells.as_numbers(self._cells(items))
        bins = np.searchsorted(np.asarray(self.edges), numbers.fill_null(0.0), side="right")
        labels = pl.Series(np.asarray(self.declared(), dtype=object)[bins], dtype=pl.String)
        return _one_value(labels.set(numbers.is_null(), None))


@dataclass(frozen=True)
class Year(Rule):
    """A year, or the year of a date, in bins of `width` years.

    Parameters
    ----------
    width
        How many years make a tag: 1 for 1995, 5 for 1995–1999, 10 for 1990s.
    """

    kind: ClassVar[str] = "year"
    width: int = field(default=1, kw_only=True)

    def values(self, items: pl.DataFrame) -> pl.Series:
        start = cells.as_years(self._cells(items)) // self.width * self.width
        text = start.cast(pl.String)
        if self.width == 10:
            text = text + "s"
        elif self.width > 1:
            text = text + "–" + (start + self.width - 1).cast(pl.String)
        return _one_value(text)


@dataclass(frozen=True)
class Text(Rule):
    """Keywords: words that are neither too rare nor too common in the texts of the items.

    Parameters
    ----------
    column
        One column, or several that are read as one text.
    min_share
        The smallest share of the items that must use a word.
    max_share
        The largest share of the items that may use a word.
    stop_words
        `"english"`, `"dutch"`, `"french"`, several of them, your own words, or `""` for none.
    min_length
        Shorter words are left out.
    """

    kind: ClassVar[str] = "text"
    takes_columns: ClassVar[bool] = True
    min_share: float = field(default=0.01, kw_only=True)
    max_share: float = field(default=0.3, kw_only=True)
    stop_words: str | tuple[str, ...] = field(default="english", kw_only=True)
    min_length: int = field(default=3, kw_only=True)

    def check(self) -> None:
        super().check()
        if not 0 <= self.min_share < self.max_share <= 1:
            raise self._error(
                "needs 0 <= min_share < max_share <= 1, "
                f"found {self.min_share} and {self.max_share}."
            )
        if isinstance(self.stop_words, str) and self.stop_words not in ("", *STOP_WORDS):
            raise self._error(
                f"has unknown stop words {self.stop_words!r}. Known: {', '.join(STOP_WORDS)}. "
                "Give your own words as a list."
            )

    def bounds(self, n_items: int) -> tuple[int, int]:
        return (
            max(self.min_items, math.ceil(self.min_share * n_items - 1e-9)),
            math.floor(self.max_share * n_items + 1e-9),
        )

    def values(self, items: pl.DataFrame) -> pl.Series:
        texts = [
            cells.as_text(items[column]).fill_null("").to_frame(column) for column in self.columns
        ]
        joined = pl.concat(texts, how="horizontal").select(pl.concat_str(pl.all(), separator=" "))
        words = cells.split_words(joined.to_series())
        stop = pl.Series(sorted(self._stop()), dtype=pl.String)
        word = pl.element()
        is_kept = (word.str.len_chars() >= self.min_length) & ~word.is_in(stop.implode())
        return words.list.eval(word.filter(is_kept))

    def _stop(self) -> set[str]:
        named = (self.stop_words,) if isinstance(self.stop_words, str) else self.stop_words
        return set().union(*(STOP_WORDS.get(word, {word.lower()}) for word in named))


KINDS: dict[str, type[Rule]] = {r.kind: r for r in (Category, ListOf, Number, Year, Text)}


def unreadable(rule: Rule, items: pl.DataFrame) -> pl.Series:
    """Return the non-empty cells that the rule cannot read."""
    column = items[rule.columns[0]]
    if isinstance(rule, Year):
        read = cells.as_years(column)
    elif isinstance(rule, Number) or column.dtype.is_float():
        read = cells.as_numbers(column)
    else:
        return pl.Series([], dtype=pl.String)
    words = column.cast(pl.String)
    return words.filter(read.is_null() & words.is_not_null() & (words.str.strip_chars() != ""))


def _one_value(words: pl.Series) -> pl.Series:
    """Return lists of one value a row; null stays an empty row."""
    return words.to_frame().select(pl.concat_list(pl.all())).to_series()


def _as_tuple(value: Any) -> Any:
    """Return lists and arrays as tuples of plain values; `check` refuses the rest."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(value) if isinstance(value, list) else value


def _is(value: Any, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is(value, int) and value >= 1


def _is_number(value: Any) -> bool:
    return _is(value, int, float) and abs(value) <= sys.float_info.max


_WANTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "feature": ("a name", lambda value: _is(value, str)),
    "min_items": ("a whole number from 1", _is_count),
    "separator": ("a text that is not empty", lambda value: _is(value, str) and value != ""),
    "bins": ("a whole number", _is_count),
    "edges": ("finite numbers", lambda value: _is(value, tuple) and all(map(_is_number, value))),
    "labels": (
        "names",
        lambda value: _is(value, tuple) and all(_is(v, str) and v.strip() for v in value),
    ),
    "unit": ("a word", lambda value: _is(value, str)),
    "prefix": ("a word", lambda value: _is(value, str)),
    "width": ("a whole number from 1", _is_count),
    "min_share": ("a number", _is_number),
    "max_share": ("a number", _is_number),
    "stop_words": (
        "a language or a list of words",
        lambda value: _is(value, str, tuple) and all(_is(v, str) for v in value),
    ),
    "min_length": ("a whole number from 1", _is_count),
}
