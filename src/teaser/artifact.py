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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from teaser._version import __version__
from teaser.errors import ArtifactError, TeaserError
from teaser.files import (
    FileRefusedError,
    available_memory,
    check_regular,
    open_regular,
    read_settings,
    say_bytes,
)

FORMAT = "teaser"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
# How the names of temporary folders begin; 32 hexadecimal digits follow.
_TEMPORARY = ".writing-"
_OWN_FILE = re.compile(
    re.escape(_TEMPORARY) + r"[0-9a-f]{32}|.+-[0-9a-f]{16}\.(safetensors|parquet)"
)
# What `teaser prepare` writes beside a data set, for its owner to edit.
_RULES = tuple(f"{of}rules{made}.toml" for of in ("", "user_") for made in ("", ".inferred"))
_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
_DAMAGE = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError),
    *(OverflowError, MemoryError, SafetensorError),
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
)
_AGAIN = " Make it again."

T = TypeVar("T")
Array = NDArray[Any]


@dataclass(frozen=True)
class Content:
    """The content of a folder: kind, settings, arrays (memory-mapped, read-only) and tables."""

    kind: str
    settings: dict[str, Any]
    arrays: dict[str, Array]
    tables: dict[str, pl.DataFrame]


def write(
    folder: str | Path,
    *,
    kind: str,
    settings: Mapping[str, Any],
    arrays: Mapping[str, Array],
    tables: Mapping[str, pl.DataFrame],
) -> None:
    """Write a folder, or replace one that this function wrote.

    Raises
    ------
    ArtifactError
        If the folder holds something else, or cannot be written. Its content is then unchanged.
    """
    with _replacing(folder, kind) as room:
        dense = {name: np.ascontiguousarray(a) for name, a in arrays.items()}
        save_file(dense, room / "arrays.safetensors")
        files = {"arrays": _entry(room / "arrays.safetensors")}
        for name, table in tables.items():
            table.write_parquet(room / f"{name}.parquet")
            files[name] = _entry(room / f"{name}.parquet")
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
        _settle(room, manifest)


def copy(source: str | Path, target: str | Path) -> None:
    """Copy what `write` wrote into a new folder, or over another of its kind.

    Raises
    ------
    ArtifactError
        If the source is damaged, or the target holds something else or cannot be written. The
        target is then unchanged.
    """
    _retry(Path(source), lambda folder, manifest: _copy(folder, Path(target), manifest))


def check_target(folder: str | Path, kind: str) -> None:
    """Raise `ArtifactError` unless the folder is new, empty or of this kind.

    A folder whose manifest is lost or damaged is taken by the names of its files, where there are
    no others. Call it before long work whose result is written there.
    """
    folder = Path(os.path.abspath(folder))
    if folder.exists() and not folder.is_dir():
        raise ArtifactError(f"{folder} is a file, not a folder. Name another folder.")
    if not folder.is_dir():
        return
    manifest: Any = None
    with suppress(FileNotFoundError, FileRefusedError, ValueError, RecursionError):
        manifest = json.loads(read_settings(folder / MANIFEST))
    is_whole = isinstance(manifest, dict) and isinstance(manifest.get("kind"), str)
    if not is_whole and _holds_own_files(folder, kind):
        return
    if not is_whole or manifest.get("format") != FORMAT:
        raise ArtifactError(
            f"{folder} holds other files; nothing was written. Name a new or empty folder."
        )
    if manifest["kind"] != kind:
        found, wanted = (k.replace("dataset", "data set") for k in (manifest["kind"], kind))
        raise ArtifactError(
            f"{folder} holds a {found}, which a {wanted} would replace; nothing was written. Name "
            "another folder."
        )


def read(folder: str | Path) -> Content:
    """Read a folder that `write` wrote, after checking every file against its checksum."""
    return _retry(Path(folder), _read)


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Raise `ArtifactError` for any error that a damaged or forged content causes.

    Parameters
    ----------
    what
        The beginning of the sentence, such as "data is not a whole data set".
    """
    try:
        yield
    except (Exception, pl.exceptions.PanicException) as error:
        said = str(error) if isinstance(error, TeaserError) else _reason(error)
        raise ArtifactError(f"{what}: {said.removesuffix(_AGAIN).rstrip('.')}.{_AGAIN}") from error


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the manifest of a folder, without reading the rest."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(read_settings(path))
    except (FileNotFoundError, NotADirectoryError):
        what = "has" if Path(folder).exists() else "does not exist, so it has"
        raise ArtifactError(
            f"{folder} {what} no {MANIFEST}; it is not a saved model or data set."
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


def saved_bytes(folder: str | Path) -> int:
    """Return the bytes of a folder's files, by its manifest."""
    return sum(int(entry["bytes"]) for entry in read_manifest(folder)["files"].values())


def read_parquet(path: str | Path) -> pl.DataFrame:
    """Read a parquet file, or raise `FileRefusedError` if it does not fit into memory."""
    check_parquet(path)
    return pl.read_parquet(path)


def check_parquet(path: str | Path) -> None:
    """Raise `FileRefusedError` if a parquet file is not regular or takes more memory than is left.

    A file of some kilobytes can claim billions of rows, and polars would allocate them all.
    """
    check_regular(path)
    try:
        schema = pl.read_parquet_schema(path)
        rows = int(pl.scan_parquet(path).select(pl.len()).collect().item())
    except pl.exceptions.PolarsError:
        return  # whoever reads it says what is wrong
    widths = (8 if kind.is_numeric() or kind.is_temporal() else 16 for kind in schema.values())
    size, room = rows * sum(widths), available_memory()
    if size > room:
        raise FileRefusedError(
            f"its {rows:,} rows take {say_bytes(size)} of memory or more, and {say_bytes(room)} "
            "are left. If it is the right file, use a larger machine, or parts of it (teaser "
            "partition)"
        )


def find_not_finite(arrays: Mapping[str, Array]) -> str | None:
    """Return the name of the first array with a number that is infinite or no number, or None."""
    kinds = ((name, array) for name, array in arrays.items() if array.dtype.kind == "f")
    return next((name for name, array in kinds if not np.isfinite(array).all()), None)


def map_arrays(path: Path) -> dict[str, Array]:
    """Memory-map the arrays of a safetensors file, so that processes share its pages."""
    with safe_open(path, framework="numpy"):
        pass  # it refuses a header that does not describe the bytes after it
    flat = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
    start = 8 + int.from_bytes(flat[:8].tobytes(), "little")
    header = json.loads(flat[8:start].tobytes())
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        values = flat[start + first : start + last].view(_DTYPES[entry["dtype"]])
        arrays[name] = values.reshape(entry["shape"])
    return arrays


def _holds_own_files(folder: Path, kind: str) -> bool:
    """Whether a folder is empty, or all that it holds has names of files that are written there."""
    names = {path.name for path in folder.iterdir()}
    own = {name for name in names if _OWN_FILE.fullmatch(name)}
    others = names - own
    if others and any(name.endswith(".safetensors") for name in own):
        beside = _RULES if kind == "dataset" else ()
        return others <= {MANIFEST, *beside}
    return not others


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return str(error) if isinstance(error, OSError | ValueError) else repr(error)


@contextmanager
def _replacing(folder: str | Path, kind: str) -> Iterator[Path]:
    """Lock a folder for one writer, and yield a temporary folder in it for the new files."""
    folder = Path(os.path.abspath(folder))
    is_new = not os.path.lexists(folder)
    try:
        check_target(folder, kind)
        folder.mkdir(parents=True, exist_ok=True)
        directory = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
            try:
                room = folder / f"{_TEMPORARY}{uuid4().hex}"
                room.mkdir()
                yield room
                os.fsync(directory)
            finally:
                _sweep(folder)
        finally:
            os.close(directory)
    except BaseException as error:
        if is_new:
            with suppress(OSError, ValueError):
                folder.rmdir()
        if isinstance(error, OSError | ValueError | SafetensorError | pl.exceptions.PolarsError):
            raise ArtifactError(f"{folder} could not be written: {error}.") from error
        raise


def _settle(room: Path, manifest: Mapping[str, Any]) -> None:
    """Flush the files of a temporary folder and move them into place, the manifest last."""
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    (room / MANIFEST).write_text(text, encoding="utf-8")
    for name in (*(entry["name"] for entry in manifest["files"].values()), MANIFEST):
        with (room / name).open("rb+") as handle:
            os.fsync(handle.fileno())
        (room / name).replace(room.parent / name)


def _entry(path: Path) -> dict[str, Any]:
    """Rename a new file to its name with the checksum, and return its manifest entry."""
    path.chmod(path.parent.stat().st_mode & 0o666)  # safetensors makes its file private
    digest = _checksum(path)
    new = path.rename(path.with_name(f"{path.stem}-{digest[:16]}{path.suffix}"))
    return {"name": new.name, "bytes": new.stat().st_size, "sha256": digest}


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
            raise ArtifactError(f"{folder} is damaged: {_reason(error)}.{_AGAIN}") from error


def _read(folder: Path, manifest: Mapping[str, Any]) -> Content:
    paths = {name: _present(folder, entry) for name, entry in manifest["files"].items()}
    for name, path in paths.items():
        if _checksum(path) != manifest["files"][name]["sha256"]:
            raise _changed(path)
    arrays = map_arrays(paths.pop("arrays"))
    tables = {name: read_parquet(path) for name, path in paths.items()}
    return Content(manifest["kind"], dict(manifest["settings"]), arrays, tables)


def _copy(source: Path, target: Path, manifest: Mapping[str, Any]) -> None:
    with _replacing(target, manifest["kind"]) as room:
        for entry in manifest["files"].values():
            path = _present(source, entry)
            shutil.copyfile(path, room / path.name)
            if _checksum(room / path.name) != entry["sha256"]:
                raise _changed(path)
        _settle(room, manifest)


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
    path = folder / Path(entry["name"]).name
    try:
        size = path.stat().st_size
    except OSError:
        # Without its cause, which stands for a disk that refuses.
        message = f"{path} is missing. Copy the whole folder, or make it again."
        raise ArtifactError(message) from None
    if size != entry["bytes"]:
        raise ArtifactError(f"{path} has {size:,} bytes, {entry['bytes']:,} were written.{_AGAIN}")
    return path


def _changed(path: Path) -> ArtifactError:
    return ArtifactError(f"{path} was changed after it was written.{_AGAIN}")


def _checksum(path: Path) -> str:
    with open_regular(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _manifest_checksum(manifest: Mapping[str, Any]) -> str:
    rest = {k: v for k, v in manifest.items() if k != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
