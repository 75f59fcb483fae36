"""A data set made as the prepare command is told, and the rules that were used beside it."""

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from teaser import artifact
from teaser.data import events
from teaser.data.dataset import Dataset
from teaser.data.sources import source as sources
from teaser.data.tagging.rule_set import Rules
from teaser.errors import ParameterError
from teaser.model.gram.open import reached

USER_RULES = "user_rules.toml"


def prepare_data(
    paths: Sequence[str | Path],
    folder: Path,
    console: Console,
    *,
    source: str | None,
    rules: Path | None,
    positive: str | None,
    user: str | None,
    item: str | None,
    encoding: str | None,
    imdb: Path | None,
    seed: int | None,
    users: str | Path | None = None,
    user_rules: Path | None = None,
    scheduler: str | None = None,
    n_workers: int | None = None,
) -> tuple[Dataset, Path]:
    """Read tables, a public data set or the events, and save; return where the rules are written.

    Interactions that are a folder or an address are taken as partitions, and stay there. An
    option that would do nothing is refused, whatever `None` is not.
    """
    artifact.check_target(folder, "dataset")
    of_users: dict[str, Any] = {"users": users, "user-rules": user_rules}
    if users is None:
        refuse_unused("a data set without --users", **of_users)
    of_tables: dict[str, Any] = {"user": user, "item": item, "encoding": encoding}
    is_parted = len(paths) == 2 and source is None and _is_folder(paths[0])
    if not is_parted:
        of_cluster = {"scheduler": scheduler, "local-cluster": n_workers}
        refuse_unused("interactions that are not in partitions", **of_cluster)
    with _log_shown(), reached(scheduler, n_workers) as cluster:
        if source == "events" and not paths:
            of_tables |= of_users
            refuse_unused("the generated events", positive=positive, imdb=imdb, **of_tables)
            dataset = events.dataset(seed=seed or 0, rules=rules)
        elif len(paths) == 1:
            refuse_unused("a public data set", seed=seed, **of_tables)
            found = _read_source(source or "auto", Path(paths[0]), console, imdb)
            dataset = _from_source(found, rules, positive, users, user_rules)
        elif len(paths) == 2 and source is None:
            refuse_unused("two tables", imdb=imdb, seed=seed)
            known = {"users": users, "user_rules": user_rules} if users is not None else {}
            if is_parted:
                refuse_unused("interactions in partitions", **of_users)
            make: Callable[..., Dataset] = (
                partial(Dataset.from_partitions, run=None if cluster is None else cluster.run)
                if is_parted
                else Dataset.from_tables
            )
            dataset = make(
                *paths,
                user=user or "user_id",
                item=item or "item_id",
                rules=rules,
                positive=positive,
                encoding=encoding or "utf-8",
                **known,
            )
        else:
            raise ParameterError(
                f"Found {len(paths)} paths{f' and --source {source}' if source else ''}. Name two "
                "files, interactions and items; or one folder of a public data set, with or "
                "without --source; or --source events alone."
            )
    dataset.save(folder)
    if dataset.user_features is not None:
        _write_rules(dataset.user_features.rules, folder, user_rules, console, "--user-rules")
    return dataset, _write_rules(dataset.rules, folder, rules, console)


def _is_folder(path: str | Path) -> bool:
    return "://" in str(path) or Path(path).is_dir()


def _read_source(name: str, path: Path, console: Console, imdb: Path | None) -> sources.Source:
    if name == "auto":
        name = sources.detect(path)
        console.print(f"{path} holds {name}", highlight=False, soft_wrap=True)
    options = {} if imdb is None else {"imdb": imdb}
    return sources.read_source(name, path, **options)


def _from_source(
    found: sources.Source,
    rules: Path | None,
    positive: str | None,
    users: str | Path | None,
    user_rules: Path | None,
) -> Dataset:
    """Make a data set of a public one, with what it knows of its users only if that is asked."""
    table: Any = users
    how: Any = user_rules
    if str(users) == "source":
        table, how = found.users, user_rules or found.user_rules
        if table is None:
            raise ParameterError(
                f"The data set {found.name} tells nothing of its users. Leave out --users source."
            )
    return Dataset.from_tables(
        found.interactions,
        found.items,
        user=found.user,
        item=found.item,
        rules=found.rules if rules is None else rules,
        positive=positive or found.positive,
        users=table,
        user_rules=how,
    )


def refuse_unused(what: str, **options: object) -> None:
    """Raise for an option that would do nothing."""
    for name, value in options.items():
        if value is not None:
            raise ParameterError(f"--{name} has no meaning for {what}. Leave it out.")


def _write_rules(
    rules: Rules, folder: Path, given: Path | None, console: Console, option: str = "--rules"
) -> Path:
    """Write the rules beside the data set, and never over a file that somebody edited."""
    path = folder / (USER_RULES if option == "--user-rules" else "rules.toml")
    beside = path.with_suffix(".inferred.toml")
    if path.exists() and given is not None:
        return path
    if path.exists() and path.read_text(encoding="utf-8") != rules.to_toml(option):
        console.print(
            f"[yellow]warning:[/] {path} is not what was used now, and is kept; pass it with "
            f"{option} to use it. The rules used are in {beside.name} beside it.",
            soft_wrap=True,
        )
        path = beside
    rules.write(path, option=option)
    return path


@contextmanager
def _log_shown() -> Iterator[None]:
    """Show what the readers of public data sets have to say, on stderr."""
    logger = logging.getLogger("teaser")
    handler = logging.StreamHandler(sys.stderr)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
