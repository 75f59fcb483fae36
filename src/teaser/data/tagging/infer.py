"""Infer tag rules and display roles from a table, for the owner to review and edit."""

import re
from dataclasses import replace
from typing import Any

import polars as pl

from teaser.data.reading.likely_ids import snake_case
from teaser.data.tagging.attention import (
    MAX_CORRELATION,
    names_attention,
    rank_correlation,
)
from teaser.data.tagging.cells import as_numbers, as_years
from teaser.data.tagging.roles import ADDRESS, infer_roles
from teaser.data.tagging.rule_set import Category, ListOf, Number, Rule, Rules, Text, Year
from teaser.data.tagging.tag import feature_words
from teaser.errors import RuleError

_SEPARATORS = ("|", ";", ", ", ",")
_COORDINATES = ("latitude", "longitude", "lat", "lon", "lng")
# From so many items on, a tag needs so many of them.
_MIN_ITEMS = ((30_000, 10), (3_000, 5), (300, 3), (30, 2), (0, 1))
_MOSTLY = 0.8
_POPULARITY = "the model learns popularity by itself"


def infer_rules(items: pl.DataFrame, *, item: str, counts: pl.Series | None = None) -> Rules:
    """Return rules for the columns that can become tags, roles, and why others are skipped.

    Parameters
    ----------
    items
        The metadata, one row an item.
    item
        The column of the ids.
    counts
        How many users chose each item, in the order of the rows; numbers that strongly
        rank-correlate with it are popularity, and skipped.
    """
    roles = infer_roles(items, item=item)
    min_items = next(least for height, least in _MIN_ITEMS if items.height >= height)
    rules: list[Rule] = []
    skipped: dict[str, str] = {}
    for column in items.columns:
        if column == item:
            continue
        guess = _guess(items[column], [r for r, c in roles.items() if c == column], min_items)
        if _is_of_numbers(guess, items[column]) and counts is not None:
            found = rank_correlation(as_numbers(items[column]), counts)
            if abs(found) > MAX_CORRELATION:
                guess = (
                    "it goes with how often items are chosen (rank correlation "
                    f"{found:+.2f}), and {_POPULARITY}"
                )
        if isinstance(guess, Rule):
            rules.append(guess if "=" not in column else replace(guess, feature=_plain(column)))
        else:
            skipped[column] = guess
    in_title = _year_in_title(items, roles.get("title"), rules, min_items)
    if in_title is not None:
        rules.append(in_title)
        del skipped[roles["title"]]
    return Rules(tuple(rules), roles, skipped)


def _is_of_numbers(guess: Rule | str, column: pl.Series) -> bool:
    is_number = isinstance(guess, Category) and column.dtype.is_numeric()
    return isinstance(guess, Number) or is_number


def _year_in_title(
    items: pl.DataFrame, title: str | None, rules: list[Rule], min_items: int
) -> Rule | None:
    """Return a rule for years as in "Toy Story (1995)", unless a column has the year."""
    if title is None or any(isinstance(rule, Year) for rule in rules):
        return None
    filled = items[title].drop_nulls()
    if any(rule.name == "year" for rule in rules) or _mean(_ends_with_year(filled)) <= _MOSTLY:
        return None
    return _year_rule(title, as_years(filled), min_items, feature="year")


def _ends_with_year(texts: pl.Series) -> pl.Series:
    return texts.str.contains(r"\((1\d{3}|20\d\d)\)\s*$")


def _year_rule(name: str, years: pl.Series, min_items: int, *, feature: str = "") -> Year:
    width = 1 if years.n_unique() <= 150 else 10
    return Year(name, width=width, min_items=min_items, feature=feature)


def need_rules(rules: Rules, what: str) -> None:
    """Raise `RuleError` if no column can become tags."""
    if not rules.tags:
        why = "; ".join(f"{column!r}: {reason}" for column, reason in rules.skipped.items())
        raise RuleError(
            f"No column of the {what} can become tags ({why or 'there is none'}). "
            "Add columns, or write rules."
        )


def _guess(column: pl.Series, roles: list[str], min_items: int) -> Rule | str:
    """Return a rule for one column, or the reason for skipping it."""
    if column.name.strip().lower() == "popularity":
        return _POPULARITY
    filled = column.drop_nulls()
    if not _plain(column.name):
        return "it has no name"
    if column.dtype == pl.String:
        filled = filled.filter(filled.str.strip_chars() != "")
    if column.dtype.is_float():
        filled = filled.filter(filled.is_finite())
    if len(filled) == 0:
        return "it is empty"
    if roles and roles != ["description"]:
        return f"it is shown as the {' and '.join(roles)}"
    if isinstance(column.dtype, pl.List | pl.Array):
        is_plain = not column.dtype.inner.is_nested()
        return ListOf(column.name, min_items=min_items) if is_plain else "it has nested values"
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Duration, pl.Time):
        return _kind(column.dtype)
    if column.dtype == pl.Boolean:
        return Category(column.name, prefix=_prefix(column.name))
    if column.dtype.is_numeric():
        return _guess_number(column.name, filled, min_items)
    if column.dtype.is_temporal():
        return Year(column.name, min_items=min_items)
    return _guess_text(column.name, filled.cast(pl.String), min_items)


def _kind(dtype: pl.DataType) -> str:
    """Return what values of a type that can become no tag are, in plain words."""
    if isinstance(dtype, pl.Struct):
        parts = ", ".join(field.name for field in dtype.fields)
        return f"each value has parts ({parts}): make a column of each that is to become tags"
    kinds = {pl.Binary: "bytes", pl.Duration: "durations", pl.Time: "times of day"}
    return f"its values are {next(word for kind, word in kinds.items() if dtype == kind)}"


def _plain(name: str) -> str:
    return " ".join(name.replace("=", " ").split())


def _prefix(name: str) -> str:
    """Return the words before a value that says nothing by itself, such as 4 or yes."""
    return _plain(feature_words(name).replace("_", " "))


def _guess_number(name: str, filled: pl.Series, min_items: int) -> Rule | str:
    distinct = filled.n_unique()
    if name.lower() in _COORDINATES:
        return "it is a coordinate"
    if distinct == 1:
        return "every item has the same value"
    if "year" in name.lower() and _mean(filled.is_between(1000, 2200)) > _MOSTLY:
        return _year_rule(name, filled, min_items)
    if re.search(r"(^|_)(id|isbn(_?\d+)?|asin|code)$", snake_case(name)):
        return "it looks like an identifier"
    if names_attention(name):
        return f"it counts attention, and {_POPULARITY}"
    if _numbers_the_items(filled):
        return "it numbers the items"
    if distinct <= 12:
        return Category(name, min_items=min_items, prefix=_prefix(name))
    return Number(name, bins=10, min_items=min_items, prefix=_prefix(name))


def _numbers_the_items(filled: pl.Series) -> bool:
    """Whether the numbers are consecutive whole numbers, each once."""
    if not filled.dtype.is_integer() or len(filled) <= 20 or filled.n_unique() < len(filled):
        return False
    first, last = int(filled.to_numpy().min()), int(filled.to_numpy().max())
    return last - first + 1 == len(filled)


def _guess_text(name: str, filled: pl.Series, min_items: int) -> Rule | str:
    numbers = filled.cast(pl.Float64, strict=False)
    if numbers.is_finite().fill_null(False).all() and filled.str.contains(".", literal=True).any():
        return _guess_number(name, numbers, min_items)
    distinct = filled.n_unique()
    words = _mean(filled.str.count_matches(r"\S+"))
    if _mean(filled.str.contains(ADDRESS)) > _MOSTLY:
        return "it has links or pictures"
    if filled.str.contains(r"^\d{4}-\d{2}-\d{2}").all():
        return Year(name, min_items=min_items)
    years = as_years(filled) if "year" in name.lower() else None
    if years is not None and _mean(years.is_between(1000, 2200).fill_null(False)) > _MOSTLY:
        return _year_rule(name, years, min_items)
    separator = _separator(filled)
    if separator:
        return ListOf(name, separator=separator, min_items=min_items)
    if words >= 8:
        return Text(name, min_items=min_items)
    if distinct == 1 and len(filled) > 1:
        return "every item has the same value"
    if distinct > 0.9 * len(filled) and len(filled) > 20:
        return "nearly every item has a value of its own"
    return Category(name, min_items=min_items)


def _separator(filled: pl.Series) -> str | None:
    """Return what separates short values within cells, if they are lists."""
    for separator in _SEPARATORS:
        parts = filled.str.split(separator)
        if _mean(parts.list.len() > 1) < 0.1:
            continue
        values = parts.explode().str.strip_chars()
        words = _mean(values.str.count_matches(r"\S+"))
        if values.n_unique() < 0.7 * len(values) and words <= 4:
            return separator
    return None


def _mean(column: pl.Series) -> float:
    mean: Any = column.mean()
    return float(mean)
