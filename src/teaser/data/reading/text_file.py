"""Text files: their bytes in UTF-8, unzipped, or an error that names the encoding to give."""

import codecs
import html
import json
from io import BytesIO
from pathlib import Path

import polars as pl

from teaser.data.reading.table import shown
from teaser.errors import ParameterError, TableError, closest, counted
from teaser.files.named import GZIP, open_regular, read_unpacked

_UNZIP = "Unpack it first; text may also be gzipped."
_KINDS = {
    b"PK\x03\x04": (
        "a zip archive or an Excel workbook",
        "Unpack it, or save the sheet as csv.",
    ),
    b"BZh": ("packed with bzip2", _UNZIP),
    b"\xfd7zXZ": ("packed with xz", _UNZIP),
    b"\x28\xb5\x2f\xfd": ("packed with zstd", _UNZIP),
    # polars would unpack these, however far they expand.
    **dict.fromkeys((b"x\x01", b"x\x9c", b"x\xda"), ("packed with zlib", _UNZIP)),
    b"7z\xbc\xaf": ("packed with 7z", _UNZIP),
    b"SQLite format 3": ("an SQLite database", "Export the table as csv."),
    b"\xd0\xcf\x11\xe0": ("an Excel workbook of an old kind", "Save the sheet as csv."),
}
_LONGEST_MARK = max(map(len, _KINDS))
_UTF8 = codecs.BOM_UTF8
# UTF-32's mark begins with that of UTF-16, so that it comes first.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});"
_AROUND = 20


def read_text(path: Path, encoding: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a text file as UTF-8 without trailing blank lines, and notes on its encoding."""
    text = read_unpacked(path)
    for start, (kind, advice) in _KINDS.items():
        if text.startswith(start):
            raise TableError(f"{path} is {kind}, which cannot be read as a table. {advice}")
    notes: tuple[str, ...] = ()
    codec = _codec(encoding, path)
    marked = next((name for mark, name in _MARKS.items() if text.startswith(mark)), None)
    if codec in ("utf-8", "utf-8-sig"):
        if marked is not None:
            text = text.decode(marked).encode()
    elif codec.startswith(("utf-16", "utf-32")) and b"\0" not in text:
        # A line break has a zero byte there.
        raise wrong_encoding(text, path, encoding)
    elif not codec.startswith("utf") and not text.isascii() and _is_utf8(text):
        # Text of another encoding with such bytes is next to never valid UTF-8.
        notes = (f"{path} is encoded in utf-8, and was read so, not as {encoding}",)
    else:
        try:
            text = text.decode(codec).encode()
        except UnicodeError as error:
            raise wrong_encoding(text, path, encoding) from error
    if b"\0" in text:
        raise wrong_encoding(text, path, encoding)
    text = text.removeprefix(_UTF8).rstrip(b"\r\n")
    return (text if b"\n" in text else text.replace(b"\r", b"\n")), notes


def is_packed(path: Path) -> bool:
    """Whether a file begins as packed ones do, which polars would unpack by itself."""
    with open_regular(path) as file:
        return file.read(_LONGEST_MARK).startswith((GZIP, *_KINDS))


def _codec(encoding: str, path: Path) -> str:
    try:
        return codecs.lookup(encoding).name
    except (LookupError, TypeError) as error:
        known = ("utf-8", "utf-16", "latin-1", "cp1252", "cp1251", "shift_jis", "gb18030", "big5")
        raise ParameterError(
            f"There is no encoding {encoding!r} to read {path} in.{closest(str(encoding), known)} "
            f"Usual ones: {', '.join(known)}. Without --encoding (encoding=) text is read as "
            "utf-8, and an error names the encoding that a file seems to have."
        ) from error


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def wrong_encoding(text: bytes, path: Path, encoding: str) -> TableError:
    """Return the error for a file in another encoding; it names one that works, and how to say so.

    Parameters
    ----------
    text
        The bytes of the file, unzipped.
    path, encoding
        The file, and the encoding that it was read in.
    """
    guess = _guess_encoding(text)
    if guess is None:
        return TableError(
            f"{path} is not text: it has zero bytes. Name a text file, parquet or jsonl."
        )
    option = f"encoding={guess!r} (--encoding {guess})"
    if guess.startswith("utf"):
        return TableError(
            f"{path} is not encoded in {encoding}. It looks like {guess}: give {option}."
        )
    start = _first_bad(text)
    line = text.count(b"\n", 0, start) + 1
    begin = max(text.rfind(b"\n", 0, start) + 1, start - _AROUND)
    around = text[begin : start + _AROUND].splitlines()[0].decode(guess, "replace")
    return TableError(
        f"{path} is not encoded in {encoding}: line {line} has the byte 0x{text[start]:02x}. "
        f"Read as {guess}, the line has {shown(around)}. If that is right, give {option}; "
        "otherwise the encoding that it was written in."
    )


def _first_bad(text: bytes) -> int:
    """Return the position of the first byte that is not UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _guess_encoding(text: bytes) -> str | None:
    """Return an encoding that reads these bytes, or None if they are no text."""
    if b"\0" in text:
        # Latin letters have a zero as their second byte in utf-16-le, as their first in utf-16-be.
        zeros = text[1::2].count(0), text[::2].count(0)
        if max(zeros) < len(text) / 8:
            return None
        guess = "utf-16-le" if zeros[0] > zeros[1] else "utf-16-be"
        try:
            text[: len(text) // 2 * 2].decode(guess)
        except UnicodeDecodeError:
            return None
        return guess
    if _is_utf8(text):
        return "utf-8"
    # Bytes from 0x80 to 0x9f are control characters in latin-1, and quotes or dashes in cp1252.
    if any(byte in text for byte in range(0x80, 0xA0)):
        try:
            text.decode("cp1252")
        except UnicodeDecodeError:
            return "latin-1"
        return "cp1252"
    return "latin-1"


def decode_entities(
    frame: pl.DataFrame, *, name: str, but: str
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return a table with `&amp;` as & and the like, and a note that counts the cells.

    Parameters
    ----------
    frame
        The table; lists of texts are left as they are.
    name
        What the table is called in the note.
    but
        The column of the ids, which stays as it is.
    """
    decoded = {}
    for column in frame:
        if column.dtype != pl.String or column.name == but:
            continue
        rows = column.str.contains(_ENTITY).fill_null(False)
        if rows.any():
            # Twice: some exports escape what is escaped already, as &amp;amp;
            plain = [html.unescape(html.unescape(c)) for c in column.filter(rows).to_list()]
            decoded[column.name] = column.scatter(rows.arg_true(), plain)
    if not decoded:
        return frame, ()
    cells = sum(int((frame[c] != new).sum()) for c, new in decoded.items())
    note = f"{counted(cells, 'cell')} of {name} had HTML entities such as &amp;, now decoded: "
    return frame.with_columns(decoded.values()), (note + ", ".join(decoded),)


def read_json_lines(text: bytes, path: Path) -> pl.DataFrame:
    """Read one JSON object a line; the error names the first line that is none."""
    if not text.strip():
        raise TableError(f"{path} is empty.")
    try:
        if text.lstrip().startswith(b"["):
            return pl.read_json(BytesIO(text), infer_schema_length=None)
        return pl.read_ndjson(text, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        for number, line in enumerate(text.decode().split("\n"), 1):
            if line.strip() and not _is_object(line):
                raise TableError(
                    f"Line {number} of {path} is not a JSON object: {shown(line)}. "
                    "Write one object a line."
                ) from error
        raise


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line, parse_constant=int), dict)
    except (ValueError, RecursionError):
        return False
