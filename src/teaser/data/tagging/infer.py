"""Infer tag rules and display roles from a table, for the owner to review and edit."""

import re
from dataclasses import replace
from typing import Any

import polars as pl

from teaser.data.tagging.rule_set import Category, ListOf, Number, Rule, Rules, Text, Year
from teaser.errors import RuleError

_ROLE_NAMES = {
    "title": ("title", "name", "original_title", "label"),
    "description": ("description", "summary", "plot", "abstract", "overview", "text"),
    "picture": ("picture", "image", "image_url", "poster", "photo", "thumbnail", "small_image_url"),
    "link": ("link", "url", "website", "href"),
    "date": ("date", "start", "start_date", "release_date", "published", "day"),
}
_SEPARATORS = ("|", ";", ", ", ",")
_COORDINATES = ("latitude", "longitude", "lat", "lon", "lng")


def infer_rules(items: pl.DataFrame, *, item: str) -> Rules:
    """Return rules for the columns that can become tags, roles, and why others are skipped."""
    roles = infer_roles(items, item=item)
    min_items = 3 if items.height >= 300 else 2 if items.height >= 30 else 1
    rules: list[Rule] = []
    skipped: dict[str, str] = {}
    for column in items.columns:
        if column == item:
            continue
        guess = _guess(items[column], [r for r, c in roles.items() if c == column], min_items)
        if isinstance(guess, Rule):
            rules.append(guess if "=" not in column else replace(guess, feature=_plain(column)))
        else:
            skipped[column] = guess
    return Rules(tuple(rules), roles, skipped)


def need_rules(rules: Rules, what: str) -> None:
    """Raise `RuleError` if no column can become tags."""
    if not rules.tags:
        why = "; ".join(f"{column!r}: {reason}" for column, reason in rules.skipped.items())
        raise RuleError(
            f"No column of the {what} can become tags ({why or 'there is none'}). "
            "Add columns, or write rules."
        )


def infer_roles(items: pl.DataFrame, *, item: str) -> dict[str, str]:
    """Return the columns of title, description, picture, link and date, by their names."""
    lower = {c.lower(): c for c in items.columns if c != item}
    roles = {}
    for role, names in _ROLE_NAMES.items():
        found = next((lower[name] for name in names if name in lower), None)
        is_text = found is not None and items[found].dtype == pl.String
        if found and (is_text or (role == "date" and items[found].dtype.is_temporal())):
            roles[role] = found
    dates = items[roles["date"]].drop_nulls() if "date" in roles else None
    is_text = dates is not None and dates.dtype == pl.String
    if dates is not None and is_text and not dates.str.contains(r"^\d{4}-\d{2}-\d{2}").all():
        del roles["date"]
    return roles


def _guess(column: pl.Series, roles: list[str], min_items: int) -> Rule | str:
    """Return a rule for one column, or the reason for skipping it."""
    if column.name.strip().lower() == "popularity":
        return "the model learns popularity by itself"
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
        return f"its type is {column.dtype}"
    if column.dtype == pl.Boolean:
        return Category(column.name)
    if column.dtype.is_numeric():
        return _guess_number(column.name, filled, min_items)
    if column.dtype.is_temporal():
        return Year(column.name, min_items=min_items)
    return _guess_text(column.name, filled.cast(pl.String), min_items)


def _plain(name: str) -> str:
    return " ".join(name.replace("=", " ").split())


def _guess_number(name: str, filled: pl.Series, min_items: int) -> Rule | str:
    distinct = filled.n_unique()
    if name.lower() in _COORDINATES:
        return "it is a coordinate"
    if distinct == 1:
        return "every item has the same value"
    if "year" in name.lower() and _mean(filled.is_between(1000, 2200)) > 0.8:
        return Year(name, width=1 if distinct <= 150 else 10, min_items=min_items)
    if re.search(r"(^|_)(id|isbn\d*|asin|code)$", name.lower()):
        return "it looks like an identifier"
    if distinct <= 12:
        return Category(name, min_items=min_items)
    return Number(name, bins=10, min_items=min_items)


def _guess_text(name: str, filled: pl.Series, min_items: int) -> Rule | str:
    numbers = filled.cast(pl.Float64, strict=False)
    if numbers.is_finite().fill_null(False).all() and filled.str.contains(".", literal=True).any():
        return _guess_number(name, numbers, min_items)
    distinct = filled.n_unique()
    words = _mean(filled.str.count_matches(r"\S+"))
    if filled.str.contains(r"^(https?://|data:|<svg)").all():
        return "it has links or pictures"
    if filled.str.contains(r"^\d{4}-\d{2}-\d{2}").all():
        return Year(name, min_items=min_items)
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
