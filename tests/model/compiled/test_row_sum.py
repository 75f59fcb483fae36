"""Sums of rows in registers: those of numpy, whatever the types and however many rows there are."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from teaser.model.compiled.row_sum import row_sum

_sum32, _sum48 = row_sum(32), row_sum(48)
# The indices end where a page of memory ends that nobody may read: one place more ends the process.
_GUARDED = """
import ctypes, mmap
import numpy as np
from numba import njit
from teaser.model.compiled.row_sum import row_sum

sum_rows = row_sum(64)

@njit
def total(block, indices, first, last, out):
    sum_rows(block, indices, first, last, out, 0, False)

room = mmap.mmap(-1, 2 * mmap.PAGESIZE)
start = ctypes.addressof(ctypes.c_char.from_buffer(room))
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + mmap.PAGESIZE), mmap.PAGESIZE, 0) == 0
whole = np.frombuffer(room, np.uint16, mmap.PAGESIZE // 2)
whole[:] = np.arange(len(whole)) % 50
block = np.random.default_rng(0).standard_normal((50, 64))
for n in (1, 2, 24, 25, 61):
    out = np.zeros((1, 64))
    total(block, whole[-n:], 0, n, out)
    assert np.allclose(out[0], block[whole[-n:]].sum(axis=0))
print("all sums are right")
"""


@njit
def _sum(block: Any, indices: Any, first: int, last: int, out: Any, row: int, scale: Any) -> None:
    if block.shape[1] == 32:
        _sum32(block, indices, first, last, out, row, scale)
    else:
        _sum48(block, indices, first, last, out, row, scale)


def _named(n: int, width: int = 32) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows of a block, and n places of some of them."""
    rng = np.random.default_rng(n)
    return rng.standard_normal((50, width)), rng.integers(0, 50, n)


@pytest.mark.parametrize("width", [32, 48])
@pytest.mark.parametrize("kind", [np.uint16, np.int32])
@pytest.mark.parametrize("n", [0, 1, 2, 23, 24, 25, 26, 61])
def test_all_named_rows_are_added(n: int, kind: Any, width: int) -> None:
    block, indices = _named(n, width)
    out = np.full((3, width), 7.0)
    _sum(block, indices.astype(kind), 0, n, out, 1, False)
    assert_allclose(out[1], block[indices].sum(axis=0), atol=1e-12)
    _sum(block, indices.astype(kind), 0, n, out, 0, True)
    assert_allclose(out[0], 7 + block[indices].sum(axis=0), atol=1e-12)
    assert_array_equal(out[2], 7.0)


def test_no_place_beyond_the_last_is_read() -> None:
    """Rows are asked for 24 places before their turn."""
    done = subprocess.run(
        [sys.executable, "-c", _GUARDED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all sums are right\n"


def test_a_part_of_the_places_is_added_in_single_precision() -> None:
    block, indices = _named(61)
    out = np.zeros((1, 32), np.float32)
    _sum(block.astype(np.float32), indices, 5, 40, out, 0, False)
    assert_allclose(out[0], block[indices[5:40]].sum(axis=0), atol=1e-4)


def test_whole_numbers_are_summed_exactly_and_scaled() -> None:
    indices = _named(61)[1]
    block = np.random.default_rng(0).integers(-32767, 32768, (50, 32)).astype(np.int16)
    wanted = block[indices].sum(axis=0, dtype=np.int64)
    sums = np.full((1, 32), 7, np.int32)
    _sum(block, indices, 0, 61, sums, 0, None)
    assert_array_equal(sums[0], wanted)
    scale = np.arange(32, dtype=np.float32)
    out = np.ones((1, 32), np.float32)
    _sum(block, indices, 0, 61, out, 0, scale)
    assert_allclose(out[0], 1 + wanted * scale, rtol=1e-6)
