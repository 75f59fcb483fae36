"""Who counts how much, and how hard each item is held back: the options of the weights.

    f(E) = sum_u w_u |(x_u - x_u P(E D')) C|^2 + |L^(1/2) P(E D') C|^2 + l2 |E|^2
    w_u = (h_u / mean h)^-user_power,    h_u the number of items of user u
    L   = l1 dM((g_i / mean g)^ridge_power),    g = diag(X' dM(w) X)
    C   = dM((n_j / mean n)^(-item_power / 2)),    n_j the count of item j, at least 1

After the fit, F = dM((n / mean n)^history_power) makes F W F^-1 of the item-to-item weights W: E
becomes F E, D becomes F^-1 D, and R becomes F R F^-1, so that all sums stay exact.
model/gram.py has the formulas; see docs/users/model.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model._arrays import Matrix
from teaser.model.gram import column_weights
from teaser.parameters import Options, check_number, check_power

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True, repr=False)
class Weights(Options):
    """Options of the weights of users, of rows of the encoder and of predicted items.

    Sums and scores are made as without weights. A power of 0 leaves a kind of weight out.

    Parameters
    ----------
    user_power
        How much less a user with a long history counts: its weight is (length / mean)^-power.
    ridge_power
        How much harder popular items are held back: l2_weights times (count / mean)^power. 1 is
        like hiding items of a history at random (DLAE, EDLAE), 0 the plain ridge.
    item_power
        How much more it counts to predict rare items: the weight is (count / mean)^-power.
    popularity_scale
        The popularity column of the decoder times this: larger is a smaller penalty on it.
    history_power
        How much more a rare item of a history says, and how much less popular items score: after
        the fit, what viewing i adds to j is multiplied by (count of i / count of j)^power.
    """

    user_power: float = 0.5
    ridge_power: float = 0.5
    item_power: float = 0.0
    popularity_scale: float = 1.0
    history_power: float = 0.0

    def check(self) -> None:
        """Raise `ParameterError` for options that make no sense."""
        for name in ("user_power", "ridge_power", "item_power", "history_power"):
            check_power(f"weights.{name}", getattr(self, name))
        check_number("weights.popularity_scale", self.popularity_scale)

    def of_columns(self, item_counts: Array | None) -> Array | None:
        """Return c, the weight of each item where it is predicted; None where all are ones."""
        if self.item_power == 0 or item_counts is None:
            return None
        return column_weights(item_counts, self.item_power)

    def of_history(self, item_counts: Array) -> Array | None:
        """Return (n_i / mean n)^history_power of each item; None where all are ones."""
        if self.history_power == 0:
            return None
        return column_weights(item_counts, -2 * self.history_power)


def scale_rows(matrix: Matrix, factors: Array) -> Matrix:
    """Return a dense or sparse matrix with row i multiplied by factors[i], in its own type."""
    if not sp.issparse(matrix):
        return np.asarray(matrix * factors[:, None].astype(matrix.dtype))
    data = (matrix.data * np.repeat(factors, np.diff(matrix.indptr))).astype(matrix.dtype)
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def scale_pairs(R: Matrix, factors: Array) -> Matrix:
    """Return F R F^-1 of item-to-item weights, F = dM(factors); an array in its own memory."""
    if not sp.issparse(R):
        R *= factors[:, None].astype(R.dtype)
        R /= factors.astype(R.dtype)
        return R
    out = scale_rows(R, factors)
    out.data = (out.data / factors[out.indices]).astype(R.dtype)
    return out


PLAIN = Weights(user_power=0.0, ridge_power=0.0)
