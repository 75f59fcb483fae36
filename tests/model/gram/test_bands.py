"""Interactions in bands: products to the last digits, and rounded to two bytes."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from teaser.model.gram.bands import HIGHEST, band_height, lines
from teaser.model.gram.operator import SparseGram

SINGLE = np.dtype("float32")


def interactions(kind: str = "ones") -> sp.csr_array:
    """Users with histories of very different length; weights of users, or of interactions."""
    rng = np.random.default_rng(0)
    share = np.exp(rng.uniform(np.log(0.002), np.log(0.9), 500))
    X = sp.csr_array((rng.random((500, 300)) < share[:, None]).astype(np.float64))
    lengths = np.diff(X.indptr)
    if kind == "weights of users":
        X.data /= np.repeat(np.maximum(1, lengths), lengths) ** 0.25
    elif kind == "strengths":
        X.data *= rng.random(X.nnz)
    return X


@pytest.mark.parametrize("kind", ["ones", "weights of users", "strengths"])
def test_products_are_those_of_scipy(kind: str) -> None:
    X = interactions(kind)
    M = np.random.default_rng(1).standard_normal((300, 70))
    gram = SparseGram(X, np.dtype("float64"))
    assert_allclose(gram.apply(M), (X.T @ X) @ M, atol=1e-9)


def test_items_beyond_two_bytes_are_found() -> None:
    rng = np.random.default_rng(0)
    n_items = HIGHEST + 5000
    items = [np.sort(rng.choice(n_items, 40, replace=False)) for _ in range(30)]
    X = sp.csr_array(
        (np.ones(1200), np.concatenate(items), 40 * np.arange(31)), shape=(30, n_items)
    )
    M = rng.standard_normal((n_items, 16))
    gram = SparseGram(X, np.dtype("float64"))
    assert_allclose(gram.apply(M), X.T @ (X @ M), atol=1e-12)


@pytest.mark.parametrize("kind", ["ones", "strengths"])
def test_rows_lie_in_the_order_in_which_they_are_summed(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loops ask the memory for what comes a few places later, also in the next row."""
    monkeypatch.setattr("teaser.model.gram.bands.band_height", lambda *_: 170)
    bands = SparseGram(interactions(kind), SINGLE)._bands
    assert len(bands) == 3
    for by_user, by_item, _ in bands._bands:
        for starts, ends, places, _ in (by_user, by_item):
            assert (ends[:-1] == starts[1:]).all()
            assert ends[-1] == len(places)


@pytest.mark.parametrize("height", [17, 4096])
@pytest.mark.parametrize("kind", ["ones", "weights of users"])
def test_a_rounded_pair_is_near_the_exact_one(
    kind: str, height: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teaser.model.gram.bands.band_height", lambda *_: height)
    rng = np.random.default_rng(2)
    F, DV = rng.standard_normal((2, 300, 150)).astype(np.float32)
    F[:, 5] = 0
    eta, beta = rng.random(150, dtype=np.float32), rng.random(300, dtype=np.float32)
    gram = SparseGram(interactions(kind), SINGLE)
    assert gram.can_round
    exact, rounded = (f(F, DV, eta, beta) for f in (gram.apply_pair, gram.apply_pair_rounded))
    for part, wanted in zip(rounded, exact, strict=True):
        assert np.linalg.norm(part - wanted) < 1e-4 * np.linalg.norm(wanted)
        assert (part != wanted).any()


def test_what_cannot_be_rounded_says_so() -> None:
    assert not SparseGram(interactions("strengths"), SINGLE).can_round
    assert not SparseGram(interactions(), np.dtype("float64")).can_round
    long = sp.csr_array(np.ones((1, HIGHEST + 1)))
    assert not SparseGram(long, SINGLE).can_round
    assert SparseGram(long[:, 1:], SINGLE).can_round


@pytest.mark.parametrize(
    ("sizes", "height"),
    [((138_000, 20_000, 10_000_000), 4416), ((500_000, 100_000, 20_000_000), 40_000)],
)
def test_bands_are_higher_where_items_are_many(sizes: Any, height: int) -> None:
    assert band_height(*sizes) == height
    assert band_height(10, 1000, 0) <= HIGHEST


@pytest.mark.parametrize("shape", [(3, 64), (40_000, 64)])
def test_rows_begin_with_a_line_of_the_cache(shape: tuple[int, int]) -> None:
    for dtype in (np.int16, np.float32):
        made = lines(shape, dtype)
        assert made.shape == shape
        assert made.dtype == dtype
        assert made.flags.c_contiguous
        assert made.ctypes.data % 64 == 0


@pytest.mark.parametrize("kind", ["ones", "weights of users"])
@pytest.mark.parametrize("n_columns", [1, 64, 70])
def test_a_rounded_product_is_near_the_exact_one(kind: str, n_columns: int) -> None:
    gram = SparseGram(interactions(kind), SINGLE)
    M = np.random.default_rng(1).standard_normal((300, n_columns)).astype(np.float32)
    exact = gram.apply(M)
    error = np.linalg.norm(gram.apply_rounded(M) - exact) / np.linalg.norm(exact)
    assert 0 < error < 1e-4
