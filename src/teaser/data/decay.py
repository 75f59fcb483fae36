"""Histories with times: older items count less."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import polars as pl

from teaser.data.ids import ItemId
from teaser.data.reading.strength import DAY, as_seconds, check_half_life
from teaser.errors import ParameterError

Id = TypeVar("Id", bound=ItemId)


def decayed(
    times: Mapping[Id, Any],
    *,
    half_life: float,
    strengths: Mapping[Id, float] | None = None,
) -> dict[Id, float]:
    """Return a history in which older items count less, as `recommend` takes it.

    The strength of an item is 2^(-age / half_life), times its own where that is given. Age is
    counted from the latest time of the history: a factor that all items share changes no list.

    Parameters
    ----------
    times
        When the user chose each item: dates, datetimes, ISO texts, or unix seconds or
        milliseconds.
    half_life
        After how many days an item counts half.
    strengths
        Strengths of items where they are not 1; below 0 for disliked items.

    Examples
    --------
    >>> decayed({"a": "2026-01-01", "b": "2026-01-31"}, half_life=30)
    {'a': 0.5, 'b': 1.0}
    """
    check_half_life(half_life)
    if not isinstance(times, Mapping):
        raise ParameterError(f"A history with times maps item ids to times, found {times!r}.")
    unknown = [item for item in strengths or {} if item not in times]
    if unknown:
        raise ParameterError(f"There is a strength but no time for {unknown[0]!r}. Give both.")
    seconds = np.array([_seconds(item, when) for item, when in times.items()])
    age = (seconds.max(initial=-np.inf) - seconds) / DAY
    factors = np.exp2(-age / half_life).tolist()
    own = strengths or {}
    return {item: own.get(item, 1.0) * x for item, x in zip(times, factors, strict=True)}


def _seconds(item: ItemId, when: Any) -> float:
    """Return one time as unix seconds."""
    try:
        found = as_seconds(pl.Series("time", [when], strict=False))[0]
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise _no_time(item, when) from error
    if found is None:
        raise _no_time(item, when)
    return float(found)


def _no_time(item: ItemId, when: Any) -> ParameterError:
    return ParameterError(
        f"The time of {item!r} must be a date, a datetime, an ISO text, or unix seconds or "
        f"milliseconds, found {when!r}."
    )
