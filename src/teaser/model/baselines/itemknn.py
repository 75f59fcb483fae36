"""ItemKNN: the nearest neighbours of the history's items, by cosine similarity."""

from itertools import pairwise
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
    Xt, n_items = X.T.tocsr(), X.shape[1]
    # The squared length of each column: the number of users, where no interaction has a strength.
    squares = np.bincount(X.indices, weights=np.square(X.data), minlength=n_items)
    height, found = max(1, _CELLS // n_items), []
    for first in range(0, n_items, height):
        # Rows of X'X: how many users chose both items, by their strengths.
        both = sp.csr_array(Xt[first : first + height] @ X)
        for item, (start, end) in enumerate(pairwise(both.indptr.tolist()), first):
            others = both.indices[start:end]
            # One root of one product, so that equal counts give equal cosines to the last bit.
            cosines = both.data[start:end] / np.sqrt(squares[others] * squares[item])
            cosines[others == item] = 0.0
            # All that tie with the k-th nearest are sorted, for popularity to decide.
            least = np.partition(cosines, -k)[-k] if len(cosines) > k else 0.0
            others, cosines = others[cosines >= least], cosines[cosines >= least]
            order = np.lexsort((others, -counts[others], -cosines))[:k]
            found.append((np.full(len(order), item), others[order], cosines[order]))
    items, others, cosines = (np.concatenate(part) for part in zip(*found, strict=True))
    similarity = sp.csr_array((cosines, (items, others)), shape=(n_items, n_items))
    similarity.eliminate_zeros()
    return similarity
