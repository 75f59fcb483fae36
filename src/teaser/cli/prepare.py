"""The commands that read tables: prepare a data set, partition interactions."""

import logging
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from teaser import artifact
from teaser.cli import options as cli
from teaser.cli.output import (
    err,
    log_level,
    out,
    print_json,
    print_lines,
    print_next,
    progress_bar,
)
from teaser.data import demo
from teaser.data.dataset import Dataset
from teaser.data.metadata import REPORT_LOG
from teaser.data.partitions import write_partitions
from teaser.data.reading import EXAMPLES, JSON_SUFFIXES, TEXT_SUFFIXES, Table, is_pattern, read
from teaser.data.rules import Rules, is_unedited
from teaser.data.sources import folder as sources
from teaser.data.sources.jsonld import holds_events, read_event_table
from teaser.data.sources.sql import is_database, read_queries
from teaser.errors import ParameterError, counted
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
    kinds
        Strength of each text in --strength, such as 'view=1,cart=3,purchase=5'.
    query_interactions
        Which interactions to select from a database, in SQL.
    query_items
        Which items to select from it, in the same transaction.
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
    time_zone
        Zone of the times of events as JSON-LD, such as Europe/Brussels; as written if not given.
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
    kinds: str | None = None
    query_interactions: str | None = None
    query_items: str | None = None
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
    time_zone: str | None = None
    users: str | None = None
    user_rules: Path | None = None
    source: str | None = None
    imdb: Path | None = None
    seed: int | None = None
    start: str | None = None
    scheduler: cli.Scheduler = None
    local_cluster: cli.LocalCluster = None

    def allow_only(self, what: str, *names: str) -> None:
        """Raise `ParameterError` for an option that was given and has no effect."""
        others = {name: value for name, value in asdict(self).items() if name not in names}
        cli.refuse_unused(what, **others)

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of these options that were given."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}


Request = Annotated[
    PrepareRequest,
    cli.OptionsOf(
        {
            "Columns of the ids": ("user", "item", "items_id", "users_id"),
            "Tables": (
                *("columns", "items_columns", "users_columns"),
                *("long", "delimiter", "encoding", "time_zone"),
            ),
            "Strength of interactions": ("strength", "kinds", "counts", "time", "half_life"),
            "Databases": ("query_interactions", "query_items"),
            "User features": ("users", "user_rules"),
            "Public data sets": ("source", "imdb"),
            "Generated events": ("seed", "start"),
        }
    ),
]


@commands.command()
@cli.expand_options
def prepare(
    tables: list[str] | None = None,
    *,
    folder: cli.Out,
    request: Request,
    as_json: cli.AsJson = False,
) -> None:
    """Make a data set of interactions and metadata, and write the tag rules beside it.

    Parameters
    ----------
    tables
        Interactions and items (further ones are joined; also JSON-LD); interactions alone; the URL
        of a database; or the folder of a public data set.
    """
    paths = [text if "://" in text else Path(text) for text in tables or []]
    with progress_bar(err, "reading"):
        dataset, written = prepare_data(paths, folder, request)
    if as_json:
        print_json(dataset.describe())
        return
    print_lines(dataset.lines())
    if request.rules is None:
        out.print(f"\n[bold]Tag rules[/], to be edited in {written}:\n", soft_wrap=True)
        out.print(dataset.rules.to_toml(), markup=False, highlight=False, soft_wrap=True)
    if dataset.user_features is not None and request.user_rules is None:
        out.print(f"\n[bold]Rules of user features[/] in {folder / USER_RULES}", soft_wrap=True)
    print_next(f"teaser fit {shlex.quote(str(folder))} --out MODEL")


@commands.command()
@cli.expand_options
def partition(
    interactions: Path,
    *,
    folder: cli.Out,
    user: str = "user_id",
    item: str = "item_id",
    parts: int | None = None,
) -> None:
    """Write interactions as partitions by user, for data larger than memory or a cluster.

    Parameters
    ----------
    interactions
        A file of interactions, or a folder of parquet files.
    user
        Column of the user ids.
    item
        Column of the item ids.
    parts
        Number of partitions; one per million rows if not given.
    """
    with progress_bar(err, "partitioning"):
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
    partitions and stay there. Further paths are joined to the items. One path is interactions
    alone, or the folder of a public data set.
    An option without effect is refused.
    """
    artifact.check_target(folder, "dataset")
    # The command prints the report itself.
    with log_level("teaser", logging.INFO), log_level(REPORT_LOG.name, logging.ERROR):
        dataset = _read(paths, request)
    dataset.save(folder)
    if dataset.user_features is not None:
        _write_rules(dataset.user_features.rules, folder, request.user_rules, "--user-rules")
    return dataset, _write_rules(dataset.rules, folder, request.rules, "--rules")


def _read(paths: Sequence[str | Path], request: PrepareRequest) -> Dataset:
    if request.source == "events" and not paths:
        return _generate_events(request)
    if paths and is_database(paths[0]):
        return _read_database(str(paths[0]), paths[1:], request)
    if paths and request.source is None and holds_events(paths[0]):
        raise _no_choices(paths[0])
    if len(paths) == 1 and (request.source is not None or not _has_interactions(paths[0])):
        return _read_source(Path(paths[0]), request)
    if paths and request.source is None:
        read = _read_partitions if _is_folder(paths[0]) else _read_tables
        return read(paths[0], paths[1:], request)
    named = f" and --source {request.source}" if request.source else ""
    raise ParameterError(
        f"Found {len(paths)} paths{named}. Name two files, interactions and items; or interactions "
        "alone; or one folder of a public data set, with or without --source; or --source events "
        "alone."
    )


def _no_choices(path: str | Path) -> ParameterError:
    """Return the error of events where interactions are needed."""
    table = read_event_table(path)
    return ParameterError(
        f"{path} has {counted(table.frame.height, 'event')} as JSON-LD, and not who chose them. "
        f"Name a table of choices first: teaser prepare CHOICES {path} --out DATA. It has a row a "
        "choice, with the columns user_id and item_id; ids of these events are "
        f"{', '.join(table.frame['item_id'].head(EXAMPLES))}."
    )


def _has_interactions(path: str | Path) -> bool:
    """Whether the only path is a table or partitions of interactions, not a public data set."""
    is_table = "://" in str(path) or is_pattern(path) or Path(path).is_file()
    return is_table or any(Path(path).glob("*.parquet"))


def _is_folder(path: str | Path) -> bool:
    if "://" in str(path):
        return not str(path).endswith((*TEXT_SUFFIXES, *JSON_SUFFIXES))
    return Path(path).is_dir()


def _generate_events(request: PrepareRequest) -> Dataset:
    request.allow_only("the generated events", "source", "rules", "seed", "start")
    return demo.dataset(
        start=cli.read_date("start", request.start), **request.given("seed", "rules")
    )


_STRENGTH_OPTIONS = ("strength", "kinds", "counts", "time", "half_life")
_TABLE_OPTIONS = ("rules", "positive", *_STRENGTH_OPTIONS, "user", "item")
_ITEM_OPTIONS = ("items_id", "items_columns", "long")
_USER_OPTIONS = ("users_id", "users_columns", "user_rules")
_FILE_OPTIONS = ("delimiter", "encoding")
# What `Dataset.from_tables` and `from_partitions` take.
_DATASET_OPTIONS = (*_TABLE_OPTIONS, "items_id", "encoding")


def _read_database(url: str, items: Sequence[str | Path], request: PrepareRequest) -> Dataset:
    """Read interactions, and items unless they are in files, in one transaction."""
    if request.query_interactions is None:
        raise ParameterError(
            "Say which interactions to read from the database, such as --query-interactions "
            "'select user_id, item_id from orders'; and the items with --query-items."
        )
    if request.query_items is not None and items:
        raise ParameterError(
            f"Items come from --query-items or from {items[0]}, not from both. Join tables of the "
            "database in the query."
        )
    queries = {"interactions": request.query_interactions, "items": request.query_items}
    tables = read_queries(url, {name: query for name, query in queries.items() if query})
    request = replace(request, query_interactions=None, query_items=None)
    described = [tables["items"]] if "items" in tables else items
    return _read_tables(tables["interactions"], described, request)


def _read_tables(
    interactions: str | Path | Table, items: Sequence[str | Path | Table], request: PrepareRequest
) -> Dataset:
    of_users = () if request.users is None else _USER_OPTIONS
    taken = (*_TABLE_OPTIONS, *_FILE_OPTIONS, *of_users, "negative", "columns", "users")
    request.allow_only("these tables", *taken, *_item_options(items))
    options = request.given(*_DATASET_OPTIONS, "negative", "users_id", "user_rules")
    rows = _read_file(interactions, "interactions", request, request.columns)
    described = _read_items(items, request)
    if request.users is not None:
        options["users"] = _read_file(request.users, "users", request, request.users_columns)
    return Dataset.from_tables(rows, described or None, **options)


def _item_options(items: Sequence[str | Path | Table]) -> list[str]:
    """Return the options of items that have an effect on these."""
    are_events = [holds_events(each) for each in items]
    found = [] if not items else ["items_id"] if are_events[0] else list(_ITEM_OPTIONS)
    return found + (["time_zone"] if any(are_events) else [])


def _read_items(items: Sequence[str | Path | Table], request: PrepareRequest) -> list[Table]:
    """Read the tables of items; names and long form are of the first."""
    of_first = {"columns": request.items_columns, **request.given("long")}
    return [
        _read_file(each, "items", request, **(of_first if i == 0 else {}))
        for i, each in enumerate(items)
    ]


def _read_file(
    path: str | Path | Table,
    what: str,
    request: PrepareRequest,
    columns: str | None = None,
    long: str | None = None,
) -> Table:
    """Read a table; columns have names with commas between."""
    if what == "items" and isinstance(path, str | Path) and holds_events(path):
        return read_event_table(path, **request.given("time_zone", "encoding"))
    named = None if columns is None else columns.split(",")
    return read(path, what=what, columns=named, long=long, **request.given(*_FILE_OPTIONS))


def _read_partitions(
    interactions: str | Path, items: Sequence[str | Path], request: PrepareRequest
) -> Dataset:
    taken = (*_TABLE_OPTIONS, *_FILE_OPTIONS, "scheduler", "local_cluster")
    request.allow_only("interactions in partitions", *taken, *_item_options(items))
    described = _read_items(items, request) or None
    with reached(request.scheduler, request.local_cluster) as cluster:
        run = None if cluster is None else cluster.run
        return Dataset.from_partitions(
            interactions, described, run=run, **request.given(*_DATASET_OPTIONS)
        )


def _read_source(path: Path, request: PrepareRequest) -> Dataset:
    """Read a public data set; its user features are used only if --users source is given."""
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
    options = request.given(*taken)
    if request.users == "source":
        if found.users is None:
            raise ParameterError(
                f"The data set {found.name} has no user features. Leave out --users source."
            )
        options |= {"users": found.users, "user_rules": request.user_rules or found.user_rules}
    return found.dataset(**options)


def _write_rules(rules: Rules, folder: Path, given: Path | None, option: str) -> Path:
    """Write the rules beside the data set, unless that replaces a file that was edited.

    Rules that an earlier call inferred, and nobody edited, are replaced.
    """
    path = folder / (USER_RULES if option == "--user-rules" else "rules.toml")
    if not path.exists() or (given is None and is_unedited(path)):
        rules.write(path, option=option)
    elif given is None:
        err.print(
            f"[yellow]warning:[/] {escape(str(path))} was edited, is kept and not used. "
            f"Pass it with {option} to use it.",
            soft_wrap=True,
        )
    return path
