"""One partition of the interactions: read its rows, count them, return its matrix."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.reading.interactions import ReadReport, take_pairs, take_rows
from teaser.data.reading.positive import Positive
from teaser.data.reading.remote import file_size, read_columns
from teaser.data.reading.strength import Strength
from teaser.data.reading.table import few, first_line, named_errors, need_columns
from teaser.data.sparse_matrix import value_matrix
from teaser.errors import DataError, TableError


@dataclass(frozen=True)
class Part:
    """One partition: its name in messages, and the path, URL or delayed table to read."""

    name: str
    source: Any = field(repr=False)


@dataclass(frozen=True)
class PartSize:
    """The size of one part in the survey; a later read checks that it is unchanged."""

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
    """Counts of one part, small enough to be sent over a network."""

    name: str
    report: ReadReport
    size: PartSize
    types: tuple[str, str]
    chosen: pl.DataFrame
    user_hashes: NDArray[np.uint64]
    squares: float


@dataclass(frozen=True)
class Reader:
    """Which columns of a part are read, and which rows count."""

    user: str
    item: str
    positive: Positive | None
    strength: Strength | None = None

    def pairs(self, name: str, source: Any) -> tuple[pl.DataFrame, ReadReport]:
        """Return the distinct positive pairs of a part, and a report of its rows."""
        with _named(name):
            return take_pairs(self._frame(source), **self._how())

    def newest(self, name: str, source: Any) -> float:
        """Return the newest time of the rows of a part that count, in unix seconds."""
        with _named(name):
            rows, _ = take_rows(self._frame(source), **self._how())
            return float(rows["time"].to_numpy().max(initial=-np.inf))

    def _how(self) -> dict[str, Any]:
        rule, strength = self.positive, self.strength
        return {"user": self.user, "item": self.item, "rule": rule, "strength": strength}

    def _frame(self, source: Any) -> pl.DataFrame:
        """Return the columns of a part that are needed."""
        columns = [self.user, self.item]
        columns += [term[0] for term in self.positive.terms] if self.positive else []
        columns += self.strength.columns if self.strength else []
        frame = read_columns(source, list(dict.fromkeys(columns)))
        need_columns(frame, columns, "the interactions")
        return frame

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
        """Return a part as users x items, or raise if it changed since the survey."""
        return self.users_and_matrix(ids, size, name, source)[1]

    def users_and_matrix(
        self, ids: pl.Series, size: PartSize, name: str, source: Any
    ) -> tuple[pl.Series, sp.csr_array]:
        """Return the users of a part, and it as users x items; raise if it changed since."""
        pairs, report = self.pairs(name, source)
        found = PartSize.of(report, source)
        if found != size:
            raise DataError(
                f"{name} has changed since the data set was prepared: now {_counts(found)}, "
                f"before {_counts(size)}. Prepare the data set again."
            )
        pairs = pairs.with_columns(pl.col("item").cast(ids.dtype))
        users = pairs["user"].unique(maintain_order=True)
        X = interaction_matrix(pairs, users, ids)
        if X.nnz != pairs.height:
            unknown = pairs.filter(~pl.col("item").is_in(ids.implode()))["item"]
            raise DataError(
                f"{name} has {unknown.n_unique():,} items that are not in the data set, such as "
                f"{few(unknown)}. Prepare the data set again."
            )
        return users, X


def interaction_matrix(pairs: pl.DataFrame, users: pl.Series, items: pl.Series) -> sp.csr_array:
    """Return the users x items matrix of the pairs: their strengths, or ones."""
    placed = _place(pairs, users, items)
    ones = np.ones(placed.height, np.float32)
    strengths = placed["strength"] if "strength" in placed.columns else ones
    return value_matrix(placed["row"], placed["column"], strengths, (len(users), len(items)))


def interaction_times(
    pairs: pl.DataFrame, users: pl.Series, items: pl.Series
) -> NDArray[np.float64] | None:
    """Return the times of the pairs in the order of the entries of their matrix, or None."""
    if "time" not in pairs.columns:
        return None
    placed = _place(pairs, users, items).sort("row", "column")
    return placed["time"].cast(pl.Float64).to_numpy()


def _place(pairs: pl.DataFrame, users: pl.Series, items: pl.Series) -> pl.DataFrame:
    """Return the pairs with their rows and columns in the matrix of these users and items."""
    rows = users.to_frame("user").with_row_index("row")
    columns = items.to_frame("item").with_row_index("column")
    return pairs.join(rows, on="user").join(columns, on="item")


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Put the name of a part before the text of its errors."""
    try:
        with named_errors(name):
            yield
    except DataError:
        raise
    except FileNotFoundError as error:
        raise TableError(
            f"{name} is missing. Restore it, or prepare the data set again."
        ) from error
    except MemoryError as error:
        raise MemoryError(f"{name} does not fit into memory. Write smaller partitions.") from error
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise TableError(
            f"{name} could not be read: {first_line(error)}. Write this partition again."
        ) from error


def _counts(size: PartSize) -> str:
    return (
        f"{size.rows:,} rows, {size.interactions:,} interactions of {size.users:,} users, "
        f"{size.bytes:,} bytes"
    )
