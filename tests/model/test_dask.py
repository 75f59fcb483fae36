"""Fits on a cluster: the same model, whoever dies, and errors that say what to do."""

import pytest

pytest.importorskip("distributed", reason="clusters need the extra dask")

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import distributed
import numpy as np
import polars as pl
from clusters import exhaust, read_part, refuse, scheduler, wait_for, worker
from conftest import RULES, small_tables
from dask.delayed import delayed
from numpy.testing import assert_allclose, assert_array_equal
from served import free_port

from teaser import Dataset, Teaser
from teaser.data.partitions import Part, write_partitions
from teaser.errors import DataError, ParameterError, ResourceError
from teaser.extensions import Content, DiscoveredTags, Remainder, Weights
from teaser.model.dask import Cluster, DaskGram
from teaser.model.gram import weigh_users


def without_workers() -> Any:
    """A scheduler in this process, and nobody else."""
    start: Any = distributed.LocalCluster
    return start(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50)


@pytest.fixture(scope="module")
def alone() -> Iterator[Any]:
    with without_workers() as machines:
        yield machines


@pytest.fixture(scope="module")
def lone_worker(alone: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with (
        worker(alone.scheduler_address, tmp_path_factory.mktemp("w")),
        Cluster.connect(alone.scheduler_address, timeout=60) as connected,
    ):
        yield connected


PARTS = [Part(f"part {k}", f"/somewhere/{k}") for k in range(40)]


class TestConnecting:
    def test_somebody_listens_and_says_nothing(self) -> None:
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
            with pytest.raises(ResourceError, match=r"did not answer within 0\.5 s"):
                Cluster.connect(address, timeout=0.5)

    def test_there_are_no_workers(self, alone: Any) -> None:
        with pytest.raises(ResourceError, match=r"has no workers after 0.2 s.*dask worker tcp://"):
            Cluster.connect(alone.scheduler_address, timeout=0.2)

    @pytest.mark.parametrize("n_workers", [0, -1, True, 1.5])
    def test_a_local_cluster_of_nobody(self, n_workers: Any) -> None:
        with pytest.raises(ParameterError, match="n_workers must be"):
            Cluster.local(n_workers)

    def test_a_local_cluster_that_cannot_start(self) -> None:
        """Its processes are told of a preload that does not exist."""
        with (
            dask.config.set({"distributed.worker.preload": ["no_such_module_to_load"]}),
            pytest.raises(ResourceError, match="local cluster of 1 could not be started"),
        ):
            Cluster.local(1)

    @pytest.mark.parametrize("kind", ["other", "none"])
    def test_a_worker_of_another_version(self, kind: str, tmp_path: Path) -> None:
        """A worker that finds another package called teaser, or one that cannot be imported."""
        package = tmp_path / "lib" / "teaser"
        package.mkdir(parents=True)
        text = '__version__ = "0.0.1"' if kind == "other" else 'raise ImportError("broken")'
        (package / "__init__.py").write_text(text)
        with (
            without_workers() as machines,
            worker(machines.scheduler_address, tmp_path, path=package.parent),
            pytest.raises(ResourceError) as caught,
        ):
            Cluster.connect(machines.scheduler_address, timeout=60)
        said = "runs teaser 0.0.1" if kind == "other" else "runs teaser broken"
        assert said in str(caught.value)
        assert "Worker tcp://127.0.0.1" in str(caught.value)
        assert "Install the same version" in str(caught.value)


class TestRunning:
    def test_what_a_part_is_refused_for_is_said_as_it_is(self, lone_worker: Cluster) -> None:
        with pytest.raises(DataError, match=r"^part 0 is bad$"):
            list(lone_worker.run(refuse, PARTS))

    def test_out_of_memory_names_the_part(self, lone_worker: Cluster) -> None:
        with pytest.raises(ResourceError, match="out of memory: part 0 does not fit"):
            list(lone_worker.run(exhaust, PARTS))


def test_all_workers_go_and_none_comes(tmp_path: Path) -> None:
    with without_workers() as machines:
        with worker(machines.scheduler_address, tmp_path) as running:
            cluster = Cluster.connect(machines.scheduler_address, timeout=60, patience=1.0)
            future = cluster.submit(wait_for, "part 0", "", of=PARTS[0])
            running.kill()
            running.wait()
            with pytest.raises(ResourceError, match="No worker is left"):
                cluster.result(future)
        cluster.close()


def test_the_scheduler_goes(tmp_path: Path) -> None:
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with scheduler(tmp_path, port) as running, worker(address, tmp_path):
        cluster = Cluster.connect(address, timeout=60)
        future = cluster.submit(wait_for, "part 0", "", of=PARTS[0])
        running.kill()
        running.wait()
        with pytest.raises(ResourceError, match=f"The scheduler at {address} is gone"):
            cluster.result(future)
        cluster.close()


F64 = np.dtype("float64")

OPTIONS: Any = {"dtype": "float64", "tol": 1e-11, "l2_weights": 5.0, "l2_encoder": 5.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parts") / "p"
    write_partitions(small_tables()[0], path, parts=5)
    return path


@pytest.fixture(scope="module")
def parted(folder: Path) -> Dataset:
    return Dataset.from_partitions(folder, small_tables()[1], rules=RULES)


@pytest.fixture(scope="module")
def local(folder: Path) -> Dataset:
    whole = pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])
    return Dataset.from_tables(whole, small_tables()[1], rules=RULES)


@pytest.fixture(scope="module")
def wanted(local: Dataset) -> np.ndarray[Any, Any]:
    return np.asarray(Teaser(gram="sparse", **OPTIONS).fit(local).encoder_)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster.local(2) as found:
        yield found


def collection(folder: Path, **options: Any) -> Any:
    """Partitions as a Dask collection of pandas frames."""

    class Collection:
        def to_delayed(self) -> list[Any]:
            paths = sorted(str(path) for path in folder.glob("*.parquet"))
            return [delayed(read_part)(path, **options) for path in paths]

    return Collection()


def test_workers_weigh_users_alike(cluster: Cluster, parted: Dataset, local: Dataset) -> None:
    weighted = weigh_users(local.X, 0.5, F64).toarray()
    G = weighted.T @ weighted
    gram = DaskGram(parted.X, cluster, F64, user_power=0.5)
    assert_allclose(gram.diagonal(), G.diagonal(), rtol=1e-12)
    assert_allclose(gram.counted().G, G, atol=1e-11)
    M = np.random.default_rng(0).standard_normal((40, 9))
    assert_allclose(gram.apply(M), G @ M, rtol=1e-11, atol=1e-11)
    how: Any = {**OPTIONS, "weights": Weights(user_power=0.5, ridge_power=1.0, item_power=0.5)}
    found = Teaser(gram=gram, **how).fit(parted)
    assert_allclose(found.encoder_, Teaser(**how).fit(local).encoder_, atol=1e-9)


def test_a_fit_is_that_of_the_data_in_memory_and_repeats(
    cluster: Cluster, parted: Dataset, wanted: Any
) -> None:
    one, two = (
        Teaser(gram=DaskGram(parted.X, cluster, F64), **OPTIONS).fit(parted) for _ in range(2)
    )
    assert_allclose(one.encoder_, wanted, rtol=0, atol=1e-9)
    assert_array_equal(one.encoder_, two.encoder_)


def test_neighbours_and_groups_are_those_of_the_data_in_memory(
    cluster: Cluster, parted: Dataset, local: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Some rows of G at a time.
    monkeypatch.setattr("teaser.model.dask._SENT_CELLS", 200)
    options: Any = {
        **OPTIONS,
        "remainder": Remainder(l2=5.0, neighbours=6),
        "discovered": DiscoveredTags(grains=(8,), factors=4),
        "content": Content(weight=0.5),
    }
    found: Any = Teaser(gram=DaskGram(parted.X, cluster, F64), **options).fit(parted)
    wanted: Any = Teaser(**options).fit(local)
    assert_allclose(found.encoder_, wanted.encoder_, atol=1e-8)
    assert_allclose(found.remainder_.toarray(), wanted.remainder_.toarray(), atol=1e-8)
    assert [group.tag for group in found.groups_.found] == [g.tag for g in wanted.groups_.found]
    assert_allclose(found.groups_.weights.toarray(), wanted.groups_.weights.toarray(), atol=1e-8)


@pytest.mark.parametrize("victims", [1, 2])
def test_workers_killed_in_the_middle_of_a_fit(
    cluster: Cluster, parted: Dataset, wanted: Any, victims: int
) -> None:
    """kill -9 of one worker, and of all at once, when only workers know what was sent."""
    killed: list[int] = []

    def kill(iteration: int, residual: float) -> None:
        if iteration == 2:
            cluster.client.wait_for_workers(2)
            pids = list(cluster.client.run(os.getpid).values())[:victims]
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            killed.extend(pids)

    gram = DaskGram(parted.X, cluster, F64)
    found = Teaser(gram=gram, **OPTIONS).fit(parted, callback=kill)
    assert len(killed) == victims
    assert found.converged_
    assert_allclose(found.encoder_, wanted, rtol=0, atol=1e-9)


class TestCollections:
    def test_a_dask_collection_is_surveyed_and_fitted(
        self, cluster: Cluster, folder: Path, wanted: Any
    ) -> None:
        items = small_tables()[1]
        parted = Dataset.from_partitions(collection(folder), items, rules=RULES, run=cluster.run)
        found = Teaser(gram=DaskGram(parted.X, cluster, F64), **OPTIONS).fit(parted)
        assert_allclose(found.encoder_, wanted, rtol=0, atol=1e-9)
        with pytest.raises(DataError, match="Dask collection cannot be saved"):
            parted.save(folder.parent / "data")

    def test_a_dask_data_frame_is_one(self, cluster: Cluster, folder: Path) -> None:
        frames = pytest.importorskip("dask.dataframe")
        with dask.config.set({"dataframe.convert-string": False}):
            table = frames.from_delayed(collection(folder).to_delayed())
            parted = Dataset.from_partitions(table, small_tables()[1], rules=RULES, run=cluster.run)
        assert parted.n_users == 300
        assert len(parted.X.parts) == 5

    def test_without_a_cluster_it_cannot_be_read(self, folder: Path) -> None:
        with pytest.raises(ParameterError, match="Partition 0 of the Dask collection can only"):
            Dataset.from_partitions(collection(folder), small_tables()[1])

    def test_a_worker_that_the_system_kills_names_the_partition(self, folder: Path) -> None:
        """As the out-of-memory killer does: no exception, the process is gone.

        The first partition: Dask blames whatever a dead worker had queued, the first is told.
        One death is enough here, so that the test need not wait for four.
        """
        source = collection(folder, victim="part-00000")
        with (
            dask.config.set({"distributed.scheduler.allowed-failures": 0}),
            Cluster.local(1) as frail,
            pytest.raises(ResourceError) as caught,
        ):
            Dataset.from_partitions(source, small_tables()[1], run=frail.run)
        assert "Partition 0 of the Dask collection" in str(caught.value)
        assert "memory is too small" in str(caught.value)
