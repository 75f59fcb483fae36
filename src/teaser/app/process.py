"""Start the server: one process or several, on a model folder or on the built-in events."""

import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from teaser._version import __version__
from teaser.app.people.store import Store
from teaser.app.server import create_app
from teaser.app.serving.private_copy import load_private, shared_room
from teaser.app.settings import Settings
from teaser.artifact import read_manifest
from teaser.data import events
from teaser.errors import ArtifactError, ParameterError
from teaser.model import load
from teaser.model.teaser import Teaser

_KEPT = timedelta(weeks=1)  # the oldest events of a demonstration lie at most so far back


def serve(
    settings: Settings, *, workers: int = 1, ready: Callable[[str, int], None] | None = None
) -> None:
    """Serve until stopped; several workers share one private copy of the model, mapped by all.

    `ready` is told host and port once nothing stands in the way of listening there.
    """
    if workers < 1:
        raise ParameterError(f"workers must be at least 1, found {workers}.")
    read_manifest(settings.model)  # refuse what is no model before anything is made
    _need_free_port(settings.host, settings.port)
    if workers == 1:
        app = create_app(settings)
        _tell(ready, settings)
        uvicorn.run(app, **_options(settings))
        return
    with shared_room(Path(settings.copies) if settings.copies else None) as room:
        _prepare(settings, room)
        _tell(ready, settings)
        os.environ.update(replace(settings, room=str(room)).as_environment())
        config = uvicorn.Config(
            "teaser.app.server:create_app_from_environment",
            factory=True,
            workers=workers,
            **_options(settings),
        )
        _Workers(config, sockets=[config.bind_socket()]).run()


class _Workers(Multiprocess):
    """Worker processes; a signal to take up a new model is passed on, and nobody is restarted."""

    def handle_hup(self) -> None:
        """Let every worker look at the model's folder."""
        for process in self.processes:
            if process.pid is not None and process.is_alive():
                os.kill(process.pid, signal.SIGHUP)


def _prepare(settings: Settings, room: Path) -> None:
    """Do once what every worker would do: check and copy the model, bring the tables up to date."""
    load_private(settings.model, room=room)
    store = Store(settings.database)
    store.migrate()
    store.close()


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "host": settings.host,
        "port": settings.port,
        "log_level": "warning",
        "forwarded_allow_ips": settings.proxies,
    }


def _tell(ready: Callable[[str, int], None] | None, settings: Settings) -> None:
    if ready is not None:
        ready(settings.host, settings.port)


def demo_model(seed: int = 0) -> Path:
    """Return the folder of a model of the built-in events, fitted again when events have passed."""
    folder = _cache() / f"events-{__version__}-{seed}"
    try:
        dates = load(folder, Teaser).table_["date"]
        if (dates >= date.today() - _KEPT).all():
            return folder
    except ArtifactError:
        shutil.rmtree(folder, ignore_errors=True)
    Teaser().fit(events.dataset(seed=seed)).save(folder)
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


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or (
        Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    )
    return Path(base) / "teaser"
