"""Start the server: one process or several, on a model folder or on the built-in events."""

import os
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import uvicorn

from teaser._version import __version__
from teaser.app.server import create_app
from teaser.app.settings import Settings
from teaser.data import events
from teaser.errors import ArtifactError, ParameterError
from teaser.model import load
from teaser.model.teaser import Teaser


def serve(
    settings: Settings, *, workers: int = 1, ready: Callable[[str, int], None] | None = None
) -> None:
    """Serve until stopped; several workers share the memory-mapped model.

    `ready` is told host and port once nothing stands in the way of listening there.
    """
    if workers < 1:
        raise ParameterError(f"workers must be at least 1, found {workers}.")
    load(settings.model)  # refuse a bad folder here, once, and not in every worker
    _need_free_port(settings.host, settings.port)
    if ready is not None:
        ready(settings.host, settings.port)
    options = {"host": settings.host, "port": settings.port, "log_level": "warning"}
    if workers == 1:
        uvicorn.run(create_app(settings), **options)  # type: ignore[arg-type]
        return
    create_app(settings).state.services.store.close()  # bring the database up to date first
    os.environ.update(settings.as_environment())
    uvicorn.run(
        "teaser.app.server:create_app_from_environment",
        factory=True,
        workers=workers,
        **options,  # type: ignore[arg-type]
    )


def demo_model(seed: int = 0) -> Path:
    """Return the folder of a model of the built-in events, fitted at the first call and kept."""
    folder = _cache() / f"events-{__version__}-{seed}"
    try:
        load(folder)
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
