"""Sparse matrices: built from positions, read-only, packed and unpacked."""

from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from teaser.data.matrix import binary_matrix, fixed, pack, unpack, value_matrix
from teaser.errors import ArtifactError

MATRIX = binary_matrix(pl.Series([0, 2, 0]), pl.Series([3, 1, 0]), (3, 4))


def test_ones_are_at_the_positions() -> None:
    wanted = np.zeros((3, 4))
    wanted[[0, 2, 0], [3, 1, 0]] = 1
    np.testing.assert_array_equal(MATRIX.toarray(), wanted)
    assert MATRIX.dtype == np.float32
    assert MATRIX.has_sorted_indices


def test_a_fixed_matrix_takes_no_entries_old_or_new() -> None:
    matrix = fixed(MATRIX.copy())
    before = matrix.toarray()
    for row in range(3):
        with pytest.raises(ValueError, match="read-only"):
            matrix[row, 0] = 7
    with pytest.raises(ValueError, match="read-only"):
        matrix.setdiag(1)
    with pytest.raises(ValueError, match="read-only"):
        matrix *= 2
    np.testing.assert_array_equal(matrix.toarray(), before)
    copy = matrix.copy()
    copy[0, 0] = 5
    assert copy[0, 0] == 5


def test_ones_are_not_stored_and_other_values_are() -> None:
    assert pack("X", MATRIX).keys() == {"X.indices", "X.indptr"}
    for matrix in (MATRIX, MATRIX * 2):
        found = unpack("W", pack("W", matrix), (3, 4))
        np.testing.assert_array_equal(found.toarray(), matrix.toarray())


def test_what_is_not_complete_is_refused() -> None:
    for name in ("X.indices", "X.indptr"):
        parts = {key: part for key, part in pack("X", MATRIX).items() if key != name}
        with pytest.raises(ArtifactError, match="matrix X"):
            unpack("X", parts, (3, 4))
    with pytest.raises(ArtifactError, match="matrix X"):
        unpack("X", pack("X", MATRIX), (3, 2))


@pytest.mark.parametrize(
    ("part", "content"),
    [
        ("indptr", [0, 3, 0, 0]),  # scipy takes it for empty, and reads beyond the end
        ("indptr", [0, 2, 1, 3]),
        ("indptr", [1, 2, 2, 3]),
        ("indptr", [0, 2, 2, 9]),
        ("indptr", [0, -1, 2, 3]),
        ("indptr", [0.0, 2.0, 2.0, 3.0]),
        ("indptr", [[0, 2, 2, 3]]),
        ("indices", [0, 3, 4]),
        ("indices", [0, -1, 1]),
        ("indices", [0, 3]),
        ("indices", [True, False, True]),
        ("data", [1.0, 2.0]),
        ("data", [[1.0], [2.0], [3.0]]),
    ],
)
def test_parts_that_do_not_fit_are_refused(part: str, content: list[Any]) -> None:
    parts = {**pack("X", MATRIX * 2), f"X.{part}": np.array(content)}
    with pytest.raises(ArtifactError, match="matrix X is not whole"):
        unpack("X", parts, (3, 4))


def test_an_empty_matrix_is_packed_too() -> None:
    assert unpack("E", pack("E", sp.csr_array((0, 2))), (0, 2)).shape == (0, 2)


def test_values_stand_where_they_belong_and_last() -> None:
    matrix = value_matrix(np.array([1, 0]), np.array([0, 2]), pl.Series([0.5, 2.0]), (2, 3))
    assert matrix.dtype == np.float32
    assert matrix.toarray().tolist() == [[0, 0, 2], [0.5, 0, 0]]
    parts = pack("X", matrix)
    assert "X.data" in parts
    assert unpack("X", parts, (2, 3)).toarray().tolist() == matrix.toarray().tolist()
