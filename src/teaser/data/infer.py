"""Infer tag rules and display roles from a table, for the owner to review."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from teaser.data.reading import COLUMN_NAMES, shown, snake_case
from teaser.data.rules import (
    FREE_TEXT,
    Category,
    ListOf,
    Number,
    Rule,
    Rules,
    Text,
    Year,
    as_numbers,
    as_years,
)
from teaser.data.tags import feature_words

_SEPARATORS = ("|", ";", ", ", ",")
_COORDINATES = ("latitude", "longitude", "lat", "lon", "lng")
# From so many items on, a tag needs so many of them.
_MIN_ITEMS = ((30_000, 10), (3_000, 5), (300, 3), (30, 2), (0, 1))
_POPULARITY = "the model learns popularity by itself"
_SUBJECTS = COLUMN_NAMES["titled"]
_ROLE_NAMES = {
    "title": (
        *("title", "name", "original_title", "label"),
        *(f"{subject}_{word}" for word in ("title", "name") for subject in _SUBJECTS),
    ),
    "description": ("description", "summary", "plot", "abstract", "overview", "text"),
    "link": ("link", "url", "website", "href"),
    "date": ("date", "start", "start_date", "release_date", "published", "day"),
    "end": ("end", "end_date"),
}
# Words of a picture's name; with "url", "link", "path" or a size beside them, or alone.
_PICTURES = COLUMN_NAMES["pictures"]
_BESIDE = COLUMN_NAMES["addresses"]
_SIZES = {
    **dict.fromkeys(("xl", "xxl", "full", "original", "orig", "hd", "max"), 4),
    **dict.fromkeys(("l", "large", "big"), 3),
    **dict.fromkeys(("m", "medium", "mid"), 1),
    **dict.fromkeys(("s", "small", "xs", "thumb", "thumbnail", "icon", "mini", "tiny"), 0),
}
_NO_SIZE = 2
ADDRESS = r"^(https?://|data:|<svg)"
_PICTURE = (
    r"(?i)^(data:image/|\s*<svg|https?://[^\s?#]+\.(jpe?g|png|gif|webp|avif|svg|bmp)([?#]|$))"
)
# A cover may be "paperback", and an image a number.
_PATH = r"[/.]|^data:|^\s*<svg"
_SHOWN_PICTURE = r"^(https://|data:image/|\s*<svg)"
_SHOWN_LINK = r"^https?://"
_MOSTLY = 0.8
_NEARLY_ALL = 0.99
# Above this absolute rank correlation with the item counts, a number is popularity.
MAX_CORRELATION = 0.6
# With fewer items a rank correlation says little.
_FEWEST_ITEMS = 30
_THINGS = COLUMN_NAMES["attention"]
_COUNTERS = COLUMN_NAMES["counters"]
_MEANS = set(COLUMN_NAMES["means"])
_ALWAYS = COLUMN_NAMES["ranks"]
_THING = "|".join(_THINGS)
_COUNTER = "|".join(_COUNTERS)
_COMPOUND = re.compile(
    rf"(?:{_COUNTER})(?:of)?(?:{_THING})s?|(?:{_THING})s?(?:{_COUNTER})|users?rated"
)


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


def free_text_notes(skipped: Mapping[str, str]) -> tuple[str, ...]:
    """Return which columns of free text were left out, each with the rule that takes it in."""
    return tuple(
        f"{column!r} is free text and was left out. To use its words as tags, add a rule: "
        + ", ".join(Text(column).to_toml().splitlines())
        for column, why in skipped.items()
        if why == FREE_TEXT
    )


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


def _guess(column: pl.Series, roles: list[str], min_items: int) -> Rule | str:
    """Return a rule for one column, or the reason for skipping it."""
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
    # What is shown as the description is prose, however short.
    prose = 3 if roles else 8
    return _guess_text(column.name, filled.cast(pl.String), min_items, prose)


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


def _guess_text(name: str, filled: pl.Series, min_items: int, prose: int) -> Rule | str:
    numbers = as_numbers(filled)
    if numbers.null_count() == 0 and filled.str.contains(".", literal=True).any():
        return _guess_number(name, numbers, min_items)
    if 0 < numbers.null_count() <= (1 - _NEARLY_ALL) * len(filled):
        # A few cells made texts of a column of numbers, unless it has codes such as 0047.
        guess = _guess_number(name, numbers.drop_nulls(), min_items)
        if isinstance(guess, Number) and not filled.str.contains(r"^\s*0\d").any():
            return guess
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
    if words >= prose:
        return FREE_TEXT
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


def infer_roles(items: pl.DataFrame, *, item: str) -> dict[str, str]:
    """Return the columns of title, description, picture, link, date and end.

    They are found by their names; pictures and links also by their values. Of several pictures
    the largest is taken, by its name: `Image-URL-L` before `Image-URL-S`.
    """
    lower = {snake_case(c): c for c in reversed(items.columns) if c != item}
    roles = {}
    for role, names in _ROLE_NAMES.items():
        found = next((lower[name] for name in names if name in lower), None)
        is_text = found is not None and items[found].dtype == pl.String
        is_day = role in ("date", "end")
        if found and (_has_days(items[found]) if is_day else is_text):
            roles[role] = found
    if "date" not in roles:
        roles.pop("end", None)
    return _with_addresses(items, roles, [c for c in items.columns if c != item])


def _has_days(column: pl.Series) -> bool:
    """Whether a column has dates: of such a type, or as ISO texts."""
    if column.dtype != pl.String:
        return column.dtype.is_temporal()
    return bool(column.drop_nulls().str.contains(r"^\d{4}-\d{2}-\d{2}").all())


def _with_addresses(
    items: pl.DataFrame, roles: dict[str, str], columns: list[str]
) -> dict[str, str]:
    """Add the columns of pictures and links to the roles, by names and by values."""
    texts = [c for c in columns if items[c].dtype == pl.String and c not in roles.values()]
    by_value = [c for c in texts if _share(items[c], _PICTURE) > _MOSTLY]
    by_name = [c for c in texts if _names_picture(c) and _share(items[c], _PATH) > _MOSTLY]
    pictures = list(dict.fromkeys([*by_value, *by_name]))
    if pictures:
        # Of equal size: pictures by their values, then the first.
        best = max(pictures, key=lambda c: (c in by_value, _size(c), -columns.index(c)))
        roles = roles | {"picture": best}
    links = [c for c in texts if c not in pictures and _share(items[c], _SHOWN_LINK) > _MOSTLY]
    return roles if "link" in roles or not links else roles | {"link": links[0]}


def _names_picture(column: str) -> bool:
    """Whether a name is that of a picture, such as image_url, Image-URL-L or coverImage."""
    words = snake_case(column).split("_")
    others = [word for word in words if word not in _PICTURES]
    return len(others) < len(words) and all(w in _BESIDE or w in _SIZES for w in others)


def _size(column: str) -> int:
    """Return how large pictures are, by the name of their column."""
    sizes = [_SIZES[word] for word in snake_case(column).split("_") if word in _SIZES]
    return min(sizes, default=_NO_SIZE)


def address_warnings(items: pl.DataFrame, roles: Mapping[str, str]) -> tuple[str, ...]:
    """Return warnings of pictures and links that the site cannot show.

    Pictures are shown from https addresses, or from the data themselves; links are whole
    addresses.
    """
    found = []
    for role, pattern, advice in (
        ("picture", _SHOWN_PICTURE, "pictures need addresses that begin with https://"),
        ("link", _SHOWN_LINK, "links need whole addresses that begin with https:// or http://"),
    ):
        column = roles.get(role)
        if column is None or column not in items.columns or items[column].dtype != pl.String:
            continue
        filled = items[column].drop_nulls()
        filled = filled.filter(filled.str.strip_chars() != "")
        bad = filled.filter(~filled.str.contains(pattern))
        if len(bad):
            found.append(
                f"warning: {len(bad):,} of {len(filled):,} {role}s in column {column!r} are not "
                f"shown by the site, such as {shown(bad[0])}: {advice}"
            )
    return tuple(found)


def _share(column: pl.Series, pattern: str) -> float:
    """Return the share of the filled cells that match a pattern; 0 if all are empty."""
    filled = column.drop_nulls()
    filled = filled.filter(filled.str.strip_chars() != "")
    share: Any = filled.str.contains(pattern).mean() if len(filled) else 0.0
    return float(share)


def names_attention(name: str) -> bool:
    """Whether a column of numbers counts attention, by its name.

    So do counts of ratings, reviews, views and the like (ratings_count, numVotes, members,
    ratings_5), ranks, and popularity. An average, such as average_rating, does not: it measures
    quality.
    """
    words = snake_case(name).split("_")
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    if any(word in _ALWAYS or word.startswith("popular") for word in words):
        return True
    if _MEANS & set(words):
        return False
    if any(_COMPOUND.fullmatch(word) for word in words):
        return True
    things = [word for word in words if word.removesuffix("s") in _THINGS]
    counters = set(_COUNTERS) & set(words)
    return bool(things) and (bool(counters) or _is_plural(words[-1]))


def _is_plural(word: str) -> bool:
    return word.endswith("s") and word.removesuffix("s") in _THINGS


def rank_correlation(numbers: pl.Series, counts: pl.Series) -> float:
    """Return Spearman's correlation of a column with the item counts, missing cells left out.

    It is 0 with fewer than 30 items, or if one of both does not vary.
    """
    pairs = pl.DataFrame({"number": numbers, "count": counts}).drop_nulls()
    if pairs.height < _FEWEST_ITEMS:
        return 0.0
    ranks = pairs.select(pl.all().rank("average")).to_numpy()
    if (ranks.std(axis=0) == 0).any():
        return 0.0
    return float(np.corrcoef(ranks, rowvar=False)[0, 1])
