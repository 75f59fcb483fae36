"""Make the Gram of partitioned interactions, on this machine or on a Dask cluster."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from teaser.data.dataset import Dataset
from teaser.data.partitions import Interactions
from teaser.errors import ParameterError
from teaser.model.gram.build import DTYPES, GRAMS
from teaser.model.gram.cost import FitSize
from teaser.model.gram.dask_cluster import Cluster
from teaser.model.gram.dask_gram import DaskGram
from teaser.model.gram.partitioned import as_bytes, check_held, choose_held, hold_partitions
from teaser.parameters import check_choice

_ADDRESS = re.compile(r"((tcp|tls|ucx|wss?)://)?[^/]+:\d+/?|inproc://.+")


@contextmanager
def reached(scheduler: str | None, n_workers: int | None) -> Iterator[Cluster | None]:
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
    limit = None if memory_limit is None else as_bytes(memory_limit)
    if not isinstance(X, Interactions):
        if elsewhere or limit is not None:
            raise ParameterError(
                "A memory limit and a cluster are for interactions in partitions, and this data "
                "set holds them in one matrix. Write them with teaser partition, and prepare "
                "the data set of that folder."
            )
        yield gram
        return
    size = FitSize(dataset.n_tags + 1, np.dtype(dtype), solver)
    if not elsewhere:
        yield hold_partitions(X, gram, size, memory_limit=limit, user_power=user_power)
        return
    if limit is not None:
        raise ParameterError(
            "A memory limit is for a fit on this machine alone, and a cluster was named too. Its "
            "workers have limits of their own (dask worker --memory-limit)."
        )
    choice = choose_held(X, gram, size)
    check_held(X, choice, size, reading=False)
    with reached(scheduler, n_workers) as cluster:
        if cluster is None:
            raise ParameterError("Name a scheduler or the number of processes of a cluster.")
        held = DaskGram(X, cluster, np.dtype(dtype), user_power=user_power)
        yield held.counted() if choice == "dense" else held
