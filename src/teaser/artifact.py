"""Saved folders of arrays, tables and settings, with checksums, written atomically.

    manifest.json               kind, format version, settings, a checksum of every file
    arrays-<digest>.safetensors arrays, memory-mapped when read
    <table>-<digest>.parquet    ids, tags and metadata

The name of a file contains its checksum, and the manifest is renamed into place last. A reader
sees the old content or the new one, never a mixture. Nothing in a folder is executed.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save_file

from teaser._version import __version__
from teaser.errors import ArtifactError

FORMAT = "teaser"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
_BLOCK = 1 << 20
_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
_OWN_FILE = re.compile(r"\.writing-[0-9a-f]{32}|.+-[0-9a-f]{16}\.(safetensors|parquet)")
_DAMAGE = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError),
    *(struct.error, pl.exceptions.PolarsError),
)

T = TypeVar("T")
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Content:
    """The content of a folder: kind, settings, arrays (memory-mapped, read-only) and tables."""

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
        If the folder holds something else, or cannot be written. Its content is then unchanged.
    """
    folder = Path(os.path.abspath(folder))
    is_new = not os.path.lexists(folder)
    try:
        check_target(folder, kind)
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            try:
                _write(folder, kind, settings, arrays, tables)
            finally:
                _sweep(folder)
    except (OSError, ValueError, SafetensorError, pl.exceptions.PolarsError) as error:
        if is_new:
            with suppress(OSError, ValueError):
                folder.rmdir()
        raise ArtifactError(f"{folder} could not be written: {error}.") from error


def check_target(folder: str | Path, kind: str) -> None:
    """Raise `ArtifactError` unless the folder is new, empty or of this kind.

    Call it before long work whose result is written there.
    """
    folder = Path(os.path.abspath(folder))
    if folder.exists() and not folder.is_dir():
        raise ArtifactError(f"{folder} is a file, not a folder. Name another folder.")
    if not folder.is_dir() or all(_OWN_FILE.fullmatch(p.name) for p in folder.iterdir()):
        return
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ArtifactError(
            f"{folder} holds other files; nothing was written. Name a new or empty folder."
        )
    if manifest.get("kind") != kind:
        raise ArtifactError(
            f"{folder} holds a {_said(manifest.get('kind'))}, which a {_said(kind)} would replace; "
            "nothing was written. Name another folder."
        )


def read(folder: str | Path) -> Content:
    """Read a folder that `write` wrote, after checking every file against its checksum."""
    return _retry(Path(folder), _read)


def verify(folder: str | Path) -> None:
    """Raise `ArtifactError` if a file of a folder is not as `write` wrote it."""
    _retry(Path(folder), _verify)


def copy(folder: str | Path, target: str | Path) -> None:
    """Copy what `write` wrote into a new folder, and check the checksums.

    A reader of the copy does not depend on the files of the original: truncating a mapped file
    kills the process that reads it.

    Raises
    ------
    ArtifactError
        If the original is damaged, or the copy cannot be written. No partial copy is left.
    """
    _retry(Path(folder), lambda source, manifest: _copy(source, Path(target), manifest))


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the manifest of a folder, without reading the rest."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        what = "does not exist, so there is no"
        if Path(folder).exists():
            what = "has no" if Path(folder).is_dir() else "is a file, not a folder with a"
        raise ArtifactError(
            f"{folder} {what} {MANIFEST}; it is not a saved model or data set."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ArtifactError(f"{path} could not be read: {error}.") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ArtifactError(
            f"{path} was not written by teaser; it is not a saved model or data set."
        )
    if manifest.get("format_version") != FORMAT_VERSION:
        raise ArtifactError(
            f"{folder} has format {manifest.get('format_version')!r}, written by version "
            f"{manifest.get('written_by')}; this is {__version__}, which reads format "
            f"{FORMAT_VERSION}. Use the version that wrote it, or make it again."
        )
    if manifest.get("checksum") != _manifest_checksum(manifest):
        raise _changed(path)
    return manifest


def _said(kind: object) -> object:
    return "data set" if kind == "dataset" else kind


def _write(
    folder: Path,
    kind: str,
    settings: Mapping[str, Any],
    arrays: Arrays,
    tables: Mapping[str, pl.DataFrame],
) -> None:
    dense = {name: np.ascontiguousarray(a) for name, a in arrays.items()}
    files = {"arrays": _place(folder, "arrays", ".safetensors", lambda to: save_file(dense, to))}
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
    # As it will be read: JSON keys are text, and the checksum sorts them.
    manifest = json.loads(json.dumps(manifest, allow_nan=False))
    manifest["checksum"] = _manifest_checksum(manifest)
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    with _temporary(folder) as temporary:
        temporary.write_text(text, encoding="utf-8")
        _settle(temporary, folder / MANIFEST)


def _retry(folder: Path, use: Callable[[Path, dict[str, Any]], T]) -> T:
    """Use a folder and its manifest; start again if a writer replaced them meanwhile."""
    while True:
        manifest = read_manifest(folder)
        try:
            return use(folder, manifest)
        except (ArtifactError, *_DAMAGE) as error:
            if read_manifest(folder) != manifest:
                continue
            if isinstance(error, ArtifactError):
                raise
            raise ArtifactError(f"{folder} is damaged: {error!r}. Make it again.") from error


def _read(folder: Path, manifest: Mapping[str, Any]) -> Content:
    paths = _verify(folder, manifest)
    arrays = _map_arrays(paths.pop("arrays"))
    tables = {name: pl.read_parquet(path) for name, path in paths.items()}
    return Content(manifest["kind"], dict(manifest["settings"]), arrays, tables)


def _verify(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Path]:
    """Return the path of every file after checking its checksum."""
    paths = {}
    for name, entry in manifest["files"].items():
        paths[name] = path = _present(folder, entry)
        if _checksum(path) != entry["sha256"]:
            raise _changed(path)
    return paths


def _copy(folder: Path, target: Path, manifest: Mapping[str, Any]) -> None:
    is_new = not os.path.lexists(target)
    try:
        target.mkdir()
        for entry in manifest["files"].values():
            _copy_checked(_present(folder, entry), target, entry)
        (target / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    except (ArtifactError, *_DAMAGE) as error:
        if is_new:
            shutil.rmtree(target, ignore_errors=True)
        if isinstance(error, OSError):
            raise ArtifactError(f"{folder} could not be copied to {target}: {error}.") from error
        raise


def _copy_checked(path: Path, target: Path, entry: Mapping[str, Any]) -> None:
    digest = hashlib.sha256()
    with path.open("rb") as source, (target / path.name).open("xb") as sink:
        while block := source.read(_BLOCK):
            digest.update(block)
            sink.write(block)
    if digest.hexdigest() != entry["sha256"]:
        raise _changed(path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder for one writer; the system releases the lock when the process ends."""
    with _descriptor(folder) as directory:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield


@contextmanager
def _descriptor(folder: Path) -> Iterator[int]:
    directory = os.open(folder, os.O_RDONLY)
    try:
        yield directory
    finally:
        os.close(directory)


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """Yield an empty file in a temporary folder: some writers create more than one file."""
    room = folder / f".writing-{uuid4().hex}"
    room.mkdir()
    try:
        (room / "file").touch()
        yield room / "file"
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _place(folder: Path, name: str, suffix: str, save: Callable[[str], Any]) -> dict[str, Any]:
    """Save one file under a name with its checksum, and return its manifest entry."""
    with _temporary(folder) as temporary:
        ordinary = temporary.stat().st_mode
        save(str(temporary))
        temporary.chmod(ordinary)  # safetensors replaces the file with a private one
        digest, size = _checksum(temporary), temporary.stat().st_size
        target = f"{name}-{digest[:16]}{suffix}"
        _settle(temporary, folder / target)
    return {"name": target, "bytes": size, "sha256": digest}


def _settle(temporary: Path, target: Path) -> None:
    """Flush a file to disk, then rename it into place."""
    with temporary.open("rb+") as handle:
        os.fsync(handle.fileno())
    temporary.replace(target)
    with _descriptor(target.parent) as directory:
        os.fsync(directory)


def _sweep(folder: Path) -> None:
    """Remove own files that are not in the manifest; processes that mapped them keep them.

    Called under the lock, after every write, whether it succeeded or failed.
    """
    try:
        keep = {entry["name"] for entry in read_manifest(folder)["files"].values()}
    except (ArtifactError, *_DAMAGE):
        if (folder / MANIFEST).exists():
            return
        keep = set()
    for path in folder.iterdir():
        if _OWN_FILE.fullmatch(path.name) and path.name not in keep:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _present(folder: Path, entry: Mapping[str, Any]) -> Path:
    """Return the path of a file, after checking that it exists and has its length."""
    path = folder / Path(str(entry["name"])).name
    if not path.is_file():
        raise ArtifactError(f"{path} is missing. Copy the whole folder, or make it again.")
    size = path.stat().st_size
    if size != entry["bytes"]:
        raise ArtifactError(
            f"{path} has {size:,} bytes, {entry['bytes']:,} were written. Make it again."
        )
    return path


def _changed(path: Path) -> ArtifactError:
    return ArtifactError(f"{path} was changed after it was written. Make it again.")


def _checksum(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _manifest_checksum(manifest: Mapping[str, Any]) -> str:
    rest = {k: v for k, v in manifest.items() if k != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _map_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Memory-map the arrays of a safetensors file, so that processes share its pages."""
    flat = np.memmap(path, dtype=np.uint8, mode="r")
    (length,) = struct.unpack("<Q", bytes(flat[:8]))
    if 8 + length > len(flat):
        raise ValueError(f"{path.name} ends within its header")
    header = json.loads(bytes(flat[8 : 8 + length]))
    header.pop("__metadata__", None)
    numbers = np.asarray(flat[8 + length :])
    arrays = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        view = numbers[first:last].view(_DTYPES[entry["dtype"]])
        arrays[name] = view.reshape(entry["shape"])
    return arrays
