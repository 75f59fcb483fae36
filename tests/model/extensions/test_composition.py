"""Extensions together: every step is the least of the objective for what was found before it."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose
from oracles import Array, WeightedProblem, content_of, least_squares, slow_nearest

from teaser import Category, Dataset, Teaser
from teaser.errors import ParameterError
from teaser.extensions import Content, LearnedDecoder, Remainder, SparseEncoder, Weights
from teaser.testing import TaggedModelContract

EXACT: dict[str, Any] = {"l2_weights": 3.0, "l2_encoder": 2.0, "tol": 1e-12, "dtype": "float64"}


WEIGHTS = Weights(user_power=0.4, ridge_power=0.7, item_power=0.5, popularity_scale=2.0)


DECODER = LearnedDecoder(l2=4.0, rounds=1)


SPARSE = SparseEncoder(density=0.4)


NEAR = Remainder(l2=5.0, neighbours=4)


CONTENT = Content(weight=0.5)


class TestEverything(TaggedModelContract):
    def make(self) -> Teaser:
        return Teaser(
            l2_weights=5.0, l2_encoder=5.0, tol=1e-4, weights=WEIGHTS, remainder=NEAR,
            content=CONTENT, decoder=LearnedDecoder(l2=5.0), sparse=SparseEncoder(density=0.5),
        )  # fmt: skip


@pytest.fixture(scope="module")
def strong() -> Dataset:
    """Few users and items, with user features, and strengths in the place of ones."""
    interactions, items = small_tables(3, n_users=50, n_items=14)
    names = interactions["user_id"].unique(maintain_order=True)
    camps = [("cinema", "music", None)[k % 3] for k in range(len(names))]
    users = pl.DataFrame({"user_id": names, "camp": camps})
    data = Dataset.from_tables(
        interactions, items, rules=RULES, users=users, user_rules=[Category("camp")]
    )
    strengths = np.random.default_rng(0).uniform(0.3, 2.0, data.X.nnz).astype(np.float32)
    X = sp.csr_array((strengths, data.X.indices, data.X.indptr), shape=data.X.shape)
    assert (np.bincount(X.indices, minlength=14) > 0).all()
    return replace(data, X=X)


def best_decoder(problem: WeightedProblem, E: Array, S: Array) -> Array:
    """The weights of the decoder that are best for an encoder, at the entries of S."""
    root = np.sqrt(DECODER.l2)

    def residuals(D: Array) -> Array:
        return np.append(problem.residuals(E, D=D), root * (D - S).ravel())

    return least_squares(residuals, S != 0)


def best_remainder(problem: WeightedProblem, E: Array, support: Array) -> Array:
    return least_squares(lambda R: problem.residuals(E, R), support)


def near(X: Array, m: int, content: Array | None = None) -> Array:
    """Which item may explain which, by cosines with the weights of users that neighbours have."""
    problem = WeightedProblem(X, np.zeros((X.shape[1], 1)), 1.0, 1.0, user_power=0.5)
    G = X.T @ (problem.w[:, None] * X)
    if content is not None:
        G = G + problem.mean_diagonal * content @ content.T
    out = np.zeros((X.shape[1], X.shape[1]), bool)
    for j, places in enumerate(slow_nearest(G, m)):
        out[places, j] = True
    return out


def both_rows(model: Teaser) -> Array:
    E: Any = model.encoder_
    E = E.toarray() if sp.issparse(E) else E
    return E if model.user_encoder_ is None else np.vstack([E, model.user_encoder_])


def expected(data: Dataset, model: Teaser) -> tuple[WeightedProblem, Array, Array | None]:
    """The problem with the decoder found, the encoder and the remainder, all by least squares."""
    weights = Weights(user_power=0, ridge_power=0) if model.weights is None else model.weights
    scale = weights.popularity_scale
    S = np.column_stack([data.S.toarray(), scale * model.popularity_])
    has_features = model.user_features and data.Q is not None
    features = sp.csr_array(data.Q).toarray().astype(float) if has_features else None
    content = None
    if model.content is not None:
        content = np.sqrt(model.content.weight) * content_of(data.S.toarray())
    problem = WeightedProblem(
        data.X.toarray().astype(float), S, 3.0, 2.0,
        user_power=weights.user_power, ridge_power=weights.ridge_power,
        item_power=weights.item_power,
        kappa=0.0 if model.remainder is None else model.remainder.l2,
        features=features,
        content=content,
    )  # fmt: skip
    if model.decoder is not None:
        D = best_decoder(problem, problem.encoder(), S)
        problem = replace(problem, D=D)
    kept = both_rows(model) != 0 if model.sparse is not None else None
    E, R = problem.encoder(kept), None
    if model.remainder is not None:
        support = near(problem.X, int(model.remainder.neighbours or 0), content)
        R = best_remainder(problem, E, support)
    return problem, E, R


# Every pair of extensions, and all of them, with and without weights and content.
PARTS: dict[str, Any] = {"decoder": DECODER, "sparse": SPARSE, "remainder": NEAR}


CHOICES: list[dict[str, Any]] = [
    *({name: PARTS[name] for name in pair} for pair in itertools.combinations(PARTS, 2)),
    *({name: PARTS[name]} for name in PARTS),
    PARTS,
]


@pytest.mark.parametrize("how", CHOICES, ids=lambda how: "+".join(how))
@pytest.mark.parametrize("gram", ["dense", "sparse"])
@pytest.mark.parametrize("user_features", [True, False])
def test_each_step_is_exact_beside_all_others(
    strong: Dataset, how: dict[str, Any], gram: str, user_features: bool
) -> None:
    weighted: dict[str, Any] = {"weights": WEIGHTS, "content": CONTENT, "gram": gram}
    model = Teaser(user_features=user_features, **EXACT, **how, **weighted).fit(strong)
    problem, E, R = expected(strong, model)
    assert_allclose(model.tag_table_.learned_decoder.toarray(), problem.D, atol=1e-8)
    assert_allclose(both_rows(model), E, atol=1e-8)
    assert (model.user_encoder_ is not None) == user_features
    if R is None:
        assert model.remainder_ is None
    else:
        assert_allclose(model.remainder_.toarray(), R, atol=1e-8)
    assert sp.issparse(model.encoder_) == ("sparse" in how)


class TestFullRemainder:
    FULL = Remainder(l2=5.0, neighbours=None)

    def test_weights_content_and_strengths_go_with_it(self, strong: Dataset) -> None:
        how: dict[str, Any] = {"weights": WEIGHTS, "content": CONTENT, "user_features": False}
        model = Teaser(remainder=self.FULL, **how, **EXACT).fit(strong)
        scaled = np.column_stack([strong.S.toarray(), 2.0 * model.popularity_])
        problem = WeightedProblem(
            strong.X.toarray().astype(float), scaled, 3.0, 2.0, 5.0, 0.4, 0.7, 0.5,
            content=np.sqrt(0.5) * content_of(strong.S.toarray()),
        )  # fmt: skip
        E, R = problem.both()
        assert_allclose(model.encoder_, E, atol=1e-8)
        assert_allclose(model.remainder_, R, atol=1e-8)

    @pytest.mark.parametrize("how", [{"decoder": DECODER}, {"sparse": SPARSE}, {}], ids=str)
    def test_the_others_are_refused_with_the_way_out(
        self, strong: Dataset, how: dict[str, Any]
    ) -> None:
        with pytest.raises(ParameterError, match=r"full remainder.*Use neighbours"):
            Teaser(remainder=self.FULL, **how).fit(strong)


class TestSharedSystem:
    def test_one_system_serves_all_penalties_and_numbers_of_neighbours(
        self, strong: Dataset
    ) -> None:
        prepared = Teaser(remainder=NEAR, **EXACT).prepare(strong)
        for l1, kappa, m in ((3.0, 5.0, 4), (9.0, 50.0, 4), (3.0, 5.0, 2), (4.0, 5.0, 4)):
            how = {**EXACT, "l2_weights": l1, "remainder": Remainder(l2=kappa, neighbours=m)}
            shared = Teaser(**how).fit(strong, prepared=prepared)
            alone = Teaser(**how).fit(strong)
            assert_allclose(shared.encoder_, alone.encoder_, atol=1e-9)
            assert_allclose(shared.remainder_.toarray(), alone.remainder_.toarray(), atol=1e-9)
        plain = Teaser(**EXACT).fit(strong, prepared=prepared)
        assert plain.remainder_ is None
