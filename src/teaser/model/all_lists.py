"""The lists of many users in batches: as a frame, streamed to a parquet file, or one by one."""

import copy
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from queue import Full, Queue
from threading import Event
from typing import Any, Self, cast

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from teaser.artifact import check_parquet
from teaser.data.dataset import Dataset
from teaser.data.interactions import with_disliked
from teaser.data.matrix import Ids
from teaser.data.partitions import Interactions
from teaser.errors import ParameterError, ResourceError, counted
from teaser.files import available_memory, say_bytes
from teaser.model._arrays import n_cores
from teaser.model.filters import Filters, ResolvedFilters, check_names, known_history
from teaser.model.scores import match_of, top_k_rows
from teaser.model.tables import History, ItemTable
from teaser.parameters import check_count, check_k
from teaser.profile import DEFAULT_STEERING, Steering
from teaser.progress import progress_bar
from teaser.recommend import reason_type

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
        placed: ResolvedFilters,
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
        """Count users that the data set does not have, or raise `UnknownNameError`."""
        if missing and not self.placed.ignores:
            raise users.unknown("user", missing[0])
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

    def __init__(self, pairs: Iterable[Any], items: ItemTable, placed: ResolvedFilters) -> None:
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


def _place_columns(given: Ids, known: Ids, placed: ResolvedFilters) -> Array:
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

    def __init__(self, table: pl.LazyFrame, items: ItemTable, placed: ResolvedFilters) -> None:
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
            *(
                [pl.col("strength").cast(pl.List(pl.Float64) if self.is_nested else pl.Float64)]
                if kept[2:]
                else []
            ),
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


# Frames that wait for being written, at most.
_WAITING = 2
# How often it is asked whether the writer has failed, in seconds.
_PAUSE = 0.2


def check_file(out: Any) -> Path:
    """Return the path of a parquet file that can be made, or raise `ParameterError`."""
    if not isinstance(out, str | Path) or Path(out).suffix != ".parquet":
        raise ParameterError(f"Lists are written as a parquet file, found out={str(out)!r}.")
    path = Path(out)
    if not path.parent.is_dir():
        raise ParameterError(f"There is no folder {path.parent}. Make it first.")
    if path.is_dir():
        raise ParameterError(f"{path} is a folder. Name a file.")
    return path


def write_frames(
    frames: Generator[pl.DataFrame, None, None], schema: pl.Schema, path: Path
) -> None:
    """Write frames to one parquet file, which appears when it is complete.

    The caller's thread makes the frames, so that iterators that belong to it can be read, and an
    interrupt reaches it. Another thread hands them to polars.

    Parameters
    ----------
    frames
        They are closed where the writing ends early.
    """
    part = path.with_name(f".{path.name}.part")
    handed: Queue[pl.DataFrame | None] = Queue(_WAITING)
    given_up = Event()

    def read(*_: Any) -> Iterator[pl.DataFrame]:
        while (frame := handed.get()) is not None and not given_up.is_set():
            yield frame

    lazy = register_io_source(read, schema=schema)
    with ThreadPoolExecutor(1) as pool, closing(frames):
        written = pool.submit(lazy.sink_parquet, part)
        try:
            for frame in frames:
                if not _is_taken(frame, handed, written):
                    break
            _is_taken(None, handed, written)
            _finish(written, path)
            part.replace(path)
        except BaseException:
            given_up.set()
            with suppress(Full):  # it then finds a frame, and after it that all is given up
                handed.put_nowait(None)
            wait([written])
            with suppress(OSError):  # such as one that never came to be
                part.unlink()
            raise


def _is_taken(
    frame: pl.DataFrame | None, handed: "Queue[pl.DataFrame | None]", written: Future[Any]
) -> bool:
    """Wait until the writer has room for a frame; return false where it has failed."""
    while not written.done():
        with suppress(Full):
            handed.put(frame, timeout=_PAUSE)
            return True
    return False


def _finish(written: Future[Any], path: Path) -> None:
    """Wait for the end of the writing; raise `ResourceError` where it failed."""
    try:
        written.result()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ResourceError(
            f"The lists could not be written to {path}: {str(error).splitlines()[0]}. "
            "Make room there, or name another file."
        ) from error


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


@dataclass(frozen=True, eq=False)
class Best:
    """The best items of several users.

    Attributes
    ----------
    places, scores
        Positions of items and their scores (users x k); -1 and 0 after the end of a list.
    highest
        The highest score of any item (users).
    """

    places: Array
    scores: Array
    highest: Array


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
    source: Any, model: Any, placed: ResolvedFilters, users: Iterable[int | str] | None = None
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
    items: ItemTable,
    rows: sp.csr_array,
    scores: Array,
    options: ListOptions,
    placed: ResolvedFilters,
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
    return user, {
        "rank": pl.Series(rank + 1, dtype=pl.Int64),
        "item_id": items.metadata.to_series(0).gather(pl.Series(item, dtype=pl.Int64)),
        "score": pl.Series(score, dtype=pl.Float64),
        "match": pl.Series(match_of(score, most), dtype=pl.Float64),
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
        placed: ResolvedFilters,
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
                    yield from _finish_batch(begun, step)
            while begun:
                yield from _finish_batch(begun, step)

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
            numbers = dict.fromkeys(("general", "boost", "other"), pl.Float64)
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


def _finish_batch(
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
