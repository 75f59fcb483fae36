"""Rules that turn metadata columns into tags: their kinds, a set of them, and TOML."""

import hashlib
import html
import math
import sys
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
import tomlkit
from numpy.typing import NDArray
from tomlkit.items import InlineTable

from teaser.errors import RuleError, closest
from teaser.files import read_settings
from teaser.notebook import draw_rules

_MOST_BINS = 1_000
# The next prepare infers the rules again as long as this line fits the text above it.
_MARK = "\n# Not edited: prepare writes this file anew until it is. "
ROLES = ("title", "description", "picture", "link", "date", "end")
_WORD = r"\p{L}[\p{L}\p{M}\p{N}]*(?:-[\p{L}\p{M}\p{N}]+)*"
_MARKUP = r"</?[A-Za-z][^<>]*>|<!--.*?-->"
# Why a column of free text is skipped; the rule file then offers a rule for it.
FREE_TEXT = "it is free text, whose words are poor tags"
STOP_WORDS: dict[str, set[str]] = {
    language: set(words.split())
    for language, words in tomllib.loads(
        Path(__file__).with_name("stop_words.toml").read_text(encoding="utf-8")
    ).items()
}
_MOVED = 0.2  # largest share of a bin that may change bins when its edge is rounded


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
    drop
        Values that become no tag; `Admin:*` stands for all that begin so.
    rename
        New names of values, by the name in the data.
    merge
        Values that become one tag, by the name of the tag.
    """

    kind: ClassVar[str] = ""
    takes_columns: ClassVar[bool] = False
    column: str | tuple[str, ...]
    feature: str = field(default="", kw_only=True)
    min_items: int = field(default=1, kw_only=True)
    drop: tuple[str, ...] = field(default=(), kw_only=True)
    rename: Mapping[str, str] = field(default_factory=dict, kw_only=True, hash=False)
    merge: Mapping[str, tuple[str, ...]] = field(default_factory=dict, kw_only=True, hash=False)

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
            said, is_right = _WANTED.get(f.type, ("", bool))
            value = getattr(self, f.name)
            if said and not is_right(value):
                raise self._error(f"needs {said} as {f.name}, found {value!r}.")
        if "=" in self.name or not self.name:
            raise self._error(
                f"has a feature called {self.name!r}. Give it a feature name without equal signs."
            )
        names = [fold_value(name) for name in self._edited_names()]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise self._error(f"names {twice!r} twice. Drop, rename or merge a value once.")

    def edits(self, values: Iterable[str]) -> dict[str, str | None]:
        """Return what some of these values are called instead; None for those dropped."""
        named = {fold_value(old): new for old, new in self.rename.items()}
        named |= {fold_value(old): new for new, each in self.merge.items() for old in each}
        found: dict[str, str | None] = {}
        for value in values if self._edited_names() else ():
            folded = fold_value(value)
            if folded in named:
                found[value] = named[folded]
            elif any(_matches(name, folded) for name in self.drop):
                found[value] = None
        return found

    def check_edits(self, values: Iterable[str]) -> None:
        """Raise `RuleError` if a value to drop, rename or merge is none of these values."""
        names = self._edited_names()
        if not names:
            return
        known = list(values)
        folded = set(map(fold_value, known))
        for name in names:
            begins = name in self.drop and any(_matches(name, value) for value in folded)
            if fold_value(name) not in folded and not begins:
                raise self._error(
                    f"names the value {name!r}, which no item has.{closest(name, known)}"
                )

    def _edited_names(self) -> list[str]:
        merged = (name for each in self.merge.values() for name in each)
        return [*self.drop, *self.rename, *merged]

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
            is_empty = isinstance(value, Mapping) and not value
            if not is_empty and (f.default is MISSING or value != f.default):
                out[f.name] = _as_plain(value)
        return out

    def to_toml(self) -> str:
        """Return the rule as it stands in a file of rules."""
        return tomlkit.dumps({"tags": [_as_toml(self.as_dict())]}).strip()

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
        words = as_text(self._cells(items))
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

    def check(self) -> None:
        super().check()
        if not self.separator:
            raise self._error("needs a separator that is not empty.")

    def values(self, items: pl.DataFrame) -> pl.Series:
        words = as_words(self._cells(items))
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
        if self.labels and (not self.edges or len(self.labels) != len(self.edges) + 1):
            raise self._error(
                f"has {len(self.edges)} edges and {len(self.labels)} labels. Give one label more "
                "than edges."
            )

    def resolve(self, items: pl.DataFrame) -> Self:
        if self.edges:
            return self
        numbers = as_numbers(self._cells(items)).drop_nulls().to_numpy()
        if len(numbers) == 0:
            raise RuleError(
                f"Column {self.column!r} has no number. Use a category or list rule for it."
            )
        return replace(self, edges=quantile_edges(numbers, self.bins))

    def declared(self) -> tuple[str, ...]:
        labels = self.labels or bin_labels(self.edges, self.unit)
        return tuple(f"{self.prefix} {label}" for label in labels) if self.prefix else labels

    def values(self, items: pl.DataFrame) -> pl.Series:
        numbers = as_numbers(self._cells(items))
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
        start = as_years(self._cells(items)) // self.width * self.width
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
        if not _is(self.stop_words, str, tuple) or not all(_is(v, str) for v in self.stop_words):
            raise self._error(
                f"needs a language or a list of words as stop_words, found {self.stop_words!r}."
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
        texts = [as_text(items[column]).fill_null("").to_frame(column) for column in self.columns]
        joined = pl.concat(texts, how="horizontal").select(pl.concat_str(pl.all(), separator=" "))
        words = split_words(joined.to_series())
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
        read = as_years(column)
    elif isinstance(rule, Number) or column.dtype.is_float():
        read = as_numbers(column)
    else:
        return pl.Series([], dtype=pl.String)
    words = column.cast(pl.String)
    return words.filter(read.is_null() & words.is_not_null() & (words.str.strip_chars() != ""))


def _one_value(words: pl.Series) -> pl.Series:
    """Return lists of one value a row; null stays an empty row."""
    return words.to_frame().select(pl.concat_list(pl.all())).to_series()


def _as_tuple(value: Any) -> Any:
    """Return lists as tuples, also within tables; `check` refuses the rest."""
    if isinstance(value, Mapping):
        return {name: _as_tuple(each) for name, each in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _as_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _as_plain(each) for name, each in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _as_toml(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a rule, those that are tables on one line each."""
    return {
        name: _inline(value) if isinstance(value, Mapping) else value
        for name, value in settings.items()
    }


def _inline(settings: Mapping[str, Any]) -> InlineTable:
    table = tomlkit.inline_table()
    table.update(settings)
    return table


def fold_value(name: str) -> str:
    """Return a value as drop, rename and merge compare it: in any case, on one line."""
    return " ".join(unicodedata.normalize("NFC", name).split()).casefold()


def _matches(dropped: str, folded: str) -> bool:
    """Whether a value, as `fold_value` returns it, is dropped by its name or its beginning."""
    name = fold_value(dropped)
    return name == folded or (name.endswith("*") and folded.startswith(name[:-1]))


def _is(value: Any, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return _is(value, str) and bool(value.strip())


def _are_texts(value: Any) -> bool:
    return _is(value, tuple) and all(map(_is_text, value))


def _is_number(value: Any) -> bool:
    return _is(value, int, float) and abs(value) <= sys.float_info.max


# What the settings of a rule must be, by their annotations.
_WANTED: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    str: ("a text", lambda value: _is(value, str)),
    int: ("a whole number from 1", lambda value: _is(value, int) and value >= 1),
    float: ("a number", _is_number),
    tuple[float, ...]: (
        "finite numbers",
        lambda value: _is(value, tuple) and all(map(_is_number, value)),
    ),
    tuple[str, ...]: ("a list of texts", _are_texts),
    Mapping[str, str]: (
        'a table of names, such as {old = "new"},',
        lambda value: _is(value, dict) and _are_texts((*value, *value.values())),
    ),
    Mapping[str, tuple[str, ...]]: (
        'a table of lists, such as {name = ["old", "older"]},',
        lambda value: (
            _is(value, dict)
            and _are_texts(tuple(value))
            and all(each and _are_texts(each) for each in value.values())
        ),
    ),
}


__all__ = ["Category", "ListOf", "Number", "Rule", "Rules", "RulesLike", "Text", "Year", "as_rules"]


@dataclass(frozen=True)
class Rules:
    """The rules of a table.

    Attributes
    ----------
    tags
        The rules of the columns that become tags.
    roles
        The columns that are displayed, by role.
    skipped
        The columns that are not used, with the reason.
    """

    tags: tuple[Rule, ...]
    roles: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for rule in self.tags:
            if not isinstance(rule, Rule) or rule.kind not in KINDS:
                raise RuleError(f"A rule must be one of {', '.join(KINDS)}, found {rule!r}.")
            rule.check()
        for role, column in self.roles.items():
            if role not in ROLES:
                raise RuleError(
                    f"Unknown role {role!r} for column {column!r}.{closest(role, ROLES)}"
                )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values that `from_dict` reads back."""
        return {"roles": dict(self.roles), "tags": [rule.as_dict() for rule in self.tags]}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], *, origin: str = "the rules") -> Self:
        """Return rules made of plain values, as read from TOML or JSON."""
        for key in raw:
            if key not in ("roles", "tags"):
                raise RuleError(f"Unknown table [{key}] in {origin}. Known: [[tags]] and [roles].")
        tables = raw.get("tags", [])
        if not isinstance(tables, list):
            raise RuleError(f"{origin} must write its rules as [[tags]], with two brackets.")
        roles = raw.get("roles", {})
        if not isinstance(roles, Mapping) or not all(isinstance(v, str) for v in roles.values()):
            raise RuleError(f"[roles] in {origin} must map a role to the name of a column.")
        return cls(tuple(_rule(t, i, origin) for i, t in enumerate(tables, 1)), dict(roles))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read rules from a TOML file."""
        text = _read(path)
        try:
            raw = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise RuleError(f"The rules file {path} could not be read: {error}.") from error
        return cls.from_dict(raw, origin=str(path))

    def write(self, path: str | Path, *, option: str = "--rules") -> None:
        """Write the rules as TOML, to be edited and read again.

        By the last line, `is_unedited` recognises a file that nobody edited.
        """
        try:
            Path(path).write_text(_marked(self.to_toml(option)), encoding="utf-8")
        except OSError as error:
            raise RuleError(f"The rules could not be written to {path}: {error}.") from error

    def to_toml(self, option: str = "--rules") -> str:
        """Return the rules as TOML.

        Parameters
        ----------
        option
            The option that takes such a file, named in the first line of a new file.
        """
        header = f"# Which metadata columns become tags. Edit, and pass the file with {option}.\n"
        plain = self.as_dict() | {"tags": [_as_toml(rule.as_dict()) for rule in self.tags]}
        known = {name: value for name, value in plain.items() if value}
        skipped = "".join(
            f"# {tomlkit.string(column).as_string()}: {why}\n{_offer(column, why)}"
            for column, why in self.skipped.items()
        )
        return "\n".join(part for part in (header, tomlkit.dumps(known), skipped) if part)

    def _repr_html_(self) -> str:
        return draw_rules([rule.as_dict() for rule in self.tags], self.roles, self.skipped)


def _offer(column: str, why: str) -> str:
    """Return the rule that takes a skipped column in, as comments, if it is free text."""
    lines = Text(column).to_toml().splitlines() if why == FREE_TEXT else []
    return "".join(f"# {line}\n" for line in lines)


def is_unedited(path: str | Path) -> bool:
    """Whether a file of rules is as `Rules.write` wrote it, with rules that nobody edited."""
    text = _read(path)
    before, mark, _ = text.rpartition(_MARK)
    return bool(mark) and text == _marked(before)


def _read(path: str | Path) -> str:
    try:
        return read_settings(path, encoding="utf-8-sig")
    except FileNotFoundError:
        raise RuleError(f"There is no rules file {path}.") from None
    except (OSError, ValueError) as error:
        raise RuleError(f"The rules file {path} could not be read: {error}.") from error


def _marked(text: str) -> str:
    """Return a text with a last line that fits no other text."""
    return f"{text}{_MARK}{hashlib.sha256(text.encode()).hexdigest()[:16]}\n"


RulesLike = Rules | str | Path | Iterable[Rule] | None


def as_rules(given: RulesLike) -> Rules:
    """Return rules that are given as a path to TOML, rule objects, or `Rules`."""
    if isinstance(given, Rules):
        return given
    if isinstance(given, str | Path):
        return Rules.read(given)
    if isinstance(given, Rule) or not isinstance(given, Iterable):
        raise RuleError(f"Rules must be a path, a list of rules or Rules, found {given!r}.")
    return Rules(tuple(given))


def _rule(raw: Any, number: int, origin: str) -> Rule:
    """Return one rule; errors name its number, from 1."""
    where = f"rule {number} of {origin}"
    if not isinstance(raw, Mapping):
        raise RuleError(f"{where} is not a table of settings: {raw!r}.")
    settings = dict(raw)
    kind = settings.pop("kind", None)
    if kind not in list(KINDS):
        raise RuleError(f"Unknown kind {kind!r} in {where}. Known: {', '.join(KINDS)}.")
    known = [f.name for f in fields(KINDS[kind])]
    for name in settings:
        if name not in known:
            raise RuleError(f"Unknown setting {name!r} in {where}.{closest(name, known)}")
    if "column" not in settings:
        raise RuleError(f"{where} names no column.")
    rule = KINDS[kind](**settings)
    try:
        rule.check()
    except RuleError as error:
        raise RuleError(f"In {where}: {error}") from None
    return rule


def as_words(column: pl.Series) -> pl.Series:
    """Return cells as text, lists as lists of text; 3.0 becomes 3, true becomes yes."""
    kind: Any = column.dtype
    is_list = isinstance(kind, pl.List | pl.Array)
    kind = kind.inner if is_list else kind
    if kind.is_nested():
        raise _unfit(column, "texts")
    try:
        if is_list:
            return column.cast(pl.List(kind)).list.eval(_as_word(pl.element(), kind))
        return column.to_frame("cell").select(_as_word(pl.col("cell"), kind)).to_series()
    except pl.exceptions.PolarsError as error:
        raise _unfit(column, "texts") from error


def _as_word(cell: pl.Expr, kind: pl.DataType) -> pl.Expr:
    if kind == pl.Boolean:
        return pl.when(cell).then(pl.lit("yes")).when(~cell).then(pl.lit("no"))
    if kind.is_float():
        text = cell.cast(pl.String).str.replace(r"\.0$", "").str.replace(r"^-0$", "0")
        return pl.when(cell.is_finite()).then(text)
    return cell.cast(pl.String)


def as_text(column: pl.Series) -> pl.Series:
    """Return cells as text, the elements of lists joined."""
    words = as_words(column)
    return words.list.join(" ", ignore_nulls=True) if words.dtype == pl.List else words


def split_words(texts: pl.Series) -> pl.Series:
    """Return the words of each text in lower case, without markup.

    An apostrophe ends a word, so that l'amour and king's become amour and king.
    """
    plain = [html.unescape(text) for text in texts.str.replace_all(_MARKUP, " ")]
    lower = pl.Series(plain, dtype=pl.String).str.normalize("NFC").str.to_lowercase()
    return lower.str.replace_all(r"n['’]t\b", " ").str.extract_all(_WORD)


def _unfit(column: pl.Series, what: str) -> RuleError:
    return RuleError(
        f"Column {column.name!r} has type {column.dtype}, which cannot be read as {what}. "
        "Use another kind of rule for it, or none."
    )


def as_numbers(column: pl.Series) -> pl.Series:
    """Return finite numbers, null where a cell has none."""
    if column.dtype.is_nested() or column.dtype.is_temporal():
        raise _unfit(column, "numbers")
    try:
        if not column.dtype.is_numeric() and column.dtype != pl.Boolean:
            column = column.cast(pl.String).str.strip_chars()
        numbers = column.cast(pl.Float64, strict=False)
    except pl.exceptions.PolarsError as error:
        raise _unfit(column, "numbers") from error
    return numbers.set(~numbers.is_finite().fill_null(False), None)


def as_years(column: pl.Series) -> pl.Series:
    """Return years from numbers, dates or texts that contain one."""
    if column.dtype in (pl.Date, pl.Datetime):
        return column.dt.year().cast(pl.Int64)
    numbers = as_numbers(column)
    if not column.dtype.is_numeric() and column.dtype != pl.Boolean:
        texts = column.cast(pl.String)
        # The year of "2001: A Space Odyssey (1968)" is the one in brackets at the end.
        patterns = (r"\((\d{4})\)\s*$", r"\b(\d{4})\b")
        found = (texts.str.extract(pattern).cast(pl.Float64) for pattern in patterns)
        numbers = pl.select(pl.coalesce(pl.lit(numbers), *map(pl.lit, found))).to_series()
    numbers = numbers.set((numbers.abs() > 9999).fill_null(False), None)
    return numbers.floor().cast(pl.Int64)


def quantile_edges(numbers: NDArray[Any], bins: int) -> tuple[float, ...]:
    """Return the inner edges of bins of about equal counts, rounded as far as possible."""
    distinct = np.unique(numbers)
    # No interpolation: the difference of two numbers may overflow.
    inner = np.quantile(numbers, np.linspace(0, 1, bins + 1)[1:-1], method="higher")
    edges = np.unique(inner[inner > distinct[0]])
    if len(edges) == 0:
        edges = distinct[1:2]
    exact = _fill(numbers, edges)
    for digits in range(2, 16):
        rounded = np.array([float(f"{e:.{digits}g}") for e in edges])
        moved = np.abs(_fill(numbers, rounded) - exact).max()
        apart = np.isfinite(rounded).all() and (np.diff(rounded) > 0).all()
        if apart and moved <= _MOVED * len(numbers) / bins:
            return tuple(rounded.tolist())
    return tuple(edges.tolist())


def _fill(numbers: NDArray[Any], edges: NDArray[Any]) -> NDArray[Any]:
    """Return the count of numbers in each bin."""
    return np.bincount(np.searchsorted(edges, numbers, side="right"), minlength=len(edges) + 1)


def bin_labels(edges: tuple[float, ...], unit: str) -> tuple[str, ...]:
    """Return labels of the bins: under 10, 10 to 20, 20 and over."""
    short = [f"{e:.15g}" for e in edges]
    plain = [s if float(s) == e else repr(float(e)) for s, e in zip(short, edges, strict=True)]
    with_unit = [f"{number} {unit}".strip() for number in plain]
    if not with_unit:
        return ("any",)
    middle = [f"{low} to {high}" for low, high in zip(plain, with_unit[1:], strict=False)]
    return (f"under {with_unit[0]}", *middle, f"{with_unit[-1]} and over")
