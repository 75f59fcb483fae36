"""The commands of the application: serve a model, and make, list and revoke API keys."""

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from teaser.cli import options as cli
from teaser.cli.output import print_lines
from teaser.errors import MissingPackageError, counted

if TYPE_CHECKING:
    from teaser.app.store import Store

commands = typer.Typer()
keys = typer.Typer(no_args_is_help=True, help="Make, list and revoke API keys.")
commands.add_typer(keys, name="keys")

KeyName = Annotated[
    str, typer.Argument(help="The name of the key, such as the program that uses it.")
]
Database = Annotated[
    str, typer.Option(envvar="TEASER_DATABASE_URL", help="sqlite:///file or postgresql://...")
]


@dataclass(frozen=True)
class ServerOptions:
    """Where a server listens, what it stores and what it logs.

    Parameters
    ----------
    host
        Address to listen on.
    port
        Port to listen on; 0 for any free one.
    workers
        Processes that answer.
    database_url
        sqlite:///file or postgresql://...
    hosts
        A host name of the site; repeat.
    log_format
        Form of log lines: text or json.
    log_level
        Lowest level that is logged: debug, info (a line for each request), warning, error.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    database_url: str = ""
    hosts: list[str] | None = None
    log_format: str = "text"
    log_level: str = "info"

    def settings(self) -> dict[str, Any]:
        """Return these options as settings of the site, but for those that are empty."""
        given = {name: value for name, value in vars(self).items() if value not in (None, "")}
        del given["workers"]
        return given | ({"hosts": ",".join(self.hosts)} if self.hosts else {})


@dataclass(frozen=True)
class SiteOptions(ServerOptions):
    """What a site is called, how it looks, and what it may do.

    Parameters
    ----------
    keys
        Whether the API needs keys: auto, on, off.
    name
        Name of the site; TEASER if not given.
    accent
        Colour of buttons and bars, as #0b6f66.
    accent_dark
        The same in dark colours.
    logo
        Logo of the site: an SVG, PNG, WebP or JPEG.
    boost
        What the site adds to scores, as promoted:0.2 or town=Ghent:0.3, by item id, tag or column
        of true or false; repeat; people see it among the reasons.
    traces
        Send OpenTelemetry spans; OTEL_* says where.
    learn
        Whether teaser refit may use what visitors view; the privacy page says so.
    """

    keys: str = "auto"
    name: str = ""
    accent: str = ""
    accent_dark: str = ""
    logo: str = ""
    boost: list[str] | None = None
    traces: bool = False
    learn: bool = False

    def settings(self) -> dict[str, Any]:
        """Return these options as settings of the site, but for those that are empty."""
        return super().settings() | ({"boost": "; ".join(self.boost)} if self.boost else {})


@commands.command("serve")
@cli.expand_options
def serve_model(
    model: cli.ModelFolder, *, options: Annotated[SiteOptions, cli.OptionsOf(variables="TEASER_")]
) -> None:
    """Serve the site and the API on a fitted model."""
    check_packages()
    from teaser.app.run import serve
    from teaser.app.settings import Settings

    settings = Settings.from_environment(model=model, **options.settings())

    def ready(host: str, port: int) -> None:
        print_address(host, port)
        if settings.boosts:
            said = ", ".join(f"{name} {number:+g}" for name, number in settings.boosts.items())
            print_lines([f"The site adds to scores, and says so among the reasons: {said}."])

    serve(settings, workers=options.workers, ready=ready)


@keys.command("create")
def create_key(name: KeyName, *, database: Database) -> None:
    """Make a key and print it. Only its hash is stored, so it is shown once."""
    print_lines([_store(database).create_key(name)])


@keys.command("list")
def list_keys(*, database: Database) -> None:
    """List the names of all keys."""
    listed = _store(database).keys()
    for name, created, revoked in listed:
        state = "in use" if revoked is None else f"revoked {revoked:%Y-%m-%d %H:%M}"
        print_lines([f"{name}  made {created:%Y-%m-%d %H:%M}  {state}"])


@keys.command("revoke")
def revoke_key(name: KeyName, *, database: Database) -> None:
    """Revoke a key: the API refuses it from now on."""
    _store(database).revoke_key(name)


@commands.command("forget")
@cli.expand_options
def forget_people(
    *, days: Annotated[int, typer.Option(envvar="TEASER_RETENTION", min=1)], database: Database
) -> None:
    """Remove people who have done nothing for so many days; a server can do so every day.

    Parameters
    ----------
    days
        Days since the last action.
    """
    check_packages()
    from teaser.app.store import Store

    with closing(Store(database)) as store:
        n = store.remove_unseen(days)
    print_lines([f"Removed {counted(n, 'person')} without an action for {days} days."])


def _store(url: str) -> "Store":
    check_packages()
    from teaser.app.store import Store

    store = Store(url)
    store.migrate()
    return store


def check_packages() -> None:
    """Raise `MissingPackageError` unless the packages of the application are installed."""
    try:
        import alembic  # noqa: F401
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingPackageError("The application", str(error.name), extra="serve") from None


def print_address(host: str, port: int) -> None:
    """Print the address of the site, and what to do with it."""
    site = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    api = f"The API is at {site}api/v1, described at {site}openapi.json."
    print_lines([site, f"Open it in a browser, and stop the server with Ctrl+C. {api}"])
