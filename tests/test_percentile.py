"""Tests of the 99th percentile of many rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from teaser.percentile import Array, percentile_99


@pytest.mark.parametrize("n", [1, 2, 7, 99, 101, 640, 1_000, 3_431])
def test_the_percentile_is_that_of_numpy(n: int) -> None:
    size = np.abs(np.random.default_rng(n).standard_normal((9, n)))
    size[3] = 0.0
    size[4, : n // 2] = 1.0
    size[5] = 2.5

    def nth(rows: Array, n: int, place: int) -> Array:
        return np.asarray(np.sort(rows[:, :n], axis=1)[:, [-place, 1 - place]])

    assert_array_equal(percentile_99(size, n), np.percentile(size, 99, axis=1))
    assert_array_equal(percentile_99(size, n, nth), np.percentile(size, 99, axis=1))
    assert_array_equal(percentile_99(size[:3], n), np.percentile(size[:3], 99, axis=1))
