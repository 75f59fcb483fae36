"""The commands of the application: serve, keys, and the demonstration in a browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from teaser.errors import ParameterError

if TYPE_CHECKING:
    from teaser.app.people.store import Store

out = Console()
keys = typer.Typer(no_args_is_help=True, help="Make, list and revoke API keys.")

Port = Annotated[
    int, typer.Option(envvar="TEASER_PORT", help="Where to listen; 0 for any free port.")
]
Host = Annotated[str, typer.Option(envvar="TEASER_HOST", help="Address to listen on.")]
HostName = Annotated[
    list[str] | None,
    typer.Option("--host-name", help="A name under which the site is reached; repeat."),
]
Database = Annotated[
    str, typer.Option(envvar="TEASER_DATABASE_URL", help="sqlite:///file or postgresql://...")
]


def serve(
    model: Annotated[Path, typer.Argument(help="A folder that fit wrote.")],
    *,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Processes; they share the model.")] = 1,
    database: Database = "",
    api_keys: Annotated[
        str,
        typer.Option(
            "--keys", envvar="TEASER_KEYS", help="Whether the API asks for keys: auto, on, off."
        ),
    ] = "auto",
    host_name: HostName = None,
) -> None:
    """Serve the site and the API on a fitted model."""
    _need_packages()
    from teaser.app import process as run
    from teaser.app.settings import Settings

    names = {"hosts": ",".join(host_name)} if host_name else {}
    settings = Settings.from_environment(
        model=model,
        database_url=database,
        host=host,
        port=port or run.free_port(host),
        keys=api_keys,
        room="",
        **names,
    )
    run.serve(settings, workers=workers, ready=_say_address)


def serve_events(*, port: int, seed: int) -> None:
    """Serve the site on the built-in events, fitted at the first call."""
    _need_packages()
    from teaser.app import process as run
    from teaser.app.settings import Settings

    with out.status("fitting the built-in events"):
        folder = run.demo_model(seed)
    settings = Settings(model=folder, port=port or run.free_port("127.0.0.1"))
    run.serve(settings, ready=_say_address)


@keys.command("create")
def create_key(name: str, *, database: Database) -> None:
    """Make a key and print it, once; only its hash is kept."""
    out.print(_store(database).create_key(name), highlight=False, soft_wrap=True)


@keys.command("list")
def list_keys(*, database: Database) -> None:
    """List the names of all keys."""
    listed = _store(database).keys()
    for name, created, revoked in listed:
        state = "in use" if revoked is None else f"revoked {revoked:%Y-%m-%d %H:%M}"
        out.print(f"{name}  made {created:%Y-%m-%d %H:%M}  {state}", highlight=False, markup=False)


@keys.command("revoke")
def revoke_key(name: str, *, database: Database) -> None:
    """Make a key useless from now on."""
    _store(database).revoke_key(name)


def _store(url: str) -> "Store":
    _need_packages()
    from teaser.app.people.store import Store

    store = Store(url)
    store.migrate()
    return store


def _need_packages() -> None:
    try:
        import alembic  # noqa: F401
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ParameterError(
            f"The application needs more packages ({error.name} is missing): "
            "pip install 'teaser[serve]'."
        ) from None


def _say_address(host: str, port: int) -> None:
    out.print(f"http://{f'[{host}]' if ':' in host else host}:{port}/", highlight=False)
