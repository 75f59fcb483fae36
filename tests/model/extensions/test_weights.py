"""Weights of a Teaser: their options, and the minimum of the objective by brute force."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import WeightedProblem

import teaser
from teaser import Dataset, Teaser
from teaser.errors import ParameterError
from teaser.extensions import Weights
from teaser.model.extensions.weights import PLAIN
from teaser.testing import TaggedModelContract

ALL = Weights(user_power=0.5, ridge_power=0.8, item_power=0.6, popularity_scale=3.0)
EXACT: dict[str, Any] = {"l2_weights": 3.0, "l2_encoder": 4.0, "tol": 1e-12, "dtype": "float64"}


class TestWeights(TaggedModelContract):
    def make(self) -> Teaser:
        return Teaser(l2_weights=5.0, l2_encoder=5.0, tol=1e-4, weights=ALL)


@pytest.fixture(scope="module")
def few(dataset: Dataset) -> Dataset:
    return dataset.at(np.arange(60))


def problem(data: Dataset, D: Any, weights: Weights, **more: Any) -> WeightedProblem:
    return WeightedProblem(
        data.X.toarray().astype(float), D, 3.0, 4.0, user_power=weights.user_power,
        ridge_power=weights.ridge_power, item_power=weights.item_power, **more,
    )  # fmt: skip


@pytest.mark.parametrize("weights", [Weights(), ALL, Weights(user_power=1.5, item_power=2.0)])
@pytest.mark.parametrize("gram", ["dense", "sparse"])
def test_a_model_is_the_minimum_of_the_objective(few: Dataset, weights: Weights, gram: str) -> None:
    model = Teaser(weights=weights, gram=gram, **EXACT).fit(few)
    scale = weights.popularity_scale
    D = np.column_stack([few.S.toarray(), scale * model.popularity_])
    assert_allclose(model.tag_table_.learned_decoder.toarray(), D)
    assert_allclose(model.encoder_, problem(few, D, weights).encoder(), atol=1e-8)
    assert model.popularity_.max() == 1.0


def test_content_is_beside_the_weighted_interactions(few: Dataset) -> None:
    model = Teaser(weights=ALL, content_weight=2.0, **EXACT).fit(few)
    S = np.sqrt(2.0) * few.S.toarray()
    found = problem(few, model.tag_table_.learned_decoder.toarray(), ALL, content=S).encoder()
    assert_allclose(model.encoder_, found, atol=1e-8)


def test_no_weights_are_the_paper_s_model_to_the_bit(dataset: Dataset) -> None:
    plain = Teaser().fit(dataset)
    for weights in (PLAIN, Weights(user_power=0, ridge_power=0)):
        found = Teaser(weights=weights).fit(dataset)
        assert_array_equal(found.encoder_, plain.encoder_)
        assert_array_equal(found.decoder_.toarray(), plain.decoder_.toarray())


def test_a_larger_scale_of_popularity_leaves_more_to_it(dataset: Dataset) -> None:
    shares = []
    for scale in (0.2, 1.0, 5.0):
        model = Teaser(weights=Weights(popularity_scale=scale), l2_encoder=50.0).fit(dataset)
        mass = np.abs(model.tag_table_.learned_decoder).sum(axis=0)
        parts = np.abs(model.encode(dataset.X)) * mass
        shares.append(float((parts[:, -1] / parts.sum(axis=1)).mean()))
    assert shares == sorted(shares)
    assert shares[2] > 1.2 * shares[0]


def test_weights_are_saved_with_the_model(dataset: Dataset, tmp_path: Path) -> None:
    model = Teaser(weights=ALL).fit(dataset)
    model.save(tmp_path / "m")
    again = teaser.load(tmp_path / "m")
    assert again.parameters() == model.parameters()
    assert again.describe()["parameters"]["weights"]["popularity_scale"] == 3.0


@pytest.mark.parametrize("name", ["user_power", "ridge_power", "item_power", "popularity_scale"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), "1", None, True])
def test_options_that_make_no_sense_are_refused_before_any_work(
    dataset: Dataset, name: str, value: Any
) -> None:
    for work in ("fit", "prepare", "estimate"):
        with pytest.raises(ParameterError, match=rf"weights\.{name}.*found {value!r}"):
            getattr(Teaser(weights=Weights(**{name: value})), work)(dataset)


def test_powers_above_two_and_a_scale_of_nothing_are_refused(dataset: Dataset) -> None:
    for weights in (Weights(item_power=2.1), Weights(popularity_scale=0.0)):
        with pytest.raises(ParameterError, match="weights"):
            Teaser(weights=weights).fit(dataset)
    with pytest.raises(ParameterError, match=r"weights must be a Weights object.*Weights\(\)"):
        Teaser(weights=cast(Any, {"user_power": 1.0})).fit(dataset)


def test_a_table_names_them(dataset: Dataset) -> None:
    wanted = {"weights": Weights(user_power=0.3, ridge_power=1.0)}
    for given in (
        {"weights": {"user_power": 0.3, "ridge_power": 1.0}},
        {"weights.user_power": 0.3, "weights.ridge_power": 1.0},
    ):
        assert Teaser.from_parameters(given).weights == wanted["weights"]
