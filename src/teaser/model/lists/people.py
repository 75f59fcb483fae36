"""Whose lists are made: the users of a data set, of a table of histories, or of an iterator.

They come in batches, so that no more than some of them are in memory at a time.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.closeness import closest_names
from teaser.data.dataset import Dataset
from teaser.data.disliked import with_disliked
from teaser.data.ids import Ids
from teaser.data.reading.partitions import Interactions
from teaser.errors import ParameterError, UnknownUserError
from teaser.files.parquet import check_parquet
from teaser.model.item_table import History, ItemTable
from teaser.model.lists.selection import Placed, known_history

Array = NDArray[Any]
# What lists of all users may be asked for; see `find_people`.
Source = Dataset | str | Path | pl.DataFrame | pl.LazyFrame | Iterable[tuple[Any, History]]
# Rows of a table of histories that are read at a time: items, or lists of items.
_ROWS, _LISTS = 2**18, 2**12
_TABLE = "user_id and item_id, and strength if items have one"


@dataclass(frozen=True, eq=False)
class Batch:
    """Some users: ids, histories (users x items of a model), facts or None."""

    users: pl.Series
    rows: sp.csr_array
    about: sp.csr_array | None = None


class People(ABC):
    """Users with their histories.

    Attributes
    ----------
    n_users
        How many there are; None where that is not known before all are read.
    id_type
        The type of their ids.
    ignored
        How many unknown names were ignored.
    """

    n_users: int | None = None
    id_type: Any
    ignored: int = 0

    @abstractmethod
    def batches(self, size: int) -> Iterator[Batch]:
        """Yield users, at most so many at a time."""


def find_people(
    source: Any, model: Any, placed: Placed, users: Iterable[int | str] | None = None
) -> People:
    """Return the users that a source has.

    Parameters
    ----------
    source
        A data set; a table of histories, as a polars frame or the path of a parquet file; or pairs
        of a user id and a history.
    model
        The model whose items they chose.
    placed
        Whether unknown ids are ignored.
    users
        The ids of the users of a data set that are wanted; None for all.
    """
    if isinstance(source, Dataset):
        return DatasetPeople(source, model, placed, users)
    if users is not None:
        raise ParameterError(
            "users chooses among those of a Dataset, found users= with a "
            f"{type(source).__name__}. Leave out the others before."
        )
    items: ItemTable = model.item_table_
    if isinstance(source, str | Path):
        return TablePeople(_scan(Path(source)), items, placed)
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        return TablePeople(source.lazy(), items, placed)
    is_matrix = isinstance(source, np.ndarray) or sp.issparse(source)
    if is_matrix or isinstance(source, bytes) or not isinstance(source, Iterable):
        raise ParameterError(
            "recommend_all lists the users of a Dataset, of a table of histories, or of pairs of a "
            f"user id and a history, found {type(source).__name__}. "
            "For histories of your own, use recommend_batch."
        )
    return PairPeople(source, items, placed)


class DatasetPeople(People):
    """The users of a data set, also of one in partitions."""

    def __init__(
        self,
        dataset: Dataset,
        model: Any,
        placed: Placed,
        users: Iterable[int | str] | None = None,
    ) -> None:
        self.dataset, self.placed, self.model = dataset, placed, model
        self.n_items = len(model.item_table_)
        self.columns = _place_columns(dataset.items, model.item_table_.ids, placed)
        self.ignored = int((self.columns < 0).sum())
        self.users = users if users is None else list(users)
        self.n_users = dataset.n_users if self.users is None else len(self.users)
        X = dataset.X
        names = X.users_and_matrix(0)[0] if isinstance(X, Interactions) else dataset.users[:1]
        self.id_type = pl.Series(names).dtype

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield users, at most so many at a time."""
        for users, X, Q in self._parts():
            for first in range(0, X.shape[0], size):
                some = slice(first, first + size)
                rows = _with_columns(X[some], self.columns, self.n_items)
                yield Batch(users[some], rows, None if Q is None else Q[some])

    def _parts(self) -> Iterator[tuple[pl.Series, sp.csr_array, sp.csr_array | None]]:
        """Yield users, histories and facts: all at once, or partition by partition."""
        X, Q = self.dataset.X, self._facts()
        if isinstance(X, Interactions):
            yield from self._partitions(X)
            return
        X = with_disliked(X, self.dataset.disliked)
        names = pl.Series(self.dataset.users[:])
        if self.users is None:
            yield names, X, Q
            return
        places = self._places(self.users)
        yield names.gather(pl.Series(places)), X[places], None if Q is None else Q[places]

    def _partitions(self, X: Interactions) -> Iterator[tuple[pl.Series, sp.csr_array, None]]:
        """Yield users and histories partition by partition; wanted users in the order of both."""
        unseen, seen = list(self.users or ()), Ids(())
        for k in range(len(X.parts)):
            users, matrix = X.users_and_matrix(k)
            if self.users is not None:
                seen = Ids(users.to_list())
                found = [place for name in unseen if (place := seen.find(name)) is not None]
                unseen = [name for name in unseen if seen.find(name) is None]
                users, matrix = users.gather(pl.Series(found, dtype=pl.Int64)), matrix[found]
            yield users, matrix, None
        self._leave_out(unseen, seen)

    def _places(self, users: Sequence[int | str]) -> Array:
        found = [(name, self.dataset.users.find(name)) for name in users]
        self._leave_out([name for name, place in found if place is None], self.dataset.users)
        return np.array([place for _, place in found if place is not None], dtype=np.int64)

    def _leave_out(self, missing: Sequence[int | str], users: Ids) -> None:
        """Count users that the data set does not have, or raise `UnknownUserError`."""
        if missing and not self.placed.ignores:
            near = closest_names(str(missing[0]), map(str, users))
            raise UnknownUserError(missing[0], near, self.dataset.n_users, next(iter(users), None))
        self.ignored += len(missing)

    def _facts(self) -> sp.csr_array | None:
        """Return the user features by the model's user tags; tags that it lacks are counted."""
        Q, known = self.dataset.Q, Ids(map(str, getattr(self.model, "user_tags_", ())))
        if Q is None or not len(known):
            return None
        places = [known.find(str(tag)) for tag in self.dataset.user_tags]
        self.ignored += places.count(None)
        columns = np.array([-1 if place is None else place for place in places], dtype=np.int64)
        return _with_columns(Q, columns, len(known))


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
        schema = table.collect_schema()
        if missing := [name for name in ("user_id", "item_id") if name not in schema]:
            raise ParameterError(
                f"A table of histories has the columns {_TABLE}. Missing: {', '.join(missing)}. "
                f"Found: {', '.join(schema) or 'none'}. Rename them."
            )
        self.items, self.placed = items, placed
        self.id_type = schema["user_id"]
        self.is_nested = isinstance(schema["item_id"], pl.List)
        kept = [name for name in ("user_id", "item_id", "strength") if name in schema]
        self.table = table.select(kept)
        ids = items.metadata.to_series(0)
        self.places = pl.DataFrame({"item_id": ids, "place": np.arange(len(ids))})

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
        for chunk in self.table.collect_batches(chunk_size=chunk_size, maintain_order=True):
            self._check_users(chunk, last)
            if self.is_nested:
                yield chunk.with_columns(n=pl.int_range(pl.len(), dtype=pl.Int64))
                continue
            if not chunk.height:
                continue
            own, last = pl.concat([rest, chunk]), chunk["user_id"][-1]
            # The last user may go on in the next chunk.
            at = int((own["user_id"] == last).arg_true()[0])
            rest = own[at:]
            if at:
                yield own[:at].with_columns(n=pl.col("user_id").rle_id().cast(pl.Int64))
        if rest.height:
            yield rest.with_columns(n=pl.lit(0, dtype=pl.Int64))

    def _check_users(self, chunk: pl.DataFrame, last: Any) -> None:
        """Raise `ParameterError` for a user without an id, or rows that are not sorted by user."""
        if chunk["user_id"].null_count():
            raise ParameterError(
                f"{chunk['user_id'].null_count():,} rows of the table of histories have no "
                "user_id. Leave them out."
            )
        if self.is_nested or not chunk.height:
            return
        users = chunk["user_id"]
        before = pl.concat([pl.Series([users[0] if last is None else last]), users[:-1]])
        wrong = (users < before).arg_true()
        if len(wrong):
            at = int(wrong[0])
            raise ParameterError(
                f"The rows of a table of histories are sorted by user_id, found {users[at]!r} "
                f"after {before[at]!r}. Sort it: table.sort('user_id')."
            )

    def _histories(self, chunk: pl.DataFrame) -> tuple[pl.Series, sp.csr_array]:
        """Return the ids of users, and their histories (users x items)."""
        first = chunk.group_by("n", maintain_order=True).agg(pl.col("user_id").first())
        flat = chunk.drop("user_id")
        if self.is_nested:
            named = [name for name in flat.columns if name != "n"]
            flat = flat.explode(named, empty_as_null=False)
        flat = flat.filter(pl.col("item_id").is_not_null())
        kind = self.places["item_id"].dtype
        if (
            flat["item_id"].dtype != kind
            and flat["item_id"].dtype.is_integer()
            and kind.is_integer()
        ):
            flat = flat.with_columns(pl.col("item_id").cast(kind))
        if flat["item_id"].dtype != kind and flat.height:
            self.items.ids.index_of(flat["item_id"][0])  # it raises the error with the closest ids
        flat = flat.join(self.places, on="item_id", how="left", maintain_order="left")
        unknown = flat.filter(pl.col("place").is_null())
        if unknown.height and not self.placed.ignores:
            self.items.ids.index_of(unknown["item_id"][0])
        self.ignored += unknown.height
        known = flat.drop_nulls("place")
        strength = np.ones(known.height)
        if "strength" in known.columns:
            strength = known["strength"].cast(pl.Float64).to_numpy()
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


class PairPeople(People):
    """The users of pairs of an id and a history, each read once."""

    def __init__(self, pairs: Iterable[Any], items: ItemTable, placed: Placed) -> None:
        self.items, self.placed = items, placed
        self.n_users = len(pairs) if isinstance(pairs, Sized) else None
        rest = iter(pairs)
        first = list(islice(rest, 1))
        self.id_type = pl.Series([_pair(each)[0] for each in first] or [""]).dtype
        self._pairs = chain(first, rest)

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield users, at most so many at a time."""
        while some := [_pair(each) for each in islice(self._pairs, size)]:
            known = [known_history(self.items, history, self.placed) for _, history in some]
            self.ignored += sum(n for _, n in known)
            try:
                users = pl.Series([name for name, _ in some], dtype=self.id_type)
            except (TypeError, pl.exceptions.PolarsError) as error:
                raise ParameterError(
                    f"The ids of users are all of one type, found {self.id_type} and others: "
                    f"{error}"
                ) from error
            yield Batch(users, self.items.rows([viewed for viewed, _ in known]))


def _pair(given: Any) -> tuple[Any, Any]:
    """Return a user id and a history, or raise `ParameterError`."""
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], int | str):
        return given
    raise ParameterError(
        f"recommend_all takes pairs of a user id and a history, found {str(given)[:80]!r}. "
        "For histories without ids, use recommend_batch."
    )


def _scan(path: Path) -> pl.LazyFrame:
    """Return a table of histories that is read from a parquet file, or from those of a folder."""
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not path.exists() or not files or any(file.suffix != ".parquet" for file in files):
        raise ParameterError(
            f"Histories are read from a parquet file with the columns {_TABLE}, or from a folder "
            f"of such files, found {str(path)!r}. A data set is opened with Dataset.load."
        )
    for file in files:
        check_parquet(file, pages=False)
    return pl.scan_parquet(files)


def _place_columns(given: Ids, known: Ids, placed: Placed) -> Array:
    """Return the position in the model of each item of a data set; -1 for unknown ones."""
    if given is known or given == known:
        return np.arange(len(given))
    found = [known.find(name) for name in given]
    unknown = [name for name, place in zip(given, found, strict=True) if place is None]
    if len(unknown) > len(given) / 2:
        raise ParameterError(
            f"The model does not know {len(unknown):,} of the {len(given):,} items of the data "
            f"set, such as {unknown[0]!r}. List the users of the data set that the model was "
            "fitted to, or fit a model to this one."
        )
    if unknown and not placed.ignores:
        known.index_of(unknown[0])  # it raises the error with the closest ids
    return np.array([-1 if place is None else place for place in found], dtype=np.int64)


def _with_columns(rows: sp.csr_array, columns: Array, n_items: int) -> sp.csr_array:
    """Return rows with their columns moved to other places; -1 leaves a column out."""
    if len(columns) == n_items and (columns == np.arange(n_items)).all():
        return sp.csr_array((rows.data.astype(np.float64), rows.indices, rows.indptr), rows.shape)
    entries = rows.tocoo()
    column = columns[entries.col]
    known = column >= 0
    placed = (entries.row[known], column[known])
    moved = sp.csr_array(
        (entries.data[known].astype(np.float64), placed), shape=(rows.shape[0], n_items)
    )
    moved.sort_indices()
    return moved
