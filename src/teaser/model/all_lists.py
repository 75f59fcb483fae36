"""The lists of many users in batches: as a frame, streamed to a parquet file, or one by one."""

import copy
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

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

Array = NDArray[Any]
log = logging.getLogger(__name__)
# What lists of all users may be asked for; see `AllLists`.
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
# Users of a table of histories that are read at a time.
_USERS = 2**12
# Batches that are one file while lists are written.
_FILE_BATCHES = 16


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


@dataclass(frozen=True, kw_only=True, eq=False)
class ListOptions:
    """How the lists of all users are made; see `AllOptions`."""

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


@dataclass(frozen=True, eq=False)
class Batch:
    """Some users: ids, histories (users x items of a model), user features or None."""

    users: pl.Series
    rows: sp.csr_array
    about: sp.csr_array | None = None


class AllLists:
    """The lists of many users that were asked of a fitted model, made batch by batch.

    Parameters
    ----------
    source
        A data set; a table of histories, as a polars frame or the path of a parquet file; or pairs
        of a user id and a history, also as a mapping.
    """

    def __init__(self, model: Any, source: Any, options: AllOptions) -> None:
        model.check_fitted()
        given: dict[str, Any] = dict(options)
        known = AllOptions.__annotations__
        check_names(given, [name for name in known if name not in model.lacks_options])
        users = given.pop("users", None)
        filters = {name: given.pop(name) for name in Filters.__annotations__ if name in given}
        self.placed: ResolvedFilters = model.place_filters(filters)
        self.options = ListOptions(**given)
        self.options.check()
        self.model = _on_device(model, self.options.device)
        self.items: ItemTable = model.item_table_
        self.ignored = self.placed.ignored
        self.n_users: int | None = None
        self.batches = self._read(source, users)

    def frame(self) -> pl.DataFrame:
        """Return all lists as one frame; raise `ResourceError` where it cannot fit into memory."""
        n_rows = (self.n_users or 0) * min(self.options.k, len(self.items))
        need, have = n_rows * _ROW_BYTES[self.options.reasons], available_memory()
        if need > have:
            raise ResourceError(
                f"The lists of {self.n_users:,} users are {n_rows:,} rows, about "
                f"{say_bytes(need)} as one frame, and {say_bytes(have)} of memory are free. Write "
                "them to a file with out=, or take them in batches with recommend_stream."
            )
        return pl.concat(self.stream())

    def stream(self) -> Iterator[pl.DataFrame]:
        """Yield the lists of each batch as a frame; one without rows where there is no user."""
        done, total, threads = 0, self.n_users, self._n_threads()
        batches = chain([next(self.batches, self._nobody())], self.batches)
        with (
            progress_bar("lists", show=self.options.progress) as update,
            ThreadPoolExecutor(threads) as pool,
        ):
            # A batch for each thread, so that memory does not grow with the users.
            while some := list(islice(batches, threads)):
                for batch, listed in zip(some, pool.map(self._list, some), strict=True):
                    yield listed
                    done += len(batch.users)
                    of = "" if total is None else f" of {total:,}"
                    update(f"{done:,}{of} lists", done / total if total else 0.0)
        if self.ignored:
            log.warning("%s ignored in lists of all users", counted(self.ignored, "unknown name"))

    def write(self, out: str | Path) -> pl.LazyFrame:
        """Write all lists to one parquet file, which appears when it is complete."""
        path = _check_file(out)
        frames = self.stream()
        with (
            _writable(path),
            TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder,
        ):
            # Some batches at a time are a file; the files are joined in the end.
            for n, some in enumerate(iter(lambda: list(islice(frames, _FILE_BATCHES)), [])):
                pl.concat(some).write_parquet(Path(folder) / f"{n:09}.parquet")
            whole = Path(folder) / "whole"
            pl.scan_parquet(Path(folder) / "*.parquet").sink_parquet(whole)
            whole.replace(path)
        return pl.scan_parquet(path)

    def _list(self, batch: Batch) -> pl.DataFrame:
        user, columns = self.model.list_block(batch.rows, batch.about, self.options, self.placed)
        ids = batch.users.gather(pl.Series(user, dtype=pl.Int64))
        return pl.DataFrame({"user_id": ids, **columns})

    def _n_threads(self) -> int:
        """Return how many batches are listed at a time.

        One by a GPU, and one with reasons: these are written in Python, one thread at a time.
        """
        options = self.options
        is_alone = options.device != "cpu" or options.reasons or not self.model.lists_in_threads
        return 1 if is_alone else min(n_cores(), _THREADS)

    def _nobody(self) -> Batch:
        return Batch(pl.Series(dtype=pl.String), self.items.rows([]))

    def _read(self, source: Any, users: Iterable[int | str] | None) -> Iterator[Batch]:
        """Return the users of a source in batches, and note how many there are."""
        if isinstance(source, Dataset):
            return self._read_dataset(source, users)
        if users is not None:
            raise ParameterError(
                "users chooses among those of a Dataset, found users= with a "
                f"{type(source).__name__}. Leave out the others before."
            )
        if isinstance(source, str | Path):
            source = _scan_histories(Path(source))
        if isinstance(source, pl.DataFrame | pl.LazyFrame):
            return self._read_pairs(*_table_pairs(source.lazy()))
        if isinstance(source, Mapping):
            source = source.items()
        is_matrix = isinstance(source, np.ndarray) or sp.issparse(source)
        if is_matrix or isinstance(source, bytes) or not isinstance(source, Iterable):
            raise ParameterError(
                "recommend_all lists the users of a Dataset, of a table of histories, or of pairs "
                f"of a user id and a history, found {type(source).__name__}. "
                "For histories of your own, use recommend_batch."
            )
        self.n_users = len(source) if isinstance(source, Sized) else None
        return self._read_pairs(map(_pair, source))

    def _read_dataset(self, dataset: Dataset, users: Iterable[int | str] | None) -> Iterator[Batch]:
        if isinstance(users, str):
            raise ParameterError(f"users is a list of user ids, found {users!r}. Use [{users!r}].")
        wanted = None if users is None else list(users)
        self.n_users = dataset.n_users if wanted is None else len(wanted)
        columns = _place_columns(dataset.items, self.items.ids, ignores=self.placed.ignores)
        self.ignored += int((columns < 0).sum())
        return self._dataset_batches(dataset, wanted, columns)

    def _dataset_batches(
        self, dataset: Dataset, wanted: list[int | str] | None, columns: Array
    ) -> Iterator[Batch]:
        """Yield users, of partitions one after the other."""
        X, Q, size = dataset.X, self._facts(dataset), self.options.size(len(self.items))
        n_parts = len(X.parts) if isinstance(X, Interactions) else 1
        for k in range(n_parts):
            if isinstance(X, Interactions):
                names, rows = X.users_and_matrix(k)
            else:
                names, rows = pl.Series(dataset.users[:]), with_disliked(X, dataset.disliked)
            places = np.arange(len(names))
            if wanted is not None:
                known = Ids(names.to_list())
                found = [(name, known.find(name)) for name in wanted]
                places = np.array([i for _, i in found if i is not None], dtype=np.int64)
                wanted = [name for name, place in found if place is None]
                if wanted and k == n_parts - 1:
                    if not self.placed.ignores:
                        raise known.unknown("user", wanted[0])
                    self.ignored += len(wanted)
            for first in range(0, len(places), size):
                some = places[first : first + size]
                moved = move_columns(rows[some], columns, len(self.items))
                about = None if Q is None else Q[some]
                yield Batch(names.gather(pl.Series(some)), moved, about)

    def _facts(self, dataset: Dataset) -> sp.csr_array | None:
        """Return the user features by the model's user tags; tags that it lacks are counted."""
        Q, known = dataset.Q, Ids(map(str, getattr(self.model, "user_tags_", ())))
        if Q is None or not len(known):
            return None
        places = [known.find(str(tag)) for tag in dataset.user_tags]
        self.ignored += places.count(None)
        columns = np.array([-1 if place is None else place for place in places], dtype=np.int64)
        return move_columns(Q, columns, len(known))

    def _read_pairs(self, pairs: Iterator[tuple[Any, Any]], kind: Any = None) -> Iterator[Batch]:
        """Yield the users of pairs of an id and a history, whose ids are of one type."""
        while some := list(islice(pairs, self.options.size(len(self.items)))):
            known = [known_history(self.items, history, self.placed) for _, history in some]
            self.ignored += sum(n for _, n in known)
            try:
                users = pl.Series([name for name, _ in some], dtype=kind)
            except (TypeError, pl.exceptions.PolarsError) as error:
                raise ParameterError(
                    f"The ids of users are all of one type: {str(error).splitlines()[0]}. "
                    "Make all of them texts, or whole numbers."
                ) from error
            kind = users.dtype
            yield Batch(users, self.items.rows([viewed for viewed, _ in known]))


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
    return user, columns | told(user, item) if options.reasons else columns


def move_columns(rows: sp.csr_array, columns: Array, n_items: int) -> sp.csr_array:
    """Return rows with their columns moved to other places; -1 leaves a column out."""
    entries = rows.tocoo()
    column = columns[entries.col]
    known = column >= 0
    values = entries.data[known].astype(np.float64)
    moved = sp.csr_array(
        (values, (entries.row[known], column[known])), shape=(rows.shape[0], n_items)
    )
    moved.sort_indices()
    return moved


def _place_columns(given: Ids, known: Ids, *, ignores: bool) -> Array:
    """Return the position in the model of each item of a data set; -1 for unknown ones."""
    if given == known:
        return np.arange(len(given))
    found = [known.find(name) for name in given]
    unknown = [name for name, place in zip(given, found, strict=True) if place is None]
    if len(unknown) > len(given) / 2:
        raise ParameterError(
            f"The model does not know {len(unknown):,} of the {len(given):,} items of the data "
            f"set, such as {unknown[0]!r}. List the users of the data set that the model was "
            "fitted to, or fit a model to this one."
        )
    if unknown and not ignores:
        known.index_of(unknown[0])  # it raises the error with the closest ids
    return np.array([-1 if place is None else place for place in found], dtype=np.int64)


def _pair(given: Any) -> tuple[Any, Any]:
    """Return a user id and a history, or raise `ParameterError`."""
    if isinstance(given, tuple) and len(given) == 2:
        user, history = given
        if isinstance(user, int | str | np.integer):
            return user, history
    raise ParameterError(
        f"recommend_all takes pairs of a user id and a history, found {str(given)[:80]!r}. "
        "For histories without ids, use recommend_batch."
    )


_TABLE = "user_id and item_id, and strength if items have one"


def _scan_histories(path: Path) -> pl.LazyFrame:
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


def _table_pairs(table: pl.LazyFrame) -> tuple[Iterator[tuple[Any, Any]], Any]:
    """Return the pairs of a user id and a history of a table, and the type of the ids.

    The table has one row for each item of a history, or one row for each user with lists.
    """
    with _readable():
        schema = table.collect_schema()
    if missing := [name for name in ("user_id", "item_id") if name not in schema]:
        raise ParameterError(
            f"A table of histories has the columns {_TABLE}. Missing: {', '.join(missing)}. "
            f"Found: {', '.join(schema) or 'none'}. Rename them."
        )
    is_nested = isinstance(schema["item_id"], pl.List | pl.Array)
    columns = [pl.col("item_id")]
    if "strength" in schema:
        columns.append(pl.col("strength").cast(pl.List(pl.Float64) if is_nested else pl.Float64))
    table = table.select("user_id", *columns)
    if not is_nested:
        table = table.group_by("user_id", maintain_order=True).agg(pl.all())

    def pairs() -> Iterator[tuple[Any, Any]]:
        with _readable():
            for chunk in table.collect_batches(chunk_size=_USERS, maintain_order=True):
                if chunk["user_id"].null_count():
                    raise ParameterError("The table of histories has rows without a user_id.")
                for user, items, *strengths in chunk.iter_rows():
                    yield user, _read_history(user, items, *strengths)

    return pairs(), schema["user_id"]


def _read_history(
    user: Any, items: Sequence[Any] | None, strengths: Sequence[float | None] | None = None
) -> Any:
    """Return a history of a table; of an item that occurs twice the last strength stands."""
    if strengths is None:
        return [item for item in items or () if item is not None]
    if len(strengths) != len(items or ()):
        raise ParameterError(
            f"User {user!r} of the table of histories has {len(items or ()):,} items and "
            f"{len(strengths):,} strengths. Give as many of both."
        )
    pairs = zip(items or (), strengths, strict=True)
    return {item: strength for item, strength in pairs if item is not None}


@contextmanager
def _readable() -> Iterator[None]:
    """Raise `ParameterError` for a table that polars cannot read."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise ParameterError(
            f"The table of histories cannot be read: {str(error).splitlines()[0]}. Write it again."
        ) from error


def _check_file(out: Any) -> Path:
    """Return the path of a parquet file that can be made, or raise `ParameterError`."""
    if not isinstance(out, str | Path) or Path(out).suffix != ".parquet":
        raise ParameterError(f"Lists are written as a parquet file, found out={str(out)!r}.")
    path = Path(out)
    if path.is_dir() or not path.parent.is_dir():
        raise ParameterError(f"{path} is a folder, or in no folder. Name a file.")
    return path


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
