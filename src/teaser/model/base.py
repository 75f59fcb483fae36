"""The contract of a model: parameters, checks and the best k."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.ids import Ids
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

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], *parts: "Model") -> Self:
        """Return a model to be fitted, of plain parameters, such as those of a study.

        Parameters
        ----------
        parts
            The models that this one is made of, for a product.
        """
        known = inspect.signature(cls).parameters
        for name in parameters:
            if name not in known:
                raise ParameterError(
                    f"{cls.__name__} has no parameter {name!r}. "
                    f"Known: {', '.join(known) or 'none'}."
                )
        return cast(Self, cast(Any, cls)(*parts, **parameters))

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
    values = np.array(scores, dtype=np.float64)
    values[exclude] = -np.inf
    k = min(k, int(np.count_nonzero(values > -np.inf)))
    if k == 0:
        return np.zeros(0, dtype=np.int64)
    candidates = np.flatnonzero(values >= _at_most_the_last(values, k))
    order = np.lexsort((candidates, -tie[candidates], -values[candidates]))
    return candidates[order[:k]]


def _at_most_the_last(values: Array, k: int) -> float:
    """Return a number that the k largest values reach, and few others.

    Cut into enough stretches, the k-th largest of their maxima is one, at the cost of one reading.
    """
    stretches = 64 * k
    if len(values) < 8 * stretches:
        return float(np.partition(values, len(values) - k)[len(values) - k])
    length = len(values) // stretches
    whole = values[: length * stretches].reshape(stretches, length).max(axis=1)
    return float(np.partition(whole, stretches - k)[stretches - k])


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
