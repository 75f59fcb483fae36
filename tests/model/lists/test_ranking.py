"""The best items of many users are those of each."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from teaser.model.scores import top_k, top_k_rows


@given(
    seed=st.integers(0, 10_000),
    n_items=st.integers(1, 400),
    k=st.integers(1, 12),
    levels=st.sampled_from([2, 7, 1000]),
)
def test_rows_are_ranked_as_one(seed: int, n_items: int, k: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, (5, n_items)) / levels - 0.5
    tie = rng.integers(0, 3, n_items) / 3
    exclude = sp.csr_array((rng.random((5, n_items)) < rng.random((5, 1))).astype(float))
    allowed = rng.random(n_items) < 0.8
    found = top_k_rows(scores, k, exclude=exclude, tie=tie, allowed=allowed)
    assert found.shape == (5, k)
    for row in range(5):
        barred = np.concatenate([exclude[[row]].indices, np.flatnonzero(~allowed)])
        wanted = top_k(scores[row], k, exclude=barred, tie=tie)
        assert found[row].tolist() == [*wanted.tolist(), *[-1] * (k - len(wanted))]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_has_no_score_is_not_listed(dtype: str) -> None:
    scores = np.array([[-np.inf, 1.0, -np.inf, -3.0], [-np.inf] * 4], dtype=dtype)
    found = top_k_rows(scores, 3, exclude=None, tie=np.zeros(4))
    assert found.tolist() == [[1, 3, -1], [-1, -1, -1]]
