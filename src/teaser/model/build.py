"""Build G: from interactions or what is given, in memory, in partitions, on a cluster or a GPU."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.partitions import Interactions
from teaser.errors import ParameterError
from teaser.model.dask import Cluster, DaskGram
from teaser.model.estimate import FitSize, check_memory, choose_gram
from teaser.model.gpu import build_device_gram
from teaser.model.gram import ContentGram, DenseGram, Gram, SparseGram, as_array, weigh_users
from teaser.model.partitioned import choose_held, hold_partitions
from teaser.parameters import check_choice

Array = NDArray[Any]

GRAMS = ("auto", "dense", "sparse")
DTYPES = ("float32", "float64")
DEVICES = ("cpu", "cuda")

_ADDRESS = re.compile(r"((tcp|tls|ucx|wss?)://)?[^/]+:\d+/?|inproc://.+")


def build_gram(
    X: sp.csr_array,
    gram: Any,
    size: FitSize,
    *,
    content: sp.csr_array | None = None,
    device: str = "cpu",
    user_power: float = 0.0,
    n_items: int | None = None,
) -> Gram:
    """Return X' dM(w) X as an operator, with content added to it.

    Parameters
    ----------
    gram
        How to hold it, or an array or operator that is used as it is.
    content
        Terms of the items (items x terms), as `content_rows` returns them: see `ContentGram`.
    user_power, n_items
        Of the weights w of users: see `weigh_users`. The first `n_items` columns are items.
    """
    operator: Gram
    dtype = size.dtype
    found = getattr(gram, "user_power", user_power)
    if found != user_power:
        raise ParameterError(
            f"The Gram was made with user_power={found:g} and the model has {user_power:g}. Make "
            "it with that of the model."
        )
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
    return operator if content is None else ContentGram(operator, content, n_items=n_items)


def check_gram(gram: Any, dtype: Any, known: tuple[str, ...] = ("auto",)) -> None:
    """Raise `ParameterError` for a Gram or a type that makes no sense, before any work is done.

    Parameters
    ----------
    known
        The ways to hold a Gram that is not given as an array or an operator.
    """
    if gram is None or isinstance(gram, str):
        check_choice("gram", gram, known)
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


@contextmanager
def reached(scheduler: str | None, n_workers: int | None) -> Iterator[Any]:
    """Open the requested cluster, if any, and close it at the end of the `with` block.

    Parameters
    ----------
    scheduler
        The address of a running scheduler.
    n_workers
        How many processes of a cluster on this machine, which ends with the block.
    """
    if scheduler is not None and n_workers is not None:
        raise ParameterError("Name a scheduler or a local cluster, not both.")
    if scheduler is not None and not _ADDRESS.fullmatch(scheduler.strip()):
        raise ParameterError(
            f"{scheduler!r} is not the address of a scheduler, such as tcp://HOST:PORT."
        )
    if scheduler is None and n_workers is None:
        yield None
        return
    with Cluster.connect(scheduler) if scheduler else Cluster.local(n_workers or 0) as cluster:
        yield cluster


@contextmanager
def placed(
    dataset: Dataset,
    gram: str,
    *,
    dtype: str = "float32",
    solver: str = "cg",
    scheduler: str | None = None,
    n_workers: int | None = None,
    memory_limit: int | str | None = None,
    user_power: float = 0.0,
) -> Iterator[Any]:
    """Open G for `Teaser(gram=...)`, held where it was asked for.

    Parameters
    ----------
    gram
        `"auto"`, `"dense"` or `"sparse"`; returned as it is for a data set in memory.
    dtype
        Of the products.
    solver
        Which the fit will use: what it needs beside G must fit too.
    scheduler, n_workers
        As for `reached`.
    memory_limit
        Of a fit on this machine, in bytes or such as `"2GB"`.
    user_power
        Of the weights of users that the model has.
    """
    check_choice("gram", gram, GRAMS)
    check_choice("dtype", dtype, DTYPES)
    X, elsewhere = dataset.X, scheduler is not None or n_workers is not None
    if not isinstance(X, Interactions):
        if elsewhere or memory_limit is not None:
            raise ParameterError(
                "A memory limit and a cluster are for interactions in partitions, and this data "
                "set holds them in one matrix. Write them with teaser partition, and prepare "
                "the data set of that folder."
            )
        yield gram
        return
    size = FitSize(dataset.n_tags + 1, np.dtype(dtype), solver)
    if not elsewhere:
        yield hold_partitions(X, gram, size, memory_limit=memory_limit, user_power=user_power)
        return
    if memory_limit is not None:
        raise ParameterError(
            "A memory limit is for a fit on this machine alone. The workers of a cluster have "
            "limits of their own (dask worker --memory-limit)."
        )
    choice = choose_held(X, gram, size)
    check_memory(X, choice, size, interactions=0)  # workers read the partitions
    with reached(scheduler, n_workers) as cluster:
        held = DaskGram(X, cluster, np.dtype(dtype), user_power=user_power)
        yield held.counted() if choice == "dense" else held


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
    if not (G.diagonal() >= 0).all() or not np.allclose(G, G.T, rtol=1e-5):
        raise ParameterError(
            "The precomputed Gram is not symmetric and finite with a non-negative diagonal. "
            "Were counts added up in a type too narrow for them?"
        )
    return np.ascontiguousarray(G)
