"""A server for the assistant of one person: over standard input and output, on a local store."""

import hashlib
import hmac
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import anyio
from mcp.server.stdio import stdio_server
from platformdirs import user_data_path

from teaser.app.catalogue import Catalogue
from teaser.app.database import StoreThreads
from teaser.app.mcp.server import build_server
from teaser.app.mcp.tools import People, Source
from teaser.app.models import ModelHolder
from teaser.app.settings import Settings
from teaser.app.store import Store

_SECONDS = 10.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def serve_stdio(settings: Settings, *, stores: bool = True) -> None:
    """Answer an assistant until its side closes; only messages of the protocol go to stdout.

    Parameters
    ----------
    settings
        The model, the database and the name. Without a database it is `own_database`.
    stores
        Whether persons are stored; without, there is no database.
    """
    holder = ModelHolder(settings)

    def catalogue() -> Catalogue:
        holder.refresh()  # a new model is taken up between two calls
        return holder.current

    # A thread waits for stdin, and an exception would wait for that thread. Nothing is lost:
    # what was answered is stored.
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_DFL)
    with _people(settings) if stores else nullcontext() as people:
        anyio.run(_serve, Source(catalogue, settings, people))


def own_database(model: Path) -> str:
    """Return the database of the person at this computer: a file for each model's folder."""
    folder = model.absolute()
    name = f"{folder.name}-{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}.db"
    return f"sqlite:///{user_data_path('teaser') / 'assistants' / name}"


async def _serve(source: Source) -> None:
    server = build_server(source, title=source.settings.name)
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


@contextmanager
def _people(settings: Settings) -> Iterator[People]:
    """Open the store, and find or make the person at this computer."""
    url = settings.database_url or own_database(settings.model)
    if not settings.database_url:
        Path(url.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    store = Store(url, max_events=settings.max_events, timeout=_SECONDS)
    store.migrate()
    try:
        yield People(store, StoreThreads(_SECONDS), own_person(store))
    finally:
        store.close()


def own_person(store: Store) -> str:
    """Return the id of the person that `me` stands for; the first call makes them.

    The person is found by a token that only a holder of the database can compute. Like a visitor of
    the site, who has a token too, they are not reached by the API.
    """
    token = hmac.new(store.signing_key, b"teaser.assistant", hashlib.sha256).hexdigest()
    return store.find_person(token) or store.create_person(token)
