"""A Dask cluster, its failures in terms of partitions, and G over its workers.

Each partition is decoded by a worker and stays there. For a product, a block of columns of M goes
to the workers, X_p'(X_p M) is computed where X_p is, and the results are added pair by pair in the
order of the partitions. The result does not depend on the number of workers or on their failures.

Dask is imported when a cluster is first used: `pip install 'teaser-recommender[dask]'`.
"""

import asyncio
import importlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from operator import add
from typing import Any, Self, TypeVar
from uuid import uuid4

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser._version import __version__
from teaser.data.partitions import Interactions, Part, PartSize
from teaser.data.reading import first_line
from teaser.errors import MissingPackageError, ResourceError, TeaserError
from teaser.model._arrays import Matrix
from teaser.model.gram import DenseGram, SparseGram, as_array, sorted_rows, weigh_users
from teaser.model.partitioned import PartitionedGram, column_blocks, mean_length
from teaser.parameters import check_count

Array = NDArray[Any]
T = TypeVar("T")
_AHEAD = 32
_MINUTE = 60.0
_OF = " of "
_ATTEMPTS = 5
# Entries of G's rows that workers send at once; most of them are zero.
_SENT_CELLS = 2**26


class LostError(Exception):
    """A result was lost with its worker, and the scheduler cannot compute it again."""


class Cluster:
    """A connection to a Dask scheduler whose workers run this version of teaser.

    Parameters
    ----------
    client
        A `distributed.Client`.
    timeout
        Seconds to wait for the scheduler, and for a first worker; what Dask is configured to
        (`distributed.comm.timeouts.connect`, half a minute) when not given.
    patience
        Seconds for which all workers may be gone before a fit gives up.
    """

    def __init__(
        self, client: Any, *, timeout: float | None = None, patience: float = _MINUTE
    ) -> None:
        self.client = client
        self.address = str(client.scheduler.address)
        self.patience = patience
        self._owned: list[Any] = []
        self._tables: dict[str, str] = {}
        self._check(_seconds(timeout))

    @classmethod
    def connect(
        cls, address: str, *, timeout: float | None = None, patience: float = _MINUTE
    ) -> Self:
        """Connect to a scheduler, such as `tcp://10.0.0.1:8786`.

        Raises
        ------
        ResourceError
            If it does not answer, has no workers, or they are of another version.
        """
        distributed, timeout = _distributed(), _seconds(timeout)
        try:
            _knock(address, timeout)
            client = distributed.Client(address, timeout=timeout, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ResourceError(
                f"The scheduler at {address} did not answer within {timeout:g} s: "
                f"{first_line(error)}. Is it running, and is that its address?"
            ) from error
        return cls._owning(client, [client], timeout, patience)

    @classmethod
    def local(cls, n_workers: int, *, memory_limit: int | str = "auto") -> Self:
        """Start a scheduler and workers on this machine, each a process, on loopback only."""
        check_count("n_workers", n_workers)
        distributed = _distributed()
        try:
            machines = distributed.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                memory_limit=memory_limit,
                silence_logs=logging.CRITICAL,
            )
        except RuntimeError as error:
            raise ResourceError(
                f"A local cluster of {n_workers} could not be started: {first_line(error)}. What "
                "the processes said of it is above."
            ) from error
        client = distributed.Client(machines, set_as_default=False)
        return cls._owning(client, [client, machines], _MINUTE, _MINUTE)

    @classmethod
    def _owning(cls, client: Any, owned: list[Any], timeout: float, patience: float) -> Self:
        try:
            cluster = cls(client, timeout=timeout, patience=patience)
        except BaseException:
            for part in owned:
                part.close()
            raise
        cluster._owned = owned
        return cluster

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End what `connect` or `local` began; a client that was passed in stays open."""
        for part in self._owned:
            try:
                part.close()
            except KeyError:
                # Its last step waits for a task that fails where a worker was lost before the
                # cluster had heard of it. All else is closed by then.
                part.status = type(part.status).closed
        self._owned = []

    def run(self, function: Callable[[str, Any], T], parts: Sequence[Part]) -> Iterator[T]:
        """Call a function where the parts are read; answers come in order, few at a time."""
        waiting, running = deque(parts), deque[Any]()
        while waiting or running:
            while waiting and len(running) < _AHEAD:
                part = waiting.popleft()
                running.append(self.submit(function, part.name, self.source(part), of=part))
            yield self.result(running.popleft())

    def source(self, part: Part) -> Any:
        """Return the argument from which a task reads a part: an address or a future."""
        if isinstance(part.source, str):
            return part.source
        table = self.client.compute(part.source)
        self._tables[str(table.key)] = part.name
        return table

    def submit(self, function: Callable[..., Any], *args: Any, of: Part, **where: Any) -> Any:
        """Start a task under a key by which its part is found again."""
        key = f"{getattr(function, '__name__', 'read')}-{uuid4().hex}{_OF}{of.name}"
        return self.client.submit(function, *args, key=key, pure=False, **where)

    def send(self, content: Any) -> Any:
        """Bring something to a worker, once there is one; the others fetch it from each other.

        Not sent to all of them from here: Dask hangs if a worker dies meanwhile.
        """
        self._wait_for_a_worker(self.patience)
        with self.answering():
            return self.client.scatter([content], hash=False)[0]  # a tuple stays one

    def workers(self) -> list[str]:
        """Return the addresses of the workers, in order."""
        with self.answering():
            return sorted(self.client.nthreads())

    def result(self, future: Any) -> Any:
        """Wait for a task and return what it made.

        Raises
        ------
        LostError
            If what it needs was lost with a worker; it is to be started again.
        ResourceError
            If the scheduler or all workers are gone, or a worker cannot hold a part.
        """
        distributed = _distributed()
        with self.answering():
            since = time.monotonic()
            while not future.done():
                try:
                    with self.client.as_current():
                        distributed.wait([future], timeout=2.0)
                except TimeoutError:
                    since = time.monotonic() if self.client.nthreads() else since
                if time.monotonic() - since > self.patience:
                    raise ResourceError(
                        f"No worker is left, and none has come for {self.patience:g} s. Start "
                        "workers and fit again."
                    )
            return future.result()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Raise our errors in place of those of Dask."""
        distributed = _distributed()
        killed, closed = distributed.scheduler.KilledWorker, distributed.comm.CommClosedError
        try:
            yield
        except TeaserError:
            raise
        except killed as error:
            task = str(error.task)
            part = self._tables.get(task, task.partition(_OF)[2] or f"The task {task}")
            raise ResourceError(
                f"{part}: {error.allowed_failures + 1} workers ended while they had it in hand, "
                f"the last of them {getattr(error.last_worker, 'address', error.last_worker)}. "
                "Most likely their memory is too small for it or for one beside it: write smaller "
                "partitions, or give workers more memory."
            ) from error
        except MemoryError as error:
            raise ResourceError(f"A worker is out of memory: {first_line(error)}") from error
        except (
            distributed.client.CancelledError,
            asyncio.CancelledError,
            closed,
            OSError,
        ) as error:
            if self.client.status == "running":
                raise LostError(str(error)) from error
            raise ResourceError(
                f"The scheduler at {self.address} is gone. Start it again, with its workers, and "
                "fit again."
            ) from error

    def _wait_for_a_worker(self, timeout: float) -> None:
        try:
            self.client.wait_for_workers(1, timeout=timeout)
        except TimeoutError as error:
            raise ResourceError(
                f"The scheduler at {self.address} has no workers after {timeout:g} s. Start some: "
                f"dask worker {self.address}"
            ) from error

    def _check(self, timeout: float) -> None:
        """Raise unless there are workers that run this version; Dask warns of other packages."""
        self._wait_for_a_worker(timeout)
        with self.answering():
            # Sent as code, it finds whatever teaser a worker would run.
            found = self.client.run(
                lambda: str(importlib.import_module("teaser").__version__), on_error="return"
            )
        for place, version in found.items():
            if version != __version__:
                raise ResourceError(
                    f"Worker {place} runs teaser {version}, this process {__version__}. Install "
                    "the same version everywhere."
                )


def _seconds(timeout: float | None) -> float:
    """Return how long to wait for an answer: as given, or as Dask is configured."""
    if timeout is not None:
        return timeout
    dask = importlib.import_module("dask")
    configured = dask.config.get("distributed.comm.timeouts.connect")
    return float(dask.utils.parse_timedelta(configured))


def _knock(address: str, timeout: float) -> None:
    """Raise unless a scheduler answers; a client would wait without end."""
    core = importlib.import_module("distributed.core")

    async def ask() -> None:
        async with core.rpc(address, timeout=timeout) as scheduler:
            await scheduler.identity()

    # In a thread of its own, since this one may be inside an event loop, as in a notebook.
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(lambda: asyncio.run(asyncio.wait_for(ask(), timeout))).result()


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ModuleNotFoundError as error:
        raise MissingPackageError("A cluster", "Dask", extra="dask") from error


def _load_part(
    read: Callable[..., tuple[Any, sp.csr_array]],
    ids: pl.Series,
    size: PartSize,
    name: str,
    source: Any,
    dtype: np.dtype[Any],
    weights: tuple[float, float],
) -> SparseGram:
    """Return the Gram of one part, which is read here.

    Parameters
    ----------
    weights
        The power of the weights of users, and the mean length of a history.
    """
    X, (power, mean) = read(ids, size, name, source)[1], weights
    return SparseGram(weigh_users(X, power, dtype, mean_length=mean), dtype)


class DaskGram(PartitionedGram):
    """G as a sum over partitions that live on workers.

    A worker that dies is survived: its partitions are read again by others. Interactions never
    come to this process.

    Parameters
    ----------
    X
        Interactions in partitions that the workers can read.
    cluster
        The cluster.
    dtype
        Of the products.
    user_power
        Of the weights of users: see `weigh_users`.
    """

    def __init__(
        self, X: Interactions, cluster: Cluster, dtype: np.dtype[Any], *, user_power: float = 0.0
    ) -> None:
        super().__init__(X, dtype, user_power)
        self.cluster = cluster
        self._grams: list[Any] = []
        self.row_cells = _SENT_CELLS

    def apply(self, matrix: Matrix) -> Array:
        """Return the sum of X_p'(X_p M)."""
        matrix = matrix.tocsc() if sp.issparse(matrix) else matrix
        out = np.empty((self.n_items, int(matrix.shape[1])), dtype=self.dtype)
        for columns in column_blocks(out.shape[1], self.n_items, self.dtype):
            block = matrix[:, columns]
            sent = block if sp.issparse(block) else np.ascontiguousarray(block)
            out[:, columns] = self._total(lambda gram, M: gram.apply(M), sent)
        return out

    def row_block(self, first: int, last: int) -> sp.csr_array:
        """Return rows `first` to `last` of G, sparse, the sum over partitions."""
        rows = self._total(lambda gram, ends: sp.csr_array(gram.row_block(*ends)), (first, last))
        return sorted_rows(rows, self.dtype)

    def _sum_diagonals(self) -> Array:
        return np.asarray(self._total(lambda gram, _: gram.diagonal().astype(np.float64), None))

    def with_user_power(self, power: float) -> "DaskGram":
        """Return the Gram of the same interactions with other weights of users."""
        return DaskGram(self.X, self.cluster, self.dtype, user_power=power)

    def counted(self) -> DenseGram:
        """Return G as one array in this process, counted by the workers."""
        return DenseGram(as_array(self))

    def _total(self, work: Callable[..., Matrix], sent: Any) -> Matrix:
        """Return the sum over partitions of what `work` makes of them and of `sent`."""
        for attempt in range(_ATTEMPTS):
            try:
                if not self._grams:
                    self._grams = self._load()
                shared = self.cluster.send(sent)
                futures = [
                    self.cluster.submit(work, gram, shared, of=part)
                    for part, gram in zip(self.X.parts, self._grams, strict=True)
                ]
                return self.cluster.result(self._reduce(futures))
            except LostError:
                # What was sent lived on workers only: begin this block again with all of it,
                # once the scheduler has noticed who is gone.
                self._grams = []
                time.sleep(attempt)
        raise ResourceError(
            f"Workers were lost in {_ATTEMPTS} attempts at the same step. Look at their logs; "
            "most likely they are out of memory."
        )

    def _load(self) -> list[Any]:
        """Let neighbouring partitions be decoded by the same worker, about as many by each."""
        workers, parts = self.cluster.workers(), self.X.parts
        ids = self.cluster.send(self.X.ids)
        ends = np.cumsum([size.interactions for size in self.X.sizes])
        # Equal shares of the interactions: a partition goes where its last one falls.
        share = (ends - 1) * len(workers) // max(1, ends[-1])
        read = self.X.partitions.reader.users_and_matrix
        weights, grams = (self.user_power, mean_length(self.X)), []
        for k, (part, size) in enumerate(zip(parts, self.X.sizes, strict=True)):
            home = [workers[int(share[k])]] if workers else None
            where = {"workers": home, "allow_other_workers": True} if home else {}
            given = read, ids, size, part.name, self.cluster.source(part), self.dtype, weights
            grams.append(self.cluster.submit(_load_part, *given, of=part, **where))
        return grams

    def _reduce(self, futures: list[Any]) -> Any:
        """Add neighbours until one is left: the shape of the tree depends on their number only."""
        while len(futures) > 1:
            pairs = [futures[k : k + 2] for k in range(0, len(futures), 2)]
            futures = [
                self.cluster.submit(add, *pair, of=self.X.parts[0]) if len(pair) == 2 else pair[0]
                for pair in pairs
            ]
        return futures[0]
