"""The remainder of neighbours: the minimum on its support, whatever E, D, G and weights are."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from oracles import Array, random_problem, slow_nearest, without_diagonal

from teaser.errors import ResourceError
from teaser.extensions import Remainder
from teaser.model import estimate as cost
from teaser.model.extensions.remainder import Explained, check_neighbours, neighbour_remainder
from teaser.model.gram import DenseGram, Gram, SparseGram, nearest

F64 = np.dtype("float64")


def fit_neighbours(
    gram: Gram, E: Any, D: Any, *, l1: float, row_penalty: Array, options: Remainder
) -> sp.csr_array:
    """Return the remainder of nearest neighbours for an encoder and a decoder."""
    near = nearest(gram, int(options.neighbours or 0))
    L = l1 * row_penalty
    return neighbour_remainder(gram, near, L + options.l2, Explained(gram, E, D, L))


class Applied:
    """A Gram of somebody else, with the two methods of the protocol alone."""

    def __init__(self, G: Array) -> None:
        self.G, self.n_items, self.dtype = G, len(G), G.dtype

    def apply(self, matrix: Any) -> Array:
        return np.asarray(self.G @ (matrix.toarray() if sp.issparse(matrix) else matrix))

    def diagonal(self) -> Array:
        return self.G.diagonal().copy()


def held(X: Array, kind: str) -> Gram:
    """G of interactions, held in one of the ways."""
    if kind == "sparse":
        return SparseGram(sp.csr_array(X), F64)
    return DenseGram(X.T @ X) if kind == "dense" else Applied(X.T @ X)


def brute_force(
    G: Array, L: Array, W: Array, support: list[list[int]], kappa: float, *, target: Array
) -> Array:
    """The R on the support that minimises the objective, as one least-squares problem a column.

    G = A'A with A the root of G, so that |A (T - W - r)|^2 + |L^(1/2) (W + r)|^2 + kappa |r|^2.
    """
    mu, U = np.linalg.eigh(G)
    A = (U * np.sqrt(np.maximum(mu, 0))) @ U.T
    n = len(support)
    R = np.zeros((n, n))
    for j, T in enumerate(support):
        if T:
            unit = np.eye(len(G))[:, T]
            left = np.vstack([A @ unit, np.sqrt(L)[:, None] * unit, np.sqrt(kappa) * unit])
            rest = A @ (target[:, j] - W[:, j])
            right = np.concatenate([rest, -np.sqrt(L) * W[:, j], np.zeros(len(G))])
            R[T, j] = np.linalg.lstsq(left, right, rcond=None)[0]
    return R


def problem(seed: int, *, weighted: bool = True) -> tuple[Array, Array, Array, Array]:
    """Interactions with strengths, a decoder, an encoder that is nothing special, row penalties."""
    rng = np.random.default_rng(seed)
    X, D = random_problem(seed)
    if weighted:
        X = X * rng.uniform(0.2, 2.0, X.shape)
    D = D * rng.uniform(0.5, 1.5, D.shape)
    return X, D, rng.standard_normal(D.shape), rng.uniform(0.5, 3.0, len(D))


def objective(X: Array, W: Array, R: Array, L: Array, kappa: float) -> float:
    B = W + R
    sizes = np.square(X - X @ B).sum() + (L[:, None] * np.square(B)).sum()
    return float(sizes + kappa * np.square(R).sum())


@pytest.mark.parametrize("kind", ["dense", "sparse", "applied"])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_minimum_on_the_support(seed: int, kind: str) -> None:
    X, D, E, r = problem(seed)
    l1, kappa, m = 2.0, 3.0, 4
    found = fit_neighbours(
        *(held(X, kind), E, sp.csr_array(D)),
        l1=l1,
        row_penalty=r,
        options=Remainder(l2=kappa, neighbours=m),
    )
    G, W = X.T @ X, without_diagonal(E @ D.T)
    support = slow_nearest(G, m)
    wanted = brute_force(G, l1 * r, W, support, kappa, target=np.eye(len(G)))
    assert_allclose(found.toarray(), wanted, atol=1e-8)
    assert found.has_sorted_indices
    assert found.dtype == np.float64
    # The item that nobody chose explains nothing and is not explained.
    assert not found.toarray()[5].any()
    assert not found.toarray()[:, 5].any()
    least = objective(X, W, wanted, l1 * r, kappa)
    rng = np.random.default_rng(seed)
    for size in (1e-1, 1e-3):
        moved = (wanted != 0) * rng.standard_normal(wanted.shape) * size
        assert objective(X, W, wanted + moved, l1 * r, kappa) > least


def test_what_does_not_fit_is_refused_with_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    check_neighbours("float64", 4, n_items=14)
    monkeypatch.setattr(cost, "memory_of_machine", lambda: 5_500)
    with pytest.raises(ResourceError, match=r"4 neighbours for 14 items needs .* has 6 kB"):
        check_neighbours("float64", 4, n_items=14)
    # An item has no more neighbours than there are items.
    monkeypatch.setattr(cost, "memory_of_machine", lambda: 100_000)
    check_neighbours("float64", 10**9, n_items=14)
    gram = held(problem(0)[0], "sparse")
    assert (nearest(gram, 10**9) != nearest(gram, 13)).nnz == 0
