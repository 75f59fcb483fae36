"""MovieLens 1M where it is found, else a small generated catalogue."""

import argparse
import os
from pathlib import Path
from typing import Any

from apart import parse
from generated import named

from teaser import Dataset
from teaser.data.sources.folder import read_source


def shared_folder() -> Path:
    """Return the folder of the public data sets."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("TEASER_DATA", beside))


def movielens(folder: Path, *, user_features: bool = False) -> Dataset:
    """Return MovieLens 1M, with what it knows of users if asked."""
    source = read_source("ml-1m", folder)
    known: dict[str, Any] = (
        {"users": source.users, "user_rules": source.user_rules} if user_features else {}
    )
    return Dataset.from_tables(
        source.interactions, source.items, user=source.user, item=source.item,
        rules=source.rules, positive=source.positive, **known,
    )  # fmt: skip


def parse_films(description: str | None) -> argparse.ArgumentParser:
    """Return a parser that also takes the folder of the films."""
    parser = parse(description)
    parser.add_argument("--data", type=Path, help="folder of MovieLens 1M")
    return parser


def read_films(chosen: argparse.Namespace) -> tuple[Dataset, str, str]:
    """Return the data set, what it is, and what to add to the name of the results."""
    folder = chosen.data or shared_folder() / "ml-1m"
    if folder.is_dir() and not chosen.quick:
        return movielens(folder), "MovieLens 1M", ""
    return named("small"), "generated", "-quick"
