"""Interactions in partitions: parquet files, or a Dask collection, each with whole users.

X is then never one matrix. X'X is the sum of what the partitions hold, provided that all rows of
a user are in one partition; that and the rest is checked in one pass, `survey`, which keeps
counts only.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.reading.interactions import Positive, ReadReport, Refusal, need_column, take_pairs
from teaser.data.reading.remote import file_size, is_url, list_parts, read_columns
from teaser.errors import DataError, ParameterError, TableError

T = TypeVar("T")
_RANGES = 64
_EXAMPLES = 3


class Run(Protocol):
    """Calls a function with the name and source of each part; answers come in their order."""

    def __call__(
        self, function: Callable[[str, Any], T], parts: Sequence["Part"]
    ) -> Iterator[T]: ...


@dataclass(frozen=True)
class Part:
    """One partition: its name for people, and the path, address or delayed table to read."""

    name: str
    source: Any = field(repr=False)


@dataclass(frozen=True)
class PartSize:
    """What the survey found of one part; it must be the same whenever the part is read again."""

    rows: int
    users: int
    interactions: int
    bytes: int

    @classmethod
    def of(cls, report: ReadReport, source: Any) -> Self:
        """Return the sizes of a part that was just read."""
        return cls(report.rows, report.users, report.interactions, file_size(source))


@dataclass(frozen=True, eq=False)
class PartSurvey:
    """Counts of one part, small enough to be sent from where the part is."""

    name: str
    report: ReadReport
    size: PartSize
    types: tuple[str, str]
    chosen: pl.DataFrame
    user_hashes: NDArray[np.uint64]
    squares: float


@dataclass(frozen=True, eq=False)
class Survey:
    """Counts of all parts together."""

    report: ReadReport
    sizes: tuple[PartSize, ...]
    chosen: pl.DataFrame
    squares: float


@dataclass(frozen=True)
class Reader:
    """Which columns of a part are read, and which rows count."""

    user: str
    item: str
    positive: Positive | None

    def pairs(self, name: str, source: Any) -> tuple[pl.DataFrame, ReadReport]:
        """Return the distinct positive pairs of a part, and what became of its rows."""
        with _named(name):
            columns = [self.user, self.item]
            columns += [term[0] for term in self.positive.terms] if self.positive else []
            frame = read_columns(source, list(dict.fromkeys(columns)))
            for column in columns:
                need_column(frame, column, "the interactions")
            return take_pairs(frame, user=self.user, item=self.item, rule=self.positive)

    def survey(self, name: str, source: Any) -> PartSurvey:
        """Return the counts of a part."""
        pairs, report = self.pairs(name, source)
        lengths = pairs.group_by("user").len()
        return PartSurvey(
            name=name,
            report=report,
            size=PartSize.of(report, source),
            types=(str(pairs["user"].dtype), str(pairs["item"].dtype)),
            chosen=pairs.group_by("item", maintain_order=True).len("count"),
            user_hashes=np.sort(lengths["user"].hash(0).to_numpy()),
            squares=float((lengths["len"].cast(pl.Float64) ** 2).sum()),
        )

    def user_of(self, user_hash: int, name: str, source: Any) -> int | str:
        """Return the user of a part whose id has this hash."""
        users = self.pairs(name, source)[0]["user"]
        found: int | str = users.filter(users.hash(0) == user_hash)[0]
        return found

    def matrix(self, ids: pl.Series, size: PartSize, name: str, source: Any) -> sp.csr_array:
        """Return a part as users x items, or raise if it is not what was surveyed."""
        pairs, report = self.pairs(name, source)
        found = PartSize.of(report, source)
        if found != size:
            raise DataError(
                f"{name} has changed since the data set was made of it: {_said(found)}, "
                f"{_said(size)} before. Prepare the data set again."
            )
        pairs = pairs.with_columns(pl.col("item").cast(ids.dtype))
        X = interaction_matrix(pairs, pairs["user"].unique(maintain_order=True), ids)
        if X.nnz != pairs.height:
            strange = pairs.filter(~pl.col("item").is_in(ids.implode()))["item"]
            raise DataError(
                f"{name} names {strange.n_unique():,} items that the data set does not have, such "
                f"as {_few(strange)}. Prepare the data set again."
            )
        return X


@dataclass(frozen=True)
class Partitions:
    """Where interactions are, and how they are read.

    Every part holds all rows of its users; `teaser partition` writes such a folder.

    Attributes
    ----------
    parts
        In the order in which their products are added up.
    reader
        The columns of the ids and the rule for positive rows.
    """

    parts: tuple[Part, ...]
    reader: Reader

    @classmethod
    def open(
        cls,
        source: Any,
        *,
        user: str = "user_id",
        item: str = "item_id",
        positive: str | Positive | None = None,
    ) -> Self:
        """Name the parts of a folder, an address such as `s3://bucket/folder`, or a collection.

        Parameters
        ----------
        source
            A folder of parquet files, also by address (read through fsspec); a list of such
            files; or a Dask collection, whatever has `to_delayed()`.
        user, item
            The columns of the ids.
        positive
            Which interactions count, such as `"rating >= 4"`.
        """
        rule = Positive.parse(positive) if isinstance(positive, str) else positive
        if user == item:
            raise ParameterError(f"Users and items cannot both be column {user!r}.")
        if isinstance(source, str | Path):
            paths: Iterable[Any] = list_parts(source)
        elif hasattr(source, "to_delayed"):
            delayed = list(np.ravel(source.to_delayed()))
            named = [
                Part(f"Partition {k} of the Dask collection", d) for k, d in enumerate(delayed)
            ]
            return cls(tuple(named), Reader(user, item, rule))
        else:
            paths = source
        parts = tuple(Part(place, place) for place in map(_absolute, paths))
        if not parts or len({part.name for part in parts}) < len(parts):
            raise ParameterError("Name at least one partition, and each of them once.")
        return cls(parts, Reader(user, item, rule))

    def survey(self, run: Run | None = None) -> Survey:
        """Read every part once and return what they hold together, after checking that they agree.

        Parameters
        ----------
        run
            How the parts are visited; one after the other on this machine when not given.
        """
        visit = run_here if run is None else run
        found: list[PartSurvey] = []
        chosen = pl.DataFrame()
        for part in _checked_types(visit(self.reader.survey, self.parts)):
            chosen = _added(chosen, part.chosen)
            found.append(replace(part, chosen=part.chosen.clear()))
        if not chosen.height:
            raise DataError(
                f"No positive interaction is left in {len(self.parts)} partitions, such as "
                f"{self.parts[0].name}. " + "; ".join(_together(found, 0).lines()) + "."
            )
        for one, other, user_hash in _shared_hashes(found):
            pair = [self.parts[one], self.parts[other]]
            users = list(visit(partial(self.reader.user_of, user_hash), pair))
            if users[0] == users[1]:
                raise DataError(
                    f"User {users[0]!r} is in two partitions, {pair[0].name} and {pair[1].name}. "
                    "All rows of a user must be in one: write them anew with teaser partition, "
                    "or shuffle the collection by user."
                )
        return Survey(
            report=_together(found, chosen.height),
            sizes=tuple(part.size for part in found),
            chosen=chosen,
            squares=sum(part.squares for part in found),
        )


@dataclass(frozen=True, eq=False)
class Interactions:
    """X in partitions, with items in the order of a data set; stands where a matrix would.

    Attributes
    ----------
    partitions
        Where the parts are.
    sizes
        What each part holds.
    ids
        The item ids, in the order of the columns.
    item_counts
        How many users chose each item.
    squares
        The sum of squared history lengths: how many co-occurrences there are.
    """

    partitions: Partitions
    sizes: tuple[PartSize, ...]
    ids: pl.Series = field(repr=False)
    item_counts: NDArray[np.int64] = field(repr=False)
    squares: float

    @property
    def shape(self) -> tuple[int, int]:
        """Users and items."""
        return sum(size.users for size in self.sizes), len(self.ids)

    @property
    def nnz(self) -> int:
        """How many interactions there are."""
        return sum(size.interactions for size in self.sizes)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts, in order."""
        return self.partitions.parts

    def matrix(self, k: int) -> sp.csr_array:
        """Return part k as a users x items matrix."""
        part = self.parts[k]
        return self.partitions.reader.matrix(self.ids, self.sizes[k], part.name, part.source)

    def settings(self) -> dict[str, Any]:
        """Return all but ids and counts as plain values."""
        if any(not isinstance(part.source, str) for part in self.parts):
            raise DataError(
                "A data set whose interactions are a Dask collection cannot be saved. Write the "
                "collection as parquet files, and make the data set of these."
            )
        rule = self.partitions.reader.positive
        return {
            "parts": [part.source for part in self.parts],
            "sizes": [list(astuple(size)) for size in self.sizes],
            "user": self.partitions.reader.user,
            "item": self.partitions.reader.item,
            "positive": None if rule is None else [list(term) for term in rule.terms],
            "squares": self.squares,
        }

    @classmethod
    def of(cls, settings: Mapping[str, Any], ids: pl.Series, counts: NDArray[Any]) -> Self:
        """Return what `settings` described."""
        terms = settings["positive"]
        rule = None if terms is None else Positive(tuple((c, s, v) for c, s, v in terms))
        reader = Reader(settings["user"], settings["item"], rule)
        parts = tuple(Part(source, source) for source in settings["parts"])
        sizes = tuple(PartSize(*size) for size in settings["sizes"])
        if len(parts) != len(sizes) or len(counts) != len(ids):
            raise ValueError("its partitions and counts do not fit together")
        return cls(Partitions(parts, reader), sizes, ids, np.array(counts), settings["squares"])

    @property
    def indptr(self) -> NDArray[Any]:
        """There is none: what needs a whole matrix says so here."""
        raise _no_matrix()

    indices = data = indptr

    def __getitem__(self, place: Any) -> Any:
        raise _no_matrix()


def run_here(function: Callable[[str, Any], T], parts: Sequence[Part]) -> Iterator[T]:
    """Visit the parts one after the other in this process."""
    for part in parts:
        if not isinstance(part.source, str):
            raise ParameterError(
                f"{part.name} can only be read by a cluster. Pass the cluster it belongs to."
            )
        yield function(part.name, part.source)


def interaction_matrix(pairs: pl.DataFrame, users: pl.Series, items: pl.Series) -> sp.csr_array:
    """Return the binary users x items matrix of the pairs."""
    rows = users.to_frame("user").with_row_index("row")
    columns = items.to_frame("item").with_row_index("column")
    placed = pairs.join(rows, on="user").join(columns, on="item")
    place = (placed["row"].to_numpy(), placed["column"].to_numpy())
    X = sp.csr_array((np.ones(placed.height, np.float32), place), shape=(len(users), len(items)))
    X.sort_indices()
    return X


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Put the name of a part before whatever goes wrong with it."""
    try:
        yield
    except DataError as error:
        raise type(error)(f"{name}: {error}") from error
    except FileNotFoundError as error:
        raise TableError(
            f"{name} is missing. Put it back, or prepare the data set again."
        ) from error
    except MemoryError as error:
        raise MemoryError(f"{name} does not fit into memory. Write smaller partitions.") from error
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        said = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        raise TableError(
            f"{name} could not be read: {said}. Write this partition again."
        ) from error


def _checked_types(surveys: Iterable[PartSurvey]) -> Iterator[PartSurvey]:
    """Pass the surveys on, and raise at the first whose ids are of another type."""
    first: PartSurvey | None = None
    for part in surveys:
        first = part if first is None and part.size.interactions else first
        if first is not None and part.size.interactions and part.types != first.types:
            raise DataError(
                f"{part.name} keeps users and items as {' and '.join(part.types)}, "
                f"{first.name} as {' and '.join(first.types)}. Give ids one type in all partitions."
            )
        yield part


def _added(chosen: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    """Return counts of items with those of another part added, in order of appearance."""
    if not more.height or not chosen.height:
        return more if more.height else chosen
    both = pl.concat([chosen, more])
    return both.group_by("item", maintain_order=True).agg(pl.col("count").sum())


def _shared_hashes(found: Sequence[PartSurvey]) -> Iterator[tuple[int, int, int]]:
    """Find hashes of users that are in two parts, a range of hashes at a time to stay small."""
    edges = np.array([2**64 // _RANGES * k for k in range(1, _RANGES)], np.uint64)
    cuts = [[0, *np.searchsorted(p.user_hashes, edges), len(p.user_hashes)] for p in found]
    for k in range(_RANGES):
        pieces = [p.user_hashes[cut[k] : cut[k + 1]] for p, cut in zip(found, cuts, strict=True)]
        hashes = np.concatenate(pieces)
        owner = np.repeat(np.arange(len(found)), [len(piece) for piece in pieces])
        order = np.argsort(hashes, kind="stable")
        for place in np.flatnonzero(np.diff(hashes[order]) == 0):
            one, other = order[place], order[place + 1]
            if owner[one] != owner[other]:
                yield int(owner[one]), int(owner[other]), int(hashes[one])


def _together(found: Sequence[PartSurvey], n_items: int) -> ReadReport:
    """Return the reports as one; the first refused rows are named with their part."""
    reports = [part.report for part in found]
    refused: dict[str, Refusal] = {}
    for part in found:
        for refusal in part.report.refused:
            before = refused.get(refusal.reason, Refusal(refusal.reason, 0, ()))
            examples = tuple(f"{part.name} {example}" for example in refusal.examples)
            refused[refusal.reason] = Refusal(
                refusal.reason,
                before.count + refusal.count,
                (before.examples + examples)[:_EXAMPLES],
            )
    return ReadReport(
        rows=sum(r.rows for r in reports),
        interactions=sum(r.interactions for r in reports),
        users=sum(r.users for r in reports),
        items=n_items,
        duplicates=sum(r.duplicates for r in reports),
        not_positive=sum(r.not_positive for r in reports),
        refused=tuple(refused.values()),
    )


def _absolute(path: Any) -> str:
    if not isinstance(path, str | Path):
        raise ParameterError(
            f"Partitions are a folder, a list of files or a Dask collection, found a "
            f"{type(path).__name__}."
        )
    return str(path) if is_url(path) else os.path.abspath(path)


def _said(size: PartSize) -> str:
    return (
        f"{size.rows:,} rows, {size.interactions:,} interactions of {size.users:,} users, "
        f"{size.bytes:,} bytes"
    )


def _few(ids: pl.Series) -> str:
    return ", ".join(repr(name) for name in ids.unique(maintain_order=True).head(3).to_list())


def _no_matrix() -> DataError:
    return DataError(
        "The interactions of this data set are in partitions, not in one matrix. For this, make "
        "the data set with Dataset.from_tables."
    )
