"""G made of interactions or of what is given: how it is held, where, and whether it fits."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.partitions import Interactions
from teaser.errors import ParameterError
from teaser.model.gram.blocks import is_sparse
from teaser.model.gram.cost import FitSize, check_memory, choose_gram
from teaser.model.gram.gpu import build_device_gram
from teaser.model.gram.operator import ContentGram, DenseGram, Gram, SparseGram, gram_rows
from teaser.model.gram.partitioned import hold_partitions
from teaser.model.gram.weighting import weigh_users
from teaser.parameters import check_choice

Array = NDArray[Any]

GRAMS = ("auto", "dense", "sparse")
DTYPES = ("float32", "float64")
DEVICES = ("cpu", "cuda")

_BLOCK = 512


def build_gram(
    X: sp.csr_array,
    gram: Any,
    size: FitSize,
    *,
    content: sp.csr_array | None = None,
    content_weight: float = 0.0,
    device: str = "cpu",
    user_power: float = 0.0,
    n_items: int | None = None,
) -> Gram:
    """Return X' dM(w) X as an operator, with `content_weight` times content content' added to it.

    Parameters
    ----------
    gram
        How to hold it, or an array or operator that is used as it is.
    user_power, n_items
        Of the weights w of users: see `weigh_users`.
    """
    operator: Gram
    dtype = size.dtype
    _check_power(gram, user_power)
    if isinstance(X, Interactions) and isinstance(gram, str):
        operator = hold_partitions(X, gram, size, user_power=user_power)
    elif device == "cuda":
        X = weigh_users(X, user_power, dtype, n_items=n_items)
        operator = build_device_gram(X, gram, n_tags=size.n_tags, dtype=dtype)
    elif isinstance(gram, str):
        choice = choose_gram(X, size.n_tags, dtype) if gram == "auto" else gram
        choice = "dense" if size.solver == "admm" else choice  # it decomposes G as one array
        check_memory(X, choice, size)
        X = weigh_users(X, user_power, dtype, n_items=n_items)
        operator = (
            DenseGram.from_interactions(X, dtype) if choice == "dense" else SparseGram(X, dtype)
        )
    elif all(hasattr(gram, name) for name in ("apply", "diagonal", "n_items", "dtype")):
        operator = gram
        if operator.dtype != dtype:
            raise ParameterError(
                f"The Gram operator is in {operator.dtype} and dtype is {dtype}. Use one of them."
            )
    else:
        operator = DenseGram(_precomputed(gram, dtype))
    if operator.n_items != X.shape[1]:
        raise ParameterError(f"The Gram is of {operator.n_items:,} items and X of {X.shape[1]:,}.")
    if content is not None and content_weight > 0:
        operator = ContentGram(operator, content, content_weight)
    return operator


def check_dense_settings(gram: Any, dtype: Any) -> None:
    """Raise `ParameterError` for a Gram or a type that makes no sense, before any work is done."""
    if gram is None or (isinstance(gram, str) and gram != "auto"):
        raise ParameterError(f"gram must be 'auto', an array or an operator, found {gram!r}.")
    check_choice("dtype", dtype, DTYPES)


def dense_gram(X: sp.csr_array, gram: Any, dtype: str, *, user_power: float = 0.0) -> Array:
    """Return X' dM(w) X as an array of its own (items x items), which the caller may overwrite.

    Parameters
    ----------
    gram
        `"auto"` to count; or a precomputed array or operator, which is left as it is.
    user_power
        Of the weights w of users: see `weigh_users`.
    """
    kind = np.dtype(dtype)
    if isinstance(gram, str):
        return DenseGram.from_interactions(weigh_users(X, user_power, kind), kind).G
    return as_array(build_gram(X, gram, FitSize(1, kind), user_power=user_power))


def as_array(operator: Gram) -> Array:
    """Return a Gram as an array of its own (items x items), which the caller may overwrite."""
    if isinstance(operator, DenseGram):
        # What was given as an array may be held as it is.
        return np.array(operator.G, order="C", copy=True)
    n, kind = operator.n_items, operator.dtype
    if isinstance(operator, SparseGram):
        return operator.rows(0, n)
    G = np.empty((n, n), dtype=kind)
    for first in range(0, n, _BLOCK):
        rows = gram_rows(operator, first, min(first + _BLOCK, n))
        G[first : first + _BLOCK] = rows.toarray() if is_sparse(rows) else rows
    return G


def _check_power(gram: Any, user_power: float) -> None:
    """Raise `ParameterError` for a Gram of partitions that was opened for other weights."""
    found = getattr(gram, "user_power", user_power)
    if found != user_power:
        raise ParameterError(
            f"The Gram was made with user_power={found:g} and the model has {user_power:g}. Make "
            "it with that of the model."
        )


def _precomputed(gram: Any, dtype: np.dtype[Any]) -> Array:
    try:
        G = np.asarray(gram.toarray() if sp.issparse(gram) else gram, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"The Gram cannot be read as a matrix: {error}.") from error
    if G.ndim != 2 or G.shape[0] != G.shape[1]:
        raise ParameterError(
            f"A precomputed Gram must be items x items, found the shape {G.shape}."
        )
    G = G.astype(dtype)
    if not np.isfinite(G).all():
        raise ParameterError("The precomputed Gram holds values that are not finite.")
    if (G.diagonal() < 0).any() or not np.allclose(G, G.T, rtol=1e-5):
        raise ParameterError(
            "The precomputed Gram is not symmetric with a non-negative diagonal. "
            "Were counts added up in a type too narrow for them?"
        )
    return np.ascontiguousarray(G)
