"""Checks that several models share."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from teaser import Dataset
from teaser.errors import ParameterError
from teaser.model.checks import (
    check_choice,
    check_count,
    check_dataset,
    check_flag,
    check_k,
    check_number,
    check_rng,
    check_share,
)


def refused(check: Callable[..., Any], said: str, *values: Any) -> None:
    for value in values:
        with pytest.raises(ParameterError, match=said):
            check(value)


def test_a_number_is_finite_and_above_its_least() -> None:
    check_number("x", np.float32(0.5))
    refused(
        lambda value: check_number("x", value), "x must be a finite number above 0, found",
        *(0, -1, np.nan, np.inf, 1e301, "3", None, True, 1 + 0j),
    )  # fmt: skip


def test_a_number_may_have_an_upper_end() -> None:
    check_number("p", 0.99, most=1.0)
    refused(lambda p: check_number("p", p, most=1.0), "above 0 and below 1, found 1", 1.0, 1)


def test_a_share_is_above_0_and_at_most_1() -> None:
    check_share("share", 1)
    check_share("share", np.float32(0.05))
    refused(lambda p: check_share("share", p), "share must be", 0, 1.01, -0.5, True, "1", np.nan)


def test_a_count_is_whole() -> None:
    assert check_count("n", np.int64(3)) == check_k(np.int8(3)) == 3
    refused(lambda n: check_count("n", n), "n must be a whole number", 0, 1.0, True, "3", None)
    refused(check_k, "k must be a whole number", 0, -1)


def test_a_choice_is_one_of_its_words() -> None:
    check_choice("dtype", "float32", ("float32", "float64"))
    refused(
        lambda value: check_choice("dtype", value, ("float32", "float64")),
        "dtype must be 'float32' or 'float64', found", "int8", None, ["float32"],
    )  # fmt: skip


def test_a_flag_is_true_or_false() -> None:
    check_flag("on", False)
    refused(lambda value: check_flag("on", value), "on must be True or False", 1, None, "yes")


def test_a_seed_is_whole_or_a_generator() -> None:
    for good in (None, 0, np.int32(4), np.random.default_rng(0)):
        check_rng(good)
    refused(check_rng, "rng must be a seed", -1, 0.5, "seed", True)


def test_a_model_learns_from_a_data_set(dataset: Dataset) -> None:
    check_dataset(dataset)
    refused(check_dataset, "fitted to a Dataset, found a", None, 5, np.eye(3))
