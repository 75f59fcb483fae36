"""Shared parts of the readers of public data sets: folders, files, the registry."""

import inspect
import logging
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec

import polars as pl

from teaser.data.dataset import Dataset
from teaser.data.reading import MAX_BAD_SHARE, need_columns, read, read_table
from teaser.data.rules import ListOf, Rule, Rules
from teaser.errors import DataError, ParameterError, TableError, closest
from teaser.files import open_unpacked

LOG = logging.getLogger("teaser")
_NAMED = 5
_LISTED = 20
MIN_ITEMS = 3
POPULAR = "it measures popularity, which the model learns by itself"
P = ParamSpec("P")


@dataclass(frozen=True)
class Folder:
    """A folder whose files are looked for by name, gzipped or not."""

    path: Path

    def __post_init__(self) -> None:
        if not self.path.is_dir():
            what = "is a file, not a folder" if self.path.exists() else "does not exist"
            raise TableError(f"{self.path} {what}. Give the folder that the data were unpacked to.")

    @property
    def names(self) -> list[str]:
        """The names of the files, sorted."""
        return sorted(p.name for p in self.path.iterdir() if p.is_file())

    def find(self, *names: str) -> Path | None:
        """Return the first of the files that is there, or None."""
        for name in names:
            for path in (self.path / name, self.path / f"{name}.gz"):
                if path.is_file():
                    return path
        return None

    def need(self, what: str, *names: str) -> Path:
        """Return the first of the files that is there, or raise `TableError`."""
        path = self.find(*names)
        if path is None:
            raise TableError(
                f"The {what} are missing: looked for {' or '.join(names)} (also .gz) "
                f"in {self.path}. Found: {self.listing()}."
            )
        return path

    def listing(self) -> str:
        """Return the names of the files as one phrase."""
        names = self.names
        more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
        return ", ".join(names[:_LISTED]) + more if names else "no file at all"


def read_csv(path: Path, what: str, types: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """Read a csv file with these columns; a column with a cell of another type stays text."""
    try:
        frame = pl.read_csv(path, schema_overrides=dict(types))
    except (pl.exceptions.PolarsError, OSError):
        frame = read_table(path, what=what)
    need_columns(frame, types, f"the {what} of {path}")
    if frame.height == 0:
        raise TableError(f"The {what} in {path} have no rows.")
    return frame


def read_dat(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    """Read lines of fields separated by `::`, in UTF-8 or Latin-1."""
    table = read(path, columns=columns, delimiter="::", encoding="latin-1")
    for refusal in table.refused:
        LOG.warning("%s: %s", path, refusal)
    return table.frame.with_columns(pl.col(pl.String).str.strip_chars())


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, gzipped or not, one at a time."""
    try:
        with open_unpacked(path) as file:
            yield from file
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{path} could not be read: {error}. Is the download complete?") from error


def report_bad(path: Path, bad: Sequence[int], total: int, why: str) -> None:
    """Log the lines that were left out, or refuse the file when more than 1 % of them are bad."""
    if not bad:
        return
    named = ", ".join(f"line {number}" for number in bad[:_NAMED])
    found = f"{len(bad):,} of {total:,} lines of {path} {why}: {named}"
    if len(bad) > MAX_BAD_SHARE * total:
        raise TableError(f"{found}. At most {MAX_BAD_SHARE:.0%} may be. Is this the right file?")
    LOG.warning(f"{found}; they were left out.")


def add_list(items: pl.DataFrame, pairs: pl.DataFrame, column: str) -> pl.DataFrame:
    """Add a column with the list of distinct values of each item.

    Parameters
    ----------
    pairs
        Two columns: the key, which the items have too, and a value.
    """
    key, value = pairs.columns
    unique = pairs.unique(maintain_order=True).rename({value: column})
    lists = unique.group_by(key, maintain_order=True).agg(column)
    return items.join(lists, on=key, how="left", maintain_order="left")


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

    def dataset(self, **options: Any) -> Dataset:
        """Return the data set of the tables; the options are those of `Dataset.from_tables`."""
        own: dict[str, Any] = {"user": self.user, "item": self.item}
        own |= {"rules": self.rules, "positive": self.positive, **options}
        return Dataset.from_tables(self.interactions, self.items, **own)


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
    advice = (
        "Name the reader: --source NAME."
        if fitting
        else "Name your own tables: teaser prepare INTERACTIONS ITEMS --out DATA."
    )
    raise TableError(
        f"{found.path} {fits}. Looked for {looked} (all also .gz). Found: {found.listing()}. "
        f"{advice}"
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
