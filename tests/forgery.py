"""Files that somebody forged: saved folders with checksums that fit, parquet with false footers."""

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from teaser import artifact


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


# A number of rows that is found in a footer, and nowhere else.
ROWS = 123_457


def _parquet_bytes(frame: pl.DataFrame, **options: Any) -> bytes:
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
    return claim_rows(_parquet_bytes(table), 10**12)
