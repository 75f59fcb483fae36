"""The contract of a model: parameters, checks and the best k."""

import inspect
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset, Ids
from teaser.errors import NotFittedError, ParameterError

Array = NDArray[Any]


class Model(ABC):
    """What every model can do: be fitted to a data set and score all items for people."""

    items_: Ids

    @abstractmethod
    def fit(self, dataset: Dataset) -> Self:
        """Learn from a data set; a second fit starts clean."""

    @abstractmethod
    def score_batch(self, X: Any) -> Array:
        """Return the score of every item for every row of histories (people x items)."""

    def parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters as they were given."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({said})"

    def check_fitted(self) -> None:
        """Raise `NotFittedError` before `fit`."""
        if not hasattr(self, "items_"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet. Call fit(dataset) first."
            )


def top_k(scores: Array, k: int, *, exclude: Array, tie: Array) -> Array:
    """Return the positions of the k best items, best first.

    Parameters
    ----------
    exclude
        Positions that may not be returned.
    tie
        Decides between equal scores, larger first; then the position does.
    """
    is_free = np.ones(len(scores), dtype=bool)
    is_free[exclude] = False
    candidates = np.flatnonzero(is_free)
    k = min(k, len(candidates))
    if k == 0:
        return candidates[:0]
    values = scores[candidates]
    if k < len(candidates):
        least = np.partition(values, len(values) - k)[len(values) - k]
        candidates = candidates[values >= least]
    order = np.lexsort((candidates, -tie[candidates], -scores[candidates]))
    return candidates[order[:k]]


def as_histories(X: Any, n_items: int) -> sp.csr_array:
    """Return rows of histories as a checked sparse matrix (people x items)."""
    try:
        rows = sp.csr_array(X if sp.issparse(X) else np.atleast_2d(X), copy=True)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"Histories must be a people x items matrix: {error}.") from error
    if rows.shape[1] != n_items:
        raise ParameterError(
            f"The histories have {rows.shape[1]:,} columns and the model {n_items:,} items. "
            "Use one column an item, in the order of model.items_."
        )
    if not np.isfinite(rows.data).all() or not np.isin(rows.data, (0, 1)).all():
        raise ParameterError("Histories must hold only 0 and 1.")
    rows.eliminate_zeros()
    return rows


def check_k(k: Any) -> int:
    """Return how many items are wanted, if that is a whole number above zero."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError(f"k must be a whole number of at least 1, found {k!r}.")
    return int(k)
