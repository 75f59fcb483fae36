"""Any table of interactions -> a folder of partitions by user, in memory that does not grow."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

from teaser.data.reading.interactions import need_column, read_table
from teaser.data.reading.remote import MANIFEST
from teaser.errors import DataError, ParameterError, TableError

ROWS_PER_PART = 1_000_000
_MOST_PARTS = 10_000
_BATCH_ROWS = 1_000_000
_TEXTS = (".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class Written:
    """What was written: the folder, how many parts, and the rows in all and in the largest."""

    folder: Path
    parts: int
    rows: int
    largest: int

    def lines(self) -> list[str]:
        """Return it as a sentence."""
        return [
            f"{self.rows:,} rows in {self.parts:,} partitions by user, {self.largest:,} in the "
            f"largest: {self.folder}"
        ]


def write_partitions(
    interactions: Any,
    folder: str | Path,
    *,
    user: str = "user_id",
    item: str = "item_id",
    parts: int | None = None,
) -> Written:
    """Write interactions as parquet files in which every user has all rows in one of them.

    Rows are read in batches and told apart by a hash of the user, so that no more than a batch
    and, at the end, one partition is in memory. Columns are kept as they are, so that a rule for
    positive rows can be applied later. The folder appears when it is whole.

    Parameters
    ----------
    interactions
        A csv, tsv, parquet or jsonl file, a folder of parquet files in any order, or a frame.
    folder
        A folder that does not exist yet, or is empty.
    user, item
        The columns of the ids.
    parts
        How many; enough for about a million rows each when not given.
    """
    target = Path(folder).absolute()
    if user == item:
        raise ParameterError(f"Users and items cannot be the same column, found {user!r} for both.")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"{target} holds other files; nothing was written. Name a new folder.")
    frame = _scan(interactions)
    try:
        names = frame.collect_schema().names()
        for column in (user, item):
            need_column(pl.DataFrame(schema=names), column, "the interactions")
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
        said = str(error).strip().partition("\n")[0].rstrip(".")
        raise TableError(f"{_shown(interactions)} could not be partitioned: {said}.") from error
    return written


def _scan(source: Any) -> pl.LazyFrame:
    """Return a table to be read in batches; what cannot be read so is read at once."""
    if isinstance(source, pl.LazyFrame):
        return source
    if not isinstance(source, str | Path):
        return read_table(source, what="interactions").lazy()
    path = Path(source)
    if path.is_dir():
        if not any(path.glob("*.parquet")):
            raise TableError(f"There is no parquet file in {path}.")
        return pl.scan_parquet(path / "*.parquet")
    if not path.is_file():
        raise TableError(f"There is no file {path} to read the interactions from.")
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return pl.scan_parquet(path)
    if suffix in (".jsonl", ".ndjson"):
        return pl.scan_ndjson(path, infer_schema_length=None)
    if suffix in _TEXTS:
        return _scan_text(path)
    return read_table(path, what="interactions").lazy()


def _scan_text(path: Path) -> pl.LazyFrame:
    """Scan separated text; a column is whole numbers only if every cell is written as one."""
    with path.open(encoding="utf-8", errors="replace") as handle:
        header = handle.readline()
    separator = max(",;\t|", key=header.count)
    frame = pl.scan_csv(path, separator=separator, infer_schema=False)
    cells = pl.all()
    whole = cells.cast(pl.Int64, strict=False).cast(pl.String)
    same = (whole == cells).fill_null(False) | cells.is_null()
    found = frame.select(same.all()).collect(engine="streaming").row(0, named=True)
    return frame.with_columns(
        pl.col([c for c, is_whole in found.items() if is_whole] or []).cast(pl.Int64)
    )


def _spread(frame: pl.LazyFrame, user: str, item: str, count: int, staging: Path) -> None:
    """Write each batch as one file for every part that it has rows of."""
    for number, batch in enumerate(frame.collect_batches(chunk_size=_BATCH_ROWS)):
        place = (batch[user].hash(0) % count).alias("part")
        split = batch.with_columns(place).partition_by("part", as_dict=True, include_key=False)
        for (part,), rows in split.items():
            room = staging / f"{part:05d}"
            room.mkdir(exist_ok=True)
            rows.write_parquet(room / f"{number:09d}.parquet")


def _merge(staging: Path, target: Path, user: str, item: str) -> Written:
    """Put the pieces of each part together, list the parts, and bring all under its name."""
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
