"""Arrays of a safetensors file: mapped as they were saved, or refused with a reason."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from teaser.artifact import find_not_finite, is_finite, map_arrays

SAVED = {"E": np.arange(6, dtype=np.float32).reshape(2, 3), "n": np.array([1, 2])}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save_file(SAVED, tmp_path / "a.safetensors")
    return tmp_path / "a.safetensors"


def forge(path: Path, **changes: Any) -> None:
    """Change what the header says of the array E."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header["E"] |= changes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])


def test_what_was_saved_comes_back(path: Path) -> None:
    found = map_arrays(path)
    assert found.keys() == SAVED.keys()
    for name, array in SAVED.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize(
    "changes",
    [
        {"dtype": "F16"},
        {"dtype": ["F32"]},
        {"dtype": None},
        {"shape": [3, 3]},
        {"shape": [-2, -3]},
        {"shape": [-1, 3]},
        {"shape": [2.0, 3]},
        {"shape": [True, 6]},
        {"shape": 6},
        {"shape": [2**62, 2**62, 0, 6]},
        {"data_offsets": [0]},
        {"data_offsets": [-24, 0]},
        {"data_offsets": [24, 0]},
        {"data_offsets": [0, 2**63]},
        {"data_offsets": ["0", "24"]},
        {"data_offsets": None},
    ],
)
def test_a_header_that_does_not_fit_the_bytes_is_refused(
    path: Path, changes: dict[str, Any]
) -> None:
    forge(path, **changes)
    with pytest.raises(ValueError, match="the array 'E'"):
        map_arrays(path)


@pytest.mark.parametrize("content", [b"", b"\0\0", struct.pack("<Q", 2**64 - 1) + b"{}"])
def test_a_file_that_ends_early_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"empty|ends within its header"):
        map_arrays(path)


def test_an_array_with_a_number_that_is_not_finite_is_named() -> None:
    for value in (np.nan, np.inf, -np.inf):
        long = np.zeros((3, 2**18), dtype=np.float32)
        long[2, 17] = value
        assert not is_finite(long)
        assert find_not_finite({"whole": np.arange(3), "good": np.ones(3), "bad": long}) == "bad"
    assert find_not_finite({"a": np.zeros((0, 3)), "b": np.ones(2, dtype=bool)}) is None
