"""How large a parquet file is once it is read, told by its footer before anything is allocated.

A file of some kilobytes can hold billions of equal values. polars reads the whole column and the
process is killed where the memory ends, so the sizes are looked up first. Rows are counted by the
footer, as polars does; the pages of texts and lists also by their own headers, because polars
unpacks them whatever the footer says. Both are written in the compact protocol of Thrift:
https://parquet.apache.org/docs/file-format/metadata/
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from teaser.files.memory import available_memory, say_bytes
from teaser.files.named import FileRefusedError, open_regular

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
