"""The entry point of the command `teaser`, also where its packages are not installed."""

import signal
import sys


def main() -> None:
    """Run the command line, or say which extra it needs."""
    if sys.argv[1:2] == ["serve"]:  # SIGHUP replaces the workers of a server: there are none yet
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        from teaser.cli.main import main as run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit("The command line needs an extra: pip install 'teaser-recommender[cli]'")
    run()
