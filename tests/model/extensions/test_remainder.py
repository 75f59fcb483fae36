"""TEASER with a remainder: exact against brute force over both unknowns, and at its two ends."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose, assert_array_equal
from oracles import (
    Array,
    WeightedProblem,
    content_of,
    random_problem,
    without_diagonal,
)

from teaser import Dataset, Steering, Teaser
from teaser.errors import ParameterError, ResourceError
from teaser.extensions import Content, Remainder, Weights
from teaser.model import estimate as cost
from teaser.model import teaser as module
from teaser.model.build import build_gram
from teaser.model.estimate import FitSize
from teaser.model.extensions.remainder import fit_remainder, invert_system
from teaser.model.gram import DenseGram, row_weights
from teaser.model.solve import Limits, System
from teaser.testing import TaggedModelContract

JOINT = Remainder(neighbours=None)
F64 = np.dtype("float64")


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
    system = System.build(DenseGram(X.T @ X), sp.csr_array(D), rank=0, rng=0)
    inverse = invert_system(system, replace(JOINT, l2=k), l1)
    limits = Limits(tol=tol, max_iter=500)
    found, R = fit_remainder(inverse, kappa=k, l2=l2, limits=limits)
    assert found.converged
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
    gram = build_gram(sp.csr_array(X), "dense", FitSize(1, F64), user_power=weights.user_power)
    system = System.build(
        gram, sp.csr_array(D), rank=0, rng=0,
        row_penalty=row_weights(gram, weights.ridge_power),
        column_weight=weights.of_columns((X != 0).sum(axis=0)),
    )  # fmt: skip
    inverse = invert_system(system, replace(JOINT, l2=5.0), 2.0)
    limits = Limits(tol=1e-12, max_iter=500)
    found, R = fit_remainder(inverse, kappa=5.0, l2=3.0, limits=limits)
    wanted_e, wanted_r = problem.both()
    assert_allclose(found.encoder, wanted_e, atol=1e-8)
    assert_allclose(R, wanted_r, atol=1e-8)


def test_a_cheap_remainder_is_ease() -> None:
    X, D = random_problem(2)
    l1, k = 2.0, 1e-6
    E, R = solved(X, D, l1, 3.0, k)
    C = np.linalg.inv(X.T @ X + (l1 + k) * np.eye(X.shape[1]))
    assert_allclose(without_diagonal(E @ D.T) + R, -without_diagonal(C / np.diag(C)), atol=1e-5)
    assert np.abs(E).max() < 1e-5


def test_the_fitted_model_is_the_minimum(dataset: Dataset) -> None:
    settings: dict[str, Any] = {
        "l2_weights": 5.0,
        "l2_encoder": 7.0,
        "remainder": Remainder(neighbours=None, l2=20.0),
    }
    model = Teaser(**settings, tol=1e-12, dtype="float64", content=Content(weight=0.5)).fit(dataset)
    T, X = content_of(dataset.S.toarray()), dataset.X.toarray().astype(float)
    G = X.T @ X
    in_e, in_r = half_gradients(
        G + 0.5 * G.diagonal().mean() * T @ T.T, model.tag_table_.learned_decoder.toarray(),
        5.0, 7.0, 20.0, model.encoder_, model.remainder_,
    )  # fmt: skip
    # Content counts in the Gram on both sides, and never in the diagonal.
    assert np.abs(in_e).max() < 1e-7
    assert np.abs(without_diagonal(in_r)).max() < 1e-7


class TestTeaserWithRemainder(TaggedModelContract):
    """All that an aspect model must do."""

    def make(self) -> Teaser:
        return Teaser(
            l2_weights=5.0, l2_encoder=5.0, remainder=Remainder(neighbours=None, l2=20.0), tol=1e-5
        )


def one_row(dataset: Dataset, *places: int) -> sp.csr_array:
    X = np.zeros((1, dataset.n_items))
    X[0, list(places)] = 1
    return sp.csr_array(X)


def test_scores_are_those_of_the_objective_up_to_one_factor(
    remainder_model: Teaser, dataset: Dataset
) -> None:
    """A history's scores are its rows of B = E D' + R, times certainty / scale.

    Centring moves all of them by one constant.
    """
    E, R, D = (
        remainder_model.encoder_,
        remainder_model.remainder_,
        remainder_model.tag_table_.learned_decoder.toarray(),
    )
    rows = [1, 5, 8]
    plain = E[rows].sum(0) @ D.T + R[rows].sum(0)
    scores = remainder_model.score_batch(one_row(dataset, *rows))[0]
    factor = remainder_model.profile(["i1", "i5", "i8"]).viewed_weight
    assert factor > 0
    assert_allclose(scores - scores[0], factor * (plain - plain[0]), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("balance", "tags", "viewed"),
    [(0.0, 1, 0), (0.25, 1, 0.5), (0.5, 1, 1), (0.75, 0.5, 1), (1.0, 0, 1)],
)
def test_the_dial_weighs_tags_against_viewed_items(
    remainder_model: Teaser, dataset: Dataset, balance: float, tags: float, viewed: float
) -> None:
    history, presses = ["i1", "i5"], {"town=Ghent": 2}
    middle = remainder_model.explain("i9", history, presses)
    found = remainder_model.explain("i9", history, presses, steering=Steering(balance=balance))
    for tag, part in middle.contributions.items():
        assert found.contributions.get(tag, 0.0) == pytest.approx(tags * part)
    wanted = {i: viewed * part for i, part in middle.viewed.items()} if viewed else {}
    assert found.viewed == pytest.approx(wanted)
    assert found.score == pytest.approx(
        sum(found.contributions.values()) + sum(found.viewed.values()), rel=1e-12
    )
    scores = remainder_model.score_batch(
        one_row(dataset, 1, 5), [presses], steering=Steering(balance=balance)
    )[0]
    assert scores[9] == pytest.approx(found.score, rel=1e-12)


def test_new_items_have_no_part_in_it(dataset: Dataset) -> None:
    model = Teaser(
        l2_weights=5.0, l2_encoder=5.0, remainder=Remainder(neighbours=None, l2=20.0)
    ).fit(dataset)
    before = model.score_batch(one_row(dataset, 1, 5))[0]
    model.add_items({"new": ["town=Ghent", "type=concert"]})
    X = np.zeros((1, 41))
    X[0, [1, 5]] = 1
    after = model.score_batch(X)[0]
    assert_array_equal(after[:40], before)
    assert model.explain("new", ["i1", "i5"]).viewed == {}
    said = model.explain("i3", ["i1", "new"])
    assert set(said.viewed) == {"i1"}
    assert said.score == pytest.approx(
        sum(said.contributions.values()) + sum(said.viewed.values()), rel=1e-12
    )
    only = model.recommend(["new"], steering=Steering(balance=1.0))
    assert only == model.recommend(["new"])


def test_it_recommends_better_than_tags_alone_where_tags_say_little() -> None:
    """Pairs of items that only their viewers connect: no tag tells them from the rest."""
    rng = np.random.default_rng(0)
    interactions, items = small_tables(n_users=400, n_items=40)
    pair = rng.integers(20, size=200).tolist()
    rows = [(f"v{u}", f"i{2 * p + n}", 5) for u, p in enumerate(pair) for n in (0, 1)]
    more = type(interactions)(rows, schema=interactions.schema, orient="row")
    data = Dataset.from_tables(interactions.vstack(more), items, rules=RULES)
    settings: dict[str, Any] = {"l2_weights": 5.0, "l2_encoder": 5.0}
    pairs = [(f"i{2 * p}", f"i{2 * p + 1}") for p in range(20)]

    def hits(model: Teaser) -> int:
        return sum(model.recommend([a], k=1)[0].item_id == b for a, b in pairs)

    tags, with_it = (
        Teaser(**settings).fit(data),
        Teaser(**settings, remainder=Remainder(neighbours=None, l2=10.0)).fit(data),
    )
    assert hits(with_it) > hits(tags) + 5


def test_what_was_prepared_for_another_ridge_is_refused(dataset: Dataset) -> None:
    joint, other, plain = (
        Teaser(l2_weights=5.0, remainder=remainder)
        for remainder in (replace(JOINT, l2=20.0), replace(JOINT, l2=25.0), None)
    )
    for one, two in ((joint, other), (joint, plain), (plain, joint)):
        with pytest.raises(ParameterError, match="of a model with another remainder"):
            two.fit(dataset, prepared=one.prepare(dataset))


def test_options_that_exclude_each_other_are_refused_with_the_reason() -> None:
    for options, said in (
        (Remainder(neighbours=0), r"remainder\.neighbours must be a whole number of at least 1"),
        (Remainder(neighbours=2.5), r"remainder\.neighbours"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ParameterError, match=said):
            options.check()


def test_a_senseless_penalty_is_refused(dataset: Dataset) -> None:
    wrong: list[Any] = [0, -1.0, np.inf, np.nan, True, "5"]
    for k in wrong:
        with pytest.raises(ParameterError, match=r"remainder\.l2"):
            Teaser(remainder=Remainder(neighbours=None, l2=k)).fit(dataset)


def test_what_does_not_fit_is_refused_with_the_numbers(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        pytest.fail("something was counted before the refusal")

    monkeypatch.setattr(cost, "memory_of_machine", lambda: 20_000)
    monkeypatch.setattr(module, "build_gram", refuse)
    model = Teaser(remainder=Remainder(neighbours=None, l2=5.0), dtype="float64")
    said = r"40 items needs .*items x items 26 kB.* has 20 kB.*dtype='float32'"
    with pytest.raises(ResourceError, match=said):
        model.prepare(dataset)
    with pytest.raises(ResourceError, match=r"items x items 13 kB"):
        model.fit(dataset)


def test_with_a_large_penalty_it_is_the_model_without_a_remainder(dataset: Dataset) -> None:
    plain = Teaser(dtype="float64", tol=1e-9).fit(dataset)
    large = Teaser(remainder=Remainder(neighbours=None, l2=1e8), dtype="float64", tol=1e-9).fit(
        dataset
    )
    assert_allclose(large.encoder_, plain.encoder_, atol=1e-5 * np.abs(plain.encoder_).max())
