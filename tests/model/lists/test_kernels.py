"""The compiled heap of the best items; what is done with it is tested by its users."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numba")
from teaser.model.lists import kernels


@given(
    scores=st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), max_size=60),
    width=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_the_heap_keeps_the_best_in_order(scores: list[float], width: int, seed: int) -> None:
    rank = np.random.default_rng(seed).permutation(len(scores))
    kept, items, size = np.empty(width), np.empty(width, dtype=np.int64), 0
    for item, score in enumerate(scores):
        size = kernels.keep(kept, items, rank, size, score, item)
    kernels.sort(kept, items, rank, size)
    wanted = sorted(range(len(scores)), key=lambda i: (-scores[i], rank[i]))[:width]
    assert items.tolist() == [*wanted, *[-1] * (width - len(wanted))]
    assert kept[:size].tolist() == [scores[i] for i in wanted]


@given(seen=st.sets(st.integers(0, 30)), item=st.integers(0, 30))
def test_what_was_seen_is_found(seen: set[int], item: int) -> None:
    own = np.array([-5, *sorted(seen), 99])
    assert kernels.is_seen(own, 1, 1 + len(seen), item) == (item in seen)


@given(
    seed=st.integers(0, 999),
    n=st.integers(2, 300),
    nth=st.integers(2, 40),
    spread=st.sampled_from([0.0, 1e-9, 1.0, 40.0]),
)
def test_the_nth_largest_is_that_of_a_sort(seed: int, n: int, nth: int, spread: float) -> None:
    rng, nth = np.random.default_rng(seed), min(n, nth)
    values = np.exp(spread * rng.standard_normal((4, n))) * rng.integers(0, 5, (4, n))
    wider, found = np.hstack([values, values + 9]), np.empty((4, 2))
    kernels.nth_largest(wider.view(np.int64), n, nth, found.view(np.int64))
    np.testing.assert_array_equal(found, np.sort(values)[:, n - nth : n - nth + 2])
