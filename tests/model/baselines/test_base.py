"""Models without tags: rows of one person, and parameters that are checked and kept."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from teaser import Dataset
from teaser.errors import ParameterError
from teaser.model import EASE, EDLAE
from teaser.model.baselines.base import (
    check_count,
    check_number,
    check_rng,
    one_row,
    plain_parameters,
)


def test_a_history_is_one_row() -> None:
    assert_array_equal(one_row(np.array([0, 3]), 5).toarray(), [[1, 0, 0, 1, 0]])
    assert_array_equal(one_row(np.array([], dtype=int), 2).toarray(), [[0, 0]])


@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf, 1e301, "3", None, True, 1 + 0j])
def test_a_number_is_above_its_least(bad: Any) -> None:
    with pytest.raises(ParameterError, match=r"x must be a finite number above 0, found"):
        check_number("x", bad)


def test_a_number_may_have_an_upper_end() -> None:
    check_number("p", 0.99, most=1.0)
    with pytest.raises(ParameterError, match="above 0 and below 1, found 1"):
        check_number("p", 1.0, most=1.0)


@pytest.mark.parametrize("bad", [0, 1.0, True, "3", None])
def test_a_count_is_whole(bad: Any) -> None:
    check_count("n", np.int64(3))
    with pytest.raises(ParameterError, match="n must be a whole number of at least 1"):
        check_count("n", bad)


@pytest.mark.parametrize("bad", [-1, 0.5, "seed", True])
def test_a_seed_is_whole_or_a_generator(bad: Any) -> None:
    for good in (None, 0, np.int32(4), np.random.default_rng(0)):
        check_rng(good)
    with pytest.raises(ParameterError, match="rng must be a seed"):
        check_rng(bad)


def test_parameters_that_json_cannot_hold_are_not_kept() -> None:
    model = EDLAE(l2=np.float64(2), gram=np.eye(2), rng=np.random.default_rng(1))
    said = plain_parameters(model)
    assert (said["l2"], said["gram"], said["rng"]) == (2.0, "auto", None)
    assert type(said["l2"]) is float


def test_lists_have_no_reasons_and_an_item_twice_counts_once(dataset: Dataset) -> None:
    model = EASE(l2=5.0).fit(dataset)
    found = model.recommend(["i1", "i5", "i1"], k=4)
    assert found == model.recommend(["i5", "i1"], k=4)
    assert all(r.reasons == () for r in found)
