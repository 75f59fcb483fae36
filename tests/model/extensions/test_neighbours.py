"""The remainder of neighbours: the minimum on its support, whatever E, D, G and weights are."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from oracles import Array, random_problem, slow_nearest, without_diagonal

from teaser.errors import ResourceError
from teaser.extensions import Remainder
from teaser.model.estimate import Estimate
from teaser.model.extensions import remainder as module
from teaser.model.extensions.remainder import (
    Neighbours,
    check_neighbours,
    estimate_neighbours,
    learn_neighbours,
)
from teaser.model.gram import ContentGram, DenseGram, Gram, SparseGram
from teaser.model.solve import EncoderEquation, Limits, Solution, System, conjugate_gradients

F64 = np.dtype("float64")


def fit_neighbours(
    gram: Gram, E: Any, D: Any, *, l1: float, row_penalty: Array, options: Remainder,
    n_items: int | None = None,
) -> sp.csr_array:  # fmt: skip
    """Return the remainder of nearest neighbours for an encoder and a decoder."""
    m = int(options.neighbours or 0)
    near = Neighbours.build(gram, m, penalty=l1 * row_penalty, n_items=n_items)
    return near.remainder(E, D, float(options.l2)).R


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


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_sparse_encoder_is_the_same_as_a_dense_one(kind: str) -> None:
    X, D, E, r = problem(1)
    E[np.random.default_rng(0).random(E.shape) < 0.7] = 0.0
    how: dict[str, Any] = {"l1": 2.0, "row_penalty": r, "options": Remainder(l2=3.0, neighbours=4)}
    dense = fit_neighbours(held(X, kind), E, sp.csr_array(D), **how)
    sparse = fit_neighbours(held(X, kind), sp.csr_array(E), sp.csr_array(D), **how)
    assert_allclose(sparse.toarray(), dense.toarray(), atol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_content_and_user_features_are_part_of_what_is_explained(kind: str) -> None:
    """Rows of user features below those of the items: in W and G, never in a support."""
    X, D, _, _ = problem(2)
    rng = np.random.default_rng(2)
    n, p = len(D), 3
    Q = (rng.random((len(X), p)) < 0.5).astype(float)
    both, padded = np.hstack([X, Q]), np.vstack([D, np.zeros((p, D.shape[1]))])
    E, r = rng.standard_normal(padded.shape), rng.uniform(0.5, 3.0, n + p)
    S = sp.csr_array(np.vstack([D[:, :3] != 0, np.zeros((p, 3))]).astype(float))
    gram = ContentGram(held(both, kind), S, 0.7)
    found = fit_neighbours(
        *(gram, E, sp.csr_array(padded)),
        l1=2.0,
        row_penalty=r,
        options=Remainder(l2=3.0, neighbours=5),
        n_items=n,
    )
    assert found.shape == (n, n)
    G = both.T @ both + 0.7 * (S @ S.T).toarray()
    W = (E @ padded.T)[:, :n]
    W[np.arange(n), np.arange(n)] = 0.0
    support = slow_nearest(G[:n, :n], 5)
    wanted = brute_force(G, 2.0 * r, W, support, 3.0, target=np.eye(n + p)[:, :n])
    assert_allclose(found.toarray(), wanted, atol=1e-8)


def test_an_item_without_tags_is_explained_by_its_neighbours_alone() -> None:
    """Without tags it is EASE on the neighbours with the ridge l1 + kappa."""
    X, _, _, r = problem(3)
    gram = held(X, "sparse")
    D, E = sp.csr_array((len(r), 2)), np.ones((len(r), 2))
    found = fit_neighbours(
        gram, E, D, l1=2.0, row_penalty=r, options=Remainder(l2=3.0, neighbours=4)
    )
    ease = Neighbours.build(gram, 4, penalty=2.0 * r + 3.0).weights()
    assert_allclose(found.toarray(), ease.toarray(), atol=1e-12)
    assert found.nnz


def equation_of(X: Array, D: Array, l1: float, l2: float) -> EncoderEquation:
    rng = np.random.default_rng(0)
    system = System.build(DenseGram(X.T @ X), sp.csr_array(D), rank=5, rng=rng)
    return EncoderEquation(system, l1, l2)


def solve(equation: EncoderEquation, start: Array | None) -> Solution:
    return conjugate_gradients(equation, Limits(tol=1e-13, max_iter=500), start, is_guess=False)


def half_gradient(
    G: Array, D: Array, l1: float, l2: float, E: Array, R: Array
) -> tuple[Array, Array]:
    """Half the gradient in E, and what half of that in R is but for kappa R."""
    H = G + l1 * np.eye(len(G))
    inner = without_diagonal(H @ (without_diagonal(E @ D.T) + R) - G)
    return inner @ D + l2 * E, inner


def test_an_encoder_beside_a_remainder_has_no_gradient() -> None:
    X, D, E, _ = problem(0)
    l1, l2, options = 2.0, 3.0, Remainder(l2=4.0, neighbours=4)
    equation = equation_of(X, D, l1, l2)
    neighbours = Neighbours.build(equation.system.gram, 4, penalty=np.full(len(D), l1))
    found = neighbours.remainder(E, sp.csr_array(D), options.l2)
    right = neighbours.right_hand_side(equation.system, found)
    beside = replace(equation, right=right)
    again = solve(beside, E)
    in_e, _ = half_gradient(X.T @ X, D, l1, l2, again.encoder, found.R.toarray())
    assert_allclose(in_e, 0, atol=1e-8)
    # The caller may overwrite what it is given.
    beside.right_hand_side()[:] = 0
    assert_array_equal(beside.right_hand_side(), right)


def test_rounds_lower_the_objective_towards_the_joint_minimum() -> None:
    X, D, _, _ = problem(1)
    l1, l2, kappa = 2.0, 3.0, 4.0
    equation, Dc = equation_of(X, D, l1, l2), sp.csr_array(D)
    neighbours = Neighbours.build(equation.system.gram, 4, penalty=np.full(len(D), l1))
    alone = solve(equation, None)
    values, penalty = list[float](), np.full(len(D), l1)
    for rounds in (1, 2, 3, 200):
        options = Remainder(l2=kappa, neighbours=4, rounds=rounds)
        found, R = learn_neighbours(equation, alone, neighbours, Dc, options=options, solve=solve)
        W = without_diagonal(found.encoder @ D.T)
        size = objective(X, W, R.toarray(), penalty, kappa) + l2 * np.square(found.encoder).sum()
        values.append(float(size))
        if rounds == 1:
            assert_array_equal(found.encoder, alone.encoder)
    assert (np.diff(values) < 0).all()
    # After many rounds neither gradient is left, on the support of R.
    in_e, in_r = half_gradient(X.T @ X, D, l1, l2, found.encoder, R.toarray())
    assert_allclose(in_e, 0, atol=1e-6)
    support = R.toarray() != 0
    assert_allclose((in_r + kappa * R.toarray())[support], 0, atol=1e-6)
    assert found.iterations > alone.iterations


def test_what_does_not_fit_is_refused_with_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _, _, _ = problem(0)
    gram = held(X, "sparse")
    check_neighbours("float64", 4, n_items=gram.n_items)
    monkeypatch.setattr(module, "memory_of_machine", lambda: 5_500)
    said = r"4 neighbours for 14 items needs .*pairs of neighbours .* has 6 kB"
    with pytest.raises(ResourceError, match=said):
        Neighbours.build(gram, 4, penalty=np.ones(14))
    monkeypatch.setattr(module, "memory_of_machine", lambda: 9_000)
    check_neighbours("float64", 4, n_items=14)
    # An item has no more neighbours than there are items.
    monkeypatch.setattr(module, "memory_of_machine", lambda: 100_000)
    many = Neighbours.build(gram, 10**9, penalty=np.ones(14))
    assert (many.near != Neighbours.build(gram, 13, penalty=np.ones(14)).near).nnz == 0


def test_the_estimate_of_neighbours_grows_with_them_and_with_rounds() -> None:
    plain = Estimate("sparse", {"interactions": 10}, 1.0, 8)
    found = estimate_neighbours(plain, 1000, "float32", Remainder(neighbours=50), pairs=2e4)
    assert found.memory["neighbours"] == 1000 * 50 * (12 + 16 + 2 * 8)
    assert found.memory["pairs of neighbours"] == 1000 * 51 * 51 * 4
    assert found.memory["interactions"] == 10
    many = estimate_neighbours(plain, 10**6, "float32", Remainder(neighbours=50), pairs=2e4)
    # However many items, no more than a batch.
    assert many.memory["pairs of neighbours"] <= 2**31
    assert many.seconds > found.seconds
    more = estimate_neighbours(plain, 1000, "float32", Remainder(rounds=3), pairs=1e9)
    assert more.iterations == 24
    assert more.seconds > 3 * found.seconds + 5
    # No more neighbours than items.
    few = estimate_neighbours(plain, 10, "float32", Remainder(neighbours=50), pairs=0.0)
    assert few.memory["neighbours"] == 10 * 10 * 44
