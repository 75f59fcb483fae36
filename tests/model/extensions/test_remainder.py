"""TEASER with a remainder: exact against brute force over both unknowns, and at its two ends."""

from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from oracles import Array, WeightedProblem, exact_encoder, random_problem, without_diagonal

from teaser import Dataset, Teaser
from teaser.data import demo
from teaser.errors import ParameterError, SolverError
from teaser.extensions import Remainder, Weights
from teaser.model.baselines.ease import EASE
from teaser.model.extensions import remainder as module
from teaser.model.extensions.remainder import (
    Inverse,
    RemainderEquation,
    describe_remainder,
    fit_remainder,
    keep_largest,
    pack_remainder,
    prepare_remainder,
    remainder_weights,
    unpack_remainder,
    viewed_parts,
    viewed_sum,
    without_neighbours,
)
from teaser.model.gram.operator import ContentGram, DenseGram, SparseGram
from teaser.model.solver.conjugate_gradients import conjugate_gradients
from teaser.model.solver.inverse import invert_gram
from teaser.model.solver.solution import Limits

JOINT = Remainder(neighbours=None)


def half_gradients(
    G: Array, D: Array, l1: float, l2: float, k: float, E: Array, R: Array
) -> tuple[Array, Array]:
    """Half the gradient of the objective in E and in R, with items x items arrays."""
    B = without_diagonal(E @ D.T) + R
    inner = without_diagonal((G + l1 * np.eye(len(G))) @ B - G)
    return inner @ D + l2 * E, inner + k * R


def brute_force(X: Array, D: Array, l1: float, l2: float, k: float) -> tuple[Array, Array]:
    """Solve for all entries of E and of R off its diagonal at once, one unknown at a time."""
    G, (n, t) = X.T @ X, D.shape
    off = ~np.eye(n, dtype=bool)

    def apart(unknowns: Array) -> tuple[Array, Array]:
        R = np.zeros((n, n))
        R[off] = unknowns[n * t :]
        return unknowns[: n * t].reshape(n, t), R

    def gradient(unknowns: Array) -> Array:
        in_e, in_r = half_gradients(G, D, l1, l2, k, *apart(unknowns))
        return np.concatenate([in_e.ravel(), in_r[off]])

    size = n * t + n * (n - 1)
    zero = gradient(np.zeros(size))
    columns = np.stack([gradient(unit) - zero for unit in np.eye(size)], axis=1)
    return apart(np.linalg.solve(columns, -zero))


def solved(
    X: Array, D: Array, l1: float, l2: float, k: float, *, tol: float = 1e-12
) -> tuple[Array, Array]:
    gram = DenseGram(X.T @ X)
    system = prepare_remainder(invert_gram(gram, l1 + k), sp.csr_array(D), l1 + k)
    found, R = fit_remainder(
        system,
        options=Remainder(neighbours=None, l2=k),
        l2=l2,
        limits=Limits(tol=tol, max_iter=500),
    )
    assert found.converged
    assert not sp.issparse(R)
    return found.encoder, R


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("l1", "l2", "k"), [(2.0, 3.0, 5.0), (0.5, 20.0, 1.0), (30.0, 0.5, 60.0)])
def test_it_is_the_minimum_over_encoder_and_remainder(
    seed: int, l1: float, l2: float, k: float
) -> None:
    X, D = random_problem(seed)
    E, R = solved(X, D, l1, l2, k)
    wanted_e, wanted_r = brute_force(X, D, l1, l2, k)
    assert_allclose(E, wanted_e, atol=1e-8)
    assert_allclose(R, wanted_r, atol=1e-8)
    assert_array_equal(np.diag(R), 0)


@pytest.mark.parametrize("powers", [(0.5, 0, 0), (0, 0.8, 0), (0, 0, 1.0), (0.25, 1.0, 0.5)])
@pytest.mark.parametrize("strong", [False, True])
def test_weights_give_the_minimum_of_their_objective(
    powers: tuple[float, ...], strong: bool
) -> None:
    X, D = random_problem(int(strong))
    if strong:
        X = X * np.random.default_rng(1).uniform(0.2, 2.0, X.shape)
    names = ("user_power", "ridge_power", "item_power")
    named: dict[str, Any] = dict(zip(names, powers, strict=True))
    weights, problem = Weights(**named), WeightedProblem(X, D, 2.0, 3.0, 5.0, **named)
    options = replace(JOINT, l2=5.0)
    system = module.prepare_inverse(
        sp.csr_array(X), "auto", sp.csr_array(D), options=options, l1=2.0, weights=weights,
        item_counts=(X != 0).sum(axis=0),
    )  # fmt: skip
    limits = Limits(tol=1e-12, max_iter=500)
    found, R = fit_remainder(system, options=options, l2=3.0, limits=limits)
    wanted_e, wanted_r = problem.both()
    assert_allclose(found.encoder, wanted_e, atol=1e-8)
    assert_allclose(R, wanted_r, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_no_step_lowers_the_objective(seed: int) -> None:
    X, D = random_problem(seed)
    l1, l2, k = 2.0, 3.0, 5.0
    E, R = solved(X, D, l1, l2, k)

    def objective(E: Array, R: Array) -> float:
        B = without_diagonal(E @ D.T) + R
        sizes = ((X - X @ B) ** 2).sum() + l1 * (B**2).sum()
        return float(sizes + l2 * (E**2).sum() + k * (R**2).sum())

    rng = np.random.default_rng(seed)
    least = objective(E, R)
    for size in (1e-1, 1e-2, 1e-3):
        moved = without_diagonal(rng.standard_normal(R.shape)) * size
        assert objective(E + rng.standard_normal(E.shape) * size, R) > least
        assert objective(E, R + moved) > least


def test_a_dear_remainder_leaves_the_paper_s_model() -> None:
    X, D = random_problem(1)
    E, R = solved(X, D, 2.0, 3.0, 1e7)
    assert_allclose(E, exact_encoder(X.T @ X, D, 2.0, 3.0), atol=1e-5)
    assert np.abs(R).max() < 1e-5


def test_a_cheap_remainder_is_ease() -> None:
    X, D = random_problem(2)
    l1, k = 2.0, 1e-6
    E, R = solved(X, D, l1, 3.0, k)
    C = np.linalg.inv(X.T @ X + (l1 + k) * np.eye(X.shape[1]))
    assert_allclose(without_diagonal(E @ D.T) + R, -without_diagonal(C / np.diag(C)), atol=1e-5)
    assert np.abs(E).max() < 1e-5


def test_the_sum_of_both_is_between_the_two_ends() -> None:
    """The tags' part shrinks and the remainder grows as the remainder becomes cheaper."""
    X, D = random_problem(0)
    sizes = [solved(X, D, 2.0, 3.0, k) for k in (0.1, 1.0, 10.0, 100.0)]
    assert (np.diff([np.square(E).sum() for E, _ in sizes]) > 0).all()
    assert (np.diff([np.square(R).sum() for _, R in sizes]) < 0).all()


def test_single_precision_is_near_double() -> None:
    X, D = random_problem(3)
    E, R = solved(X, D, 2.0, 3.0, 5.0)
    gram = DenseGram((X.T @ X).astype(np.float32))
    system = prepare_remainder(invert_gram(gram, 7.0), sp.csr_array(D.astype(np.float32)), 7.0)
    found, R32 = fit_remainder(
        system,
        options=Remainder(neighbours=None, l2=5.0),
        l2=3.0,
        limits=Limits(tol=1e-5, max_iter=100),
    )
    assert found.encoder.dtype == R32.dtype == np.float32
    assert_allclose(found.encoder, E, atol=1e-4)
    assert_allclose(R32, R, atol=1e-4)


@pytest.mark.parametrize("kind", ["sparse", "content"])
def test_any_gram_can_be_inverted(kind: str) -> None:
    X, D = random_problem(4)
    S = sp.csr_array((D > 0.5).astype(float))
    gram: Any = SparseGram(sp.csr_array(X), np.dtype(np.float64))
    G = X.T @ X
    if kind == "content":
        gram, G = ContentGram(gram, S, 2.5), G + 2.5 * (S @ S.T).toarray()
    C = invert_gram(gram, 4.0)
    assert_allclose(C @ (G + 4.0 * np.eye(len(G))), np.eye(len(G)), atol=1e-10)


def test_a_gram_is_left_as_it_is_unless_it_may_be_used() -> None:
    X, _ = random_problem(5)
    gram = DenseGram(X.T @ X)
    kept = gram.G.copy()
    C = invert_gram(gram, 3.0)
    assert_array_equal(gram.G, kept)
    inside = invert_gram(gram, 3.0, overwrite=True)
    assert np.shares_memory(inside, gram.G)
    assert_allclose(inside, C)


def test_the_remainder_may_take_the_place_of_the_inverse() -> None:
    X, D = random_problem(6)
    C = invert_gram(DenseGram(X.T @ X), 7.0)
    system = prepare_remainder(C, sp.csr_array(D), 7.0)
    E = conjugate_gradients(
        RemainderEquation(system, 5.0, 3.0), Limits(tol=1e-10, max_iter=100)
    ).encoder
    before = C.copy()
    beside = remainder_weights(system, E, kappa=5.0)
    assert_array_equal(C, before)
    inside = remainder_weights(system, E, kappa=5.0, overwrite=True)
    assert inside is C
    assert_array_equal(inside, beside)


def test_it_takes_few_iterations_and_fewer_from_a_start() -> None:
    """The preconditioner without the rank that self-explanation takes away needs 30 and more."""
    rng = np.random.default_rng(0)
    X = (rng.random((600, 120)) < 0.08).astype(float)
    D = np.column_stack([(rng.random((120, 60)) < 0.1).astype(float), X.sum(0) / X.sum(0).max()])
    C = invert_gram(DenseGram(X.T @ X), 30.0)
    system = prepare_remainder(C, sp.csr_array(D), 30.0)
    told: list[tuple[int, float]] = []
    limits = Limits(tol=1e-6, max_iter=100, callback=lambda n, r: told.append((n, r)))
    equation, other = (RemainderEquation(system, 20.0, l2) for l2 in (10.0, 11.0))
    found = conjugate_gradients(equation, limits)
    assert found.iterations <= 15
    assert [n for n, _ in told] == list(range(1, found.iterations + 1))
    near = conjugate_gradients(other, limits, found.encoder)
    assert near.iterations < found.iterations
    assert conjugate_gradients(equation, limits, found.encoder).iterations <= 1


def test_ease_of_the_same_ridge_is_a_by_product(dataset: Dataset) -> None:
    system = Teaser(l2_weights=3.0, remainder=Remainder(neighbours=None, l2=4.0)).prepare(dataset)
    wanted = EASE(l2_weights=7.0).fit(dataset)
    assert isinstance(system, Inverse)
    kept = system.inverse.copy()
    given = EASE(l2_weights=7.0).fit(dataset, inverse=kept)
    assert_allclose(given.weights_, wanted.weights_, atol=1e-6)
    assert_array_equal(system.inverse, kept)
    with pytest.raises(ParameterError, match=r"inverse is \(3, 3\), and there are 40 items"):
        EASE(l2_weights=7.0).fit(dataset, inverse=np.eye(3))


def test_a_singular_gram_is_named() -> None:
    with pytest.raises(SolverError, match="singular"):
        invert_gram(DenseGram(np.ones((5, 5))), 0.0)


def test_the_fitted_model_is_the_minimum(dataset: Dataset) -> None:
    settings: dict[str, Any] = {
        "l2_weights": 5.0,
        "l2_encoder": 7.0,
        "remainder": Remainder(neighbours=None, l2=20.0),
    }
    model = Teaser(**settings, tol=1e-12, dtype="float64", content_weight=0.5).fit(dataset)
    S = dataset.S.toarray()
    X = dataset.X.toarray().astype(float)
    in_e, in_r = half_gradients(
        X.T @ X + 0.5 * S @ S.T, model.tag_table_.learned_decoder.toarray(), 5.0, 7.0, 20.0,
        model.encoder_, model.remainder_,
    )  # fmt: skip
    # Content counts in the Gram on both sides, and never in the diagonal.
    assert np.abs(in_e).max() < 1e-7
    assert np.abs(without_diagonal(in_r)).max() < 1e-7


def test_what_is_prepared_is_shared_over_penalties_on_the_encoder(dataset: Dataset) -> None:
    exact: dict[str, Any] = {"tol": 1e-9, "dtype": "float64"}
    first = Teaser(
        l2_weights=5.0, remainder=Remainder(neighbours=None, l2=20.0), l2_encoder=5.0, **exact
    )
    system = first.prepare(dataset)
    first.fit(dataset, system=system)
    other = Teaser(
        l2_weights=10.0, remainder=Remainder(neighbours=None, l2=15.0), l2_encoder=50.0, **exact
    )
    other.fit(dataset, system=system, start=first)
    alone = Teaser(
        l2_weights=10.0, remainder=Remainder(neighbours=None, l2=15.0), l2_encoder=50.0, **exact
    ).fit(dataset)
    assert_allclose(other.encoder_, alone.encoder_, atol=1e-7)
    assert_allclose(other.remainder_, alone.remainder_, atol=1e-7)


@pytest.mark.parametrize("k", [300.0, 10_000.0])
def test_the_grams_eigenvectors_save_iterations(k: float) -> None:
    data = demo.dataset(n_events=300, n_users=1500, start=date(2026, 1, 1))
    model = Teaser(l2_weights=20.0, l2_encoder=500.0, remainder=Remainder(neighbours=None, l2=k))
    system: Any = model.prepare(data)
    limits = Limits(tol=1e-4, max_iter=200)
    bare = replace(system, U=system.U[:, :0], mu=system.mu[:0])
    found = conjugate_gradients(RemainderEquation(system, k, 500.0), limits)
    without = conjugate_gradients(RemainderEquation(bare, k, 500.0), limits)
    assert found.iterations < without.iterations
    assert found.iterations <= 12


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
    few = keep_largest(R, share)
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
    few = keep_largest(np.zeros((3, 3), dtype=np.float32), 0.9)
    assert few.shape == (3, 3)
    assert few.nnz == 0


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_what_is_packed_is_unpacked(R: Any, share: float) -> None:
    held = R if share == 1 else keep_largest(R, share)
    again = unpack_remainder(pack_remainder(held), 600)
    assert (again != held).sum() == 0
    said = describe_remainder(again, Remainder(neighbours=None, share=share))
    assert said == {
        "items": 600,
        "entries": 600 * 599 if share == 1 else held.nnz,
        "sparse": share < 1,
        "neighbours": None,
        "without_neighbours": None,
    }
    near = describe_remainder(again, Remainder(neighbours=7))
    assert near is not None
    assert near["neighbours"] == 7
    assert near["without_neighbours"] == (None if share == 1 else 0)


def test_items_that_nothing_is_added_to_are_counted() -> None:
    R = np.zeros((5, 5))
    R[[0, 2, 1], [2, 0, 2]] = 0.5
    assert without_neighbours(sp.csr_array(R)) == 3


def test_nothing_is_packed_of_nothing() -> None:
    assert pack_remainder(None) == {}
    assert unpack_remainder({}, 5) is None
    assert describe_remainder(None, None) is None
    with pytest.raises(ValueError, match="not of the items"):
        unpack_remainder({"remainder": np.zeros((2, 2))}, 3)
