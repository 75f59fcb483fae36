"""Whose lists are made: the users of a data set, or of pairs of an id and a history.

They come in batches, so that no more than some of them are in memory at a time.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.closeness import closest_names
from teaser.data.dataset import Dataset
from teaser.data.interactions import with_disliked
from teaser.data.matrix import Ids
from teaser.data.partitions import Interactions
from teaser.errors import ParameterError, UnknownUserError
from teaser.model.lists.selection import Placed, known_history
from teaser.model.tables import ItemTable

Array = NDArray[Any]


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
        if isinstance(users, str):
            raise ParameterError(f"users is a list of user ids, found {users!r}. Use [{users!r}].")
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
                    f"{str(error).splitlines()[0]}. Make all of them texts, or whole numbers."
                ) from error
            yield Batch(users, self.items.rows([viewed for viewed, _ in known]))


def _pair(given: Any) -> tuple[Any, Any]:
    """Return a user id and a history, or raise `ParameterError`."""
    if (
        isinstance(given, tuple)
        and len(given) == 2
        and isinstance(given[0], int | str | np.integer)
    ):
        return given
    raise ParameterError(
        f"recommend_all takes pairs of a user id and a history, found {str(given)[:80]!r}. "
        "For histories without ids, use recommend_batch."
    )


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
