"""Parquet files on a disk or at a URL: list them, and read columns of one."""

import importlib
import json
from pathlib import Path
from typing import Any

import polars as pl

from teaser.errors import MissingPackageError, ParameterError, TableError
from teaser.files.named import MOST_SETTINGS, FileRefusedError, read_bytes
from teaser.files.parquet import check_parquet

MANIFEST = "partitions.json"


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
    if listed is not None and (gone := sorted(set(listed) - present)):
        raise TableError(
            f"{folder}/{gone[0]} is missing: {MANIFEST} lists {len(listed)} partitions, and "
            f"{len(gone)} of them are missing. Restore them, or partition again."
        )
    if listed is not None and (more := sorted(present - set(listed))):
        raise TableError(
            f"{folder}/{more[0]} is not in {MANIFEST}, which lists {len(listed)} partitions. "
            "Remove it, or partition again."
        )
    if not found:
        raise TableError(f"There is no parquet file in {folder}.")
    return found


def read_columns(source: Any, columns: list[str]) -> pl.DataFrame:
    """Return the columns that a file or a table has of those named."""
    if not isinstance(source, str):
        source = source.compute() if hasattr(source, "compute") else source  # a part of Dask's
        frame = source if isinstance(source, pl.DataFrame) else pl.DataFrame(source)
        return frame.select([c for c in frame.columns if c in columns] or pl.all())
    try:
        if not is_url(source):
            check_parquet(source)
            return _read(source, columns)
        system, path = _file_system(source)
        with system.open(path, "rb") as handle:
            check_parquet(handle, pages=False)
            return _read(handle, columns)
    except FileRefusedError as error:
        raise TableError(f"{source} could not be read: {error}.") from error


def file_size(source: Any) -> int:
    """Return the size of a file in bytes; zero for a table in memory."""
    if not isinstance(source, str):
        return 0
    if is_url(source):
        system, path = _file_system(source)
        return int(system.size(path) or 0)
    return Path(source).stat().st_size


def _read(source: Any, columns: list[str]) -> pl.DataFrame:
    there = list(pl.read_parquet_schema(source))
    if not isinstance(source, str):
        source.seek(0)
    wanted = [column for column in columns if column in there]
    # If one is missing, read all, so that the error can list what there is.
    return pl.read_parquet(source, columns=wanted if len(wanted) == len(columns) else None)


def _listed(folder: str) -> list[str] | None:
    """Return the names in the folder's list of partitions, if it has one."""
    path = f"{folder}/{MANIFEST}"
    try:
        if is_url(path):
            system, name = _file_system(path)
            text = system.cat_file(name)
        else:
            text = read_bytes(path, most=MOST_SETTINGS)
    except FileNotFoundError:
        return None
    except FileRefusedError as error:
        raise TableError(f"{path} could not be read: {error}.") from error
    try:
        return [str(name) for name in json.loads(text)["parts"]]
    except (ValueError, KeyError, TypeError) as error:
        raise TableError(f"{path} is damaged: {error!r}. Partition again.") from error


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
