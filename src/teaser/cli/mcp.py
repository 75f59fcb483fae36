"""The command that serves a model to an assistant: MCP over standard input and output."""

import sys

import typer

from teaser.cli import options as cli
from teaser.cli.output import err
from teaser.cli.serve import check_packages
from teaser.errors import MissingPackageError

commands = typer.Typer()


@commands.command("mcp")
@cli.expand_options
def serve_assistant(
    model: cli.ModelFolder,
    *,
    database: str = "",
    stateless: bool = False,
    name: str = "",
    log_level: str = "warning",
) -> None:
    """Serve a model to an assistant on this computer, over stdin and stdout (MCP).

    The assistant starts this command itself; see docs/users/api.md.

    Parameters
    ----------
    database
        Where your views and presses are kept: sqlite:///file or postgresql://...; by default a
        file of this model in your data folder.
    stateless
        Store nothing: the assistant gives history and presses.
    name
        Name that the assistant shows.
    log_level
        Lowest level that is logged to stderr: debug, info, warning, error.
    """
    check_packages()
    try:
        import mcp  # noqa: F401
    except ImportError as error:
        raise MissingPackageError("teaser mcp", str(error.name), extra="mcp") from None
    from teaser.app.mcp.stdio import own_database, serve_stdio
    from teaser.app.monitoring import configure_logs
    from teaser.app.settings import Settings

    if stateless:
        cli.refuse_unused("--stateless, which stores nothing", database=database or None)
    named = {"name": name} if name else {}
    settings = Settings.from_environment(
        model=model, database_url=database, log_level=log_level, **named
    )
    configure_logs(settings)
    if sys.stdin.isatty():  # somebody tries the command by hand
        kept = "nothing" if stateless else f"views and presses in {database or own_database(model)}"
        said = f"Waiting for an assistant on stdin. It stores {kept}. Stop it with Ctrl+C."
        err.print(said, markup=False, highlight=False)
    serve_stdio(settings, stores=not stateless)
