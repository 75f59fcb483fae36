"""The owner's ids in order, with the position of each."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from teaser.closeness import closest_names
from teaser.errors import ArtifactError, UnknownItemError

ItemId = int | str
_INTEGER = re.compile(r"-?[0-9]{1,19}")


def saved_ids(column: pl.Series, what: str) -> "Ids":
    """Return the ids of a saved table.

    Parameters
    ----------
    what
        What they are ids of, such as "items", for the message of an `ArtifactError`.
    """
    if column.dtype != pl.String and not column.dtype.is_integer():
        raise ArtifactError(
            f"The ids of its {what} must be texts or whole numbers, found {column.dtype}."
        )
    if column.null_count():
        raise ArtifactError(f"{column.null_count():,} of the ids of its {what} are missing.")
    if column.n_unique() < len(column):
        twice = column.filter(column.is_duplicated())[0]
        raise ArtifactError(f"The id {twice!r} of its {what} is there more than once.")
    return Ids(column.to_list())


class Ids(Sequence[ItemId]):
    """The owner's ids in order, with the position of each; `"17"` and 17.0 find 17 as well."""

    def __init__(self, names: Iterable[ItemId]) -> None:
        self._names = tuple(names)
        self._position = {name: i for i, name in enumerate(self._names)}

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, key: Any) -> Any:
        return self._names[key]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ids | list | tuple):
            return NotImplemented
        # `tuple` of the ids themselves would take them one by one.
        return (other._names if isinstance(other, Ids) else tuple(other)) == self._names

    def __repr__(self) -> str:
        few = ", ".join(repr(n) for n in self._names[:3])
        return f"Ids({len(self)}: {few}{', ...' if len(self) > 3 else ''})"

    def __contains__(self, name: object) -> bool:
        return self.find(name) is not None

    def find(self, name: object) -> int | None:
        """Return the position of a name, or None."""
        # Data frames turn whole numbers into 17.0 where some are missing.
        if isinstance(name, float) and name.is_integer():
            name = int(name)
        if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
            return None
        if not isinstance(name, str):
            position = self._position.get(int(name))
            return self._position.get(str(name)) if position is None else position
        position = self._position.get(name)
        if position is None and _INTEGER.fullmatch(name.strip()):
            return self._position.get(int(name.strip()))
        return position

    def index_of(self, name: object) -> int:
        """Return the position of an item id, or raise `UnknownItemError`."""
        place = self.find(name)
        if place is None:
            near = closest_names(str(name), map(str, self._names))
            first = self._names[0] if self._names else None
            same = isinstance(name, str) == isinstance(first, str) and not isinstance(name, float)
            # On the command line a whole number is a text too.
            same = same or (isinstance(name, str) and _INTEGER.fullmatch(name.strip()) is not None)
            raise UnknownItemError(name, near, len(self), None if same else first)
        return place

    def extended(self, names: Iterable[ItemId]) -> "Ids":
        """Return these ids followed by further ones."""
        return Ids((*self._names, *names))
