"""The lists of all users of a data set: in batches, as a frame or streamed to a parquet file."""

import copy
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from teaser.closeness import closest_names
from teaser.data.dataset import Dataset
from teaser.data.disliked import with_disliked
from teaser.data.ids import Ids
from teaser.data.reading.partitions import Interactions
from teaser.errors import ParameterError, UnknownUserError, counted
from teaser.model.checks import check_count, check_k
from teaser.model.gram.blocks import n_cores
from teaser.model.item_table import ItemTable
from teaser.model.lists.ranking import top_k_rows
from teaser.model.lists.selection import Filters, Placed
from teaser.notebook.progress import progress_bar
from teaser.profile import DEFAULT_STEERING, Steering
from teaser.recommendation import reason_type

Array = NDArray[Any]
log = logging.getLogger(__name__)

# The numbers of a batch of scores, unless the size of a batch is given: what fits in the cache of
# a processor, or keeps a GPU busy.
_NUMBERS = {"cpu": 2**20, "cuda": 2**22}
_MOST, _LEAST = 1024, 32
# The most batches that are listed at a time.
_THREADS = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class ListOptions:
    """How the lists of all users are made.

    Attributes
    ----------
    k
        The length of the lists.
    exclude_history
        Whether items of the history are left out.
    reasons
        Whether each item gets its general appeal, its boost and its main reasons.
    batch_size
        How many users are scored at a time; None for as many as take about 8 MB, on
        a GPU 32 MB, but at least 32.
    device
        `"cpu"`, or `"cuda"` to score on a GPU.
    progress
        Whether to show a bar.
    negative_reasons, steering
        As in `recommend` of a model with tags.
    """

    k: int = 20
    exclude_history: bool = True
    reasons: bool = False
    batch_size: int | None = None
    device: str = "cpu"
    progress: bool = False
    negative_reasons: bool = True
    steering: Steering = DEFAULT_STEERING

    def checked(self) -> None:
        """Raise `ParameterError` for what is out of its range."""
        check_k(self.k)
        if self.batch_size is not None:
            check_count("batch_size", self.batch_size)
        if self.device not in ("cpu", "cuda"):
            raise ParameterError(f"device must be 'cpu' or 'cuda', found {self.device!r}.")

    def size(self, n_items: int) -> int:
        """Return how many users are scored at a time."""
        most = _NUMBERS[self.device] // max(1, n_items)
        return self.batch_size or max(_LEAST, min(_MOST, most))


class AllOptions(Filters, total=False):
    """The options of `recommend_all` that every model has: those of `Filters` and these.

    Attributes
    ----------
    k, exclude_history
        As in `recommend`: 20 items, without those of the history.
    users
        The ids of the users that are wanted; all of them when not given.
    reasons
        Whether each item gets its main reasons.
    batch_size
        How many users are scored at a time; by default as many as take about 8 MB,
        on a GPU 32 MB, but at least 32. On processors, batches are scored in threads.
    device
        `"cuda"` scores on a GPU, in single precision.
    progress
        Whether to show a bar, in a terminal or a notebook.
    """

    k: int
    exclude_history: bool
    users: Iterable[int | str] | None
    reasons: bool
    batch_size: int | None
    device: str
    progress: bool


@dataclass(frozen=True, eq=False)
class Batch:
    """Some users of a data set: ids, histories (users x items of a model), facts or None."""

    users: pl.Series
    rows: sp.csr_array
    about: sp.csr_array | None


def rank_block(
    items: ItemTable, rows: sp.csr_array, scores: Array, options: ListOptions, placed: Placed
) -> tuple[Array, dict[str, pl.Series]]:
    """Return the positions of the items of each user, and the columns of their lists.

    Parameters
    ----------
    scores
        Users x items, boosts included.

    Returns
    -------
    places
        Users x k, -1 after the end of a list.
    columns
        `rank`, `item_id`, `score` and `match`, one row a listed item.
    """
    highest = scores.max(axis=1)
    seen = rows if options.exclude_history else None
    places = top_k_rows(
        scores, options.k, exclude=seen, tie=items.popularity, allowed=placed.allowed
    )
    user, rank = np.nonzero(places >= 0)
    item = places[user, rank]
    score, most = scores[user, item].astype(np.float64), highest[user]
    match = np.divide(np.maximum(score, 0.0), most, out=np.zeros(len(score)), where=most > 0)
    columns = {
        "rank": pl.Series(rank + 1, dtype=pl.Int64),
        "item_id": items.metadata.to_series(0).gather(pl.Series(item, dtype=pl.Int64)),
        "score": pl.Series(score, dtype=pl.Float64),
        "match": pl.Series(match, dtype=pl.Float64),
    }
    return places, columns


class AllLists:
    """The lists of the users of a data set, batch by batch.

    Parameters
    ----------
    model
        The model that lists, by its `list_block`.
    dataset
        Whose users are wanted, with their histories.
    users
        The ids of the users that are wanted; None for all.
    """

    def __init__(
        self,
        model: Any,
        dataset: Dataset,
        options: ListOptions,
        placed: Placed,
        *,
        users: Iterable[int | str] | None = None,
    ) -> None:
        if not isinstance(dataset, Dataset):
            raise ParameterError(
                f"recommend_all lists the users of a Dataset, found {type(dataset).__name__}. "
                "For histories of your own, use recommend_batch."
            )
        options.checked()
        self.model = _on_device(model, options.device)
        self.items: ItemTable = model.item_table_
        self.dataset, self.options, self.placed = dataset, options, placed
        self.ignored = placed.ignored
        self.columns = _place_columns(dataset.items, self.items.ids, placed)
        self.ignored += int((self.columns < 0).sum())
        self.users = users if users is None else list(users)

    def frame(self) -> pl.DataFrame:
        """Return all lists as one frame."""
        with self._bar() as step:
            return pl.concat([self._empty(), *self._frames(step)])

    def write(self, out: str | Path) -> pl.LazyFrame:
        """Write all lists to one parquet file, batch by batch, and return it as a lazy frame."""
        path = Path(out)
        if path.suffix != ".parquet":
            raise ParameterError(f"Lists are written as a parquet file, found out={str(out)!r}.")
        if not path.parent.is_dir():
            raise ParameterError(f"There is no folder {path.parent}. Make it first.")
        part = path.with_name(f".{path.name}.part")
        failed: list[BaseException] = []
        with self._bar() as step:
            source = register_io_source(self._source(step, failed), schema=self._empty().schema)
            try:
                source.sink_parquet(part)
                part.replace(path)
            except BaseException:
                part.unlink(missing_ok=True)
                # polars wraps what its source raises.
                if failed:
                    raise failed[0] from None
                raise
        return pl.scan_parquet(path)

    def _source(
        self, step: Callable[[int], None], failed: list[BaseException]
    ) -> Callable[..., Iterator[pl.DataFrame]]:
        def read(
            with_columns: list[str] | None,
            predicate: pl.Expr | None,
            n_rows: int | None,
            batch_size: int | None,
        ) -> Iterator[pl.DataFrame]:
            try:
                for frame in self._frames(step):
                    chosen = frame if with_columns is None else frame.select(with_columns)
                    yield chosen if predicate is None else chosen.filter(predicate)
            except BaseException as error:
                failed.append(error)
                raise

        return read

    def _frames(self, step: Callable[[int], None]) -> Iterator[pl.DataFrame]:
        n_threads = self._n_threads()
        if n_threads == 1:
            for batch in self._batches():
                yield self._list(batch)
                step(len(batch.users))
            return
        with ThreadPoolExecutor(n_threads) as pool:
            # As few as keep all threads busy, so that memory does not grow with the users.
            begun: deque[tuple[Batch, Future[pl.DataFrame]]] = deque()
            for batch in self._batches():
                begun.append((batch, pool.submit(self._list, batch)))
                if len(begun) > n_threads:
                    yield from _finish(begun, step)
            while begun:
                yield from _finish(begun, step)

    def _list(self, batch: Batch) -> pl.DataFrame:
        user, columns = self.model.list_block(batch.rows, batch.about, self.options, self.placed)
        ids = batch.users.gather(pl.Series(user, dtype=pl.Int64))
        return pl.DataFrame({"user_id": ids, **columns})

    def _n_threads(self) -> int:
        """Return how many batches are listed at a time: one by a GPU, and where one is all."""
        total = self.dataset.n_users if self.users is None else len(self.users)
        if self.options.device != "cpu" or not self.model.lists_in_threads:
            return 1
        return max(1, min(n_cores(), _THREADS, total // self.options.size(len(self.items))))

    def _batches(self) -> Iterator[Batch]:
        size = self.options.size(len(self.items))
        for users, X, Q in self._parts():
            for first in range(0, X.shape[0], size):
                some = slice(first, first + size)
                rows = _with_columns(X[some], self.columns, len(self.items))
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

    def _empty(self) -> pl.DataFrame:
        ids = self.items.metadata.to_series(0).dtype
        X = self.dataset.X
        names = X.users_and_matrix(0)[0] if isinstance(X, Interactions) else self.dataset.users[:]
        users = pl.Series(names).dtype
        schema: dict[str, Any] = {
            "user_id": users,
            "rank": pl.Int64,
            "item_id": ids,
            "score": pl.Float64,
            "match": pl.Float64,
        }
        if self.options.reasons:
            numbers = {"general": pl.Float64, "boost": pl.Float64}
            schema |= {**numbers, "reasons": reason_type(ids)}
        return pl.DataFrame(schema=schema)

    @contextmanager
    def _bar(self) -> Iterator[Callable[[int], None]]:
        """Yield what counts users that are done, with a bar if one was asked for."""
        total = self.dataset.n_users if self.users is None else len(self.users)
        done = 0
        with progress_bar("lists", show=self.options.progress) as update:

            def step(n: int) -> None:
                nonlocal done
                done += n
                update(f"{done:,} of {total:,} lists", done / total)

            yield step
        if self.ignored:
            log.warning("%s ignored in lists of all users", counted(self.ignored, "unknown name"))


def _finish(
    begun: deque[tuple[Batch, Future[pl.DataFrame]]], step: Callable[[int], None]
) -> Iterator[pl.DataFrame]:
    """Yield the lists of the batch that was begun first."""
    batch, listed = begun.popleft()
    try:
        yield listed.result()
    except BaseException:
        for _, other in begun:
            other.cancel()
        raise
    step(len(batch.users))


def _on_device(model: Any, device: str) -> Any:
    """Return the model as it computes on a device."""
    if getattr(model, "device", "cpu") == device:
        return model
    if not hasattr(model, "device"):
        raise ParameterError(
            f"{type(model).__name__} lists on processors, found device={device!r}. "
            "Use device='cpu'."
        )
    other = copy.copy(model)
    other.device = device
    return other


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
