"""The lists of many users in batches: as a frame, streamed to a parquet file, or one by one."""

import copy
import logging
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.errors import ParameterError, ResourceError, counted
from teaser.files import available_memory, say_bytes
from teaser.model.gram.blocks import n_cores
from teaser.model.lists.best_items import Best
from teaser.model.lists.history_table import TablePeople, scan_histories
from teaser.model.lists.parquet_file import check_file, write_frames
from teaser.model.lists.people import Batch, DatasetPeople, PairPeople, People
from teaser.model.lists.ranking import top_k_rows
from teaser.model.lists.selection import Filters, Placed, check_names
from teaser.model.tables import History, ItemTable
from teaser.notebook.progress import progress_bar
from teaser.parameters import check_count, check_k
from teaser.profile import DEFAULT_STEERING, Steering
from teaser.recommendation import reason_type

Array = NDArray[Any]
log = logging.getLogger(__name__)
# What lists of all users may be asked for; see `find_people`.
Source = (
    Dataset
    | str
    | Path
    | pl.DataFrame
    | pl.LazyFrame
    | Iterable[tuple[Any, History]]
    | Mapping[Any, History]
)

# The numbers of a batch of scores, unless the size of a batch is given: what fits in the cache of
# a processor, or keeps a GPU busy.
_NUMBERS = {"cpu": 2**20, "cuda": 2**27}
_MOST, _LEAST = {"cpu": 1024, "cuda": 8192}, 32
# The most batches that are listed at a time.
_THREADS = 8
# The bytes of a row of a frame, without and with reasons, and while batches are put together.
_ROW_BYTES = {False: 80, True: 500}


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
        a GPU 512 MB, but at least 32.
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

    def size(self, width: int) -> int:
        """Return how many users are scored at a time, given how many numbers each takes."""
        most = _NUMBERS[self.device] // max(1, width)
        return self.batch_size or max(_LEAST, min(_MOST[self.device], most // _LEAST * _LEAST))


class AllOptions(Filters, total=False):
    """The options of `recommend_all` and `recommend_stream`: those of `Filters` and these.

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
        on a GPU 512 MB, but at least 32. On processors, batches are scored in threads.
    device
        `"cuda"` scores on a GPU, in single precision.
    progress
        Whether to show a bar, in a terminal or a notebook.
    negative_reasons, steering
        As in `recommend`, for a model with tags.
    """

    k: int
    exclude_history: bool
    users: Iterable[int | str] | None
    reasons: bool
    batch_size: int | None
    device: str
    progress: bool
    negative_reasons: bool
    steering: Steering


def find_people(
    source: Any, model: Any, placed: Placed, users: Iterable[int | str] | None = None
) -> People:
    """Return the users that a source has.

    Parameters
    ----------
    source
        A data set; a table of histories, as a polars frame or the path of a parquet file; or pairs
        of a user id and a history, also as a mapping.
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
    if isinstance(source, Mapping):
        source = source.items()
    if isinstance(source, str | Path):
        return TablePeople(scan_histories(Path(source)), items, placed)
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


def rank_block(
    items: ItemTable, rows: sp.csr_array, scores: Array, options: ListOptions, placed: Placed
) -> Best:
    """Return the best items of each user by the scores of all items, boosts included."""
    seen, k = rows if options.exclude_history else None, min(options.k, len(items))
    places = top_k_rows(scores, k, exclude=seen, tie=items.popularity, allowed=placed.allowed)
    found = np.take_along_axis(scores, np.maximum(places, 0), axis=1) if len(items) else places
    return Best(places, found.astype(np.float64), scores.max(axis=1, initial=-np.inf))


def list_columns(items: ItemTable, best: Best) -> tuple[Array, dict[str, pl.Series]]:
    """Return the user of each listed item, and `rank`, `item_id`, `score` and `match` of it."""
    user, rank = np.nonzero(best.places >= 0)
    item = best.places[user, rank]
    score, most = best.scores[user, rank], best.highest[user]
    match = np.divide(np.maximum(score, 0.0), most, out=np.zeros(len(score)), where=most > 0)
    return user, {
        "rank": pl.Series(rank + 1, dtype=pl.Int64),
        "item_id": items.metadata.to_series(0).gather(pl.Series(item, dtype=pl.Int64)),
        "score": pl.Series(score, dtype=pl.Float64),
        "match": pl.Series(match, dtype=pl.Float64),
    }


class AllLists:
    """The lists of many users, batch by batch.

    Parameters
    ----------
    model
        The model that lists, by its `list_block`.
    source
        Whose lists are wanted, with their histories; see `find_people`.
    users
        The ids of the users that are wanted; None for all.
    """

    def __init__(
        self,
        model: Any,
        source: Any,
        options: ListOptions,
        placed: Placed,
        *,
        users: Iterable[int | str] | None = None,
    ) -> None:
        options.checked()
        self.model = _on_device(model, options.device)
        self.items: ItemTable = model.item_table_
        self.options, self.placed = options, placed
        self.size = options.size(self.model.list_width)
        self.people = find_people(source, model, placed, users)

    @classmethod
    def asked(cls, model: Any, source: Any, options: AllOptions) -> Self:
        """Return the lists that were asked of a fitted model, to be made."""
        model.check_fitted()
        given: dict[str, Any] = dict(options)
        known = (*AllOptions.__annotations__, "out")
        check_names(given, [name for name in known if name not in model.lacks_options])
        if "out" in given:
            raise ParameterError(
                "recommend_stream yields frames and writes no file, found "
                f"out={str(given['out'])!r}. Use recommend_all to write one."
            )
        users = given.pop("users", None)
        filters = {name: given.pop(name) for name in Filters.__annotations__ if name in given}
        placed = model.place_filters(filters)
        return cls(model, source, ListOptions(**given), placed, users=users)

    def frame(self) -> pl.DataFrame:
        """Return all lists as one frame; raise `ResourceError` where it cannot fit into memory."""
        n_users, k = self.people.n_users, min(self.options.k, len(self.items))
        if n_users is not None:
            self._check_memory(f"The lists of {n_users:,} users are", n_users * k)
        frames, n_rows = [self._empty()], 0
        with self._bar() as step:
            for frame in self._frames(step):
                frames.append(frame)
                n_rows += frame.height
                if n_users is None:
                    self._check_memory("The lists so far are", n_rows, held=0.5)
            return pl.concat(frames)

    def stream(self) -> Iterator[pl.DataFrame]:
        """Yield the lists of each batch as a frame."""
        with self._bar() as step:
            yield from self._frames(step)

    def write(self, out: str | Path) -> pl.LazyFrame:
        """Write all lists to one parquet file, batch by batch, and return it as a lazy frame."""
        path = check_file(out)
        with self._bar() as step:
            write_frames(self._frames(step), self._empty().schema, path)
        return pl.scan_parquet(path)

    def _check_memory(self, what: str, n_rows: int, *, held: float = 0.0) -> None:
        """Raise `ResourceError` where rows and putting them together do not fit.

        Parameters
        ----------
        held
            The part of their bytes that is taken already.
        """
        need, have = n_rows * _ROW_BYTES[self.options.reasons], available_memory()
        if need * (1 - held) > have:
            raise ResourceError(
                f"{what} {n_rows:,} rows, about {say_bytes(need)} as one frame, and "
                f"{say_bytes(have)} of memory are free. Write them to a file with out=, or take "
                "them in batches with recommend_stream."
            )

    def _frames(self, step: Callable[[int], None]) -> Generator[pl.DataFrame, None, None]:
        n_threads = self._n_threads()
        if n_threads == 1:
            for batch in self.people.batches(self.size):
                yield self._list(batch)
                step(len(batch.users))
            return
        with ThreadPoolExecutor(n_threads) as pool:
            # As few as keep all threads busy, so that memory does not grow with the users.
            begun: deque[tuple[Batch, Future[pl.DataFrame]]] = deque()
            for batch in self.people.batches(self.size):
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
        if self.options.device != "cpu" or not self.model.lists_in_threads:
            return 1
        total = self.people.n_users
        n_batches = _THREADS if total is None else total // self.size
        return max(1, min(n_cores(), _THREADS, n_batches))

    def _empty(self) -> pl.DataFrame:
        ids = self.items.metadata.to_series(0).dtype
        schema: dict[str, Any] = {
            "user_id": self.people.id_type,
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
        total, done = self.people.n_users, 0
        with progress_bar("lists", show=self.options.progress) as update:

            def step(n: int) -> None:
                nonlocal done
                done += n
                if total is None:
                    update(f"{done:,} lists", 0.0)
                else:
                    update(f"{done:,} of {total:,} lists", done / max(1, total))

            yield step
        ignored = self.placed.ignored + self.people.ignored
        if ignored:
            log.warning("%s ignored in lists of all users", counted(ignored, "unknown name"))


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
