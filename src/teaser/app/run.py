"""Run the server: uvicorn's supervisor, and one worker process or several."""

import http.client
import logging
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from teaser.app.brand import read_brand
from teaser.app.models import ModelHolder
from teaser.app.monitoring import Traces, configure_logs
from teaser.app.server import create_app
from teaser.app.settings import Settings
from teaser.app.store import Store
from teaser.errors import ParameterError, ResourceError, StoreError, TeaserError

log = logging.getLogger("teaser")

# A worker that does not answer its supervisor for so long is replaced.
_SILENT_SECONDS = 30
_KILL_SECONDS = 5.0
_DAY = 24 * 3600
_BACKLOG = 2048


def serve(
    settings: Settings,
    *,
    workers: int = 1,
    ready: Callable[[str, int], object] = lambda host, port: None,
    make_app: Callable[..., FastAPI] = create_app,
) -> None:
    """Serve until stopped by SIGTERM or Ctrl+C; the main thread calls it.

    A worker that dies or hangs is replaced. SIGHUP replaces all workers, one after the other. A new
    model needs neither: each worker watches the model's folder.

    Parameters
    ----------
    settings
        The settings of the server.
    workers
        The number of processes that answer.
    ready
        Called with host and port once the server answers.
    make_app
        What makes the application of a worker, as `create_app` does; it can be pickled.

    Raises
    ------
    ArtifactError
        If the model cannot be loaded.
    ParameterError
        If the port is in use, `workers` is less than 1, or the logo cannot be used.
    ResourceError
        If the workers cannot start.
    """
    if workers < 1:
        raise ParameterError(f"workers must be at least 1, found {workers}.")
    configure_logs(settings)
    with ExitStack() as stack:
        bound = stack.enter_context(bind(settings.host, settings.port))
        port = int(bound.getsockname()[1])
        _check(settings)
        metrics = stack.enter_context(tempfile.TemporaryDirectory(prefix="teaser-metrics-"))
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = metrics  # the workers inherit it
        timeouts: dict[str, Any] = {  # uvicorn takes fractions, although its types do not say so
            "timeout_keep_alive": settings.idle_timeout,
            "timeout_graceful_shutdown": settings.stop_timeout,
            "timeout_worker_healthcheck": _SILENT_SECONDS,
        }
        config = uvicorn.Config(
            partial(_worker_app, settings, make_app, is_first=True),
            factory=True,
            workers=workers,
            ws="none",
            log_config=None,  # see teaser.app.monitoring
            access_log=False,
            server_header=False,
            proxy_headers=False,  # see teaser.app.server
            limit_concurrency=settings.max_connections,
            **timeouts,
        )
        supervisor = Multiprocess(config, [bound])

        def look_after() -> None:
            if _wait_for_answer(bound, supervisor.should_exit):
                # From now on a worker that cannot load the model is tried again.
                config.app = partial(_worker_app, settings, make_app, is_first=False)
                ready(settings.host, port)
            while not supervisor.should_exit.wait(_DAY):
                _remove_unseen(settings)
            time.sleep(settings.stop_timeout + _KILL_SECONDS)
            for process in supervisor.processes:  # stopped, or a thread of it does not end
                process.process.kill()

        threading.Thread(target=look_after, daemon=True).start()
        supervisor.run()
        if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
            raise ResourceError("The server could not start: see the lines above.")


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on a host; connections wait there for the first worker.

    Raises
    ------
    ParameterError
        If the host has no address here, or the port is in use.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        bound = socket.create_server(found[0][4][:2], family=found[0][0], backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no host name"
        raise ParameterError(
            f"Nothing can listen on {host!r} port {port}: {reason}. Give --host an address of this "
            "machine, such as 127.0.0.1, and --port a free port, or 0 for any that is free."
        ) from None
    bound.set_inheritable(True)
    return bound


def _check(settings: Settings) -> None:
    """Find what is wrong before workers start, and bring the database up to date."""
    read_brand(settings)
    ModelHolder(settings)
    store = Store(settings.database)
    store.migrate()
    store.switch_learning(settings.learn)
    store.close()
    _remove_unseen(settings)
    if settings.traces:
        Traces().close()


def _remove_unseen(settings: Settings) -> None:
    """Remove the people whom the settings do not keep any longer."""
    if not settings.retention:
        return
    store = Store(settings.database)
    try:
        n = store.remove_unseen(settings.retention)
        log.info("people without an action for %d days were removed: %d", settings.retention, n)
    except StoreError as error:
        log.error("people could not be removed, they are tried again tomorrow: %s", error)
    finally:
        store.close()


def _worker_app(settings: Settings, make_app: Callable[..., FastAPI], *, is_first: bool) -> FastAPI:
    """Return the application of a worker, or end the worker: for good if none has served yet."""
    configure_logs(settings)
    try:
        return make_app(settings, migrate=False)
    except TeaserError as error:
        log.error("a worker cannot start: %s", error)
        if not is_first:
            time.sleep(1)
        sys.exit(STARTUP_FAILURE if is_first else 1)


def _wait_for_answer(bound: socket.socket, end: threading.Event) -> bool:
    """Wait until a worker answers; return False if the server ends before."""
    host, port = bound.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    while not end.wait(0.05):
        connection = http.client.HTTPConnection(host, port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except OSError:
            continue
        finally:
            connection.close()
    return False
