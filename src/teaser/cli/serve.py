"""The commands of the application: serve a model, and make, list and revoke API keys."""

from typing import TYPE_CHECKING, Annotated

import typer

from teaser.cli.options import ModelFolder
from teaser.cli.output import print_lines
from teaser.errors import MissingPackageError, counted

if TYPE_CHECKING:
    from teaser.app.store import Store

commands = typer.Typer()
keys = typer.Typer(no_args_is_help=True, help="Make, list and revoke API keys.")
commands.add_typer(keys, name="keys")

Port = Annotated[
    int, typer.Option(envvar="TEASER_PORT", help="Port to listen on; 0 for any free one.")
]
Host = Annotated[str, typer.Option(envvar="TEASER_HOST", help="Address to listen on.")]
KeyName = Annotated[
    str, typer.Argument(help="The name of the key, such as the program that uses it.")
]
HostName = Annotated[
    list[str] | None,
    typer.Option("--host-name", help="A host name of the site; repeat."),
]
LogFormat = Annotated[
    str, typer.Option(envvar="TEASER_LOG_FORMAT", help="Form of log lines: text or json.")
]
LogLevel = Annotated[
    str,
    typer.Option(
        envvar="TEASER_LOG_LEVEL",
        help="Lowest level that is logged: debug, info (a line for each request), warning, error.",
    ),
]
Traces = Annotated[
    bool,
    typer.Option(
        "--traces", envvar="TEASER_TRACES", help="Send OpenTelemetry spans; OTEL_* says where."
    ),
]
Database = Annotated[
    str, typer.Option(envvar="TEASER_DATABASE_URL", help="sqlite:///file or postgresql://...")
]
Learn = Annotated[
    bool,
    typer.Option(
        envvar="TEASER_LEARN",
        help="Whether teaser refit may use what visitors view; the privacy page says so.",
    ),
]


@commands.command("serve")
def serve_model(
    model: ModelFolder,
    *,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Processes that answer.")] = 1,
    database: Database = "",
    api_keys: Annotated[
        str,
        typer.Option(
            "--keys", envvar="TEASER_KEYS", help="Whether the API needs keys: auto, on, off."
        ),
    ] = "auto",
    host_name: HostName = None,
    name: Annotated[
        str, typer.Option(envvar="TEASER_NAME", help="Name of the site; TEASER if not given.")
    ] = "",
    accent: Annotated[
        str,
        typer.Option(envvar="TEASER_ACCENT", help="Colour of buttons and bars, as #0b6f66."),
    ] = "",
    accent_dark: Annotated[
        str,
        typer.Option(envvar="TEASER_ACCENT_DARK", help="The same in dark colours."),
    ] = "",
    logo: Annotated[
        str,
        typer.Option(envvar="TEASER_LOGO", help="Logo of the site: an SVG, PNG, WebP or JPEG."),
    ] = "",
    boost: Annotated[
        list[str] | None,
        typer.Option(
            help="What the site adds to scores, as promoted:0.2 or town=Ghent:0.3, by item id, tag "
            "or column of true or false; repeat. People see it among the reasons."
        ),
    ] = None,
    log_format: LogFormat = "text",
    log_level: LogLevel = "info",
    traces: Traces = False,
    learn: Learn = False,
) -> None:
    """Serve the site and the API on a fitted model."""
    check_packages()
    from teaser.app.brand import read_brand
    from teaser.app.run import serve
    from teaser.app.settings import Settings

    names = {"hosts": ",".join(host_name)} if host_name else {}
    names |= {"name": name} if name else {}
    names |= {"boost": "; ".join(boost)} if boost else {}
    settings = Settings.from_environment(
        model=model,
        database_url=database,
        host=host,
        port=port,
        keys=api_keys,
        accent=accent,
        accent_dark=accent_dark,
        logo=logo,
        log_format=log_format,
        log_level=log_level,
        traces=traces,
        learn=learn,
        **names,
    )
    print_lines(read_brand(settings).notes)

    def ready(host: str, port: int) -> None:
        print_address(host, port)
        if settings.boosts:
            said = ", ".join(f"{name} {number:+g}" for name, number in settings.boosts.items())
            print_lines([f"The site adds to scores, and says so among the reasons: {said}."])

    serve(settings, workers=workers, ready=ready)


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
def forget_people(
    *,
    days: Annotated[
        int, typer.Option(envvar="TEASER_RETENTION", min=1, help="Days since the last action.")
    ],
    database: Database,
) -> None:
    """Remove people who have done nothing for so many days; a server can do so every day."""
    check_packages()
    from teaser.app.store import Store

    store = Store(database)
    try:
        n = store.remove_unseen(days)
    finally:
        store.close()
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
