"""EASE: one matrix of item-to-item weights in closed form; RDLAE, with a relaxed diagonal."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.model._inverse import invert_gram, item_weights
from teaser.model.base import Model
from teaser.model.build import build_gram, check_gram
from teaser.model.estimate import FitSize, check_square
from teaser.model.extensions.content import Content, content_rows
from teaser.model.extensions.weights import PLAIN, Weights, scale_pairs
from teaser.model.gram import item_ridge, own_diagonal
from teaser.model.tables import check_dataset
from teaser.parameters import check_fraction, check_number

Array = NDArray[Any]


class EASE(Model):
    """Embarrassingly shallow autoencoder: one items x items matrix of weights.

    It minimises

        |X - X B|^2 + l2 |B|^2,    diag(B) = 0

    whose solution is B_ij = -C_ij / C_jj with C = (X'X + l2 I)^-1. One items x items array is
    allocated, which becomes the inverse and then the weights in place. With content it is
    collective EASE.

    Parameters
    ----------
    l2
        lambda, the penalty on item weights: larger trusts only what many users share.
    weights
        `Weights(user_power=..., ridge_power=..., history_power=...)` weighs users, the penalties
        of items, and items of a history. The weights of predicted items make no difference: each
        has a problem of its own.
    content
        `Content(weight=...)` makes items alike by their tags or texts, beside being chosen
        together.
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
    Jeunen, Van Balen, Goethals: Closed-Form Models for Collaborative Filtering with
    Side-Information. 2020.
    """

    weights_: Array

    lists_in_threads = True
    learned_arrays = ("weights",)

    def __init__(
        self,
        *,
        l2: float = 200.0,
        weights: Weights | None = None,
        content: Content | None = None,
        gram: Any = "auto",
        dtype: str = "float32",
    ) -> None:
        self.l2 = l2
        self.weights = weights
        self.content = content
        self.gram = gram
        self.dtype = dtype

    def fit(self, dataset: Dataset) -> Self:
        """Learn the weights."""
        self.check_parameters()
        check_dataset(dataset)
        check_square(type(self).__name__, dataset.n_items, self.dtype)
        B = self._find_weights(*self._invert(dataset))
        factors = (self.weights or PLAIN).of_history(dataset.item_counts)
        self.keep_items(dataset)
        self.weights_ = B if factors is None else scale_pairs(B, factors)
        return self

    @property
    def _dropout(self) -> float:
        return 0.0

    def _invert(self, dataset: Dataset) -> tuple[Array, Array]:
        """Return C = (G + L)^-1 as an array, and diag(L)."""
        how, given = self.weights or PLAIN, not isinstance(self.gram, str)
        operator = build_gram(
            dataset.X,
            self.gram if given else "dense",
            FitSize(1, np.dtype(self.dtype)),
            content=content_rows(self.content, dataset),
            user_power=how.user_power,
        )
        g = own_diagonal(operator).astype(np.float64)
        penalty = item_ridge(g, float(self.l2), how.ridge_power)
        penalty += self._dropout / (1 - self._dropout) * g
        return invert_gram(operator, penalty, overwrite=not given), penalty

    def _find_weights(self, C: Array, penalty: Array) -> Array:
        """Return B in the memory of C = (G + L)^-1, where L is the diagonal `penalty`."""
        return item_weights(C)

    def score_batch(self, X: Any) -> Array:
        """Return the score of every item for every row of histories (users x items)."""
        rows = self.check_histories(X)
        return np.asarray(rows.astype(self.weights_.dtype) @ self.weights_)

    def check_parameters(self) -> None:
        """Raise `ParameterError` for a hyper-parameter out of its range; `fit` begins with it."""
        check_number("l2", self.l2)
        self.check_options()
        check_gram(self.gram, self.dtype)


class RDLAE(EASE):
    """Relaxed denoising linear autoencoder: EASE whose diagonal is bounded, not zero.

    It minimises

        |X - X B|^2 + |L^(1/2) B|^2,    diag(B) <= diagonal,
        L = l2 I + dropout / (1 - dropout) dM(X'X)

    whose solution is B = I - C dM(max(L_j, (1 - diagonal) / C_jj)) with C = (X'X + L)^-1. A
    diagonal of 0 is EASE with dropout.

    Parameters
    ----------
    l2
        lambda, the penalty on item weights: larger trusts only what many users share.
    dropout
        p, the share of a history that is hidden in learning.
    diagonal
        xi, how much an item may explain itself, from 0 to 1.
    weights, content
        As for `EASE`.
    gram
        X'X: `"auto"` to count it, or a precomputed array or operator, which is copied.
    dtype
        `"float32"` or `"float64"`.

    Attributes
    ----------
    weights_
        B, items x items; a history's scores are the sum of its rows.

    References
    ----------
    Moon, Kim, Lee: It's Enough: Relaxing Diagonal Constraints in Linear Autoencoders for
    Recommendation. 2023.
    """

    def __init__(
        self,
        *,
        l2: float = 200.0,
        dropout: float = 0.3,
        diagonal: float = 0.5,
        weights: Weights | None = None,
        content: Content | None = None,
        gram: Any = "auto",
        dtype: str = "float32",
    ) -> None:
        super().__init__(l2=l2, weights=weights, content=content, gram=gram, dtype=dtype)
        self.dropout = dropout
        self.diagonal = diagonal

    @property
    def _dropout(self) -> float:
        return float(self.dropout)

    def _find_weights(self, C: Array, penalty: Array) -> Array:
        """Return B = I - C dM(taken), in the memory of C."""
        taken = np.maximum(penalty, (1 - float(self.diagonal)) / C.diagonal().astype(np.float64))
        C *= -taken.astype(C.dtype)
        C.flat[:: len(C) + 1] += 1
        return C

    def check_parameters(self) -> None:
        """Raise `ParameterError` for a hyper-parameter out of its range; `fit` begins with it."""
        super().check_parameters()
        check_fraction("dropout", self.dropout)
        check_fraction("diagonal", self.diagonal)
