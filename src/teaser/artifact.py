"""Saved folders of arrays, tables and settings, with checksums, written atomically.

    manifest.json               kind, format version, settings, a checksum of every file
    arrays-<digest>.safetensors arrays, memory-mapped when read
    <table>-<digest>.parquet    ids, tags and metadata

The name of a file contains its checksum, and the manifest is renamed into place last. A reader
sees the old content or the new one, never a mixture. Nothing in a folder is executed.
"""

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

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save_file

from teaser._version import __version__
from teaser.errors import ArtifactError, TeaserError
from teaser.files.arrays import map_arrays
from teaser.files.named import FileRefusedError, check_regular, open_regular, read_settings
from teaser.files.parquet import read_parquet
from teaser.files.placing import TEMPORARY, locked, settle, temporary_file

FORMAT = "teaser"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
_BLOCK = 1 << 20
_OWN_FILE = re.compile(
    re.escape(TEMPORARY) + r"[0-9a-f]{32}|.+-[0-9a-f]{16}\.(safetensors|parquet)"
)
# What `teaser prepare` writes beside a data set, for its owner to edit.
_RULES = tuple(f"{of}rules{made}.toml" for of in ("", "user_") for made in ("", ".inferred"))
_DAMAGE = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError),
    *(OverflowError, MemoryError, pl.exceptions.PolarsError, pl.exceptions.PanicException),
)

_AGAIN = " Make it again."

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
        with locked(folder):
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
        raise ArtifactError(
            f"{folder} holds a {_said(manifest['kind'])}, which a {_said(kind)} would replace; "
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
        told = str(error) if isinstance(error, TeaserError) else _reason(error)
        reason = told.removesuffix(_AGAIN).rstrip(".")
        raise ArtifactError(f"{what}: {reason}.{_AGAIN}") from error


def replace(folder: str | Path, source: str | Path) -> None:
    """Replace the content of a folder by a copy of what `write` wrote into another.

    Raises
    ------
    ArtifactError
        If `source` is damaged, or the folder holds something else or cannot be written. Its
        content is then unchanged.
    """
    target = Path(os.path.abspath(folder))
    check_target(target, read_manifest(source)["kind"])
    _retry(Path(source), lambda place, manifest: _replace(target, place, manifest))


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the manifest of a folder, without reading the rest."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(read_settings(path))
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
    wrong = _find_wrong(manifest)
    if wrong:
        raise ArtifactError(f"{path} is damaged: {wrong}. Make it again.")
    return manifest


def saved_bytes(folder: str | Path) -> int:
    """Return the bytes of a folder's files, by its manifest."""
    return sum(int(entry["bytes"]) for entry in read_manifest(folder)["files"].values())


def _holds_own_files(folder: Path, kind: str) -> bool:
    """Whether a folder is empty, or all that it holds has names of files that are written there."""
    names = {path.name for path in folder.iterdir()}
    own = {name for name in names if _OWN_FILE.fullmatch(name)}
    others = names - own
    if others and any(name.endswith(".safetensors") for name in own):
        beside = _RULES if kind == "dataset" else ()
        return others <= {MANIFEST, *beside}
    return not others


def _find_wrong(manifest: Mapping[str, Any]) -> str:
    """Return what is of a wrong type or out of its range in a manifest; nothing if all is well."""
    files = manifest.get("files")
    if not isinstance(manifest.get("kind"), str):
        return f"its kind must be a name, found {manifest.get('kind')!r:.100}"
    if not isinstance(manifest.get("written_by"), str):
        return (
            f"the version that wrote it must be a text, found {manifest.get('written_by')!r:.100}"
        )
    if not isinstance(manifest.get("settings"), dict):
        return f"its settings must be a mapping, found {manifest.get('settings')!r:.100}"
    if not isinstance(files, dict) or "arrays" not in files:
        return f"its files must be a mapping with arrays, found {files!r:.100}"
    wrong = next((entry for entry in files.values() if not _is_entry(entry)), None)
    return "" if wrong is None else f"a file needs name, bytes and sha256, found {wrong!r:.100}"


def _is_entry(entry: Any) -> bool:
    """Whether this describes a file: its name, its size and its checksum."""
    if not isinstance(entry, dict):
        return False
    size, texts = entry.get("bytes"), (entry.get("name"), entry.get("sha256"))
    return all(isinstance(t, str) for t in texts) and type(size) is int and size >= 0


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return str(error) if isinstance(error, OSError | ValueError) else repr(error)


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
    with temporary_file(folder) as temporary:
        temporary.write_text(text, encoding="utf-8")
        settle(temporary, folder / MANIFEST)


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
            raise ArtifactError(f"{folder} is damaged: {_reason(error)}. Make it again.") from error


def _read(folder: Path, manifest: Mapping[str, Any]) -> Content:
    paths = _verify(folder, manifest)
    arrays = map_arrays(paths.pop("arrays"))
    tables = {name: read_parquet(path) for name, path in paths.items()}
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
    with open_regular(path) as source, (target / path.name).open("xb") as sink:
        while block := source.read(_BLOCK):
            digest.update(block)
            sink.write(block)
    if digest.hexdigest() != entry["sha256"]:
        raise _changed(path)


def _replace(folder: Path, source: Path, manifest: Mapping[str, Any]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            try:
                with temporary_file(folder) as temporary:
                    for entry in manifest["files"].values():
                        path = _present(source, entry)
                        _copy_checked(path, temporary.parent, entry)
                        settle(temporary.parent / path.name, folder / path.name)
                    temporary.write_text(json.dumps(manifest), encoding="utf-8")
                    settle(temporary, folder / MANIFEST)
            finally:
                _sweep(folder)
    except OSError as error:
        raise ArtifactError(f"{folder} could not be written: {error}.") from error


def _place(folder: Path, name: str, suffix: str, save: Callable[[str], Any]) -> dict[str, Any]:
    """Save one file under a name with its checksum, and return its manifest entry."""
    with temporary_file(folder) as temporary:
        ordinary = temporary.stat().st_mode
        save(str(temporary))
        temporary.chmod(ordinary)  # safetensors replaces the file with a private one
        digest, size = _checksum(temporary), temporary.stat().st_size
        target = f"{name}-{digest[:16]}{suffix}"
        settle(temporary, folder / target)
    return {"name": target, "bytes": size, "sha256": digest}


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
    try:
        check_regular(path)
    except FileRefusedError as error:
        raise ArtifactError(f"{path} cannot be read: {error}. Make it again.") from error
    except OSError:
        # Without its cause, which stands for a disk that refuses; see `app.serving.private_copy`.
        message = f"{path} is missing. Copy the whole folder, or make it again."
        raise ArtifactError(message) from None
    size = path.stat().st_size
    if size != entry["bytes"]:
        raise ArtifactError(
            f"{path} has {size:,} bytes, {entry['bytes']:,} were written. Make it again."
        )
    return path


def _changed(path: Path) -> ArtifactError:
    return ArtifactError(f"{path} was changed after it was written. Make it again.")


def _checksum(path: Path) -> str:
    with open_regular(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _manifest_checksum(manifest: Mapping[str, Any]) -> str:
    rest = {k: v for k, v in manifest.items() if k != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
