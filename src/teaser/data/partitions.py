"""Interactions in partitions by user: write them, list them, survey them, read one at a time."""

import importlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, field, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.artifact import check_parquet
from teaser.data import reading
from teaser.data.columns import find_id_columns
from teaser.data.condition import Conditions
from teaser.data.interactions import (
    ReadReport,
    RowReader,
    Strength,
    interaction_matrix,
)
from teaser.data.reading import (
    EXAMPLES,
    Refusal,
    Table,
    first_ids,
    first_line,
    guess_delimiter,
    named_errors,
    need_columns,
    sample_lines,
)
from teaser.errors import DataError, MissingPackageError, ParameterError, TableError, counted
from teaser.files import check_regular, read_settings

T = TypeVar("T")
MANIFEST = "partitions.json"
ROWS_PER_PART = 1_000_000
_MOST_PARTS = 10_000
_BATCH_ROWS = 1_000_000


@dataclass(frozen=True)
class Part:
    """One partition: its name in messages, and the path, URL or delayed table to read."""

    name: str
    source: Any = field(repr=False)


class Run(Protocol):
    """Calls a function with the name and source of each part; results keep the order of parts."""

    def __call__(self, function: Callable[[str, Any], T], parts: Sequence[Part]) -> Iterator[T]: ...


@dataclass(frozen=True)
class PartSize:
    """The size of one part in the survey; a later read checks that it is unchanged."""

    rows: int
    users: int
    interactions: int

    @classmethod
    def of(cls, report: ReadReport) -> Self:
        """Return the size of a part that was read."""
        return cls(report.rows, report.users, report.interactions)

    def __str__(self) -> str:
        return f"{self.rows:,} rows, {self.interactions:,} interactions of {self.users:,} users"


@dataclass(frozen=True, eq=False)
class Survey:
    """Counts of all parts together."""

    report: ReadReport
    sizes: tuple[PartSize, ...]
    chosen: pl.DataFrame
    squares: float
    strengths: float


@dataclass(frozen=True, eq=False)
class PartSurvey:
    """Counts of one part, small enough to be sent over a network."""

    name: str
    report: ReadReport
    chosen: pl.DataFrame
    users: pl.Series
    squares: float
    strengths: float

    @property
    def types(self) -> tuple[str, str]:
        """The types of the ids of users and items."""
        return str(self.users.dtype), str(self.chosen["item"].dtype)


@dataclass(frozen=True)
class Reader(RowReader):
    """Reads one part."""

    def read_pairs(self, name: str, source: Any) -> tuple[pl.DataFrame, ReadReport]:
        """Return the distinct positive pairs of a part, and a report of its rows."""
        with _named(name):
            return self.pairs(self._frame(source))

    def newest(self, name: str, source: Any) -> float:
        """Return the newest time of the rows of a part that count, in unix seconds."""
        with _named(name):
            rows, _ = self.rows(self._frame(source))
            return float(rows["time"].to_numpy().max(initial=-np.inf))

    def _frame(self, source: Any) -> pl.DataFrame:
        """Return the columns of a part that are needed."""
        lazy = _scan_part(source)
        need_columns(pl.DataFrame(schema=lazy.collect_schema()), self.columns, "the interactions")
        return lazy.select(self.columns).collect()

    def survey(self, name: str, source: Any) -> PartSurvey:
        """Return the counts of a part."""
        pairs, report = self.read_pairs(name, source)
        lengths = pairs.group_by("user").len()
        return PartSurvey(
            name=name,
            report=report,
            chosen=pairs.group_by("item", maintain_order=True).len("count"),
            users=lengths["user"],
            squares=float((lengths["len"].cast(pl.Float64) ** 2).sum()),
            strengths=float(pairs["strength"].cast(pl.Float64).sum()) if self.strength else 0.0,
        )

    def users_and_matrix(
        self, ids: pl.Series, size: PartSize, name: str, source: Any
    ) -> tuple[pl.Series, sp.csr_array]:
        """Return the users of a part, and it as users x items; raise if it changed since."""
        pairs, report = self.read_pairs(name, source)
        found = PartSize.of(report)
        if found != size:
            raise DataError(
                f"{name} has changed since the data set was prepared: now {found}, "
                f"before {size}. Prepare the data set again."
            )
        pairs = pairs.with_columns(pl.col("item").cast(ids.dtype))
        users = pairs["user"].unique(maintain_order=True)
        X = interaction_matrix(pairs, users, ids)
        if X.nnz != pairs.height:
            unknown = pairs.filter(~pl.col("item").is_in(ids.implode()))["item"]
            raise DataError(
                f"{name} has {unknown.n_unique():,} items that are not in the data set, such as "
                f"{first_ids(unknown)}. Prepare the data set again."
            )
        return users, X


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
        positive: str | Conditions | None = None,
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
        reader = Reader(user, item, Conditions.coerce(positive), strength)
        if hasattr(source, "to_delayed"):
            delayed = enumerate(np.ravel(source.to_delayed()))
            named = (Part(f"Partition {k} of the Dask collection", d) for k, d in delayed)
            return cls(tuple(named), reader)
        paths = list_parts(source) if isinstance(source, str | Path) else source
        parts = tuple(Part(path, path) for path in map(_absolute, paths))
        if not parts or len({part.name for part in parts}) < len(parts):
            raise ParameterError("Give at least one partition, and each of them once.")
        return cls(parts, reader)

    def with_newest_time(self, run: Run | None = None) -> "Partitions":
        """Return the parts with the newest time of all, which decay needs; this reads them once.

        Without a half-life nothing is read.
        """
        strength = self.reader.strength
        if strength is None or strength.half_life is None:
            return self
        newest = max((run or run_here)(self.reader.newest, self.parts))
        # No row counts if there is none: the survey says so.
        known = strength.with_newest(newest) if newest > -np.inf else strength
        return replace(self, reader=replace(self.reader, strength=known))

    def survey(self, run: Run | None = None) -> Survey:
        """Read every part once, check that they agree, and return their counts.

        Parameters
        ----------
        run
            How the parts are read; one after the other on this machine when not given.
        """
        found: list[PartSurvey] = []
        chosen = pl.DataFrame()
        first: PartSurvey | None = None
        for part in (run or run_here)(self.reader.survey, self.parts):
            found.append(replace(part, chosen=part.chosen.clear()))
            if not part.chosen.height:
                continue
            first = first or part
            if part.types != first.types:
                raise DataError(
                    f"{part.name} has users and items as {' and '.join(part.types)}, {first.name} "
                    f"as {' and '.join(first.types)}. Ids must have one type in all partitions."
                )
            both = pl.concat([chosen, part.chosen]) if chosen.height else part.chosen
            chosen = both.group_by("item", maintain_order=True).agg(pl.col("count").sum())
        if not chosen.height:
            raise DataError(
                f"No positive interaction is left in {len(self.parts)} partitions, such as "
                f"{self.parts[0].name}. " + "; ".join(_sum_reports(found, 0).lines()) + "."
            )
        _check_apart(found)
        return Survey(
            report=_sum_reports(found, chosen.height),
            sizes=tuple(PartSize.of(part.report) for part in found),
            chosen=chosen,
            squares=sum(part.squares for part in found),
            strengths=sum(part.strengths for part in found),
        )

    def with_mean(self, survey: Survey) -> "tuple[Partitions, ReadReport]":
        """Return the parts with strengths divided by their mean, and a report that says so."""
        strength, report = self.reader.strength, survey.report
        if strength is None or strength.is_one:
            return self, report
        known = strength.with_mean(survey.strengths, report.interactions)
        parts = replace(self, reader=replace(self.reader, strength=known))
        return parts, report.divided_by(known.mean)


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
        return self.users_and_matrix(k)[1]

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
            "positive": None if rule is None else str(rule),
            "strength": None if strength is None else asdict(strength),
            "squares": self.squares,
        }

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, Any], ids: pl.Series, counts: NDArray[Any]
    ) -> Self:
        """Return the interactions that `settings` described."""
        rule, how = Conditions.coerce(settings["positive"]), settings["strength"]
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
        raise DataError(
            "This needs the interactions as one matrix, but they are in partitions. Use "
            "Dataset.from_tables."
        )

    indices = data = indptr

    def __getitem__(self, key: Any) -> Any:
        return self.indptr


def run_here(function: Callable[[str, Any], T], parts: Sequence[Part]) -> Iterator[T]:
    """Read the parts one after the other in this process."""
    for part in parts:
        if not isinstance(part.source, str):
            raise ParameterError(f"{part.name} can only be read by a cluster. Pass its cluster.")
        yield function(part.name, part.source)


def _check_apart(found: Sequence[PartSurvey]) -> None:
    """Raise `DataError` if a user is in two parts."""
    users = [part.users.to_frame("user").with_columns(part=pl.lit(part.name)) for part in found]
    shared = pl.concat(each for each in users if each.height)
    shared = shared.filter(pl.col("user").is_duplicated())
    if shared.height:
        user = shared["user"][0]
        one, other, *_ = shared.filter(pl.col("user") == user)["part"].to_list()
        raise DataError(
            f"User {user!r} is in two partitions, {one} and {other}. All rows of a user must be in "
            "one. Rewrite them with teaser partition, or shuffle the collection by user."
        )


def _sum_reports(found: Sequence[PartSurvey], n_items: int) -> ReadReport:
    """Return the sum of the reports; examples of refused rows name their part."""
    refused: dict[str, Refusal] = {}
    for part in found:
        for reason, count, examples in map(astuple, part.report.refused):
            before = refused.get(reason, Refusal(reason, 0, ()))
            named = (*before.examples, *(f"{part.name} {example}" for example in examples))
            refused[reason] = Refusal(reason, before.count + count, named[:EXAMPLES])
    counts = ("rows", "interactions", "users", "duplicates", "not_positive", "zero_strength")
    sums = {name: sum(getattr(part.report, name) for part in found) for name in counts}
    return replace(found[0].report, items=n_items, refused=tuple(refused.values()), **sums)


def _absolute(path: Any) -> str:
    if not isinstance(path, str | Path):
        raise ParameterError(
            "Partitions must be a folder, a list of files or a Dask collection, found a "
            f"{type(path).__name__}."
        )
    return str(path) if is_url(path) else os.path.abspath(path)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Put the name of a part before the text of its errors."""
    try:
        with named_errors(name):
            yield
    except DataError:
        raise
    except (OSError, ValueError, MemoryError, pl.exceptions.PolarsError) as error:
        said = f"could not be read: {first_line(error)}. Write this partition again."
        if isinstance(error, FileNotFoundError):
            said = "is missing. Restore it, or prepare the data set again."
        if isinstance(error, MemoryError):
            said = "does not fit into memory. Write smaller partitions."
        raise TableError(f"{name} {said}") from error


def is_url(source: Any) -> bool:
    """Whether this is a URL that fsspec reads, such as `s3://bucket/folder`."""
    return isinstance(source, str) and "://" in source


def list_parts(folder: str | Path) -> list[str]:
    """Return the parquet files of a folder by name, after checking them against its list."""
    if is_url(folder):
        system, root = _file_system(str(folder))
        names = sorted(system.glob(f"{root.rstrip('/')}/*.parquet"))
        found = [system.unstrip_protocol(name) for name in names]
    else:
        if not Path(folder).is_dir():
            raise TableError(f"There is no folder {folder} to read partitions from.")
        found = sorted(str(path) for path in Path(folder).glob("*.parquet"))
    listed = _listed(str(folder).rstrip("/"))
    present = {path.rpartition("/")[2] for path in found}
    if listed is not None and (wrong := sorted(present ^ set(listed))):
        is_gone = wrong[0] in listed
        raise TableError(
            f"{folder}/{wrong[0]} is {'missing' if is_gone else 'one too many'}: {MANIFEST} lists "
            f"{len(listed)} partitions, and {len(present)} files are there. "
            f"{'Restore it' if is_gone else 'Remove it'}, or partition again."
        )
    if not found:
        raise TableError(f"There is no parquet file in {folder}.")
    return found


def _scan_part(source: Any) -> pl.LazyFrame:
    """Return the table of a part: of a file, also at an address, or a delayed one of Dask."""
    if not isinstance(source, str):
        found = source.compute() if hasattr(source, "compute") else source
        return pl.DataFrame(found).lazy()
    if not is_url(source):
        check_parquet(source)
        return pl.scan_parquet(source)
    system, path = _file_system(source)
    return pl.scan_parquet(BytesIO(system.cat_file(path)))


def _listed(folder: str) -> list[str] | None:
    """Return the names in the folder's list of partitions, if it has one."""
    path = f"{folder}/{MANIFEST}"
    try:
        if is_url(path):
            system, name = _file_system(path)
            text = system.cat_file(name)
        else:
            text = read_settings(path)
        return [str(name) for name in json.loads(text)["parts"]]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TableError(f"{path} could not be read: {error}. Partition again.") from error


def _file_system(url: str) -> tuple[Any, str]:
    try:
        fsspec = importlib.import_module("fsspec")
    except ModuleNotFoundError as error:
        raise MissingPackageError(f"Reading {url}", "fsspec", extra="dask") from error
    try:
        system, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise ParameterError(f"{url} cannot be opened: {error}") from error
    return system, str(path)


@dataclass(frozen=True)
class Written:
    """A folder of partitions: how many, and the rows of all and of the largest."""

    folder: Path
    parts: int
    rows: int
    largest: int

    def lines(self) -> list[str]:
        """Return the counts as a sentence."""
        return [
            f"{counted(self.rows, 'row')} in {counted(self.parts, 'partition')} by user, "
            f"{self.largest:,} in the largest: {self.folder}"
        ]


def write_partitions(
    interactions: Any,
    folder: str | Path,
    *,
    user: str = "user_id",
    item: str = "item_id",
    parts: int | None = None,
) -> Written:
    """Write interactions as parquet files, all rows of a user in one file.

    Rows are read in batches and assigned by a hash of the user. At most one batch or one partition
    is in memory. All columns are kept, so that a rule for positive rows can be applied later. The
    folder is renamed into place when it is complete.

    Parameters
    ----------
    interactions
        A csv, tsv, parquet or jsonl file, a folder of parquet files in any order, or a frame.
    folder
        A folder that does not exist, or is empty.
    user, item
        The columns of the ids.
    parts
        The number of partitions; by default about a million rows each.
    """
    target = Path(folder).absolute()
    RowReader(user, item)
    if parts is not None and (type(parts) is not int or not 1 <= parts <= _MOST_PARTS):
        raise ParameterError(
            f"parts must be a whole number from 1 to {_MOST_PARTS:,}, found {parts!r}."
        )
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"{target} has other files; nothing was written. Name a new folder.")
    try:
        frame = _scan(interactions)
        schema = pl.DataFrame(schema=frame.collect_schema().names())
        find_id_columns(Table(schema, _shown(interactions)), user=user, item=item)
        rows = int(frame.select(pl.len()).collect(engine="streaming").item())
        if rows == 0:
            raise TableError(f"There are no rows of interactions in {_shown(interactions)}.")
        count = -(-rows // ROWS_PER_PART) if parts is None else parts
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".partitioning-", dir=target.parent) as staging:
            _spread(frame, user, count, Path(staging))
            return _merge(Path(staging), target, user, item)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise TableError(
            f"{_shown(interactions)} could not be partitioned: {first_line(error)}."
        ) from error


def _scan(source: Any) -> pl.LazyFrame:
    """Return a lazy table; formats that cannot be scanned are read at once."""
    if isinstance(source, pl.LazyFrame):
        return source
    if isinstance(source, str | Path) and Path(source).exists():
        path = Path(source)
        files = list_parts(path) if path.is_dir() else [str(path)]
        for file in files:
            check_regular(file)
        suffix = Path(files[0]).suffix.lower()
        if suffix == ".parquet":
            return pl.scan_parquet(files)
        delimiter = guess_delimiter(sample_lines(path))
        if suffix in reading.TEXT_SUFFIXES and len(delimiter) == 1:
            return _scan_text(path, delimiter)
    return reading.read_table(source, what="interactions").lazy()


def _scan_text(path: Path, delimiter: str) -> pl.LazyFrame:
    """Scan separated text; a column is an integer column only if every cell is an integer."""
    frame = pl.scan_csv(path, separator=delimiter, infer_schema=False)
    cells = pl.all()
    whole = cells.cast(pl.Int64, strict=False).cast(pl.String)
    same = (whole == cells).fill_null(False) | cells.is_null()
    found = frame.select(same.all()).collect(engine="streaming").row(0, named=True)
    return frame.with_columns(
        pl.col([c for c, is_whole in found.items() if is_whole] or []).cast(pl.Int64)
    )


def _spread(frame: pl.LazyFrame, user: str, count: int, staging: Path) -> None:
    """Split each batch into one file for each part."""
    for number, batch in enumerate(frame.collect_batches(chunk_size=_BATCH_ROWS)):
        part_of = (batch[user].hash(0) % count).alias("part")
        split = batch.with_columns(part_of).partition_by("part", as_dict=True, include_key=False)
        for (part,), rows in split.items():
            room = staging / f"{part:05d}"
            room.mkdir(exist_ok=True)
            rows.write_parquet(room / f"{number:09d}.parquet")


def _merge(staging: Path, target: Path, user: str, item: str) -> Written:
    """Merge the pieces of each part, write the list of parts, and rename the folder."""
    whole = staging / "whole"
    whole.mkdir()
    sizes = {}
    for room in sorted(p for p in staging.iterdir() if p != whole):
        name = f"part-{room.name}.parquet"
        pieces = pl.scan_parquet(sorted(room.iterdir()))
        pieces.sink_parquet(whole / name)
        shutil.rmtree(room)
        sizes[name] = int(pl.scan_parquet(whole / name).select(pl.len()).collect().item())
    listed = {"parts": list(sizes), "rows": list(sizes.values()), "user": user, "item": item}
    (whole / MANIFEST).write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    whole.replace(target)
    return Written(target, len(sizes), sum(sizes.values()), max(sizes.values()))


def _shown(source: Any) -> str:
    return str(source) if isinstance(source, str | Path) else f"the {type(source).__name__}"
