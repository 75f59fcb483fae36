"""A folder on disk that holds arrays, tables and settings, checksummed and written atomically.

    manifest.json               what it is, format version, settings, a checksum of every file
    arrays-<digest>.safetensors numbers, memory-mapped when read
    <table>-<digest>.parquet    vocabularies and metadata

A file's name carries its checksum, and the manifest is put in place last, by one rename: whoever
reads sees the old content or the new, never a mixture. Nothing in it is ever executed.
"""

import hashlib
import json
import os
import struct
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors.numpy import save_file

from teaser._version import __version__
from teaser.errors import ArtifactError

FORMAT = "teaser"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Content:
    """What a folder holds: its kind, settings, arrays (memory-mapped, read-only) and tables."""

    kind: str
    settings: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    tables: dict[str, pl.DataFrame]


def write(
    folder: str | Path,
    *,
    kind: str,
    settings: Mapping[str, Any],
    arrays: Arrays,
    tables: Mapping[str, pl.DataFrame],
) -> None:
    """Write a folder, or replace one that this function wrote.

    Raises
    ------
    ArtifactError
        If the folder holds something else, or cannot be written.
    """
    folder = Path(folder)
    _check_target(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        dense = {name: np.ascontiguousarray(a) for name, a in arrays.items()}
        files = {
            "arrays": _place(folder, "arrays", ".safetensors", lambda path: save_file(dense, path))
        }
        for name, table in tables.items():
            files[name] = _place(folder, name, ".parquet", table.write_parquet)
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "written_by": __version__,
            "kind": kind,
            "settings": dict(settings),
            "files": files,
        }
        manifest["checksum"] = _manifest_checksum(manifest)
        text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False)
        _replace(folder / MANIFEST, lambda path: Path(path).write_text(text, encoding="utf-8"))
    except OSError as error:
        raise ArtifactError(f"{folder} could not be written: {error}.") from error
    _sweep(folder, {entry["name"] for entry in files.values()})


def read(folder: str | Path) -> Content:
    """Read a folder that `write` wrote, after checking every file against its checksum."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    paths = {name: _checked(folder, entry) for name, entry in manifest["files"].items()}
    try:
        arrays = _map_arrays(paths.pop("arrays"))
        tables = {name: pl.read_parquet(path) for name, path in paths.items()}
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise ArtifactError(f"{folder} is damaged: {error}. Make it again.") from error
    return Content(manifest["kind"], manifest["settings"], arrays, tables)


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the manifest of a folder: what it is, without reading the rest."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        what = "has no" if Path(folder).is_dir() else "does not exist, so there is no"
        raise ArtifactError(
            f"{folder} {what} {MANIFEST}; it is no saved model or data set."
        ) from None
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path} could not be read: {error}.") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ArtifactError(
            f"{path} was not written by this program; it is no saved model or data set."
        )
    if manifest.get("format_version") != FORMAT_VERSION:
        raise ArtifactError(
            f"{folder} is of format {manifest.get('format_version')!r}, written by version "
            f"{manifest.get('written_by')}; this is {__version__}, which reads format "
            f"{FORMAT_VERSION}. Use the version that wrote it, or make it again."
        )
    if manifest.get("checksum") != _manifest_checksum(manifest):
        raise ArtifactError(f"{path} was changed after it was written. Make it again.")
    return manifest


def _check_target(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ArtifactError(f"{folder} is a file, and a folder is to be written there.")
    if folder.is_dir() and any(folder.iterdir()):
        try:
            read_manifest(folder)
        except ArtifactError as error:
            if (folder / MANIFEST).exists() and "was not written by" not in str(error):
                return
            raise ArtifactError(
                f"{folder} holds other files; nothing was written. Name a new or empty folder."
            ) from None


def _place(folder: Path, name: str, suffix: str, save: Any) -> dict[str, Any]:
    """Save one file under a name that carries its checksum, and describe it."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".writing-", delete=False) as handle:
        temporary = Path(handle.name)
    try:
        save(str(temporary))
        digest = _checksum(temporary)
        target = f"{name}-{digest[:16]}{suffix}"
        _settle(temporary, folder / target)
    finally:
        temporary.unlink(missing_ok=True)
    return {"name": target, "bytes": (folder / target).stat().st_size, "sha256": digest}


def _replace(target: Path, save: Any) -> None:
    temporary = target.with_name(f".writing-{os.getpid()}-{target.name}")
    try:
        save(temporary)
        _settle(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _settle(temporary: Path, target: Path) -> None:
    """Bring a file to the disk, then under its name, with the permissions of an ordinary file."""
    with temporary.open("rb+") as handle:
        os.fsync(handle.fileno())
    umask = os.umask(0)
    os.umask(umask)
    temporary.chmod(0o666 & ~umask)
    temporary.replace(target)
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _sweep(folder: Path, keep: set[str]) -> None:
    """Remove the files of earlier contents; a reader that has them mapped keeps them."""
    for path in [
        *folder.glob("*-*.safetensors"),
        *folder.glob("*-*.parquet"),
        *folder.glob(".writing-*"),
    ]:
        if path.name not in keep:
            path.unlink(missing_ok=True)


def _checked(folder: Path, entry: Mapping[str, Any]) -> Path:
    path = folder / Path(str(entry["name"])).name
    if not path.is_file():
        raise ArtifactError(f"{path} is missing. Copy the whole folder, or make it again.")
    size = path.stat().st_size
    if size != entry["bytes"]:
        raise ArtifactError(
            f"{path} has {size:,} bytes, {entry['bytes']:,} were written. Make it again."
        )
    if _checksum(path) != entry["sha256"]:
        raise ArtifactError(f"{path} was changed after it was written. Make it again.")
    return path


def _checksum(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _manifest_checksum(manifest: Mapping[str, Any]) -> str:
    rest = {k: v for k, v in manifest.items() if k != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _map_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Map the tensors of a safetensors file, so that processes share its pages."""
    with path.open("rb") as handle:
        (length,) = struct.unpack("<Q", handle.read(8))
        header = json.loads(handle.read(length))
    header.pop("__metadata__", None)
    flat = (
        np.memmap(path, dtype=np.uint8, mode="r", offset=8 + length)
        if header
        else np.empty(0, np.uint8)
    )
    arrays = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        view = np.asarray(flat[first:last]).view(_DTYPES[entry["dtype"]])
        arrays[name] = view.reshape(entry["shape"])
    return arrays
