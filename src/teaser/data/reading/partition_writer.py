"""Write interactions as a folder of partitions by user, in bounded memory."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

from teaser.data.reading import files
from teaser.data.reading.delimited import guess_delimiter, sample_lines
from teaser.data.reading.interactions import check_id_columns
from teaser.data.reading.likely_ids import find_id_columns
from teaser.data.reading.remote import MANIFEST
from teaser.data.reading.table import Table, first_line
from teaser.data.reading.text_file import is_packed
from teaser.errors import DataError, ParameterError, TableError, counted
from teaser.files.named import FileRefusedError, check_regular

ROWS_PER_PART = 1_000_000
_MOST_PARTS = 10_000
_BATCH_ROWS = 1_000_000


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
    check_id_columns(user, item)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"{target} has other files; nothing was written. Name a new folder.")
    frame = _scan(interactions)
    try:
        schema = pl.DataFrame(schema=frame.collect_schema().names())
        find_id_columns(Table(schema, _shown(interactions)), user=user, item=item)
        rows = int(frame.select(pl.len()).collect(engine="streaming").item())
        if rows == 0:
            raise TableError(f"There are no rows of interactions in {_shown(interactions)}.")
        count = -(-rows // ROWS_PER_PART) if parts is None else _checked_count(parts)
        staging = target.parent / f".partitioning-{uuid4().hex}"
        staging.mkdir(parents=True)
        try:
            _spread(frame, user, item, count, staging)
            written = _merge(staging, target, user, item)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise TableError(
            f"{_shown(interactions)} could not be partitioned: {first_line(error)}."
        ) from error
    return written


def _scan(source: Any) -> pl.LazyFrame:
    """Return a lazy table; formats that cannot be scanned are read at once."""
    if isinstance(source, pl.LazyFrame):
        return source
    if not isinstance(source, str | Path):
        return files.read_table(source, what="interactions").lazy()
    path = Path(source)
    if path.is_dir():
        if not any(path.glob("*.parquet")):
            raise TableError(f"There is no parquet file in {path}.")
        for part in path.glob("*.parquet"):
            _check(part)
        return pl.scan_parquet(path / "*.parquet")
    if not path.exists():
        raise TableError(f"There is no file {path} to read the interactions from.")
    _check(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return pl.scan_parquet(path)
    if is_packed(path):
        return files.read_table(path, what="interactions").lazy()
    if suffix in files.JSON_SUFFIXES:
        return pl.scan_ndjson(path, infer_schema_length=None)
    if suffix in files.TEXT_SUFFIXES:
        return _scan_text(path)
    return files.read_table(path, what="interactions").lazy()


def _check(path: Path) -> None:
    try:
        check_regular(path)
    except FileRefusedError as error:
        raise TableError(f"{path} could not be read: {error}.") from error


def _scan_text(path: Path) -> pl.LazyFrame:
    """Scan separated text; a column is an integer column only if every cell is an integer."""
    delimiter = guess_delimiter(sample_lines(path))
    if len(delimiter) > 1:
        return files.read_table(path, what="interactions").lazy()
    frame = pl.scan_csv(path, separator=delimiter, infer_schema=False)
    cells = pl.all()
    whole = cells.cast(pl.Int64, strict=False).cast(pl.String)
    same = (whole == cells).fill_null(False) | cells.is_null()
    found = frame.select(same.all()).collect(engine="streaming").row(0, named=True)
    return frame.with_columns(
        pl.col([c for c, is_whole in found.items() if is_whole] or []).cast(pl.Int64)
    )


def _spread(frame: pl.LazyFrame, user: str, item: str, count: int, staging: Path) -> None:
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


def _checked_count(parts: Any) -> int:
    is_count = isinstance(parts, int) and not isinstance(parts, bool)
    if not is_count or not 1 <= parts <= _MOST_PARTS:
        raise ParameterError(
            f"parts must be a whole number from 1 to {_MOST_PARTS:,}, found {parts!r}."
        )
    return int(parts)


def _shown(source: Any) -> str:
    return str(source) if isinstance(source, str | Path) else f"the {type(source).__name__}"
