"""Sources: tables of a public data set with rules that suit them, and the registry of readers."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec

import polars as pl

from teaser.data.sources.folder import Folder
from teaser.data.sources.own_tables import propose_tables
from teaser.data.tagging.rule_set import ListOf, Rule, Rules
from teaser.errors import DataError, ParameterError, TableError, closest

MIN_ITEMS = 3
POPULAR = "it measures popularity, which the model learns by itself"

P = ParamSpec("P")


@dataclass(frozen=True)
class Source:
    """Tables of one data set, with what is needed to make a `Dataset` of them.

    Attributes
    ----------
    name
        The name of the reader.
    interactions, items
        Who chose what, and the metadata of each item.
    user, item
        The columns of the ids; `item` is the same in both tables.
    rules
        How metadata become tags, and which columns are shown as what.
    positive
        Which interactions count, or None when all do.
    users
        User features, where the data set has them.
    user_rules
        How user features become user tags.
    """

    name: str
    interactions: pl.DataFrame
    items: pl.DataFrame
    user: str
    item: str
    rules: Rules
    positive: str | None = "rating >= 4"
    users: pl.DataFrame | None = None
    user_rules: Rules | None = None


@dataclass(frozen=True)
class SourceReader:
    """A function that reads a data set, and the files that its folder has.

    Attributes
    ----------
    read
        Makes a `Source` of a folder.
    files
        Groups of file names; one file of each group must be there.
    fits
        A further condition on the folder.
    layout
        The files in words, for error messages.
    """

    read: Callable[..., Source]
    files: tuple[tuple[str, ...], ...]
    fits: Callable[[Folder], bool]
    layout: str

    def matches(self, folder: Folder) -> bool:
        """Whether the folder has this reader's files."""
        return all(folder.find(*names) for names in self.files) and self.fits(folder)


READERS: dict[str, SourceReader] = {}


def reader(
    name: str,
    *files: tuple[str, ...],
    fits: Callable[[Folder], bool] = lambda folder: True,
    layout: str = "",
) -> Callable[[Callable[P, "Source"]], Callable[P, "Source"]]:
    """Register a function as the reader of that name; see `SourceReader` for the parameters."""

    def register(read: Callable[P, Source]) -> Callable[P, Source]:
        text = layout or " and ".join(" or ".join(names) for names in files)
        READERS[name] = SourceReader(read, files, fits, text)
        return read

    return register


def read_source(name: str, folder: str | Path, **options: Any) -> Source:
    """Read a folder by the reader of that name; `options` are the reader's own."""
    if name not in READERS:
        raise DataError(
            f"Unknown source {name!r}. Known: {', '.join(READERS)}.{closest(name, READERS)}"
        )
    read = READERS[name].read
    known = [p for p in inspect.signature(read).parameters if p != "folder"]
    for option in options:
        if option not in known:
            raise ParameterError(
                f"The reader {name!r} has no option {option!r}. "
                f"Known: {', '.join(known) or 'none'}.{closest(option, known)}"
            )
    return read(folder, **options)


def detect(folder: str | Path) -> str:
    """Return the name of the reader that fits the files in the folder."""
    found = Folder(Path(folder))
    fitting = [name for name, each in READERS.items() if each.matches(found)]
    if len(fitting) == 1:
        return fitting[0]
    looked = "; ".join(f"{name}: {each.layout}" for name, each in READERS.items())
    fits = f"fits {' and '.join(fitting)}" if fitting else "fits no reader"
    advice = "Name the reader: --source NAME." if fitting else propose_tables(found.path)
    raise TableError(
        f"{found.path} {fits}. Looked for {looked} (all also .gz). Found: {found.listing()}. "
        f"{advice}".rstrip()
    )


def list_rules(**features: str) -> list[Rule]:
    """Return list rules, given the feature of each column of lists."""
    return [ListOf(column, feature=name, min_items=MIN_ITEMS) for column, name in features.items()]


def make_rules(
    items: pl.DataFrame,
    tags: Sequence[Rule],
    roles: Mapping[str, str],
    skipped: Mapping[str, str] | None = None,
) -> Rules:
    """Return the rules, without those whose columns are empty in this copy of the data."""
    reasons = dict(skipped or {})
    kept = []
    for rule in tags:
        if all(items[column].null_count() == items.height for column in rule.columns):
            reasons |= dict.fromkeys(rule.columns, "it is empty")
        else:
            kept.append(rule)
    return Rules(tuple(kept), roles, {c: why for c, why in reasons.items() if c in items.columns})
