"""Start the server: a parent process, and one worker or several."""

import gc
import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from teaser.app.brand import read_brand
from teaser.app.http.log_limit import limit_logs
from teaser.app.process.acceptor import new_counts
from teaser.app.process.handover import Handover
from teaser.app.process.listener import bound_sockets, port_of, raise_file_limit
from teaser.app.process.worker import Common
from teaser.app.process.workers import Workers
from teaser.app.server import prepare_process
from teaser.app.serving.private_copy import make_shared_folder, taken_in
from teaser.app.settings import Settings
from teaser.app.store import Store
from teaser.app.telemetry.logs import configure_logs
from teaser.app.telemetry.traces import Traces
from teaser.artifact import read_manifest
from teaser.errors import ParameterError


def serve(
    settings: Settings,
    *,
    workers: int = 1,
    ready: Callable[[str, int], object] = lambda host, port: None,
) -> None:
    """Serve until stopped; all workers map one private copy of the model.

    SIGTERM and Ctrl+C end it with exit code 0, with one worker as with several.

    Parameters
    ----------
    settings
        The settings of the server.
    workers
        The number of processes that answer.
    ready
        Called with host and port once every worker accepts connections.

    Raises
    ------
    ArtifactError
        If the model cannot be loaded or copied.
    ParameterError
        If the port is in use, `workers` is less than 1, or the logo cannot be used.
    ResourceError
        If the workers cannot start.
    """
    if workers < 1:
        raise ParameterError(f"workers must be at least 1, found {workers}.")
    read_manifest(settings.model)  # fail before any file is created
    read_brand(settings)
    configure_logs(settings)
    limit_logs()
    raise_file_limit()
    with _stoppable(), bound_sockets(settings.host, settings.port) as sockets:
        port = port_of(sockets)

        def started() -> None:
            ready(settings.host, port)

        base = Path(settings.copies) if settings.copies else None
        with make_shared_folder(base) as shared:
            of_workers = settings.model_copy(update={"shared_folder": str(shared)})
            _prepare(of_workers)
            common = Common(
                of_workers,
                sockets,
                Handover(),
                new_counts(3 * workers + 1),
                multiprocessing.RawValue("b"),
            )
            Workers(workers, common, ready=started).run()


def _prepare(settings: Settings) -> None:
    """Copy the model, and make what the workers share, before they start.

    The model is not loaded here: see `teaser.app.process.workers` about forks.
    """
    with taken_in(settings.model, Path(settings.shared_folder)):
        pass
    store = Store(settings.database)
    store.migrate()
    store.switch_learning(settings.learn)
    store.close()
    prepare_process(settings)
    gc.freeze()  # forks share what is never looked through, and the end of this process is quick
    if settings.traces:
        Traces().close()  # what is wrong with them is said once, before any worker starts


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let a signal that comes before the server serves end the process with exit code 0, too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {each: signal.signal(each, lambda *_: sys.exit(0)) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
