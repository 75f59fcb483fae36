"""The command line. Results go to stdout; progress, warnings and errors go to stderr."""

import gc
import io
import logging
import os
import signal
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from teaser._version import __version__
from teaser.cli.output import err, out
from teaser.console import VisibleFormatter
from teaser.errors import TeaserError

# What is imported and loaded lives as long as the process. With Python's own thresholds, to look
# through it again and again takes a seventh of the time in which a server starts.
_COLLECT_AFTER = (10_000, 20, 20)


class _Commands(TyperGroup):
    """Commands that print an expected error as one sentence, and exit with code 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # as of `| head`: typer ends without a word
            raise
        except (TeaserError, OSError, MemoryError) as error:
            message = escape(str(error)) or "out of memory."
            err.print(f"[bold red]error:[/] {message}", soft_wrap=True, highlight=False)
            raise typer.Exit(2) from error


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_show_locals=False,
    help="A recommender that people can read and steer.",
)
_PARTS = (
    *("prepare", "fit", "check", "recommend", "explain", "say"),
    *("demo", "serve", "mcp", "refit", "evaluate", "study"),
)
for _name in _PARTS:
    app.add_typer(import_module(f"teaser.cli.{_name}").commands)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        out.print(f"teaser {__version__}")
        raise typer.Exit


def _exit(number: int, _frame: object) -> None:
    """Exit by an exception, which a library may swallow: a second signal ends the process."""
    signal.signal(number, signal.SIG_DFL)
    sys.exit(128 + number)


def main() -> None:
    """Run the command line.

    Control characters of texts are written out, also in what the library logs.
    Characters that the terminal cannot encode are printed as question marks. On SIGTERM the
    process exits by an exception, so that temporary files are removed.
    """
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(VisibleFormatter())
        logging.lastResort.setLevel(logging.NOTSET)  # each logger has its own
    signal.signal(signal.SIGTERM, _exit)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    gc.set_threshold(*_COLLECT_AFTER)
    try:
        app()
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:  # else Python complains about it when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
