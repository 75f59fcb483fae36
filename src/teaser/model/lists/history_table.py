"""Histories in a table: a polars frame, a parquet file or a folder of them, read some at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.artifact import check_parquet
from teaser.errors import ParameterError
from teaser.model.lists.people import Batch, People
from teaser.model.lists.selection import Placed
from teaser.model.tables import ItemTable

Array = NDArray[Any]
# Rows of a table of histories that are read at a time: items, or lists of items.
_ROWS, _LISTS = 2**18, 2**12
_TABLE = "user_id and item_id, and strength if items have one"


class TablePeople(People):
    """The users of a table of histories.

    The table has one row for each item of a history, sorted by user, or one row for each user with
    a list of items.

    Parameters
    ----------
    table
        With the columns `user_id` and `item_id`, and `strength` where items have one.
    """

    def __init__(self, table: pl.LazyFrame, items: ItemTable, placed: Placed) -> None:
        with _readable():
            schema = table.collect_schema()
        if missing := [name for name in ("user_id", "item_id") if name not in schema]:
            raise ParameterError(
                f"A table of histories has the columns {_TABLE}. Missing: {', '.join(missing)}. "
                f"Found: {', '.join(schema) or 'none'}. Rename them."
            )
        self.items, self.placed = items, placed
        self.id_type = schema["user_id"]
        self.is_nested = isinstance(schema["item_id"], pl.List | pl.Array)
        ids = items.metadata.to_series(0)
        self.places = pl.DataFrame({"item_id": ids, "place": np.arange(len(ids))})
        _check_types(schema, is_nested=self.is_nested)
        kept = [name for name in ("user_id", "item_id", "strength") if name in schema]
        self.table = table.select(kept).with_columns(
            pl.col("item_id").cast(_item_type(schema["item_id"], ids.dtype)),
            *([pl.col("strength").cast(_strength_type(self.is_nested))] if kept[2:] else []),
        )

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield users, at most so many at a time."""
        for chunk in self._whole_users():
            users, X = self._histories(chunk)
            for first in range(0, len(users), size):
                yield Batch(users[first : first + size], X[first : first + size])

    def _whole_users(self) -> Iterator[pl.DataFrame]:
        """Yield rows of whole users, with the number of the user in the frame."""
        rest, last = pl.DataFrame(schema=self.table.collect_schema()), None
        chunk_size = _LISTS if self.is_nested else _ROWS
        for chunk in self._chunks(chunk_size):
            self._check_users(chunk, last)
            if self.is_nested:
                yield chunk.with_columns(n=pl.int_range(pl.len(), dtype=pl.Int64))
                continue
            if not chunk.height:
                continue
            own, last = pl.concat([rest, chunk]), chunk["user_id"][-1:]
            # The last user may go on in the next chunk.
            at = int((own["user_id"] == last).arg_true()[0])
            rest = own[at:]
            if at:
                yield own[:at].with_columns(n=pl.col("user_id").rle_id().cast(pl.Int64))
        if rest.height:
            yield rest.with_columns(n=pl.lit(0, dtype=pl.Int64))

    def _chunks(self, size: int) -> Iterator[pl.DataFrame]:
        with _readable():
            yield from self.table.collect_batches(chunk_size=size, maintain_order=True)

    def _check_users(self, chunk: pl.DataFrame, last: pl.Series | None) -> None:
        """Raise `ParameterError` for a user without an id, or rows that are not sorted by user.

        Parameters
        ----------
        last
            The user of the last row before; None for the first chunk.
        """
        if chunk["user_id"].null_count():
            raise ParameterError(
                f"{chunk['user_id'].null_count():,} rows of the table of histories have no "
                "user_id. Leave them out."
            )
        if self.is_nested:
            return
        users = chunk["user_id"] if last is None else pl.concat([last, chunk["user_id"]])
        wrong = (users[1:] < users[:-1]).arg_true()
        if len(wrong):
            before, at = users[int(wrong[0]) :][:2]
            raise ParameterError(
                f"The rows of a table of histories are sorted by user_id, found {at!r} "
                f"after {before!r}. Sort it: table.sort('user_id')."
            )

    def _histories(self, chunk: pl.DataFrame) -> tuple[pl.Series, sp.csr_array]:
        """Return the ids of users, and their histories (users x items)."""
        first = chunk.group_by("n", maintain_order=True).agg(pl.col("user_id").first())
        flat = chunk.drop("user_id")
        if self.is_nested:
            _check_lengths(chunk)
            named = [name for name in flat.columns if name != "n"]
            flat = flat.explode(named, empty_as_null=False)
        flat = flat.filter(pl.col("item_id").is_not_null())
        if flat["item_id"].dtype != self.places["item_id"].dtype and flat.height:
            self.items.ids.index_of(flat["item_id"][0])  # it raises the error with the closest ids
        flat = flat.join(self.places, on="item_id", how="left", maintain_order="left")
        unknown = flat.filter(pl.col("place").is_null())
        if unknown.height and not self.placed.ignores:
            self.items.ids.index_of(unknown["item_id"][0])
        self.ignored += unknown.height
        known = flat.drop_nulls("place")
        strength = np.ones(known.height)
        if "strength" in known.columns:
            strength = known["strength"].to_numpy()
            if not np.isfinite(strength).all():
                raise ParameterError("A strength of the table of histories is not a finite number.")
        return first["user_id"], self._rows(known, strength, first.height)

    def _rows(self, known: pl.DataFrame, strength: Array, n_users: int) -> sp.csr_array:
        """Return histories (users x items); an item that occurs twice counts once."""
        key = known["n"].to_numpy() * len(self.items) + known["place"].to_numpy()
        # As in a mapping, the last strength of an item stands.
        key, at = np.unique(key[::-1], return_index=True)
        strength = strength[::-1][at]
        key, strength = key[strength != 0], strength[strength != 0]
        indptr = np.searchsorted(key, np.arange(n_users + 1) * len(self.items))
        shape = (n_users, len(self.items))
        return sp.csr_array((strength, key % max(1, len(self.items)), indptr), shape=shape)


def _check_types(schema: pl.Schema, *, is_nested: bool) -> None:
    """Raise `ParameterError` for columns of a table of histories that hold something else."""
    names = ("user_id", "item_id", "strength")
    user, item, strength = (cast(Any, schema.get(name)) for name in names)
    wrong, of = None, "lists of " if is_nested else ""
    if user.is_nested():
        wrong = f"user_id holds one id a row, found {user}"
    elif is_nested and item.inner.is_nested():
        wrong = f"item_id holds ids, or lists of them, found {item}"
    elif strength is not None:
        inner = getattr(strength, "inner", strength)
        if is_nested != strength.is_nested() or not _is_number(inner):
            wrong = f"strength holds {of}numbers beside {of}items, found {strength}"
    if wrong:
        raise ParameterError(f"In a table of histories {wrong}. Convert the column.")


def _is_number(kind: pl.DataType) -> bool:
    return kind.is_numeric() or kind in (pl.Boolean, pl.Null)


def _item_type(given: Any, known: pl.DataType) -> pl.DataType:
    """Return the type to read ids of items in: that of the model's, where they are alike."""
    own = getattr(given, "inner", given)
    if own == pl.Null or (own.is_integer() and known.is_integer()):
        own = known
    elif own in (pl.Categorical, pl.Enum):
        own = pl.String()
    return pl.List(own) if hasattr(given, "inner") else own


def _strength_type(is_nested: bool) -> Any:
    return pl.List(pl.Float64) if is_nested else pl.Float64


def _check_lengths(chunk: pl.DataFrame) -> None:
    """Raise `ParameterError` where a list of strengths is not as long as that of its items."""
    if "strength" not in chunk.columns:
        return
    items, strengths = (chunk[name].list.len().fill_null(0) for name in ("item_id", "strength"))
    wrong = (items != strengths).arg_true()
    if len(wrong):
        at = int(wrong[0])
        raise ParameterError(
            f"User {chunk['user_id'][at]!r} of the table of histories has {items[at]:,} items and "
            f"{strengths[at]:,} strengths. Give as many of both."
        )


def scan_histories(path: Path) -> pl.LazyFrame:
    """Return a table of histories that is read from a parquet file, or from those of a folder."""
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not path.exists() or not files or any(file.suffix != ".parquet" for file in files):
        raise ParameterError(
            f"Histories are read from a parquet file with the columns {_TABLE}, or from a folder "
            f"of such files, found {str(path)!r}. A data set is opened with Dataset.load."
        )
    for file in files:
        check_parquet(file)
    return pl.scan_parquet(files)


@contextmanager
def _readable() -> Iterator[None]:
    """Raise `ParameterError` for a table that polars cannot read."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise ParameterError(
            f"The table of histories cannot be read: {str(error).splitlines()[0]}. Write it again."
        ) from error
