"""Products by halves are as exact as those of single precision."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from on_gpu import needs_gpu

from teaser.model.cuda import halves
from teaser.model.cuda.launch import xp


def gram(kind: str, n: int, rng: np.random.Generator) -> Any:
    """Return X'X of counts up to 300,000 or of weights, where half of the items are rare."""
    X = (rng.random((4000, n)) < np.where(np.arange(n) < n // 2, 0.3, 0.01)).astype(np.float64)
    X[:, :3] = 1
    if kind == "weights":
        X *= rng.uniform(0.1, 2.0, (4000, 1))
    G = X.T @ X
    if kind == "large":
        G[:20, :20] *= 75
    return G.astype(np.float32)


def apart(found: Any, right: Any) -> float:
    found = xp().asnumpy(found).astype(np.float64)
    return float(np.linalg.norm(found - right) / np.linalg.norm(right))


@needs_gpu
@pytest.mark.parametrize("kind", ["counts", "large", "weights"])
@pytest.mark.parametrize(("chunk", "within"), [(256, 2e-6), (2048, 5e-6)])
def test_products_are_those_of_single_precision(
    kind: str, chunk: int, within: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    n, n_tags = 900, 333
    G = gram(kind, n, rng)
    half = halves.HalfGram(xp().asarray(G), chunk=chunk)
    assert half.parts == (3 if kind == "weights" else 2)
    assert (len(half.rows) > 0) == (kind == "large")
    # Rows and columns of very different sizes, as those of unknowns are.
    F, DV = (
        (
            rng.standard_normal((n, n_tags))
            * 10.0 ** rng.uniform(-4, 2, (n, 1))
            * 10.0 ** rng.uniform(-3, 1, n_tags)
        ).astype(np.float32)
        for _ in range(2)
    )
    eta, beta = rng.uniform(0, 100, n_tags), rng.standard_normal(n)
    eta, beta = eta.astype(np.float32), beta.astype(np.float32)
    G64, F64 = G.astype(np.float64), F.astype(np.float64)
    W = F64 * eta - beta[:, None] * DV.astype(np.float64)
    for block in (2**31, 4 * n * 128):  # all columns at once, and some at a time
        monkeypatch.setattr(halves, "_BLOCK_BYTES", block)
        there = [xp().asarray(array) for array in (F, DV, eta, beta)]
        assert apart(half.apply(there[0]), G64 @ F64) < within
        out, diagonal = half.apply_pair(*there)
        assert apart(out, G64 @ W) < within
        assert apart(diagonal, ((G64 @ F64) * DV).sum(axis=1)) < within
    assert apart(half.apply(there[0].T[:, :n].T[:n]), G64 @ F64) < within


@needs_gpu
def test_zeros_and_what_is_not_finite_stay() -> None:
    rng = np.random.default_rng(1)
    X = sp.random_array((50, 200), density=0.1, rng=rng, format="csr")
    half = halves.HalfGram(xp().asarray((X.T @ X).toarray().astype(np.float32)))
    M = xp().zeros((200, 150), np.float32)
    assert not half.apply(M).any()
    M[3, 4] = np.nan
    assert bool(xp().isnan(half.apply(M)[:, 4]).any())


def test_memory_of_a_product_is_bounded() -> None:
    assert halves.product_bytes(20_000, 3_000) < 2**30
    assert halves.product_bytes(1_000_000, 3_000) < 2**31 + 2**34
