"""Interactions in partitions: parquet files, or a Dask collection, each with whole users.

X is never built as one matrix. X'X is the sum over the partitions, provided that all rows of a
user are in one partition. `survey` checks this in one pass that keeps only counts.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.reading.interactions import ReadReport, check_id_columns
from teaser.data.reading.part import Part, PartSize, PartSurvey, Reader
from teaser.data.reading.positive import Positive
from teaser.data.reading.remote import is_url, list_parts
from teaser.data.reading.strength import Strength
from teaser.data.reading.table import EXAMPLES, Refusal
from teaser.errors import DataError, ParameterError

T = TypeVar("T")
_RANGES = 64


class Run(Protocol):
    """Calls a function with the name and source of each part; results keep the order of parts."""

    def __call__(self, function: Callable[[str, Any], T], parts: Sequence[Part]) -> Iterator[T]: ...


@dataclass(frozen=True, eq=False)
class Survey:
    """Counts of all parts together."""

    report: ReadReport
    sizes: tuple[PartSize, ...]
    chosen: pl.DataFrame
    squares: float


@dataclass(frozen=True)
class Partitions:
    """The parts of the interactions, and how they are read.

    Every part has all rows of its users; `teaser partition` writes such a folder.

    Attributes
    ----------
    parts
        In the order in which their products are summed.
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
        strength: Strength | None = None,
    ) -> Self:
        """List the parts of a folder, a URL such as `s3://bucket/folder`, or a collection.

        Parameters
        ----------
        source
            A folder of parquet files, also as a URL (read through fsspec); a list of such
            files; or a Dask collection (any object with `to_delayed()`).
        user, item
            The columns of the ids.
        positive
            Which interactions count, such as `"rating >= 4"`.
        strength
            How strong an interaction is; 1 if not given.
        """
        check_id_columns(user, item)
        reader = Reader(user, item, Positive.of(positive), strength)
        if hasattr(source, "to_delayed"):
            delayed = enumerate(np.ravel(source.to_delayed()))
            named = (Part(f"Partition {k} of the Dask collection", d) for k, d in delayed)
            return cls(tuple(named), reader)
        paths = list_parts(source) if isinstance(source, str | Path) else source
        parts = tuple(Part(path, path) for path in map(_absolute, paths))
        if not parts or len({part.name for part in parts}) < len(parts):
            raise ParameterError("Give at least one partition, and each of them once.")
        return cls(parts, reader)

    def dated(self, run: Run | None = None) -> "Partitions":
        """Return the parts with the newest time of all, which decay needs; this reads them once.

        Without a half-life nothing is read.
        """
        strength = self.reader.strength
        if strength is None or strength.half_life is None:
            return self
        newest = max((run or run_here)(self.reader.newest, self.parts))
        # No row counts if there is none: the survey says so.
        known = strength.at(newest) if newest > -np.inf else strength
        return replace(self, reader=replace(self.reader, strength=known))

    def survey(self, run: Run | None = None) -> Survey:
        """Read every part once, check that they agree, and return their counts.

        Parameters
        ----------
        run
            How the parts are read; one after the other on this machine when not given.
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
                    "All rows of a user must be in one. Rewrite them with teaser partition, or "
                    "shuffle the collection by user."
                )
        return Survey(
            report=_together(found, chosen.height),
            sizes=tuple(part.size for part in found),
            chosen=chosen,
            squares=sum(part.squares for part in found),
        )


@dataclass(frozen=True, eq=False)
class Interactions:
    """X in partitions, with items in the order of a data set; takes the place of a matrix.

    Attributes
    ----------
    partitions
        The parts and their reader.
    sizes
        The counts of each part.
    ids
        The item ids, in the order of the columns.
    item_counts
        How many users chose each item.
    squares
        The sum of squared history lengths: the number of co-occurrences.
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
        """The number of interactions."""
        return sum(size.interactions for size in self.sizes)

    @property
    def is_binary(self) -> bool:
        """Whether every interaction has strength 1."""
        return self.partitions.reader.strength is None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts, in order."""
        return self.partitions.parts

    def matrix(self, k: int) -> sp.csr_array:
        """Return part k as a users x items matrix."""
        part = self.parts[k]
        return self.partitions.reader.matrix(self.ids, self.sizes[k], part.name, part.source)

    def users_and_matrix(self, k: int) -> tuple[pl.Series, sp.csr_array]:
        """Return the user ids of part k, and it as a users x items matrix."""
        part = self.parts[k]
        return self.partitions.reader.users_and_matrix(
            self.ids, self.sizes[k], part.name, part.source
        )

    def settings(self) -> dict[str, Any]:
        """Return everything but ids and counts as plain values."""
        if any(not isinstance(part.source, str) for part in self.parts):
            raise DataError(
                "A data set of a Dask collection cannot be saved. Write the collection as parquet "
                "files, and prepare the data set from these."
            )
        rule, strength = self.partitions.reader.positive, self.partitions.reader.strength
        return {
            "parts": [part.source for part in self.parts],
            "sizes": [list(astuple(size)) for size in self.sizes],
            "user": self.partitions.reader.user,
            "item": self.partitions.reader.item,
            "positive": None if rule is None else [list(term) for term in rule.terms],
            "strength": None if strength is None else strength.settings(),
            "squares": self.squares,
        }

    @classmethod
    def of(cls, settings: Mapping[str, Any], ids: pl.Series, counts: NDArray[Any]) -> Self:
        """Return the interactions that `settings` described."""
        terms = settings["positive"]
        rule = None if terms is None else Positive(tuple((c, s, v) for c, s, v in terms))
        how = settings.get("strength")  # earlier versions had none
        strength = None if how is None else Strength(**how)
        reader = Reader(settings["user"], settings["item"], rule, strength)
        parts = tuple(Part(source, source) for source in settings["parts"])
        sizes = tuple(PartSize(*size) for size in settings["sizes"])
        if len(parts) != len(sizes) or len(counts) != len(ids):
            raise ValueError("its partitions and counts do not match")
        return cls(Partitions(parts, reader), sizes, ids, np.array(counts), settings["squares"])

    @property
    def indptr(self) -> NDArray[Any]:
        """Raise `DataError`: there is no whole matrix."""
        raise _no_matrix()

    indices = data = indptr

    def __getitem__(self, key: Any) -> Any:
        raise _no_matrix()


def run_here(function: Callable[[str, Any], T], parts: Sequence[Part]) -> Iterator[T]:
    """Read the parts one after the other in this process."""
    for part in parts:
        if not isinstance(part.source, str):
            raise ParameterError(f"{part.name} can only be read by a cluster. Pass its cluster.")
        yield function(part.name, part.source)


def _checked_types(surveys: Iterable[PartSurvey]) -> Iterator[PartSurvey]:
    """Yield the surveys; raise `DataError` for ids of another type than in the first."""
    first: PartSurvey | None = None
    for part in surveys:
        first = part if first is None and part.size.interactions else first
        if first is not None and part.size.interactions and part.types != first.types:
            raise DataError(
                f"{part.name} has users and items as {' and '.join(part.types)}, {first.name} as "
                f"{' and '.join(first.types)}. Ids must have one type in all partitions."
            )
        yield part


def _added(chosen: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    """Return the sum of two tables of item counts, in order of appearance."""
    if not more.height or not chosen.height:
        return more if more.height else chosen
    both = pl.concat([chosen, more])
    return both.group_by("item", maintain_order=True).agg(pl.col("count").sum())


def _shared_hashes(found: Sequence[PartSurvey]) -> Iterator[tuple[int, int, int]]:
    """Find user hashes that are in two parts, one range at a time to bound the memory."""
    edges = np.array([2**64 // _RANGES * k for k in range(1, _RANGES)], np.uint64)
    cuts = [[0, *np.searchsorted(p.user_hashes, edges), len(p.user_hashes)] for p in found]
    for k in range(_RANGES):
        pieces = [p.user_hashes[cut[k] : cut[k + 1]] for p, cut in zip(found, cuts, strict=True)]
        hashes = np.concatenate(pieces)
        owner = np.repeat(np.arange(len(found)), [len(piece) for piece in pieces])
        order = np.argsort(hashes, kind="stable")
        for position in np.flatnonzero(np.diff(hashes[order]) == 0):
            one, other = order[position], order[position + 1]
            if owner[one] != owner[other]:
                yield int(owner[one]), int(owner[other]), int(hashes[one])


def _together(found: Sequence[PartSurvey], n_items: int) -> ReadReport:
    """Return the sum of the reports; examples of refused rows name their part."""
    reports = [part.report for part in found]
    refused: dict[str, Refusal] = {}
    for part in found:
        for refusal in part.report.refused:
            before = refused.get(refusal.reason, Refusal(refusal.reason, 0, ()))
            examples = tuple(f"{part.name} {example}" for example in refusal.examples)
            refused[refusal.reason] = Refusal(
                refusal.reason,
                before.count + refusal.count,
                (before.examples + examples)[:EXAMPLES],
            )
    return ReadReport(
        rows=sum(r.rows for r in reports),
        interactions=sum(r.interactions for r in reports),
        users=sum(r.users for r in reports),
        items=n_items,
        duplicates=sum(r.duplicates for r in reports),
        not_positive=sum(r.not_positive for r in reports),
        zero_strength=sum(r.zero_strength for r in reports),
        strength=reports[0].strength,
        refused=tuple(refused.values()),
    )


def _absolute(path: Any) -> str:
    if not isinstance(path, str | Path):
        raise ParameterError(
            "Partitions must be a folder, a list of files or a Dask collection, found a "
            f"{type(path).__name__}."
        )
    return str(path) if is_url(path) else os.path.abspath(path)


def _no_matrix() -> DataError:
    return DataError(
        "This needs the interactions as one matrix, but they are in partitions. Use "
        "Dataset.from_tables."
    )
