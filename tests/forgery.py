"""Files that somebody forged: saved folders with checksums that fit, parquet with false footers."""

import hashlib
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from safetensors.numpy import save_file

from teaser import artifact

WRONG: list[Any] = [
    *(None, True, 0, -1, 3, 2**40, -(2**70), 1.5, 1e300, float("nan"), "", "x", "\0", "a" * 300),
    *([], [[]], ["x", "y"], {}, {"x": {"y": [1]}}, [None], [-1, -1]),
]
WRONG_NUMBERS = (np.nan, np.inf, -np.inf, -1, 0, 7, 2**31 - 1, -(2**31), 1e30)


def sign(folder: Path, manifest: dict[str, Any]) -> None:
    """Write a manifest with the checksum that belongs to it."""
    rest = {key: value for key, value in manifest.items() if key != "checksum"}
    rest["checksum"] = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
    (folder / artifact.MANIFEST).write_text(json.dumps(rest), encoding="utf-8")


def forge_file(folder: Path, name: str, write: Callable[[str], Any]) -> None:
    """Write a file of a folder anew; size and checksum in the manifest fit it."""
    manifest = json.loads((folder / artifact.MANIFEST).read_text(encoding="utf-8"))
    entry = manifest["files"][name]
    path = folder / entry["name"]
    path.unlink()
    write(str(path))
    content = path.read_bytes()
    entry.update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    sign(folder, manifest)


def forge_manifest(folder: Path, rng: np.random.Generator) -> str:
    """Put something wrong in some place of a manifest; return what was done."""
    manifest = json.loads((folder / artifact.MANIFEST).read_text(encoding="utf-8"))
    manifest.pop("checksum")
    places = list(_places(manifest))
    holder, key = places[rng.integers(len(places))]
    wrong = WRONG[rng.integers(len(WRONG))]
    said = f"{key!r}: {str(holder[key])[:60]} -> {wrong!r:.60}"
    if rng.random() < 0.15:
        said = f"{key!r} left out"
        del holder[key]
    elif rng.random() < 0.2 and isinstance(holder, list):
        said = f"{key!r} twice"
        holder.append(holder[key])
    else:
        holder[key] = wrong
    sign(folder, manifest)
    return said


def forge_arrays(folder: Path, rng: np.random.Generator) -> str:
    """Change an array of a folder in its numbers, type, shape or name; return what was done."""
    arrays = {name: np.array(a) for name, a in artifact.read(folder).arrays.items()}
    name = str(rng.choice(sorted(arrays)))
    array, how = arrays[name], int(rng.integers(6))
    wrong = WRONG_NUMBERS[rng.integers(len(WRONG_NUMBERS))]
    if how == 0:
        del arrays[name]
    elif how == 1:
        kinds = (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_)
        with np.errstate(invalid="ignore"):
            arrays[name] = array.astype(kinds[rng.integers(len(kinds))])
    elif how == 2:
        shapes = ((-1,), (1, -1), (-1, 1), (1, 1, -1))
        arrays[name] = array.reshape(shapes[rng.integers(len(shapes))])
    elif how == 3:
        arrays[name] = array[: rng.integers(len(array) + 1)] if array.ndim else array
    elif how == 4:
        arrays[name] = arrays[str(rng.choice(sorted(arrays)))]
    elif array.size:
        with np.errstate(invalid="ignore"):
            few = rng.integers(array.size, size=int(rng.integers(1, 4)))
            array.reshape(-1)[few] = np.asarray(wrong).astype(array.dtype)
    forge_file(folder, "arrays", lambda path: save_file(arrays, path))
    return f"array {name}, change {how}, {wrong}"


def forge_table(folder: Path, rng: np.random.Generator) -> str:
    """Change a table of a folder in its cells, types, rows or columns; return what was done."""
    tables = artifact.read(folder).tables
    name = str(rng.choice(sorted(tables)))
    table, how = tables[name], int(rng.integers(6))
    column = table.columns[rng.integers(table.width)]
    if how == 0:
        table = table.drop(column)
    elif how == 1:
        table = table.head(int(rng.integers(table.height)))
    elif how == 2:
        table = table.with_columns(pl.lit(None, table[column].dtype).alias(column))
    elif how == 3:
        table = pl.concat([table, table.head(1)])
    elif how == 4:
        wrong: list[Any] = [1.5, [1, 2], "x", b"\xff", True, 3]
        table = table.with_columns(pl.lit(wrong[rng.integers(6)], allow_object=False).alias(column))
    else:
        table = table.with_columns(pl.lit(table[column][0]).alias(column))
    forge_file(folder, name, table.write_parquet)
    return f"table {name}, column {column}, change {how}"


# A number of rows that is found in a footer, and nowhere else.
ROWS = 123_457


def parquet_bytes(frame: pl.DataFrame, **options: Any) -> bytes:
    """Return a table as the bytes of a parquet file."""
    file = io.BytesIO()
    frame.write_parquet(file, **options)
    return file.getvalue()


def footer_number(number: int) -> bytes:
    """Return a count as the footer of a parquet file writes it."""
    number, out = 2 * number, b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def claim_rows(content: bytes, rows: int, found: int = ROWS) -> bytes:
    """Return a parquet file whose footer claims another number than is found there."""
    length = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - length : -8].replace(footer_number(found), footer_number(rows))
    return content[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def bomb() -> bytes:
    """Return a parquet file of some kilobytes that claims a million million rows."""
    table = pl.DataFrame({"user_id": pl.repeat(1, ROWS, eager=True), "item_id": "a"})
    return claim_rows(parquet_bytes(table), 10**12)


FORGERIES = (forge_manifest, forge_arrays, forge_table)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in nested mappings and lists, as its holder and its key."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])
