"""The compiled loops against scipy: every shape that interactions can have, and no numba at all."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from teaser.model.gram import bands, blocks, kernels
from teaser.model.gram import operator as module
from teaser.model.gram.operator import DenseGram, SparseGram

KINDS: list[np.dtype[Any]] = [np.dtype("float32"), np.dtype("float64")]


def interactions(kind: str) -> sp.csr_array:
    """A matrix that one of the loops could stumble over."""
    rng = np.random.default_rng(0)
    X = (rng.random((90, 37)) < 0.25).astype(np.float64)
    if kind == "empty rows":
        X[::3] = 0
    elif kind == "empty columns":
        X[:, ::4] = 0
    elif kind == "one user":
        X = X[:1]
    elif kind == "nobody":
        X = X[:0]
    elif kind == "single items":
        X = np.eye(37)[rng.integers(37, size=50)]
    elif kind == "everything":
        X[:] = 1
    elif kind == "weights":
        X *= rng.integers(1, 5, X.shape)
    return sp.csr_array(X)


SHAPES = [
    "plain", "empty rows", "empty columns", "one user", "nobody", "single items", "everything",
    "weights",
]  # fmt: skip


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_products_and_counts_are_those_of_scipy(shape: str, dtype: np.dtype[Any]) -> None:
    X = interactions(shape)
    G = (X.T @ X).toarray()
    M = np.random.default_rng(1).standard_normal((37, 70)).astype(dtype)
    close: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-3 if dtype == np.float32 else 1e-10}
    gram = SparseGram(X, dtype)
    assert_allclose(gram.apply(M), G @ M, **close)
    sparse = sp.csr_array(np.where(np.abs(M) > 1.5, M, 0))
    assert_allclose(gram.apply(sparse), G @ sparse.toarray(), **close)
    assert (DenseGram.from_interactions(X, dtype).G == G).all()
    assert (gram.diagonal() == G.diagonal()).all()


def test_only_the_rows_that_were_asked_for_are_counted() -> None:
    X = interactions("plain")
    Xt = sp.csr_array(X.T)
    G = np.zeros((37, 37))
    kernels.count(Xt.indptr, Xt.indices, None, X.indptr, X.indices, None, -1.0, 5, 9, G)
    assert_allclose(G[5:9], -(X.T @ X).toarray()[5:9])
    assert not G[:5].any()
    assert not G[9:].any()


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_replace_what_is_there_or_are_added_to_it(shape: str) -> None:
    X = interactions(shape)
    values = X.data if shape == "weights" else None
    for width, add in product((16, 32, 48, 64), (True, False)):
        block = np.random.default_rng(0).standard_normal((37, width))
        out = np.full((X.shape[0], width), 7.0)
        rows = (X.indptr[:-1], X.indptr[1:], X.indices)
        if values is None:
            kernels.gather(*rows, block, out, add)
        else:
            kernels.gather_weighted(*rows, values, block, out, add)
        assert_allclose(out, 7 * add + X @ block)


def test_sums_of_two_bytes_are_exact() -> None:
    X = interactions("plain")
    rng = np.random.default_rng(0)
    block = rng.standard_normal((37, 64)).astype(np.float32)
    block[:, 3] = 0
    whole, scale = np.empty((37, 64), np.int16), np.empty(64, np.float32)
    kernels.round_columns(block, None, whole, scale)
    assert_allclose(whole * scale, block, atol=0.51 * float(scale.max()))
    assert (np.abs(whole).max(axis=0) == np.where(np.arange(64) == 3, 0, 32767)).all()
    rows = (X.indptr[:-1], X.indptr[1:], X.indices)
    sums = np.full((90, 64), 7, np.int32)
    kernels.gather_rounded(*rows, whole, sums)
    wanted = X.astype(np.int64) @ whole.astype(np.int64)
    assert (sums == wanted).all()
    out = np.ones((90, 64), np.float32)
    kernels.add_rounded(*rows, whole, scale, out)
    assert_allclose(out, 1 + wanted * scale, rtol=1e-5, atol=1e-5)


def test_weights_of_rows_are_rounded_with_them() -> None:
    rng = np.random.default_rng(0)
    block = rng.integers(-1000, 1000, (37, 64)).astype(np.int32)
    weights = rng.random(37, dtype=np.float32)
    whole, scale = np.empty((37, 64), np.int16), np.empty(64, np.float32)
    kernels.round_columns(block, weights, whole, scale)
    assert_allclose(whole * scale, weights[:, None] * block, atol=0.51 * float(scale.max()))


@pytest.mark.parametrize("first", [0, 32, 64])
def test_a_pair_is_put_side_by_side_and_read_again(first: int) -> None:
    rng = np.random.default_rng(0)
    F, DV = rng.standard_normal((2, 37, 70)).astype(np.float32)
    eta, beta = rng.random(70, dtype=np.float32), rng.random(37, dtype=np.float32)
    both, n = np.full((37, 64), 7, np.float32), min(32, 70 - first)
    columns = slice(first, first + n)
    here = np.ascontiguousarray(DV[:, columns])
    kernels.join_pair(F, here, eta, beta, first, both)
    W = F * eta - beta[:, None] * DV
    assert_allclose(both[:, :n], F[:, columns])
    assert_allclose(both[:, 32 : 32 + n], W[:, columns], rtol=1e-5, atol=1e-6)
    assert not both[:, n:32].any()
    assert not both[:, 32 + n :].any()
    out, diagonal = np.full((37, 70), 7, np.float32), np.empty(37)
    kernels.spread_pair(both, here, first, out, diagonal)
    assert_allclose(out[:, columns], both[:, 32 : 32 + n])
    assert (np.delete(out, np.arange(first, first + n), axis=1) == 7).all()
    assert_allclose(diagonal, (F * DV)[:, columns].sum(axis=1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_of_the_gram_are_counted_by_themselves(shape: str) -> None:
    X = interactions(shape)
    found = SparseGram(X, KINDS[1]).rows(5, 19)
    assert (found == (X.T @ X).toarray()[5:19]).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_users_in_many_bands_give_the_same(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = interactions(shape)
    M = np.random.default_rng(1).standard_normal((37, 70))
    whole = SparseGram(X, KINDS[1]).apply(M)
    monkeypatch.setattr(bands, "band_height", lambda *_: 7)
    gram = SparseGram(X, KINDS[1])
    assert_allclose(gram.apply(M), whole, atol=1e-12)
    assert len(gram._bands) == -(-X.shape[0] // 7)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_bits_do_not_depend_on_the_number_of_threads(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    X = sp.random_array((400, 300), density=0.05, format="csr", rng=rng)
    X.data[:] = 1
    F, DV = rng.standard_normal((2, 300, 150)).astype(np.float32)
    eta, beta = rng.random(150, dtype=np.float32), rng.random(300, dtype=np.float32)
    gram = SparseGram(X, KINDS[0])
    whole, pair = gram.apply(F), gram.apply_pair(F, DV, eta, beta)
    for each in (module, blocks):
        monkeypatch.setattr(each, "n_cores", lambda: threads)
    assert (gram.apply(F) == whole).all()
    for part, other in zip(gram.apply_pair(F, DV, eta, beta), pair, strict=True):
        assert (part == other).all()


WITHOUT = """
import sys
sys.modules["numba"] = None
import numpy as np, scipy.sparse as sp
from teaser.model.gram.operator import DenseGram, SparseGram, kernels
from teaser.model.gram.cost import choose_gram
assert kernels() is None
with np.load(sys.argv[1]) as given:
    X, M, S = sp.csr_array(given["X"]), given["M"], sp.csr_array(given["S"])
    gram = SparseGram(X, M.dtype)
    beta, eta = M[:, 0].copy(), M[0].copy()
    pair = gram.apply_pair(M, M, eta, beta)
    np.savez(
        sys.argv[2], dense=gram.apply(M), sparse=gram.apply(S), diagonal=gram.diagonal(),
        count=DenseGram.from_interactions(X, M.dtype).G, pair=pair[0], alpha=pair[1],
    )
assert choose_gram(X, 5, M.dtype) in ("dense", "sparse")
"""


@pytest.mark.parametrize("shape", ["plain", "weights", "empty rows"])
def test_without_numba_scipy_gives_the_same(shape: str, tmp_path: Path) -> None:
    """In a process of its own, in which numba cannot be imported."""
    X = interactions(shape)
    M = np.random.default_rng(1).standard_normal((37, 70))
    S = np.where(M > 1, M, 0)
    np.savez(tmp_path / "given.npz", X=X.toarray(), M=M, S=S)
    command = [
        sys.executable,
        "-c",
        WITHOUT,
        str(tmp_path / "given.npz"),
        str(tmp_path / "out.npz"),
    ]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONWARNINGS": "error"})
    gram = SparseGram(X, M.dtype)
    pair = gram.apply_pair(M, M, M[0].copy(), M[:, 0].copy())
    with np.load(tmp_path / "out.npz") as found:
        assert_allclose(found["dense"], gram.apply(M), atol=1e-9)
        assert_allclose(found["sparse"], gram.apply(sp.csr_array(S)), atol=1e-9)
        assert_allclose(found["diagonal"], gram.diagonal())
        assert_allclose(found["count"], DenseGram.from_interactions(X, M.dtype).G)
        assert_allclose(found["pair"], pair[0], atol=1e-9)
        assert_allclose(found["alpha"], pair[1], atol=1e-9)


@pytest.mark.parametrize("kind", ["plain", "empty rows", "one user", "nobody", "weights"])
def test_products_of_lists_are_those_of_scipy(kind: str) -> None:
    X, rng = interactions(kind), np.random.default_rng(1)
    E = rng.standard_normal((37, 21)).astype(np.float32)
    raw = np.zeros((X.shape[0], 21))
    kernels.add_rows(X.indptr, X.indices, X.data, E, raw)
    assert_allclose(raw, X @ E.astype(np.float64), rtol=1e-12, atol=1e-12)

    D = sp.csr_array(rng.random((50, 21)) * (rng.random((50, 21)) < 0.3))
    scores = np.empty((X.shape[0], 50))
    kernels.dot_rows(D.indptr, D.indices, D.data, raw, scores)
    assert_allclose(scores, (D @ raw.T).T, rtol=1e-12, atol=1e-12)

    R = sp.csr_array((rng.random((37, 40)) * (rng.random((37, 40)) < 0.3)).astype(np.float32))
    viewed = np.zeros((X.shape[0], 40))
    parts = (X.indptr, X.indices, X.data, R.indptr, R.indices, R.data)
    kernels.add_sparse_rows(*parts, viewed)
    assert_allclose(viewed, (X @ R.astype(np.float64)).toarray(), rtol=1e-12, atol=1e-12)


def test_entries_are_picked_at_wanted_columns() -> None:
    X, rng = interactions("empty rows"), np.random.default_rng(2)
    R = sp.csr_array(rng.random((37, 30)) * (rng.random((37, 30)) < 0.4))
    # Each user wants other columns; some want none, and some one that the matrix has not.
    wanted = np.array([rng.permutation(33)[:4] for _ in range(X.shape[0])])
    wanted[::5, 2:] = -1
    found = np.empty((3, 4 * X.nnz), dtype=np.int64)
    n = kernels.pick_entries(X.indptr, X.indices, R.indptr, R.indices, wanted, 30, found)
    dense, rows = R.toarray(), X.toarray()
    sums = np.zeros(wanted.shape)
    np.add.at(sums.ravel(), found[1, :n], X.data[found[0, :n]] * R.data[found[2, :n]])
    for u, k in np.ndindex(*wanted.shape):
        column = wanted[u, k]
        expected = rows[u] @ dense[:, column] if 0 <= column < 30 else 0.0
        assert sums[u, k] == pytest.approx(expected)
