"""Shared fits give what fits alone give, and compute what they share once."""

from typing import Any

import pytest
from numpy.testing import assert_allclose

from teaser import Dataset, Teaser
from teaser.errors import ParameterError
from teaser.extensions import Content, Weights
from teaser.model.baselines.ease import EASE, RDLAE
from teaser.model.baselines.edlae import EDLAE
from teaser.model.baselines.neighbour_ease import NeighbourEASE
from teaser.model.extensions.remainder import Remainder
from teaser.model.shared_fit import SharedFits, make_model

EXACT: dict[str, Any] = {"tol": 1e-8, "dtype": "float64"}


def test_fits_start_from_each_other(dataset: Dataset) -> None:
    fits = SharedFits(dataset)
    first = fits.fit(Teaser(l2_encoder=5.0, l2_weights=5.0, **EXACT))
    again = fits.fit(Teaser(l2_encoder=5.5, l2_weights=5.0, **EXACT))
    assert isinstance(first, Teaser)
    assert isinstance(again, Teaser)
    assert again.iterations_ < first.iterations_


@pytest.mark.parametrize("weights", [None, Weights(user_power=0.5, ridge_power=0.5)])
def test_a_shared_fit_is_the_fit_alone(dataset: Dataset, weights: Weights | None) -> None:
    """Whatever came before: other penalties, other kinds of models, another Gram."""
    fits = SharedFits(dataset)
    full = [Remainder(neighbours=None, l2=k) for k in (20.0, 15.0, 40.0)]
    for remainder, l1 in ((None, 5.0), (full[0], 5.0), (full[1], 10.0), (full[2], 5.0)):
        for l2 in (5.0, 50.0):
            named: dict[str, Any] = {"l2_weights": l1, "l2_encoder": l2, "remainder": remainder}
            found = fits.fit(Teaser(weights=weights, **named, **EXACT))
            alone = Teaser(weights=weights, **named, **EXACT).fit(dataset)
            assert isinstance(found, Teaser)
            assert_allclose(found.encoder_, alone.encoder_, atol=1e-5)
            if remainder is not None:
                assert_allclose(found.remainder_, alone.remainder_, atol=1e-5)
    for model in (EASE, EDLAE):
        shared = fits.fit(model(l2=5.0, weights=weights)).score_batch(dataset.X)
        alone_scores = model(l2=5.0, weights=weights).fit(dataset).score_batch(dataset.X)
        assert_allclose(shared, alone_scores, atol=1e-5)


@pytest.mark.parametrize("kind", [EASE, RDLAE, NeighbourEASE])
def test_powers_of_histories_and_content_are_those_of_fits_alone(
    dataset: Dataset, kind: Any
) -> None:
    fits = SharedFits(dataset)
    for content in (None, Content(weight=0.5)):
        for l2 in (5.0, 20.0):
            for power in (0.2, 0.0, 0.4):
                how = {"l2": l2, "content": content, "dtype": "float64"}
                weights = Weights(user_power=0.5, history_power=power)
                alone = kind(weights=weights, **how).fit(dataset)
                shared = fits.fit(kind(weights=weights, **how))
                assert shared.parameters()["weights"] == weights
                for X in (dataset.X, dataset.X[:5]):
                    assert_allclose(shared.score_batch(X), alone.score_batch(X), atol=1e-10)
    with pytest.raises(ParameterError, match="history_power"):
        fits.fit(kind(weights=Weights(history_power=9.0)))


def test_contents_and_powers_of_a_shared_teaser_are_those_of_fits_alone(dataset: Dataset) -> None:
    fits = SharedFits(dataset)
    for content in (None, Content(weight=0.1), Content(weight=3.0)):
        for power in (0.0, 0.2):
            how: dict[str, Any] = {"content": content, "weights": Weights(history_power=power)}
            how |= {"l2_weights": 5.0, "l2_encoder": 5.0, "remainder": Remainder(neighbours=5)}
            shared = fits.fit(Teaser(**how, **EXACT)).score_batch(dataset.X)
            alone = Teaser(**how, **EXACT).fit(dataset).score_batch(dataset.X)
            assert_allclose(shared, alone, atol=1e-5)


def test_a_system_without_a_remainder_is_not_taken_for_one_with(dataset: Dataset) -> None:
    fits = SharedFits(dataset)
    for k in (None, Remainder(neighbours=None, l2=20.0), None):
        found = fits.fit(Teaser(l2_weights=5.0, remainder=k))
        assert isinstance(found, Teaser)
        assert found.has_remainder == (k is not None)


def test_unknown_kinds_and_parameters_are_named(dataset: Dataset) -> None:
    with pytest.raises(ParameterError, match=r"'Teazer'.*Teaser"):
        make_model("Teazer", {})
    with pytest.raises(ParameterError, match=r"'l3'.*l2_weights"):
        make_model("Teaser", {"l3": 1})
    with pytest.raises(ParameterError, match=r"remainder\.l2"):
        SharedFits(dataset).fit(make_model("Teaser", {"remainder.l2": "five"}))
