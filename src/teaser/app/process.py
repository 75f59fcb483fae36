"""Start the server: in one process or several workers; fit the model of the demonstration."""

import os
import shutil
import signal
import socket
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import uvicorn
from platformdirs import user_cache_path
from uvicorn.supervisors import Multiprocess

from teaser._version import __version__
from teaser.app.brand.brand import read_brand
from teaser.app.people.store import Store
from teaser.app.server import create_app
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.private_copy import load_private, make_shared_folder
from teaser.app.settings import Settings
from teaser.artifact import read_manifest
from teaser.data import events
from teaser.errors import ArtifactError, ParameterError
from teaser.model import load
from teaser.model.teaser import Teaser

_MAX_AGE = timedelta(weeks=1)  # of the events of a demonstration


def serve(
    settings: Settings,
    *,
    workers: int = 1,
    ready: Callable[[str, int], object] = lambda host, port: None,
) -> None:
    """Serve until stopped; several workers map one private copy of the model.

    Parameters
    ----------
    settings
        The settings of the server.
    workers
        The number of processes.
    ready
        Called with host and port once the model is loaded and the port is known to be free.

    Raises
    ------
    ArtifactError
        If the model cannot be loaded or copied.
    ParameterError
        If the port is in use, `workers` is less than 1, or the logo cannot be used.
    """
    if workers < 1:
        raise ParameterError(f"workers must be at least 1, found {workers}.")
    read_manifest(settings.model)  # fail before any file is created
    read_brand(settings)
    _need_free_port(settings.host, settings.port)
    if workers == 1:
        app = create_app(settings)
        ready(settings.host, settings.port)
        uvicorn.run(app, **_options(settings))
        return
    with make_shared_folder(Path(settings.copies) if settings.copies else None) as shared:
        _prepare(settings, shared)
        ready(settings.host, settings.port)
        of_workers = settings.model_copy(update={"shared_folder": str(shared)})
        os.environ.update(of_workers.as_environment())
        config = uvicorn.Config(
            "teaser.app.server:create_app_from_environment",
            factory=True,
            workers=workers,
            **_options(settings),
        )
        _Workers(config, sockets=[config.bind_socket()]).run()


class _Workers(Multiprocess):
    """Worker processes; SIGHUP reloads the model in each of them instead of restarting them."""

    def handle_hup(self) -> None:
        """Send SIGHUP to every worker."""
        for process in self.processes:
            if process.pid is not None and process.is_alive():
                os.kill(process.pid, signal.SIGHUP)


def _prepare(settings: Settings, shared_folder: Path) -> None:
    """Copy the model, check the boosts and migrate the database once, before the workers start."""
    Catalogue(load_private(settings.model, shared_folder=shared_folder), settings.boosts)
    store = Store(settings.database)
    store.migrate()
    store.close()


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "host": settings.host,
        "port": settings.port,
        "log_level": "warning",
        "forwarded_allow_ips": settings.proxies,
        # On a busy machine a healthy worker may take longer than the default of 5 seconds.
        "timeout_worker_healthcheck": 30,
    }


def demo_model(seed: int = 0, *, n_events: int = 2400, n_users: int = 9000) -> Path:
    """Return the folder of a cached model of the generated events.

    It is fitted at the first call, and again when some of its events are a week old.
    """
    folder = user_cache_path("teaser") / f"events-{__version__}-{n_events}-{n_users}-{seed}"
    try:
        model = load(folder, Teaser)
        is_recent = (model.table_["date"] >= date.today() - _MAX_AGE).all()
        # A model of an earlier version does not tell general appeal apart.
        if is_recent and model.tag_table_.basis is not None:
            return folder
    except ArtifactError:
        shutil.rmtree(folder, ignore_errors=True)
    dataset = events.dataset(seed=seed, n_events=n_events, n_users=n_users)
    Teaser().fit(dataset).save(folder)
    return folder


def free_port(host: str) -> int:
    """Return a port that nothing listens on."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _need_free_port(host: str, port: int) -> None:
    """Raise `ParameterError` if something listens there already."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ParameterError(
                f"Nothing can listen on {host} port {port}: {error.strerror}. "
                "Choose another with --port, or 0 for any that is free."
            ) from None
