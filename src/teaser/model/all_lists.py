"""The lists of many users in batches: as a frame, streamed to a parquet file, or one by one."""

import copy
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

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
                rows = move_columns(X[some], self.columns, self.n_items)
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
        return move_columns(Q, columns, len(known))


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


def move_columns(rows: sp.csr_array, columns: Array, n_items: int) -> sp.csr_array:
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


# Users of a table of histories that are read at a time.
_USERS = 2**12
_TABLE = "user_id and item_id, and strength if items have one"


class TablePeople(People):
    """The users of a table of histories.

    The table has one row for each item of a history, or one row for each user with a list of items.

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
        is_nested = isinstance(schema["item_id"], pl.List | pl.Array)
        _check_types(schema, is_nested=is_nested)
        ids = items.metadata.to_series(0)
        self.places = pl.DataFrame({"item_id": ids, "place": np.arange(len(ids))})
        types: dict[Any, Any] = {"item_id": pl.List(_item_type(schema["item_id"], ids.dtype))}
        if "strength" in schema:
            types["strength"] = pl.List(pl.Float64())
        table = table.select("user_id", *types)
        if not is_nested:
            table = table.group_by("user_id", maintain_order=True).agg(*types)
        self.table = table.cast(types)

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield users, at most so many at a time."""
        for chunk in self._chunks():
            for some in chunk.iter_slices(size):
                yield Batch(some["user_id"], self._histories(some))

    def _chunks(self) -> Iterator[pl.DataFrame]:
        with _readable():
            yield from self.table.collect_batches(chunk_size=_USERS, maintain_order=True)

    def _histories(self, users: pl.DataFrame) -> sp.csr_array:
        """Return the histories of users (users x items)."""
        if users["user_id"].null_count():
            raise ParameterError("The table of histories has rows without a user_id. Drop them.")
        _check_lengths(users)
        named = users.drop("user_id").columns
        flat = users.select(pl.int_range(pl.len()).alias("n"), *named)
        flat = flat.explode(named, empty_as_null=False).drop_nulls("item_id")
        if flat["item_id"].dtype != self.places["item_id"].dtype and flat.height:
            self.items.ids.index_of(flat["item_id"][0])  # it raises the error with the closest ids
        flat = flat.join(self.places, on="item_id", how="left", maintain_order="left")
        unknown = flat.filter(pl.col("place").is_null())
        if unknown.height and not self.placed.ignores:
            self.items.ids.index_of(unknown["item_id"][0])
        self.ignored += unknown.height
        # An item that occurs twice counts once; as in a mapping, its last strength stands.
        known = flat.drop_nulls("place").unique(["n", "place"], keep="last")
        strength = np.ones(known.height)
        if "strength" in named:
            strength = known["strength"].to_numpy()
            if not np.isfinite(strength).all():
                raise ParameterError("A strength of the table of histories is not a finite number.")
        places = (known["n"].to_numpy(), known["place"].to_numpy())
        rows = sp.csr_array((strength, places), shape=(users.height, len(self.items)))
        rows.eliminate_zeros()
        rows.sort_indices()
        return rows


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
        is_number = inner.is_numeric() or inner in (pl.Boolean, pl.Null)
        if is_nested != strength.is_nested() or not is_number:
            wrong = f"strength holds {of}numbers beside {of}items, found {strength}"
    if wrong:
        raise ParameterError(f"In a table of histories {wrong}. Convert the column.")


def _item_type(given: Any, known: pl.DataType) -> pl.DataType:
    """Return the type to read ids of items in: that of the model's, where they are alike."""
    own: pl.DataType = getattr(given, "inner", given)
    if own == pl.Null or (own.is_integer() and known.is_integer()):
        return known
    return pl.String() if own in (pl.Categorical, pl.Enum) else own


def _check_lengths(users: pl.DataFrame) -> None:
    """Raise `ParameterError` where a list of strengths is not as long as that of its items."""
    if "strength" not in users.columns:
        return
    items, strengths = (users[name].list.len().fill_null(0) for name in ("item_id", "strength"))
    wrong = (items != strengths).arg_true()
    if len(wrong):
        at = int(wrong[0])
        raise ParameterError(
            f"User {users['user_id'][at]!r} of the table of histories has {items[at]:,} items and "
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


# Rows of the files in which lists are gathered before they are joined.
_FILE_ROWS = 2**17


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

    They are gathered in files of many rows beside it, which are then joined.

    Parameters
    ----------
    frames
        They are closed where the writing ends early.
    """
    with closing(frames), ExitStack() as stack:
        with _writable(path):
            room = stack.enter_context(TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent))
        parts: list[Path] = []
        for some in _gathered(frames, schema):
            parts.append(Path(room) / f"{len(parts)}.parquet")
            with _writable(path):
                some.write_parquet(parts[-1])
        with _writable(path):
            whole = Path(room) / "whole.parquet"
            pl.scan_parquet(parts).sink_parquet(whole)
            whole.replace(path)


def _gathered(frames: Iterable[pl.DataFrame], schema: pl.Schema) -> Iterator[pl.DataFrame]:
    """Yield frames joined to such of many rows, at least one."""
    none = pl.DataFrame(schema=schema)
    some, n_rows = [none], 0
    for frame in frames:
        some.append(frame)
        n_rows += frame.height
        if n_rows >= _FILE_ROWS:
            yield pl.concat(some)
            some, n_rows = [none], 0
    yield pl.concat(some)


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Raise `ResourceError` where a file cannot be written."""
    try:
        yield
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

    def check(self) -> None:
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


def list_columns(
    items: ItemTable,
    rows: sp.csr_array,
    scores: Array,
    options: ListOptions,
    placed: ResolvedFilters,
    told: Callable[[Array, Array], dict[str, Any]],
) -> tuple[Array, dict[str, pl.Series]]:
    """Return the best items of several users: the row of each entry's user, and columns.

    Parameters
    ----------
    rows, scores
        Histories, and the scores of all items, boosts included (users x items).
    told
        Returns the columns of the reasons, given the row and the item of each entry.
    """
    ids = items.metadata.to_series(0)
    seen, k = rows if options.exclude_history else None, min(options.k, len(items))
    places = top_k_rows(scores, k, exclude=seen, tie=items.popularity, allowed=placed.allowed)
    user, rank = np.nonzero(places >= 0)
    item = places[user, rank]
    score = scores[user, item].astype(np.float64)
    highest = scores.max(axis=1, initial=-np.inf)[user]
    columns = {
        "rank": pl.Series(rank + 1, dtype=pl.Int64),
        "item_id": ids.gather(pl.Series(item, dtype=pl.Int64)),
        "score": pl.Series(score, dtype=pl.Float64),
        "match": pl.Series(match_of(score, highest), dtype=pl.Float64),
    }
    if options.reasons:
        columns |= told(user, item)
    return user, columns


class AllLists:
    """The lists of many users that were asked of a fitted model, made batch by batch.

    Parameters
    ----------
    source
        The users; see `find_people`.
    """

    def __init__(self, model: Any, source: Any, options: AllOptions) -> None:
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
        self.placed: ResolvedFilters = model.place_filters(filters)
        self.options = ListOptions(**given)
        self.options.check()
        self.model = _on_device(model, self.options.device)
        self.items: ItemTable = model.item_table_
        self.size = self.options.size(len(self.items))
        self.people = find_people(source, model, self.placed, users)

    def frame(self) -> pl.DataFrame:
        """Return all lists as one frame; raise `ResourceError` where it cannot fit into memory."""
        if self.people.n_users is not None:
            self._check_memory(self.people.n_users)
        with self._bar() as step:
            return pl.concat([self._empty(), *self._frames(step)])

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

    def _check_memory(self, n_users: int) -> None:
        """Raise `ResourceError` where one frame of the lists of so many users does not fit."""
        n_rows = n_users * min(self.options.k, len(self.items))
        need, have = n_rows * _ROW_BYTES[self.options.reasons], available_memory()
        if need > have:
            raise ResourceError(
                f"The lists of {n_users:,} users are {n_rows:,} rows, about {say_bytes(need)} as "
                f"one frame, and {say_bytes(have)} of memory are free. Write them to a file with "
                "out=, or take them in batches with recommend_stream."
            )

    def _frames(self, step: Callable[[int], None]) -> Generator[pl.DataFrame, None, None]:
        batches, n_threads = self.people.batches(self.size), self._n_threads()
        with ThreadPoolExecutor(n_threads) as pool:
            # A batch for each thread, so that memory does not grow with the users.
            while some := list(islice(batches, n_threads)):
                for batch, listed in zip(some, pool.map(self._list, some), strict=True):
                    yield listed
                    step(len(batch.users))

    def _list(self, batch: Batch) -> pl.DataFrame:
        user, columns = self.model.list_block(batch.rows, batch.about, self.options, self.placed)
        ids = batch.users.gather(pl.Series(user, dtype=pl.Int64))
        return pl.DataFrame({"user_id": ids, **columns})

    def _n_threads(self) -> int:
        """Return how many batches are listed at a time.

        One by a GPU, and one with reasons: these are chosen in Python, one thread at a time.
        """
        options = self.options
        if options.device != "cpu" or options.reasons or not self.model.lists_in_threads:
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
