"""Compiled loops over pairs of items give what numpy and scipy do."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from teaser.model.gram import pair_kernels


@pytest.mark.parametrize("share", [0.3, 0.05])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_row_of_the_gram_is_counted_up_to_a_column(weighted: bool, share: float) -> None:
    rng = np.random.default_rng(0)
    X = sp.csr_array((rng.random((30, 12)) < share) * rng.uniform(0.5, 2, (30, 12)))
    X = X.astype(np.float32)
    if not weighted:
        X.data[:] = 1
    Xt = sp.csr_array(X.T)
    values = (Xt.data, X.data) if weighted else (Xt.data[:0], X.data[:0])
    wide = X.astype(np.float64)
    G = (wide.T @ wide).toarray()
    row, touched = np.zeros(12), np.empty(13, np.int64)
    parts = ((Xt.indptr, Xt.indices, values[0]), (X.indptr, X.indices, values[1]))
    n = pair_kernels.count_row(*parts, 4, 9, row, touched)
    # More pairs than columns, or fewer: the two ways to write down which columns there are.
    assert (np.diff(X.indptr)[Xt.indices[Xt.indptr[4] : Xt.indptr[5]]].sum() > 9) == (share > 0.1)
    assert_allclose(row[:9], G[4, :9], rtol=1e-14)  # added in double precision
    assert not row[9:].any()
    assert G[4, :9].any()
    assert_array_equal(np.sort(touched[:n]), np.flatnonzero(G[4, :9]))


@pytest.mark.parametrize("m", [1, 3, 10, 40])
def test_the_nearest_are_selected_whatever_the_order_of_the_columns(m: int) -> None:
    rng = np.random.default_rng(m)
    g = rng.integers(1, 5, 40).astype(float)
    # Few different values, so that many cosines are equal.
    row = rng.integers(0, 3, 40).astype(float)
    cosine = np.round(row / np.sqrt(g[7] * g), 6)
    cosine[[7, *np.flatnonzero(row == 0)]] = -1
    wanted = np.sort([j for j in np.argsort(-cosine, kind="stable")[:m] if cosine[j] > 0])
    for _ in range(5):
        keys, out = np.zeros(m), np.zeros(m, np.int32)
        columns = rng.permutation(40)
        n = pair_kernels.select(row, columns, 7, g, 1 / np.sqrt(g), m, keys, out)
        assert_array_equal(out[:n], wanted)
        assert_array_equal(keys[:n], cosine[wanted])


def test_small_systems_are_solved_one_by_one() -> None:
    rng = np.random.default_rng(0)
    B = rng.standard_normal((60, 40))
    G = B.T @ B
    sets = [[3], [1, 4], [0, 5, 7, 8, 11, 20, 39], list(range(40))]
    items = np.array([3, 4, 7, 0])
    indptr = np.cumsum([0, *map(len, sets)])
    starts = np.cumsum([0, *(len(T) * (len(T) + 1) // 2 for T in sets)])
    triangles = np.concatenate([G[np.ix_(T, T)][np.tril_indices(len(T))] for T in sets])
    ridge, scale = rng.uniform(0.5, 2, 40), rng.uniform(0.5, 2, 40)
    minus = rng.standard_normal(indptr[-1] - 4)
    values, diagonal = np.full(len(minus), np.nan), np.zeros(4)
    none = np.zeros(0, np.int64)
    arrays = (items, (none, none, none, indptr, np.concatenate(sets), starts))
    rest = (ridge, scale, minus, values, diagonal)
    pair_kernels.solve_triangles(0, 4, *arrays, triangles, *rest)
    at = 0
    for T, j, found in zip(sets, items, diagonal, strict=True):
        near = [i for i in T if i != j]
        some = slice(at, at + len(near))
        A = G[np.ix_(near, near)] + np.diag(ridge[near])
        x = np.linalg.solve(A, scale[j] * G[near, j] - minus[some])
        assert_allclose(values[some], x, atol=1e-10)
        assert found == pytest.approx(G[near, j] @ x)
        at += len(near)
    triangles[starts[2] + 2] = -1e3  # no such Gram: its solution is not a number
    pair_kernels.solve_triangles(0, 4, *arrays, triangles, *rest)
    assert np.isnan(values[1:7]).any()
    assert not np.isnan(values[[0, *range(7, len(values))]]).any()


def test_products_of_pairs_are_those_of_the_arrays() -> None:
    rng = np.random.default_rng(1)
    rows, D = (
        rng.standard_normal((9, 6)),
        sp.csr_array(rng.random((9, 6)) * (rng.random((9, 6)) < 0.5)),
    )
    pairs = sp.csr_array(rng.random((9, 9)) < 0.4)
    slots = rng.permutation(pairs.nnz)
    out = np.zeros(pairs.nnz)
    pair_kernels.dot_pairs(
        (pairs.indptr, pairs.indices, slots), rows, (D.indptr, D.indices, D.data), 0, 9, out
    )
    i, j = pairs.nonzero()
    assert_allclose(out[slots], (rows @ D.T)[i, j])
