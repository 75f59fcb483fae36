"""Scores after presses are those of the model, and follow from the state alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from teaser import Steering, Teaser
from teaser.app.serving import moved_scores
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.state import State

PRESSES = {
    "town=Ghent": 2,
    "town=Liège": -1,
    "type=concert": 5,
    "popularity=popularity": 1,
    "general appeal=general appeal": -2,
}


def scores_after(catalogue: Catalogue, presses: dict[str, int], balance: float = 0.5) -> np.ndarray:
    state = State(history=("i1", "i4"), presses=presses, balance=balance)
    return PersonalModel(catalogue, state).scores


@pytest.mark.parametrize("which", ["model", "remainder_model"])
@pytest.mark.parametrize("balance", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_they_are_those_of_the_model(
    which: str, balance: float, request: pytest.FixtureRequest
) -> None:
    model: Teaser = request.getfixturevalue(which)
    catalogue = Catalogue(model)
    few = {"town=Ghent": 2, "town=Liège": -5, "labels=late": 5}
    for presses in ({}, few, PRESSES, {"town=Ghent": -1}):
        steering = Steering(balance=balance)
        wanted = model.scores(model.profile(["i1", "i4"], presses, steering=steering))
        found = scores_after(catalogue, presses, balance)
        assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
        if not presses:
            assert (found == wanted).all()


def test_the_order_of_presses_does_not_matter(model: Teaser) -> None:
    catalogue = Catalogue(model)
    first, second = ("town=Ghent", 2), ("town=Liège", -1)
    one_way = scores_after(catalogue, dict([first, second]))
    assert (scores_after(catalogue, dict([second, first])) == one_way).all()
    assert (scores_after(Catalogue(model), dict([second, first])) == one_way).all()
    assert (scores_after(catalogue, {}) != one_way).any()


def test_general_appeal_that_is_pressed_to_nothing_orders_nothing_by_rounding(
    model: Teaser,
) -> None:
    """A newcomer leans 0.6 towards it, and each press takes 0.2 of that."""
    presses = {"general appeal=general appeal": -3, "town=Ghent": 1}
    found = PersonalModel(Catalogue(model), State(presses=presses)).scores
    assert (found == model.scores(model.profile([], presses))).all()


def test_a_press_leaves_what_is_kept_as_it_was(model: Teaser) -> None:
    catalogue = Catalogue(model)
    before = scores_after(catalogue, {}).copy()
    scores_after(catalogue, {"town=Ghent": 2})
    after = scores_after(catalogue, {})
    assert (after == before).all()
    with pytest.raises(ValueError, match="read-only"):
        after[0] = 1.0


def test_few_scores_are_kept_of_many_items(model: Teaser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moved_scores, "_BYTES", 0)
    catalogue = Catalogue(model)
    for item in model.items_:
        assert PersonalModel(catalogue, State(history=(item,))).scores.shape == (40,)
    assert len(moved_scores._kept(catalogue)) == 8
