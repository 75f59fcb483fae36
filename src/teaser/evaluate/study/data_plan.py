"""The [data] of a study: a public data set, a prepared folder, or own tables."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from teaser.data.dataset import Dataset
from teaser.errors import ParameterError, closest

# The arguments of `Dataset.from_tables`, under the same names.
TABLE_NAMES = tuple(inspect.signature(Dataset.from_tables).parameters)
# Those that name files, which lie beside the study.
PATH_NAMES = ("interactions", "items", "users", "rules", "user_rules")
WAYS = ("source", "prepared", "interactions")

# How files are read is said to teaser prepare.
OPTIONS_OF_PREPARE = {
    name: f"--{name.replace('_', '-')}"
    for name in ("columns", "items_columns", "users_columns", "delimiter", "long")
}

_OWN = ("source", "prepared", "folder", "min_items", "options")
_OF_SOURCE = (
    *("folder", "options", "positive", "negative", "rules"),
    *("strength", "counts", "time", "half_life"),
)
# What else may stand beside each of the three.
_BESIDE = {"source": _OF_SOURCE, "prepared": (), "interactions": TABLE_NAMES}


@dataclass(frozen=True)
class DataPlan:
    """The data: a public data set or the generated `"events"`, a prepared folder, or tables.

    Attributes
    ----------
    source
        A reader of public data sets, or `"events"`; `folder` is where its files are, `options`
        are the reader's.
    prepared
        A folder that `teaser prepare` wrote.
    tables
        `interactions` and further arguments of `Dataset.from_tables`; with `source`, those that
        say how interactions count (`positive`, `time`, ...).
    min_items
        Keeps only the tags of at least so many items.
    """

    source: str = ""
    prepared: str = ""
    folder: str = ""
    min_items: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)


def complete_data(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of [data] as `DataPlan` has them; refuse those that have no meaning."""
    known = tuple(dict.fromkeys((*_OWN, *TABLE_NAMES)))
    for name in given:
        if name in OPTIONS_OF_PREPARE:
            raise ParameterError(
                f"[data] has no entry {name!r}: how files are read is said to teaser prepare "
                f"({OPTIONS_OF_PREPARE[name]}). Prepare the tables, and name the folder: "
                'prepared = "FOLDER".'
            )
        if name not in known:
            raise ParameterError(
                f"[data] has no entry {name!r}. Known: {', '.join(sorted(known))}."
                f"{closest(name, known)}"
            )
    found = [way for way in WAYS if way in given]
    if len(found) != 1:
        raise ParameterError(
            "[data] needs one of source (a public data set), prepared (a folder that teaser "
            f"prepare wrote) and interactions (a table); found {' and '.join(found) or 'none'}."
        )
    (way,) = found
    for name in given:
        if name not in (way, "min_items", *_BESIDE[way]):
            raise ParameterError(f"[data] {name} has no meaning with {way}. {_advice(way)}")
    for name in PATH_NAMES:
        if not isinstance(given.get(name, ""), str):
            raise ParameterError(f"[data] {name} must be a text, found {given[name]!r}.")
    own = {name: value for name, value in given.items() if name in _OWN}
    return {**own, "tables": {name: v for name, v in given.items() if name in TABLE_NAMES}}


def _advice(way: str) -> str:
    if way == "prepared":
        return "The folder was prepared already: prepare it again, or name its tables instead."
    if way == "source":
        return "The reader knows its tables: leave it out."
    return "It is for a public data set: leave it out."
