"""Checks of hyper-parameters and arguments that several models share."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from teaser.data.dataset import Dataset
from teaser.errors import ParameterError


def is_number(value: Any) -> bool:
    """Return whether a value is an integer or a float, of Python or numpy; bool is neither."""
    is_real = isinstance(value, int | float | np.integer | np.floating)
    return is_real and not isinstance(value, bool)


def _as_python(value: Any) -> Any:
    """Return a number of numpy as one of Python: float32 cannot be compared with 1e300."""
    return value.item() if isinstance(value, np.generic) else value


def check_number(name: str, value: Any, *, least: float = 0.0, most: float = 1e300) -> None:
    """Raise `ParameterError` unless the value is a number above `least` and below `most`."""
    if not is_number(value) or not least < _as_python(value) < most:
        below = f" and below {most:g}" if most < 1e300 else ""
        raise ParameterError(
            f"{name} must be a finite number above {least:g}{below}, found {value!r}."
        )


def check_power(name: str, value: Any) -> None:
    """Raise `ParameterError` unless the value is a number from 0 to 2."""
    if not is_number(value) or not 0 <= value <= 2:
        raise ParameterError(f"{name} must be a number from 0 to 2, found {value!r}.")


def check_share(name: str, value: Any) -> None:
    """Raise `ParameterError` unless the value is a number above 0 and at most 1."""
    if not is_number(value) or not 0 < value <= 1:
        raise ParameterError(f"{name} must be a number above 0 and at most 1, found {value!r}.")


def check_count(name: str, value: Any) -> int:
    """Return a whole number of at least 1, or raise `ParameterError`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1, found {value!r}.")
    return int(value)


def check_k(k: Any) -> int:
    """Return the length of a list, or raise `ParameterError`."""
    return check_count("k", k)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise `ParameterError` unless the value is one of some words."""
    if not isinstance(value, str) or value not in choices:
        known = " or ".join(map(repr, choices))
        raise ParameterError(f"{name} must be {known}, found {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """Raise `ParameterError` unless the value is True or False."""
    if not isinstance(value, bool):
        raise ParameterError(f"{name} must be True or False, found {value!r}.")


def check_rng(rng: Any) -> None:
    """Raise `ParameterError` unless this is a seed, a generator or None."""
    is_seed = isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0
    if not (rng is None or is_seed or isinstance(rng, np.random.Generator)):
        raise ParameterError(f"rng must be a seed of 0 or more, or a Generator, found {rng!r}.")


def check_dataset(dataset: Any, *, partitions: bool = False) -> None:
    """Raise `ParameterError` unless this is a data set that the model can learn from.

    Parameters
    ----------
    partitions
        Whether the model can read interactions that are stored in partitions.
    """
    if not isinstance(dataset, Dataset):
        raise ParameterError(
            f"A model is fitted to a Dataset, found a {type(dataset).__name__}. "
            "Make one with Dataset.from_tables."
        )
    if not partitions and not sp.issparse(dataset.X):
        raise ParameterError(
            "The interactions of this data set are in partitions, and only Teaser, "
            "NeighbourEASE and WMFS can learn from those. Make a data set with Dataset.from_tables."
        )
