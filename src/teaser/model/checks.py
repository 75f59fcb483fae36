"""Checks of hyper-parameters, made at the start of `fit`."""

from typing import Any

import numpy as np

from teaser.errors import ParameterError


def is_number(value: Any) -> bool:
    """Return whether a value is an integer or a float, of Python or numpy; bool is neither."""
    is_real = isinstance(value, int | float | np.integer | np.floating)
    return is_real and not isinstance(value, bool)


def check_number(name: str, value: Any, *, least: float = 0.0, most: float = 1e300) -> None:
    """Raise `ParameterError` unless the value is a number above `least` and below `most`."""
    if not is_number(value) or not least < value < most:
        below = f" and below {most:g}" if most < 1e300 else ""
        raise ParameterError(
            f"{name} must be a finite number above {least:g}{below}, found {value!r}."
        )


def check_share(name: str, value: Any) -> None:
    """Raise `ParameterError` unless the value is a number above 0 and at most 1."""
    if not is_number(value) or not 0 < value <= 1:
        raise ParameterError(f"{name} must be a number above 0 and at most 1, found {value!r}.")


def check_count(name: str, value: Any) -> None:
    """Raise `ParameterError` unless the value is a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1, found {value!r}.")


def check_rng(rng: Any) -> None:
    """Raise `ParameterError` unless this is a seed, a generator or nothing."""
    is_seed = isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0
    if not (rng is None or is_seed or isinstance(rng, np.random.Generator)):
        raise ParameterError(f"rng must be a seed of 0 or more, or a Generator, found {rng!r}.")
