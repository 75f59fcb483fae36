"""A table as it was read, with what was noticed and refused; and texts for messages about it."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import polars as pl

from teaser.errors import DataError, TableError, closest, counted

EXAMPLES = 3
_LONGEST_EXAMPLE = 60


@dataclass(frozen=True)
class Refusal:
    """Rows that were refused for one reason, with the first of them as examples."""

    reason: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        return f"{counted(self.count, 'row')} refused, {self.reason}: {', '.join(self.examples)}"

    @classmethod
    def from_dicts(cls, raw: Iterable[Mapping[str, Any]]) -> tuple[Self, ...]:
        """Return the refusals that `dataclasses.asdict` made plain values of."""
        return tuple(cls(r["reason"], r["count"], tuple(r["examples"])) for r in raw)


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it was read.

    Attributes
    ----------
    frame
        The rows that could be read.
    name
        The file, or what the table is about, for messages.
    notes
        What was noticed while it was read, as sentences.
    refused
        Rows that could not be read.
    headless
        What to do if the first row, which gave the names, is a row of data; empty if it looks
        like names.
    """

    frame: pl.DataFrame
    name: str = "the table"
    notes: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = field(default=())
    headless: str = ""


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Put the name of a file before the text of errors about its rows; a frame has none."""
    try:
        yield
    except DataError as error:
        if name.startswith("the "):
            raise
        raise type(error)(f"{name}: {error}") from error


def check_names(names: Iterable[str]) -> None:
    """Raise `TableError` for a name of a column that polars would read as a pattern."""
    for name in names:
        if name.startswith("^") and name.endswith("$"):
            raise TableError(f"A column cannot be called {name!r}. Rename it.")


def need_columns(frame: pl.DataFrame, columns: Iterable[str], what: str) -> None:
    """Raise `TableError` unless the frame has the columns."""
    for column in columns:
        if column not in frame.columns:
            found = ", ".join(frame.columns)
            near = closest(str(column), frame.columns)
            raise TableError(
                f"Column {column!r}, needed for {what}, is missing. Found: {found}.{near}"
            )


def shown(cell: object) -> str:
    """Return the value of a cell, for an error message."""
    text = repr(cell)
    return text if len(text) <= _LONGEST_EXAMPLE else f"{text[:_LONGEST_EXAMPLE]}…"


def few(ids: pl.Series) -> str:
    """Return the first distinct ids, for an error message."""
    return ", ".join(map(repr, ids.unique(maintain_order=True).head(EXAMPLES).to_list()))


def first_line(error: BaseException) -> str:
    """Return the first line of an error, without its full stop."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
