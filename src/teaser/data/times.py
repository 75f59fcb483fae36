"""The times of interactions, one for each entry of the matrix of interactions."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.reading.strength import as_date
from teaser.errors import DataError, counted


def fixed_times(times: NDArray[Any], n_interactions: int) -> NDArray[np.float64]:
    """Return a read-only copy of the times, one for each interaction."""
    copy = np.array(times, np.float64)
    if copy.shape != (n_interactions,):
        raise DataError(
            f"There are {n_interactions:,} interactions and {copy.size:,} times. Give one for "
            "each entry of X, or times=None."
        )
    copy.flags.writeable = False
    return copy


def entries_of(X: sp.csr_array, rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the positions in `X.data` of the entries of some rows, in the order of the rows."""
    lengths = np.diff(X.indptr)[rows]
    begins = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(lengths) else lengths
    entries: NDArray[np.int64] = np.arange(lengths.sum()) + np.repeat(
        X.indptr[rows] - begins, lengths
    )
    return entries


def time_span(times: NDArray[np.float64]) -> str:
    """Return a sentence on the first and the last day of the times, and on missing ones."""
    known = times[~np.isnan(times)]
    missing = len(times) - len(known)
    if not len(known):
        return "no interaction has a time"
    said = f"times from {as_date(float(known.min()))} to {as_date(float(known.max()))}"
    if not missing:
        return said
    verb = "has" if missing == 1 else "have"
    return (
        f"{said}; {counted(missing, 'interaction')} {verb} no time, and splits by time leave "
        f"{'it' if missing == 1 else 'them'} out"
    )
