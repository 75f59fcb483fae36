"""The commands that read tables: prepare a data set, partition interactions."""

import logging
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from teaser import artifact
from teaser.cli.options import (
    AsJson,
    LocalCluster,
    OptionsOf,
    Out,
    Scheduler,
    expand_options,
    read_date,
    refuse_unused,
)
from teaser.cli.output import err, out, print_json, print_lines, print_next
from teaser.console import VisibleFormatter
from teaser.data import demo
from teaser.data.dataset import Dataset
from teaser.data.metadata import REPORT_LOG
from teaser.data.partitions import write_partitions
from teaser.data.reading import Table, read, read_each
from teaser.data.rules import Rules, is_unedited
from teaser.data.sources import folder as sources
from teaser.errors import ParameterError
from teaser.model.build import reached

commands = typer.Typer()

USER_RULES = "user_rules.toml"


@dataclass(frozen=True)
class PrepareRequest:
    """What to make a data set of, and how. None means that an option was not given.

    Parameters
    ----------
    rules
        TOML file of tag rules; inferred if not given.
    positive
        Which interactions count, such as 'rating >= 4'; all if not given.
    negative
        Which rows are dislikes, such as 'rating <= 2'; they count against a user's history.
    strength
        Column of the strength of each row, at least 0; 1 if not given.
    counts
        Repeated rows of a user and an item: once, their largest strength; or log, log(1 + sum).
    time
        Column of the time of each row, for splits by time and for --half-life.
    half_life
        After how many days a row counts half, from the newest on; no decay if not given.
    user
        Column of the user ids; user_id, or a likely one, if not given.
    item
        Column of the item ids; item_id, or a likely one, if not given.
    items_id
        Column of the ids in the items, where it is called otherwise than --item.
    users_id
        Column of the ids in --users, where it is called otherwise than --user.
    columns
        Names of the columns of interactions without a header, such as user_id,item_id,rating.
    items_columns
        Names of the columns of items without a header.
    users_columns
        Names of the columns of --users without a header.
    long
        Columns of items in long form, a row for each value: id,property,value or id,value.
    delimiter
        What stands between fields of text tables, such as ';', '::' or tab; found if not given.
    encoding
        Encoding of text tables; utf-8 if not given.
    users
        Table of user features; 'source' takes that of a public data set.
    user_rules
        TOML file of tag rules for user features; inferred if not given.
    source
        Reader of the public data set, such as ml-1m; auto recognises it, events generates one.
    imdb
        Folder of IMDb tables, for movielens.
    seed
        Seed of the generated events; 0 if not given.
    start
        First day of the generated events, as 2026-01-31; today if not given.
    """

    rules: Path | None = None
    positive: str | None = None
    negative: str | None = None
    strength: str | None = None
    counts: str | None = None
    time: str | None = None
    half_life: float | None = None
    user: str | None = None
    item: str | None = None
    items_id: str | None = None
    users_id: str | None = None
    columns: str | None = None
    items_columns: str | None = None
    users_columns: str | None = None
    long: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    users: str | None = None
    user_rules: Path | None = None
    source: str | None = None
    imdb: Path | None = None
    seed: int | None = None
    start: str | None = None
    scheduler: Scheduler = None
    local_cluster: LocalCluster = None

    def allow_only(self, what: str, *names: str) -> None:
        """Raise `ParameterError` for an option that was given and has no effect."""
        others = {name: value for name, value in asdict(self).items() if name not in names}
        refuse_unused(what, **others)

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of these options that were given."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}


Request = Annotated[
    PrepareRequest,
    OptionsOf(
        {
            "Columns of the ids": ("user", "item", "items_id", "users_id"),
            "Tables": (
                *("columns", "items_columns", "users_columns"),
                *("long", "delimiter", "encoding"),
            ),
            "Strength of interactions": ("strength", "counts", "time", "half_life"),
            "User features": ("users", "user_rules"),
            "Public data sets": ("source", "imdb"),
            "Generated events": ("seed", "start"),
        }
    ),
]


@commands.command()
@expand_options
def prepare(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            help="Interactions and items; interactions alone; or the folder of a public data set."
        ),
    ] = None,
    *,
    folder: Out,
    request: Request,
    as_json: AsJson = False,
) -> None:
    """Make a data set of interactions and metadata, and write the tag rules beside it."""
    paths = [text if "://" in text else Path(text) for text in tables or []]
    with err.status("reading"):
        dataset, written = prepare_data(paths, folder, request)
    if as_json:
        print_json(dataset.describe())
        return
    print_lines(dataset.lines())
    if request.rules is None:
        out.print(f"\n[bold]Tag rules[/], also in {written}:\n", soft_wrap=True)
        out.print(dataset.rules.to_toml(), markup=False, highlight=False, soft_wrap=True)
    if dataset.user_features is not None and request.user_rules is None:
        out.print(f"\n[bold]Rules of user features[/] in {folder / USER_RULES}", soft_wrap=True)
    print_next(f"teaser fit {shlex.quote(str(folder))} --out MODEL")


@commands.command()
def partition(
    interactions: Annotated[
        Path, typer.Argument(help="A file of interactions, or a folder of parquet files.")
    ],
    *,
    folder: Out,
    user: Annotated[str, typer.Option(help="Column of the user ids.")] = "user_id",
    item: Annotated[str, typer.Option(help="Column of the item ids.")] = "item_id",
    parts: Annotated[
        int | None,
        typer.Option(help="Number of partitions; one per million rows if not given."),
    ] = None,
) -> None:
    """Write interactions as partitions by user, for data larger than memory or a cluster."""
    with err.status("partitioning"):
        written = write_partitions(interactions, folder, user=user, item=item, parts=parts)
    print_lines(written.lines())
    columns = "".join(
        f" --{option} {shlex.quote(column)}"
        for option, column in (("user", user), ("item", item))
        if column != f"{option}_id"
    )
    print_next(f"teaser prepare {shlex.quote(str(folder))} ITEMS --out DATA{columns}")


def prepare_data(
    paths: Sequence[str | Path], folder: Path, request: PrepareRequest
) -> tuple[Dataset, Path]:
    """Make a data set and save it; return it and the path of its tag rules.

    Two paths are interactions and items, where interactions in a folder or at an address are
    partitions and stay there. One path is interactions alone, or the folder of a public data set.
    An option without effect is refused.
    """
    artifact.check_target(folder, "dataset")
    if request.users is None:
        without = request.given("user_rules", "users_id", "users_columns")
        refuse_unused("a data set without --users", **without)
    with _log_on_stderr():
        dataset = _read(paths, request)
    dataset.save(folder)
    if dataset.user_features is not None:
        _write_rules(dataset.user_features.rules, folder, request.user_rules, "--user-rules")
    return dataset, _write_rules(dataset.rules, folder, request.rules, "--rules")


def _read(paths: Sequence[str | Path], request: PrepareRequest) -> Dataset:
    if request.source == "events" and not paths:
        return _generate_events(request)
    if len(paths) == 1 and not _has_interactions(paths[0], request):
        return _read_source(Path(paths[0]), request)
    if len(paths) in (1, 2) and request.source is None:
        read = _read_partitions if _is_folder(paths[0]) else _read_tables
        return read(paths[0], paths[1] if len(paths) == 2 else None, request)
    named = f" and --source {request.source}" if request.source else ""
    raise ParameterError(
        f"Found {len(paths)} paths{named}. Name two files, interactions and items; or interactions "
        "alone; or one folder of a public data set, with or without --source; or --source events "
        "alone."
    )


def _has_interactions(path: str | Path, request: PrepareRequest) -> bool:
    """Whether the only path is a table or partitions of interactions, not a public data set."""
    if request.source is not None:
        return False
    return "://" in str(path) or Path(path).is_file() or any(Path(path).glob("*.parquet"))


def _is_folder(path: str | Path) -> bool:
    return "://" in str(path) or Path(path).is_dir()


def _generate_events(request: PrepareRequest) -> Dataset:
    request.allow_only("the generated events", "source", "rules", "seed", "start")
    return demo.dataset(start=read_date("start", request.start), **request.given("seed", "rules"))


_STRENGTH_OPTIONS = ("strength", "counts", "time", "half_life")
_TABLE_OPTIONS = ("rules", "positive", *_STRENGTH_OPTIONS, "user", "item", "items_id", "encoding")
_USER_OPTIONS = ("users", "users_id", "user_rules")
_FILE_OPTIONS = ("delimiter", "encoding")
_ITEM_OPTIONS = ("items_columns", "long")
_CLUSTER_OPTIONS = ("scheduler", "local_cluster")


def _read_tables(
    interactions: str | Path, items: str | Path | None, request: PrepareRequest
) -> Dataset:
    refuse_unused("interactions that are not in partitions", **request.given(*_CLUSTER_OPTIONS))
    file_options = ("columns", "users_columns", "delimiter", *_ITEM_OPTIONS)
    request.allow_only("tables", *_TABLE_OPTIONS, "negative", *_USER_OPTIONS, *file_options)
    options = request.given(*_TABLE_OPTIONS, "negative", *_USER_OPTIONS)
    rows, described, users = read_each(
        lambda: _read_file(interactions, "interactions", request, request.columns),
        lambda: _read_items(items, request),
        lambda: (
            _read_file(request.users, "users", request, request.users_columns)
            if request.users is not None
            else None
        ),
    )
    if users is not None:
        options["users"] = users
    return Dataset.from_tables(rows, described, **options)


def _read_items(items: str | Path | None, request: PrepareRequest) -> Table | None:
    if items is None:
        item_options = request.given("items_id", *_ITEM_OPTIONS)
        refuse_unused("interactions without a table of items", **item_options)
        return None
    return _read_file(items, "items", request, request.items_columns, **request.given("long"))


def _read_file(
    path: str | Path, what: str, request: PrepareRequest, columns: str | None, **options: Any
) -> Table:
    """Read a table; columns have names with commas between."""
    named = None if columns is None else columns.split(",")
    options |= request.given(*_FILE_OPTIONS)
    return read(Path(path), what=what, columns=named, **options)


def _read_partitions(
    interactions: str | Path, items: str | Path | None, request: PrepareRequest
) -> Dataset:
    request.allow_only(
        "interactions in partitions",
        *_TABLE_OPTIONS,
        *_ITEM_OPTIONS,
        "delimiter",
        *_CLUSTER_OPTIONS,
    )
    described = _read_items(items, request)
    with reached(request.scheduler, request.local_cluster) as cluster:
        run = None if cluster is None else cluster.run
        return Dataset.from_partitions(
            interactions, described, run=run, **request.given(*_TABLE_OPTIONS)
        )


def _read_source(path: Path, request: PrepareRequest) -> Dataset:
    """Read a public data set; its user features are used only if --users source is given."""
    refuse_unused("interactions that are not in partitions", **request.given(*_CLUSTER_OPTIONS))
    taken = ("rules", "positive", "negative", *_STRENGTH_OPTIONS, "users", "user_rules")
    request.allow_only("a public data set", "source", "imdb", *taken)
    if path.is_file():
        raise ParameterError(
            f"{path} is one file, and --source {request.source} reads the folder of a public data "
            "set. Name the folder, or leave out --source."
        )
    name = request.source or "auto"
    if name == "auto":
        name = sources.detect(path)
        err.print(f"{path} holds {name}", highlight=False, soft_wrap=True)
    found = sources.read_source(name, path, **request.given("imdb"))
    options: dict[str, Any] = {"rules": found.rules, "positive": found.positive}
    options |= request.given(*taken)
    if request.users == "source":
        if found.users is None:
            raise ParameterError(
                f"The data set {found.name} has no user features. Leave out --users source."
            )
        options |= {"users": found.users, "user_rules": request.user_rules or found.user_rules}
    return Dataset.from_tables(
        found.interactions, found.items, user=found.user, item=found.item, **options
    )


def _write_rules(rules: Rules, folder: Path, given: Path | None, option: str) -> Path:
    """Write the rules beside the data set, unless that replaces a file that was edited.

    Rules that an earlier call inferred, and nobody edited, are replaced.
    """
    path = folder / (USER_RULES if option == "--user-rules" else "rules.toml")
    beside = path.with_suffix(".inferred.toml")
    if path.exists() and given is not None:
        return path
    if path.exists() and not is_unedited(path):
        err.print(
            f"[yellow]warning:[/] {escape(str(path))} differs from the rules used now and is kept. "
            f"Pass it with {option} to use it. The rules used are in {beside.name} beside it.",
            soft_wrap=True,
        )
        path = beside
    elif beside.exists() and is_unedited(beside):
        beside.unlink()
    rules.write(path, option=option)
    return path


@contextmanager
def _log_on_stderr() -> Iterator[None]:
    """Show the log of the readers of public data sets."""
    logger = logging.getLogger("teaser")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(VisibleFormatter())
    # The command prints the report itself.
    handler.addFilter(lambda record: record.name != REPORT_LOG.name)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
