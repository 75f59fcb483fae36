"""A cluster that does not answer, has nobody, is of another version, or loses its scheduler."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="clusters need the extra dask")

import dask
import distributed
from clusters import exhaust, name_of, refuse, scheduler, wait_for, worker

from teaser.app.process.listener import free_port
from teaser.data.partitions import Part
from teaser.errors import ClusterError, DataError, ParameterError
from teaser.model.gram.dask_cluster import Cluster, LostError


def without_workers() -> Any:
    """A scheduler in this process, and nobody else."""
    start: Any = distributed.LocalCluster
    return start(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50)


@pytest.fixture(scope="module")
def alone() -> Iterator[Any]:
    with without_workers() as machines:
        yield machines


@pytest.fixture(scope="module")
def cluster(alone: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with (
        worker(alone.scheduler_address, tmp_path_factory.mktemp("w")),
        Cluster.connect(alone.scheduler_address, timeout=60) as connected,
    ):
        yield connected


PARTS = [Part(f"part {k}", f"/somewhere/{k}") for k in range(40)]


class TestConnecting:
    def test_nobody_listens(self) -> None:
        address = f"tcp://127.0.0.1:{free_port('127.0.0.1')}"
        with pytest.raises(ClusterError, match=f"{address} did not answer within 0.5 s"):
            Cluster.connect(address, timeout=0.5)

    def test_somebody_listens_and_says_nothing(self) -> None:
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
            with pytest.raises(ClusterError, match=r"did not answer within 0\.5 s"):
                Cluster.connect(address, timeout=0.5)

    @pytest.mark.parametrize("address", ["nonsense://x", "", "127.0.0.1:notaport"])
    def test_an_address_that_is_none(self, address: str) -> None:
        with pytest.raises(ClusterError, match="Is it running, and is that its address"):
            Cluster.connect(address, timeout=0.5)

    def test_there_are_no_workers(self, alone: Any) -> None:
        with pytest.raises(ClusterError, match=r"has no workers after 0.2 s.*dask worker tcp://"):
            Cluster.connect(alone.scheduler_address, timeout=0.2)

    @pytest.mark.parametrize("n_workers", [0, -1, True, 1.5])
    def test_a_local_cluster_of_nobody(self, n_workers: Any) -> None:
        with pytest.raises(ParameterError, match="1 worker or more"):
            Cluster.local(n_workers)

    def test_a_local_cluster_that_cannot_start(self) -> None:
        """Its processes are told of a preload that does not exist."""
        with (
            dask.config.set({"distributed.worker.preload": ["no_such_module_to_load"]}),
            pytest.raises(ClusterError, match="local cluster of 1 could not be started"),
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
            pytest.raises(ClusterError) as caught,
        ):
            Cluster.connect(machines.scheduler_address, timeout=60)
        said = "runs teaser 0.0.1" if kind == "other" else "runs teaser (none: ImportError"
        assert said in str(caught.value)
        assert "Worker tcp://127.0.0.1" in str(caught.value)
        assert "Install the same version" in str(caught.value)


class TestRunning:
    def test_answers_come_in_order_from_another_process(self, cluster: Cluster) -> None:
        found = list(cluster.run(name_of, PARTS))
        assert [answer[:2] for answer in found] == [(p.name, p.source) for p in PARTS]
        assert os.getpid() not in {answer[2] for answer in found}

    def test_what_a_part_is_refused_for_is_said_as_it_is(self, cluster: Cluster) -> None:
        with pytest.raises(DataError, match=r"^part 0 is bad$"):
            list(cluster.run(refuse, PARTS))

    def test_out_of_memory_names_the_part(self, cluster: Cluster) -> None:
        with pytest.raises(ClusterError, match="out of memory: part 0 does not fit"):
            list(cluster.run(exhaust, PARTS))

    def test_what_was_sent_and_lost_is_told_from_what_failed(self, cluster: Cluster) -> None:
        future = cluster.client.scatter(3)
        wanted = cluster.submit(name_of, "part 0", future, of=PARTS[0])
        cluster.client.cancel([wanted], force=True)
        with pytest.raises(LostError):
            cluster.result(wanted)

    def test_a_client_that_was_passed_in_stays_open(self, cluster: Cluster) -> None:
        with Cluster(cluster.client):
            pass
        assert cluster.client.status == "running"


def test_all_workers_go_and_none_comes(tmp_path: Path) -> None:
    with without_workers() as machines:
        with worker(machines.scheduler_address, tmp_path) as running:
            cluster = Cluster.connect(machines.scheduler_address, timeout=60, patience=1.0)
            future = cluster.submit(wait_for, "part 0", "", of=PARTS[0])
            running.kill()
            running.wait()
            with pytest.raises(ClusterError, match="No worker is left"):
                cluster.result(future)
        cluster.close()


def test_the_scheduler_goes(tmp_path: Path) -> None:
    port = free_port("127.0.0.1")
    address = f"tcp://127.0.0.1:{port}"
    with scheduler(tmp_path, port) as running, worker(address, tmp_path):
        cluster = Cluster.connect(address, timeout=60)
        future = cluster.submit(wait_for, "part 0", "", of=PARTS[0])
        running.kill()
        running.wait()
        with pytest.raises(ClusterError, match=f"The scheduler at {address} is gone"):
            cluster.result(future)
        cluster.close()
