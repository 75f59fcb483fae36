"""Checks of hyper-parameters."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from teaser.errors import ParameterError
from teaser.model.checks import check_count, check_number, check_rng, check_share

NOT_NUMBERS: list[Any] = [None, "5", True, np.nan, [1.0]]


def test_values_in_range_pass() -> None:
    for value in (1, 0.5, np.float32(3), np.int64(2)):
        check_number("l2", value)
    for value in (1, 0.05, np.float64(1.0)):
        check_share("share", value)
    check_count("rounds", np.int32(1))
    for rng in (0, np.int64(3), None, np.random.default_rng(0)):
        check_rng(rng)


def test_others_are_refused_with_name_and_value() -> None:
    refused: list[tuple[Callable[[str, Any], None], list[Any]]] = [
        (check_number, [*NOT_NUMBERS, 0, -1.0, np.inf]),
        (check_share, [*NOT_NUMBERS, 0, 1.01, -0.5]),
        (check_count, [*NOT_NUMBERS, 0, 1.0]),
        (lambda _, value: check_rng(value), [-1, True, 1.5, "rng"]),
    ]
    for check, values in refused:
        for value in values:
            with pytest.raises(ParameterError, match="found"):
                check("rng", value)
    with pytest.raises(ParameterError, match="above 0 and below 1, found 2"):
        check_number("tol", 2, most=1.0)
