"""Times of interactions: copied, checked, and taken along with rows."""

from datetime import UTC, datetime

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from teaser.data.interactions import entries_of, fixed_times, time_span
from teaser.errors import DataError


def test_they_are_copied_and_cannot_be_changed() -> None:
    given = np.array([1, 2])
    times = fixed_times(given, 2)
    given[0] = 9
    assert times.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        times[0] = 3


@pytest.mark.parametrize("times", [[1.0], [[1.0, 2.0]], []])
def test_there_is_one_for_each_interaction(times: list[float]) -> None:
    with pytest.raises(DataError, match="There are 2 interactions and"):
        fixed_times(np.array(times), 2)


@pytest.mark.parametrize("rows", [[], [0], [3, 1], [2, 2, 0], [0, 1, 2, 3]])
def test_entries_are_those_of_the_rows(rows: list[int]) -> None:
    X = sp.random_array((4, 6), density=0.5, format="csr", rng=np.random.default_rng(0))
    X.sort_indices()
    picked = np.array(rows, dtype=int)
    assert_array_equal(X.data[entries_of(X, picked)], X[picked].data)


def test_the_span_is_told_in_days() -> None:
    moments = [datetime(2001, 2, 3, 23, tzinfo=UTC), datetime(1999, 1, 1, tzinfo=UTC)]
    times = np.array([moment.timestamp() for moment in moments])
    said = "times from 1999-01-01 to 2001-02-03"
    assert time_span(times) == said
    assert time_span(np.array([np.nan, *times])) == (
        f"{said}; 1 interaction has no time, and splits by time leave it out"
    )
    assert time_span(np.array([np.nan, *times, np.nan])) == (
        f"{said}; 2 interactions have no time, and splits by time leave them out"
    )
    assert time_span(np.full(2, np.nan)) == "no interaction has a time"
