"""ItemKNN: the nearest neighbours of the history's items, by cosine similarity."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.model.base import Model
from teaser.model.tables import check_dataset
from teaser.parameters import check_count

Array = NDArray[Any]


class ItemKNN(Model):
    """Nearest neighbours: each item of a history adds its similarity to its neighbours' scores.

    The similarity of two items is the cosine of their columns of X: the number of users who chose
    both / the root of the product of the numbers who chose each.

    Parameters
    ----------
    neighbours
        How many neighbours an item has, not counting itself. Ties are broken by popularity, then
        by position.

    Attributes
    ----------
    similarity_
        Sparse, items x items: the neighbours of each item in its row.

    References
    ----------
    Deshpande, Karypis: Item-based top-N recommendation algorithms. 2004.
    """

    similarity_: sp.csr_array

    learned_arrays = ("similarity",)

    def __init__(self, *, neighbours: int = 200) -> None:
        self.neighbours = neighbours

    def fit(self, dataset: Dataset) -> Self:
        """Find the neighbours of every item."""
        self.check_parameters()
        check_dataset(dataset)
        similarity = nearest_neighbours(dataset.X, dataset.item_counts, int(self.neighbours))
        self.keep_items(dataset)
        self.similarity_ = similarity
        return self

    def check_parameters(self) -> None:
        """Raise `ParameterError` for a hyper-parameter out of its range; `fit` begins with it."""
        check_count("neighbours", self.neighbours)

    def score_batch(self, X: Any) -> Array:
        """Return the score of every item for every row of histories (users x items)."""
        rows = self.check_histories(X)
        return np.asarray((rows.astype(np.float64) @ self.similarity_).toarray())


# A block of counts is a sparse matrix that may be nearly full: keep it near 50 MB.
_CELLS = 2**22


def nearest_neighbours(X: sp.csr_array, counts: Array, k: int) -> sp.csr_array:
    """Return the cosines of each item with the k items most like it (items x items, sparse)."""
    X = sp.csr_array(X, dtype=np.float64)
    Xt = X.T.tocsr()
    n_items = X.shape[1]
    # The squared length of each column: the number of users, where no interaction has a strength.
    squares = np.bincount(X.indices, weights=np.square(X.data), minlength=n_items)
    width = max(1, _CELLS // max(1, n_items))
    found: list[tuple[Array, Array]] = []
    for first in range(0, n_items, width):
        # Rows of X'X: how many users chose both items, by their strengths.
        both = sp.csr_array(Xt[first : first + width] @ X)
        for row in range(both.shape[0]):
            part = slice(both.indptr[row], both.indptr[row + 1])
            pairs = both.indices[part], both.data[part]
            found.append(_nearest(first + row, *pairs, squares, counts, k))
    starts = np.cumsum([0, *(len(places) for places, _ in found)])
    places = np.concatenate([np.zeros(0, np.int64), *(places for places, _ in found)])
    values = np.concatenate([np.zeros(0), *(values for _, values in found)])
    return sp.csr_array((values, places, starts), shape=(n_items, n_items))


def _nearest(
    item: int, places: Array, both: Array, squares: Array, counts: Array, k: int
) -> tuple[Array, Array]:
    """Return the positions and cosines of the k nearest of some items, in order of position."""
    others = places != item
    places, both = places[others].astype(np.int64), both[others]
    # One root of one product, so that equal counts give equal cosines to the last bit.
    cosines = both / np.sqrt(squares[places] * squares[item])
    if len(places) > k:
        # All that tie with the k-th nearest are kept here, for popularity to decide.
        least = np.partition(cosines, len(cosines) - k)[len(cosines) - k]
        near = np.flatnonzero(cosines >= least)
        order = np.lexsort((places[near], -counts[places[near]], -cosines[near]))
        chosen = near[order[:k]]
        places, cosines = places[chosen], cosines[chosen]
    order = np.argsort(places)
    return places[order], cosines[order]
