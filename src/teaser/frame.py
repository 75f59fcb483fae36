"""Results as data frames: lists that become a frame, with one row an entry."""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, SupportsIndex, TypeVar, overload

import polars as pl
from polars.datatypes import DataTypeClass

from teaser.errors import MissingPackageError

T = TypeVar("T")
Type = pl.DataType | DataTypeClass


class Framed:
    """A result that becomes a data frame; a subclass defines `to_frame`."""

    def to_frame(self) -> pl.DataFrame:
        """Return a polars frame."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return what `to_frame` returns as a pandas frame, where pandas is installed."""
        return as_pandas(self.to_frame())

    def _repr_html_(self) -> str:
        return self.to_frame()._repr_html_()


class FrameList(list[T], Framed):
    """A list that becomes a data frame; a slice of it does too."""

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> T: ...
    @overload
    def __getitem__(self, key: slice, /) -> Self: ...
    def __getitem__(self, key: SupportsIndex | slice, /) -> T | Self:
        if isinstance(key, slice):
            return self.with_entries(super().__getitem__(key))
        return super().__getitem__(key)

    def with_entries(self, entries: Iterable[T]) -> Self:
        """Return a list of other entries that is the same otherwise."""
        other = type(self)(entries)
        other.__dict__.update(self.__dict__)
        return other


def as_pandas(frame: pl.DataFrame) -> Any:
    """Return a polars frame as a pandas frame, or raise where pandas is not installed."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        raise MissingPackageError("to_pandas", "pandas") from None
    # Column by column: polars' own conversion needs pyarrow for texts.
    return pandas.DataFrame({column.name: _column(column) for column in frame})


def make_frame(rows: Iterable[Sequence[Any]], columns: Mapping[str, Type | None]) -> pl.DataFrame:
    """Return rows as a frame of named columns.

    Parameters
    ----------
    columns
        The type of each column by name; None for a column of ids, which are all whole numbers or
        all texts.
    """
    table = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]
    types: dict[str, Type] = {}
    for place, (name, kind) in enumerate(columns.items()):
        types[name] = id_type(table[place]) if kind is None else kind
        if kind is None and types[name] == pl.String:
            table[place] = [None if value is None else str(value) for value in table[place]]
    return pl.DataFrame(dict(zip(columns, table, strict=True)), schema=types)


def id_type(ids: Iterable[Any]) -> Type:
    """Return the type of a column of ids: whole numbers, or texts where one is a text."""
    known = [name for name in ids if name is not None]
    return pl.Int64 if known and not any(isinstance(name, str) for name in known) else pl.String


def _column(column: pl.Series) -> Any:
    if column.dtype.is_numeric() and not column.null_count():
        return column.to_numpy()
    return column.to_list()
