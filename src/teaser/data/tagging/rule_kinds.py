"""One rule: how the cells of a metadata column become the values of a feature's tags."""

import math
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from teaser.data.tagging.cells import (
    as_numbers,
    as_text,
    as_words,
    as_years,
    bin_labels,
    quantile_edges,
    split_words,
)
from teaser.data.tagging.stopwords import STOP_WORDS
from teaser.errors import RuleError

_MOST_BINS = 1_000


@dataclass(frozen=True)
class Rule:
    """What every rule shares: a column, the feature it feeds, and a floor on a tag's items.

    Parameters
    ----------
    column
        The metadata column that is read.
    feature
        The name of the feature on screen; the column's own name unless given.
    min_items
        A tag that fewer items carry is left out, and counted.
    """

    kind: ClassVar[str] = ""
    column: str
    feature: str = field(default="", kw_only=True)
    min_items: int = field(default=1, kw_only=True)

    @property
    def name(self) -> str:
        """The feature that this rule's tags belong to."""
        return " ".join((self.feature or " ".join(self.columns)).split())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return (self.column,)

    def check(self) -> None:
        """Raise `RuleError` when a setting makes no sense."""
        if not self.columns or not all(_is(c, str) and c for c in self.columns):
            raise RuleError(
                f"A {self.kind} rule needs the name of a column, found {self.column!r}."
            )
        for f in fields(self):
            value = getattr(self, f.name)
            wanted, fits = _WANTED.get(f.name, ("", lambda value: True))
            if not fits(value):
                raise RuleError(
                    f"The {self.kind} rule on {self.column!r} needs {wanted} as {f.name}, "
                    f"found {value!r}."
                )
        if "=" in self.name or not self.name:
            raise RuleError(
                f"The {self.kind} rule on {self.column!r} makes a feature called {self.name!r}; "
                "give it a feature name without equal signs."
            )

    def resolve(self, items: pl.DataFrame) -> Self:
        """Fix whatever the rule would learn from the table, so that new items are read alike."""
        return self

    def bounds(self, n_items: int) -> tuple[int, int]:
        """Return the fewest and the most items that a tag may have to be kept."""
        return self.min_items, n_items

    def declared(self) -> tuple[str, ...]:
        """Return the values that the rule itself names, whether an item has them or not."""
        return ()

    def values(self, items: pl.DataFrame) -> pl.Series:
        """Return the tag values of each item, a list of strings a row."""
        raise NotImplementedError

    def as_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, defaults left out."""
        out: dict[str, Any] = {"kind": self.kind}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.default is MISSING or value != f.default:
                out[f.name] = list(value) if isinstance(value, tuple) else value
        return out


@dataclass(frozen=True)
class Category(Rule):
    """One value a cell, taken as it stands; numbers and booleans become words."""

    kind: ClassVar[str] = "category"

    def values(self, items: pl.DataFrame) -> pl.Series:
        words = as_text(items[self.column])
        return words.to_frame().select(pl.concat_list(pl.all())).to_series()


@dataclass(frozen=True)
class ListOf(Rule):
    """Several values a cell, split at `separator`; a column of lists needs none."""

    kind: ClassVar[str] = "list"
    separator: str = field(default="|", kw_only=True)

    def values(self, items: pl.DataFrame) -> pl.Series:
        words = as_words(items[self.column])
        return words if words.dtype == pl.List else words.str.split(self.separator)


@dataclass(frozen=True)
class Number(Rule):
    """A number, put into bins with readable labels.

    Parameters
    ----------
    bins
        How many bins of about equally many items, when `edges` is not given.
    edges
        Where one bin ends and the next begins, ascending; the outer bins are open.
    labels
        Names for the bins, one more than `edges`; written from the edges unless given.
    unit
        A word put behind each number in the labels.
    """

    kind: ClassVar[str] = "number"
    bins: int = field(default=10, kw_only=True)
    edges: tuple[float, ...] = field(default=(), kw_only=True)
    labels: tuple[str, ...] = field(default=(), kw_only=True)
    unit: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        for name in ("edges", "labels"):
            object.__setattr__(self, name, _as_tuple(getattr(self, name)))

    def check(self) -> None:
        super().check()
        if not 2 <= self.bins <= _MOST_BINS:
            raise RuleError(
                f"The number rule on {self.column!r} needs 2 to {_MOST_BINS:,} bins, "
                f"found {self.bins:,}."
            )
        if any(a >= b for a, b in pairwise(self.edges)):
            raise RuleError(f"The edges of {self.column!r} must ascend, found {list(self.edges)}.")
        if self.labels and not self.edges:
            raise RuleError(
                f"The number rule on {self.column!r} has labels but no edges; give both."
            )
        if self.labels and len(self.labels) != len(self.edges) + 1:
            raise RuleError(
                f"{len(self.edges)} edges make {len(self.edges) + 1} bins on {self.column!r}, "
                f"but {len(self.labels)} labels were given."
            )

    def resolve(self, items: pl.DataFrame) -> Self:
        if self.edges:
            return self
        numbers = as_numbers(items[self.column]).drop_nulls().to_numpy()
        if len(numbers) == 0:
            raise RuleError(
                f"Column {self.column!r} holds no number; use a category or list rule for it."
            )
        return replace(self, edges=quantile_edges(numbers, self.bins))

    def declared(self) -> tuple[str, ...]:
        return self.labels or bin_labels(self.edges, self.unit)

    def values(self, items: pl.DataFrame) -> pl.Series:
        numbers = as_numbers(items[self.column])
        place = np.searchsorted(
            np.asarray(self.edges), numbers.fill_null(0.0).to_numpy(), side="right"
        )
        words = pl.Series(np.asarray(self.declared(), dtype=object)[place], dtype=pl.String)
        return pl.select(
            pl.when(pl.lit(numbers).is_not_null()).then(pl.concat_list(pl.lit(words)))
        ).to_series()


@dataclass(frozen=True)
class Year(Rule):
    """A year, or the year of a date, in bins of `width` years: 1995, 1990-1994 or 1990s."""

    kind: ClassVar[str] = "year"
    width: int = field(default=1, kw_only=True)

    def values(self, items: pl.DataFrame) -> pl.Series:
        start = as_years(items[self.column]) // self.width * self.width
        text = start.cast(pl.String)
        if self.width == 10:
            text = text + "s"
        elif self.width > 1:
            text = text + "–" + (start + self.width - 1).cast(pl.String)
        return pl.select(
            pl.when(pl.lit(text).is_not_null()).then(pl.concat_list(pl.lit(text)))
        ).to_series()


@dataclass(frozen=True)
class Text(Rule):
    """Keywords: words that are neither too rare nor too common among the items' texts.

    Parameters
    ----------
    column
        One column, or several that are read as one text.
    min_share, max_share
        A word is kept when the share of items that use it lies within these, ends included.
    stop_words
        `"english"`, `"dutch"`, `"french"`, several of them, words of your own, or none at all.
    min_length
        Shorter words are passed over.
    """

    kind: ClassVar[str] = "text"
    column: str | tuple[str, ...]  # type: ignore[assignment]
    min_share: float = field(default=0.01, kw_only=True)
    max_share: float = field(default=0.3, kw_only=True)
    stop_words: str | tuple[str, ...] = field(default="english", kw_only=True)
    min_length: int = field(default=3, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("column", "stop_words"):
            object.__setattr__(self, name, _as_tuple(getattr(self, name)))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.column if isinstance(self.column, tuple) else (self.column,)

    def check(self) -> None:
        super().check()
        if not 0 <= self.min_share < self.max_share <= 1:
            raise RuleError(
                f"The text rule on {self.name!r} needs 0 <= min_share < max_share <= 1, "
                f"found {self.min_share} and {self.max_share}."
            )
        if isinstance(self.stop_words, str) and self.stop_words not in ("", *STOP_WORDS):
            raise RuleError(
                f"The text rule on {self.name!r} knows no stop words called {self.stop_words!r}. "
                f"Known: {', '.join(STOP_WORDS)}; words of your own go in a list."
            )

    def bounds(self, n_items: int) -> tuple[int, int]:
        return (
            max(self.min_items, math.ceil(self.min_share * n_items - 1e-9)),
            math.floor(self.max_share * n_items + 1e-9),
        )

    def values(self, items: pl.DataFrame) -> pl.Series:
        texts = [as_text(items[column]).fill_null("").to_frame(column) for column in self.columns]
        joined = pl.concat(texts, how="horizontal").select(pl.concat_str(pl.all(), separator=" "))
        words = split_words(joined.to_series())
        stop = pl.Series(sorted(self._stop()), dtype=pl.String)
        keep = (pl.element().str.len_chars() >= self.min_length) & ~pl.element().is_in(
            stop.implode()
        )
        return words.list.eval(pl.element().filter(keep))

    def _stop(self) -> set[str]:
        named = (self.stop_words,) if isinstance(self.stop_words, str) else self.stop_words
        stop: set[str] = set()
        for word in named:
            stop |= STOP_WORDS.get(word, {word.lower()})
        return stop


KINDS: dict[str, type[Rule]] = {r.kind: r for r in (Category, ListOf, Number, Year, Text)}


def unreadable(rule: Rule, items: pl.DataFrame) -> pl.Series:
    """Return the cells that hold something, but nothing that the rule can read."""
    column = items[rule.columns[0]]
    if isinstance(rule, Year):
        read = as_years(column)
    elif isinstance(rule, Number) or column.dtype.is_float():
        read = as_numbers(column)
    else:
        return pl.Series([], dtype=pl.String)
    words = column.cast(pl.String)
    return words.filter(read.is_null() & words.is_not_null() & (words.str.strip_chars() != ""))


def _as_tuple(value: Any) -> Any:
    """Return lists as tuples, those of numpy with plain numbers; leave the rest for `check`."""
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
    "width": ("a whole number from 1", _is_count),
    "min_share": ("a number", _is_number),
    "max_share": ("a number", _is_number),
    "stop_words": (
        "a language or a list of words",
        lambda value: _is(value, str, tuple) and all(_is(v, str) for v in value),
    ),
    "min_length": ("a whole number from 1", _is_count),
}
