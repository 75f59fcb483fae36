"""EASE: the best linear prediction of each item from all others, in closed form."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.errors import ParameterError
from teaser.model._inverse import invert, item_weights
from teaser.model.base import Model
from teaser.model.build import check_dense_settings, dense_gram
from teaser.model.estimate import check_room
from teaser.model.extensions.weights import PLAIN, Weights
from teaser.model.gram import item_ridge
from teaser.model.tables import check_dataset
from teaser.parameters import check_number

Array = NDArray[Any]


class EASE(Model):
    """Embarrassingly shallow autoencoder: one items x items matrix of weights.

    It minimises

        |X - X B|^2 + l2_weights |B|^2,    diag(B) = 0

    whose solution is B_ij = -C_ij / C_jj with C = (X'X + l2_weights I)^-1. One items x items array
    is allocated, which becomes the inverse and then the weights in place.

    Parameters
    ----------
    l2_weights
        lambda, the penalty on item weights: larger trusts only what many users share.
    weights
        `Weights(user_power=..., ridge_power=...)` weighs users and the penalties of items. The
        weights of predicted items make no difference: each has a problem of its own.
    gram
        X'X: `"auto"` to count it, or a precomputed array or operator, which is copied. Give one
        for a grid of penalties, so that it is counted once.
    dtype
        `"float32"` or `"float64"`.

    Attributes
    ----------
    weights_
        B, items x items; a history's scores are the sum of its rows.

    References
    ----------
    Steck: Embarrassingly Shallow Autoencoders for Sparse Data. 2019.
    """

    weights_: Array

    lists_in_threads = True
    learned_arrays = ("weights",)

    def __init__(
        self,
        *,
        l2_weights: float = 200.0,
        weights: Weights | None = None,
        gram: Any = "auto",
        dtype: str = "float32",
    ) -> None:
        self.l2_weights = l2_weights
        self.weights = weights
        self.gram = gram
        self.dtype = dtype

    def fit(self, dataset: Dataset, *, inverse: Array | None = None) -> Self:
        """Learn the weights.

        Parameters
        ----------
        inverse
            (X'X + l2_weights I)^-1 where it is known, as from `Teaser.prepare` with a
            remainder, whose two penalties sum to this one; it is copied. Not with weights.
        """
        self.check_parameters()
        check_dataset(dataset)
        check_room("EASE", dataset.n_items, self.dtype)
        if inverse is None:
            how = PLAIN if self.weights is None else self.weights
            A = dense_gram(dataset.X, self.gram, self.dtype, user_power=how.user_power)
            # X'X + L, whose memory becomes C and then B.
            ridge = item_ridge(A.diagonal(), self.l2_weights, how.ridge_power)
            A.flat[:: len(A) + 1] += ridge.astype(A.dtype)
            weights = item_weights(invert(A))
        elif self.weights is not None:
            raise ParameterError("An inverse that is given is one without weights. Leave one out.")
        elif np.shape(inverse) != (dataset.n_items, dataset.n_items):
            raise ParameterError(
                f"The inverse is {np.shape(inverse)}, and there are {dataset.n_items:,} items."
            )
        else:
            _check_inverse(inverse, dataset.X, self.l2_weights)
            weights = item_weights(np.array(inverse, dtype=self.dtype, copy=True))
        self.keep_items(dataset)
        self.weights_ = weights
        return self

    def score_batch(self, X: Any) -> Array:
        """Return the score of every item for every row of histories (users x items)."""
        rows = self.check_histories(X)
        return np.asarray(rows.astype(self.weights_.dtype) @ self.weights_)

    def check_parameters(self) -> None:
        """Raise `ParameterError` for a hyper-parameter out of its range; `fit` begins with it."""
        check_number("l2_weights", self.l2_weights)
        self.check_options()
        check_dense_settings(self.gram, self.dtype)

    def unpack(self, content: Content) -> None:
        """Set what `pack` returned; raise `ValueError` where it does not fit the items."""
        super().unpack(content)
        n_items = len(self.items_)
        if self.weights_.shape != (n_items, n_items):
            raise ValueError("its weights are not items x items")


def _check_inverse(C: Array, X: Any, l2: float) -> None:
    """Raise `ParameterError` if this is the inverse of something else, by one of its rows."""
    counts = np.bincount(X.indices, minlength=X.shape[1])
    item = int(counts.argmax())
    # Row i of C times column i of X'X + l2 I is 1: one product with X instead of an inverse.
    column = np.asarray(X.T @ X[:, [item]].toarray(), dtype=np.float64).ravel()
    column[item] += l2
    unit = float(np.asarray(C[item], dtype=np.float64) @ column)
    if not abs(unit - 1) < 0.01:
        raise ParameterError(
            f"The inverse is not that of X'X + {l2:g} I: its row for the most popular item gives "
            f"{unit:.3g} where 1 should be. Is l2_weights the sum of both penalties?"
        )
