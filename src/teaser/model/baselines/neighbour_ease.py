"""EASE on neighbours: the best linear prediction of each item from those nearest to it."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.model._arrays import to_host
from teaser.model.base import Model
from teaser.model.build import GRAMS, build_gram, check_gram
from teaser.model.estimate import FitSize, explained_memory_error
from teaser.model.extensions.content import Content, content_rows
from teaser.model.extensions.remainder import NEAR_POWER, check_neighbours, neighbour_remainder
from teaser.model.extensions.weights import PLAIN, Weights, scale_pairs
from teaser.model.gram import Gram, item_ridge, nearest, own_diagonal
from teaser.model.tables import check_dataset
from teaser.parameters import check_count, check_number

Array = NDArray[Any]


class NeighbourEASE(Model):
    """EASE in which only the nearest neighbours of an item explain it.

    With T the nearest neighbours of item j by cosine, it minimises

        |X - X B|^2 + l2 |B|^2,    B_ij = 0 unless i is in T

    by one small problem for each item, (X'X + l2 I)_TT B_Tj = (X'X)_Tj. No items x items
    array is needed with a sparse Gram.

    Parameters
    ----------
    l2
        lambda, the penalty on item weights: larger trusts only what many users share.
    neighbours
        How many neighbours an item has at most. Cosines are those of X'X with user_power 0.5.
    weights
        `Weights(user_power=..., ridge_power=..., history_power=...)` weighs users, the penalties
        of items, and items of a history.
    content
        `Content(weight=...)` makes items alike by their tags or texts, in the search for
        neighbours and in their problems.
    gram
        How to hold X'X: `"auto"`, `"dense"`, `"sparse"`, or a precomputed array or operator.
    dtype
        `"float32"` or `"float64"`.

    Attributes
    ----------
    weights_
        B, sparse, items x items; a history's scores are the sum of its rows.
    """

    weights_: sp.csr_array

    learned_arrays = ("weights",)

    def __init__(
        self,
        *,
        l2: float = 50.0,
        neighbours: int = 100,
        weights: Weights | None = None,
        content: Content | None = None,
        gram: Any = "auto",
        dtype: str = "float32",
    ) -> None:
        self.l2 = l2
        self.neighbours = neighbours
        self.weights = weights
        self.content = content
        self.gram = gram
        self.dtype = dtype

    def fit(self, dataset: Dataset) -> Self:
        """Learn the weights."""
        self.check_parameters()
        check_dataset(dataset, partitions=True)
        how = PLAIN if self.weights is None else self.weights
        check_neighbours(self.dtype, int(self.neighbours), n_items=dataset.n_items)
        with explained_memory_error("The fit"):
            content = content_rows(self.content, dataset)
            near_gram = self._build_gram(dataset, "sparse", NEAR_POWER, content)
            near = nearest(near_gram, int(self.neighbours))
            gram = self._build_gram(dataset, self.gram, how.user_power, content)
            ridge = item_ridge(own_diagonal(gram), float(self.l2), how.ridge_power)
            weights = neighbour_remainder(gram, near, to_host(ridge).astype(np.float64))
        factors = how.of_history(dataset.item_counts)
        self.keep_items(dataset)
        self.weights_ = weights if factors is None else scale_pairs(weights, factors)
        return self

    def score_batch(self, X: Any) -> Array:
        """Return the score of every item for every row of histories (users x items)."""
        rows = self.check_histories(X)
        return np.asarray((rows.astype(np.float64) @ self.weights_).toarray())

    def _build_gram(
        self, dataset: Dataset, gram: Any, user_power: float, content: sp.csr_array | None
    ) -> Gram:
        size = FitSize(min(int(self.neighbours), dataset.n_items), np.dtype(self.dtype))
        return build_gram(dataset.X, gram, size, user_power=user_power, content=content)

    def check_parameters(self) -> None:
        """Raise `ParameterError` for a hyper-parameter out of its range; `fit` begins with it."""
        check_number("l2", self.l2)
        check_count("neighbours", self.neighbours)
        self.check_options()
        check_gram(self.gram, self.dtype, GRAMS)
