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
import math
import os
import re
import shutil
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from uuid import uuid4

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors import SafetensorError
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
_BLOCK = 1 << 20
# How the names of temporary folders begin; 32 hexadecimal digits follow.
TEMPORARY = ".writing-"
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


Array = NDArray[Any]

_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
# Numbers that are looked at together: a block and its answers stay in the processor's cache.
_FLOATS = 2**18


def map_arrays(path: Path) -> dict[str, Array]:
    """Memory-map the arrays of a safetensors file, so that processes share its pages.

    Raises
    ------
    ValueError
        If the header does not describe the bytes that follow it.
    """
    flat = np.memmap(path, dtype=np.uint8, mode="r")
    if len(flat) < 8:
        raise ValueError(f"{path.name} ends within its header")
    (length,) = struct.unpack("<Q", bytes(flat[:8]))
    if 8 + length > len(flat):
        raise ValueError(f"{path.name} ends within its header")
    header = json.loads(bytes(flat[8 : 8 + length]))
    if not isinstance(header, dict):
        raise ValueError(f"the header of {path.name} is no mapping")
    header.pop("__metadata__", None)
    numbers = np.asarray(flat[8 + length :])
    return {name: _view(name, entry, numbers) for name, entry in header.items()}


def find_not_finite(arrays: Mapping[str, Array]) -> str | None:
    """Return the name of the first array with a number that is infinite or no number, or None."""
    return next((name for name, array in arrays.items() if not is_finite(array)), None)


def is_finite(array: Array) -> bool:
    """Whether all numbers of an array are finite; large ones are looked at in blocks."""
    if array.dtype.kind != "f":
        return True
    return all(bool(np.isfinite(block).all()) for block in _blocks(array.reshape(-1)))


def _blocks(flat: Array) -> Iterator[Array]:
    for start in range(0, len(flat), _FLOATS):
        yield flat[start : start + _FLOATS]


def _view(name: str, entry: Any, numbers: Array) -> Array:
    """Return one array as a view of the bytes after the header."""
    if not isinstance(entry, dict) or entry.get("dtype") not in list(_DTYPES):
        raise ValueError(f"the array {name!r} has no type that is known: {entry!r:.100}")
    shape: Any = entry.get("shape")
    offsets: Any = entry.get("data_offsets")
    if not (_are_counts(shape) and _are_counts(offsets) and len(offsets) == 2):
        raise ValueError(f"the array {name!r} has no sizes: {entry!r:.100}")
    first, last = offsets
    dtype = np.dtype(_DTYPES[entry["dtype"]])
    if last > len(numbers) or last - first != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"the array {name!r} of the shape {shape} does not fit its bytes")
    return numbers[first:last].view(dtype).reshape(shape)


def _are_counts(values: Any) -> bool:
    """Whether this is a list of whole numbers, each at least 0."""
    return isinstance(values, list) and all(type(v) is int and v >= 0 for v in values)


_MAGIC = b"PAR1"
_TAIL = 8
# Bytes of a value in memory, by the number of its type in the file; texts have a view of 16 each.
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8, 6: 16, 7: 16}
_TEXTS = (6, 7)
# Most headers of pages are short; their statistics may hold long texts.
_HEADERS = (256, 2**16, 2**24)
_NONSENSE = (IndexError, KeyError, AttributeError, TypeError, ValueError, OverflowError)
# Writers end a dictionary at some MB. polars hangs at one text of 100 MB that many rows share.
_LARGEST_DICTIONARY = 2**24
_DEEPEST = 20
_WIDEST = 70

# The types of fields by their numbers, from the definition of the format: a number of a type, the
# fields of a struct, or a list of one of them. polars reads a field that it knows by its own type,
# whatever the file says; where the two differ, both would read different files.
_BOOL, _I8, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _STRUCT = 1, 3, 4, 5, 6, 7, 8, 9, 12
_BITS = {_I16: 16, _I32: 32, _I64: 64}
_Fields = dict[int, Any]


def _row(*types: Any) -> _Fields:
    """Return the types of fields that are numbered from 1."""
    return dict(enumerate(types, start=1))


_PAIRS = [_row(_BINARY, _BINARY)]
_STATISTICS = _row(_BINARY, _BINARY, _I64, _I64, _BINARY, _BINARY, _BOOL, _BOOL)
_TIME = _row(_BOOL, _row({}, {}, {}))
_LOGICAL: _Fields = {number: {} for number in range(1, 19)} | {
    5: _row(_I32, _I32),
    7: _TIME,
    8: _TIME,
    10: _row(_I8, _BOOL),
    16: _row(_I8),
    17: _row(_BINARY),
    18: _row(_BINARY, _I32),
}
_SCHEMA = _row(_I32, _I32, _I32, _BINARY, _I32, _I32, _I32, _I32, _I32, _LOGICAL)
_SPREAD = _row(_row(*[_DOUBLE] * 8), [_I32])
_COLUMN = _row(
    *(_I32, [_I32], [_BINARY], _I32, _I64, _I64, _I64, _PAIRS, _I64, _I64, _I64, _STATISTICS),
    *([_row(_I32, _I32, _I32)], _I64, _I32, _row(_I64, [_I64], [_I64]), _SPREAD),
)
_KEYS = _row({}, _row([_BINARY], _BINARY))
_CHUNK = _row(_BINARY, _I64, _COLUMN, _I64, _I32, _I64, _I32, _KEYS, _BINARY)
_GROUP = _row([_CHUNK], _I64, _I64, [_row(_I32, _BOOL, _BOOL)], _I64, _I64, _I16)
_CIPHER = _row(_BINARY, _BINARY, _BOOL)
_FOOTER = _row(
    *(_I32, [_SCHEMA], _I64, [_GROUP], _PAIRS, _BINARY, [_row({}, {})]),
    *(_row(_CIPHER, _CIPHER), _BINARY),
)
_PAGE = _row(
    *(_I32, _I32, _I32, _I32, _row(_I32, _I32, _I32, _I32, _STATISTICS), {}),
    *(_row(_I32, _I32, _BOOL), _row(*[_I32] * 6, _BOOL, _STATISTICS)),
)


def read_parquet(path: "str | Path") -> pl.DataFrame:
    """Read a parquet file whose values fit into memory.

    Raises
    ------
    FileRefusedError
        If `check_parquet` refuses it, or its texts take more memory than is left. Rows can share
        one text in a file and in polars, but not where they become Python's texts.
    """
    check_parquet(path)
    table = pl.read_parquet(path)
    size, room = _text_bytes(table), available_memory()
    if size > room:
        raise FileRefusedError(
            0, f"its texts take {say_bytes(size)} of memory, and {say_bytes(room)} are left"
        )
    return table


def _text_bytes(table: pl.DataFrame) -> int:
    """Return the bytes of all texts of a table, counted once for each row."""
    size = 0
    for column in table.iter_columns():
        while isinstance(column.dtype, pl.List | pl.Array):
            column = column.explode()
        if column.dtype in (pl.String, pl.Categorical, pl.Enum):
            size += int(column.cast(pl.String).str.len_bytes().sum())
    return size


def check_parquet(source: "str | Path | BinaryIO", *, pages: bool = True) -> None:
    """Raise `FileRefusedError` if a parquet file is not regular, or takes more memory than is left.

    What is no parquet file at all passes: whoever reads it says what is wrong. A parquet file
    whose sizes cannot be told is refused, because polars might read it all the same.

    Parameters
    ----------
    source
        The path of a file, or an open one, whose place is then its beginning.
    pages
        Whether to read the headers of pages too, all over the file: too slow at an address.
    """
    if isinstance(source, str | Path):
        with open_regular(source) as handle:
            check_parquet(handle, pages=pages)
        return
    footer = _read_footer(source)
    rows, size = (0, 0) if footer is None else _sizes(footer, source if pages else None)
    source.seek(0)
    room = available_memory()
    if size > room:
        raise FileRefusedError(
            0,
            f"its footer tells of {rows:,} rows, which take {say_bytes(size)} of memory, and "
            f"{say_bytes(room)} are left. If it is the right file, use a larger machine, or parts "
            "of it (teaser partition)",
        )


def _read_footer(handle: BinaryIO) -> bytes | None:
    """Return the bytes of the footer, or None where this is no parquet file."""
    size = handle.seek(0, os.SEEK_END)
    if size < len(_MAGIC) + _TAIL:
        return None
    handle.seek(size - _TAIL)
    tail = handle.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or not 0 < length <= size - _TAIL:
        return None
    handle.seek(size - _TAIL - length)
    return handle.read(length)


def _sizes(footer: bytes, handle: BinaryIO | None) -> tuple[int, int]:
    """Return the number of rows, and the bytes that all columns take in memory."""
    try:
        found = _Compact(footer).struct(_FOOTER)
        chunks = [chunk.get(3, {}) for group in found.get(4, ()) for chunk in group.get(1, ())]
        return int(found.get(3, 0)), sum(_chunk_size(chunk, handle) for chunk in chunks)
    except _NONSENSE as error:
        raise FileRefusedError(
            0,
            "its footer or the headers of its pages make no sense, so that nothing tells how "
            "much memory it takes. Write it anew",
        ) from error


def _chunk_size(chunk: dict[int, Any], handle: BinaryIO | None) -> int:
    """Return the bytes of a column of a row group: of its values, or of its pages if more."""
    kind, values, pages = chunk.get(1, 0), int(chunk.get(5, 0)), int(chunk.get(6, 0))
    if handle is not None and (kind in _TEXTS or len(chunk.get(3, ())) > 1):
        found = _count_pages(chunk, handle)
        values, pages = max(values, found[0]), max(pages, found[1])
    own = max(0, values) * _WIDTHS.get(kind, 16)
    return own + max(0, pages) if kind in _TEXTS else max(own, pages)


def _count_pages(chunk: dict[int, Any], handle: BinaryIO) -> tuple[int, int]:
    """Return the values and unpacked bytes of a column, added up over the headers of its pages."""
    values = size = 0
    place = int(chunk.get(11) or chunk[9])
    end = place + int(chunk[7])
    while place < end:
        page, length = _read_page(handle, place)
        size += max(0, page[2])
        if 7 in page and page[2] > _LARGEST_DICTIONARY:
            raise FileRefusedError(
                0,
                f"a dictionary of its texts has {say_bytes(page[2])}, above "
                f"{say_bytes(_LARGEST_DICTIONARY)}. Write it without dictionaries",
            )
        values += max(0, (page.get(5) or page.get(8) or {}).get(1, 0))
        place += length + max(0, page[3])
    return values, size


def _read_page(handle: BinaryIO, place: int) -> tuple[dict[int, Any], int]:
    """Return the header of the page at a place, and its length."""
    for length in _HEADERS:
        handle.seek(place)
        reader = _Compact(handle.read(length))
        try:
            return reader.struct(_PAGE), reader.place
        except IndexError:
            continue
    raise ValueError("the header of a page has no end")


def _check_type(kind: int, known: Any) -> None:
    """Raise `ValueError` if a value is of another type than its field."""
    if isinstance(known, dict | list):
        known = _STRUCT if isinstance(known, dict) else _LIST
    if known is not None and kind != known and (kind, known) != (2, _BOOL):
        raise ValueError(f"a field has type {kind} in place of {known}")


class _Compact:
    """A reader of Thrift's compact protocol; structs become mappings from the numbers of fields."""

    def __init__(self, text: bytes) -> None:
        self.text, self.place, self.depth = text, 0, 0

    def struct(self, fields: _Fields) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        with self._deeper():
            while head := self._byte():
                number = number + (head >> 4) if head >> 4 else self._signed(_I16)
                if number >= 2**15:  # the sum has 16 bits in polars
                    raise ValueError("the number of a field is too large")
                found[number] = self._value(head & 15, fields.get(number))
        return found

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        """Count how deeply structs and lists are nested."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ValueError("structs and lists are nested too deeply")
        yield
        self.depth -= 1

    def _value(self, kind: int, known: Any) -> Any:
        """Return a value of a type, which is checked if it is known."""
        _check_type(kind, known)
        if kind in (_BOOL, 2):
            return kind == _BOOL
        if kind == _I8:
            return self._byte()
        if kind in (_I16, _I32, _I64):
            return self._signed(kind)
        if kind == _DOUBLE:
            return self._take(8)
        if kind == _BINARY:
            return self._take(self._varint())
        if kind in (_LIST, 10):
            return self._list(known)
        if kind == _STRUCT:
            return self.struct(known or {})
        raise ValueError(f"unknown type {kind}")

    def _list(self, known: Any) -> list[Any]:
        head = self._byte()
        length, kind = head >> 4, head & 15
        length = self._varint() if length == 15 else length
        each = known[0] if known and length else None
        _check_type(kind, each)
        with self._deeper():
            # In a list each true or false takes a byte.
            return [
                self._byte() if kind in (_BOOL, 2) else self._value(kind, each)
                for _ in range(length)
            ]

    def _byte(self) -> int:
        self.place += 1
        return self.text[self.place - 1]

    def _take(self, length: int) -> bytes:
        self.place += length
        if self.place > len(self.text):
            raise IndexError("the footer ends early")
        return self.text[self.place - length : self.place]

    def _varint(self) -> int:
        found = shift = 0
        while True:
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
            shift += 7
            if shift > _WIDEST:
                raise ValueError("a number has too many bytes")

    def _signed(self, kind: int) -> int:
        found = self._varint()
        # polars cuts the bits off that are too many, and would find another number.
        if found >> _BITS[kind]:
            raise ValueError("a number has too many bits")
        return (found >> 1) ^ -(found & 1)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for one writer; the system releases the lock when the process ends."""
    with _descriptor(folder) as directory:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield


@contextmanager
def temporary_file(folder: Path) -> Iterator[Path]:
    """Yield an empty file in a temporary folder: some writers create more than one file."""
    room = folder / f"{TEMPORARY}{uuid4().hex}"
    room.mkdir()
    try:
        (room / "file").touch()
        yield room / "file"
    finally:
        shutil.rmtree(room, ignore_errors=True)


def settle(temporary: Path, target: Path) -> None:
    """Flush a file to disk, then rename it into place."""
    with temporary.open("rb+") as handle:
        os.fsync(handle.fileno())
    temporary.replace(target)
    with _descriptor(target.parent) as directory:
        os.fsync(directory)


@contextmanager
def _descriptor(folder: Path) -> Iterator[int]:
    directory = os.open(folder, os.O_RDONLY)
    try:
        yield directory
    finally:
        os.close(directory)
