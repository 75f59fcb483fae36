"""Shared fits give what fits alone give, and compute what they share once."""

import itertools
from typing import Any

import pytest
from numpy.testing import assert_allclose

from teaser import Dataset, Teaser
from teaser.errors import ParameterError
from teaser.extensions import Weights
from teaser.model import _inverse as inverse
from teaser.model.baselines.ease import EASE
from teaser.model.baselines.edlae import EDLAE
from teaser.model.extensions import remainder
from teaser.model.extensions.remainder import Remainder
from teaser.model.gram import DenseGram
from teaser.model.shared_fit import SharedFits, make_model
from teaser.model.solve import System

EXACT: dict[str, Any] = {"tol": 1e-8, "dtype": "float64"}


def count_calls(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[Any]:
    """Count the calls of a class method, which still does its work."""
    calls: list[Any] = []
    method: Any = getattr(owner, name)

    def counted(cls: Any, *given: Any, **named: Any) -> Any:
        calls.append(given)
        return method.__func__(cls, *given, **named)

    monkeypatch.setattr(owner, name, classmethod(counted))
    return calls


def test_fits_share_the_system_and_start_from_each_other(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = count_calls(monkeypatch, System, "build")
    fits = SharedFits(dataset)
    first = fits.fit(Teaser(l2_encoder=5.0, l2_weights=5.0, **EXACT))
    again = fits.fit(Teaser(l2_encoder=5.5, l2_weights=5.0, **EXACT))
    assert len(built) == 1
    assert isinstance(first, Teaser)
    assert isinstance(again, Teaser)
    assert again.iterations_ < first.iterations_
    alone = Teaser(l2_encoder=5.5, l2_weights=5.0, **EXACT).fit(dataset)
    assert_allclose(again.encoder_, alone.encoder_, atol=1e-5)
    fits.clear()
    fits.fit(Teaser(tol=1e-2))
    assert len(built) == 3


def test_the_gram_is_counted_once_for_all_models_that_take_one(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = count_calls(monkeypatch, DenseGram, "from_interactions")
    fits = SharedFits(dataset)
    for l2 in (1.0, 10.0):
        fits.fit(EASE(l2_weights=l2))
    fits.fit(Teaser(gram="dense", tol=1e-2))
    assert len(counted) == 1


def test_one_inverse_serves_all_penalties_on_the_encoder(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    inverted: list[float] = []
    invert = inverse.invert_gram

    def counted(gram: Any, ridge: Any, **named: Any) -> Any:
        inverted.append(float(ridge[0]))
        return invert(gram, ridge, **named)

    monkeypatch.setattr(remainder, "invert_gram", counted)
    fits = SharedFits(dataset)
    pairs = [(5.0, 20.0), (10.0, 15.0), (5.0, 40.0)]
    for (l1, k), l2 in itertools.product(pairs, (5.0, 50.0)):
        named = {
            "l2_weights": l1,
            "remainder": Remainder(neighbours=None, l2=k),
            "l2_encoder": l2,
            **EXACT,
        }
        found = fits.fit(Teaser(**named))
        alone = Teaser(**named).fit(dataset)
        inverted.pop()  # that of the model alone
        assert isinstance(found, Teaser)
        assert_allclose(found.encoder_, alone.encoder_, atol=1e-5)
        assert_allclose(found.remainder_, alone.remainder_, atol=1e-5)
    # The first two pairs of penalties have one sum.
    assert inverted == [25.0, 45.0]


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


def test_a_gram_is_shared_by_models_with_the_same_weights_of_users(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = count_calls(monkeypatch, DenseGram, "from_interactions")
    fits = SharedFits(dataset)
    for power in (0.0, 0.5):
        weights = Weights(user_power=power, ridge_power=0.5)
        found = fits.fit(EASE(l2_weights=5.0, weights=weights))
        fits.fit(EDLAE(l2_weights=5.0, weights=weights, rank=3, tol=1e-2))
        fits.fit(Teaser(gram="dense", tol=1e-2, weights=weights))
        assert len(counted) == 1
        alone = EASE(l2_weights=5.0, weights=weights).fit(dataset)
        assert isinstance(found, EASE)
        assert_allclose(found.weights_, alone.weights_, atol=1e-6)
        counted.clear()


def test_an_inverse_with_weights_is_shared_where_both_penalties_are_the_same(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    inverted: list[float] = []
    invert = inverse.invert_gram

    def counted(gram: Any, ridge: Any, **named: Any) -> Any:
        inverted.append(float(ridge.mean()))
        return invert(gram, ridge, **named)

    monkeypatch.setattr(remainder, "invert_gram", counted)
    for weights, n in ((Weights(ridge_power=0.0), 1), (Weights(ridge_power=0.5), 2)):
        fits = SharedFits(dataset)
        inverted.clear()
        for l1, k, l2 in ((5.0, 20.0, 5.0), (5.0, 20.0, 9.0), (10.0, 15.0, 5.0)):
            options = Remainder(l2=k, neighbours=None)
            how: dict[str, Any] = {"l2_weights": l1, "l2_encoder": l2, "weights": weights}
            found = fits.fit(Teaser(remainder=options, **how, **EXACT))
            kept = inverted.copy()
            alone = Teaser(remainder=options, **how, **EXACT).fit(dataset)
            inverted[:] = kept
            assert isinstance(found, Teaser)
            assert_allclose(found.encoder_, alone.encoder_, atol=1e-5)
        assert len(inverted) == n
