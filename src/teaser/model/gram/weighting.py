"""Weights of the objective: of users, of the rows of the encoder, and of the items predicted.

    sum_u w_u |(x_u - x_u B) C|^2 + |L^(1/2) B C|^2,    L = l1 dM(r),    C = dM(c)

With G = X' dM(w) X and D~ = C D this is the problem without weights, so that a Gram only has to
be that of dM(sqrt w) X. See docs/users/model.md.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model.gram.operator import ContentGram, Gram

Array = NDArray[Any]


def weigh_users(
    X: sp.csr_array,
    power: float,
    dtype: np.dtype[Any],
    *,
    n_items: int | None = None,
    mean_length: float | None = None,
) -> sp.csr_array:
    """Return dM(sqrt w) X with w_u = (h_u / mean h)^-power; X itself where the power is 0.

    Parameters
    ----------
    X
        Interactions, users x items, with or without columns of user features after the items.
    dtype
        Of the values returned.
    n_items
        How many columns are items: h_u counts a user's entries in these. All of them by default.
    mean_length
        The mean of h over users with a history; that of X when not given. A partition needs that
        of all partitions.
    """
    if power == 0:
        return X
    entries = np.diff(X.indptr)
    lengths = entries
    if n_items is not None and n_items < X.shape[1]:
        owner = np.repeat(np.arange(X.shape[0]), entries)
        lengths = np.bincount(owner[X.indices < n_items], minlength=X.shape[0])
    if mean_length is None:
        mean_length = int(lengths.sum()) / max(1, int(np.count_nonzero(lengths)))
    # A user without a history counts as one with one item.
    roots = (np.maximum(lengths, 1) / max(mean_length, 1.0)) ** (-power / 2)
    data = (X.data * np.repeat(roots, entries)).astype(dtype)
    return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)


def row_weights(gram: Gram, power: float, *, n_items: int | None = None) -> Array:
    """Return r_i = (g_i / mean g)^power, one a row, where the Gram lives.

    Parameters
    ----------
    gram
        Of the weighted interactions; what content adds to it does not count.
    n_items
        How many rows are items, over which the mean is taken. All of them by default.
    """
    g = (gram.gram if isinstance(gram, ContentGram) else gram).diagonal().astype(np.float64)
    mean = float(g[:n_items].mean())
    return np.asarray(((g / (mean or 1.0)) ** power).astype(gram.dtype), like=g)


def item_ridge(g: Array, l1: float, power: float) -> Array:
    """Return diag(L), l1 (g_i / mean g)^power, for an inverse of G + L in closed form.

    Where nobody chose an item it is l1: no weight depends on it, and 0 would make G + L singular.

    Parameters
    ----------
    g
        diag(G) of the weighted interactions.
    """
    g = g.astype(np.float64)
    relative = np.where(g > 0, g / (float(g.mean()) or 1.0), 1.0)
    return np.asarray(l1 * relative**power)


def column_weights(counts: Array, power: float) -> Array:
    """Return c_j = (n_j / mean n)^(-power / 2) of item counts n, taken as at least 1."""
    n = np.maximum(counts, 1).astype(np.float64)
    return np.asarray((n / n.mean()) ** (-power / 2))
