"""What viewed items add: sums, parts, and what a share of a row keeps."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from teaser.model.extensions.viewed_items import (
    describe_remainder,
    len_of,
    pack_remainder,
    sparsify,
    unpack_remainder,
    viewed_parts,
    viewed_sum,
)


@pytest.fixture(name="R")
def a_remainder() -> Any:
    rng = np.random.default_rng(0)
    R = rng.standard_normal((600, 600)).astype(np.float32) ** 3
    np.fill_diagonal(R, 0)
    return R


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_sums_and_parts_are_entries_of_the_rows_viewed(R: Any, kind: Any) -> None:
    held = kind(np.where(np.abs(R) > 0.5, R, 0))
    dense = held.toarray() if sp.issparse(held) else held
    seen = np.array([7, 3, 599])
    total = viewed_sum(held, seen, 600)
    assert total.dtype == np.float64
    assert_allclose(total, dense[seen].sum(axis=0, dtype=np.float64), rtol=1e-12)
    for item in (0, 3, 250, 599):
        parts = viewed_parts(held, seen, item)
        assert_array_equal(parts, dense[seen, item].astype(np.float64))
        assert parts.sum() == pytest.approx(total[item], rel=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_items_that_came_later_add_and_get_nothing(R: Any, kind: Any) -> None:
    held = kind(R)
    seen = np.array([5, 601])
    total = viewed_sum(held, seen, 603)
    assert_allclose(total[:600], R[5])
    assert_array_equal(total[600:], 0)
    assert_array_equal(viewed_parts(held, seen, 9), [R[5, 9], 0])
    assert_array_equal(viewed_parts(held, seen, 602), [0, 0])
    assert_array_equal(viewed_sum(held, np.array([], dtype=np.int64), 603), 0)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.999])
def test_a_share_keeps_the_fewest_largest_entries_that_carry_it(R: Any, share: float) -> None:
    few = sparsify(R, share)
    few.check_format(full_check=True)
    assert few.has_sorted_indices
    assert few.dtype == np.float32
    kept = few.toarray()
    for row in (0, 255, 256, 599):
        square = np.square(R[row].astype(np.float64))
        carried = np.square(kept[row].astype(np.float64)).sum()
        least = np.square(kept[row][kept[row] != 0]).min()
        assert carried >= share * square.sum() * (1 - 1e-12)
        assert carried - least < share * square.sum()
        assert square[kept[row] == 0].max() <= least
        assert_array_equal(kept[row][kept[row] != 0], R[row][kept[row] != 0])


def test_rows_of_zeros_keep_nothing() -> None:
    few = sparsify(np.zeros((3, 3), dtype=np.float32), 0.9)
    assert few.shape == (3, 3)
    assert few.nnz == 0


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_what_is_packed_is_unpacked(R: Any, share: float) -> None:
    held = R if share == 1 else sparsify(R, share)
    again = unpack_remainder(pack_remainder(held), 600)
    assert (again != held).sum() == 0
    said = describe_remainder(again)
    assert said == {
        "items": 600,
        "entries": 600 * 599 if share == 1 else held.nnz,
        "sparse": share < 1,
    }
    assert len_of(again) == 600


def test_nothing_is_packed_of_nothing() -> None:
    assert pack_remainder(None) == {}
    assert unpack_remainder({}, 5) is None
    assert describe_remainder(None) is None
    with pytest.raises(ValueError, match="not of the items"):
        unpack_remainder({"remainder": np.zeros((2, 2))}, 3)
