"""The arrays of a safetensors file, memory-mapped, after checking what its header says of them.

Nothing of the header is believed: whoever writes the file writes its checksum too.
"""

import json
import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
# Numbers that are looked at together: a block and its answers stay in the processor's cache.
_BLOCK = 2**18


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
    for start in range(0, len(flat), _BLOCK):
        yield flat[start : start + _BLOCK]


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
