"""The entry point of the command `teaser`, also where its packages are not installed."""

import sys


def main() -> None:
    """Run the command line, or say which extra it needs."""
    try:
        from teaser.cli.main import main as run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit("The command line needs an extra: pip install 'teaser-recommender[cli]'")
    run()
