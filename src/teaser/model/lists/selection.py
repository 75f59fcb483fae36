"""What a request asks of a list: which items may be in it, and what is added to their scores."""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal, Self, TypedDict, Unpack

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.errors import ParameterError, UnknownNameError, closest
from teaser.model.lists.item_filter import find_items, pass_where
from teaser.model.tables import ItemTable, TagTable
from teaser.reason import BoostName

Array = NDArray[Any]
Unknown = Literal["raise", "ignore"]
# One boost as text; a name may have colons and semicolons itself.
_BOOST = re.compile(
    r"\s*(\S.*?)\s*:\s*([+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|nan))\s*(?:;|$)",
    re.DOTALL | re.IGNORECASE,
)
Where = pl.Expr | Mapping[str, Any] | str | Sequence[pl.Expr | Mapping[str, Any] | str]


class Filters(TypedDict, total=False):
    """The options of a list that `recommend`, `recommend_batch` and `recommend_all` share.

    An item is listed if it passes all of them.

    Attributes
    ----------
    items
        The ids of the items that may be recommended; all of them when not given.
    exclude
        The ids of items that may not be.
    where
        A polars expression on the items' table, such as `pl.col("year") >= 1990`; a mapping such
        as `{"players": 2}`: a column, or a feature of tags, and the value that an item must have,
        a list of values standing for any of them; a text such as `"players=2"` or
        `"year >= 1990"`; or a list of these. All conditions must hold, but values of one column
        or feature are alternatives, in one condition or in several. A cell or an item with
        several values must have the value among them.
    allowed
        Which items may be recommended: true or false for each, in the order of `items_`.
    boost
        What is added to scores, by item id, by `Tag` or `"feature=value"`, or by the name of a
        column that is true or false. A boost by tag adds the number to every item with the tag,
        whatever its weight; by popularity, times the popularity of the item. Reasons show it as
        what it is.
    unknown
        `"raise"`, or `"ignore"` to leave out ids, tags and values that are not known, also of
        histories; the result counts them as `ignored`. Of `items` and `where` nothing passes by
        an unknown name.
    """

    items: Iterable[ItemId] | None
    exclude: Iterable[ItemId] | None
    where: Where | None
    allowed: Array | None
    boost: Mapping[Any, float] | None
    unknown: Unknown


@dataclass(frozen=True, eq=False)
class Boosts:
    """What boosts add to the score of each item.

    Attributes
    ----------
    names
        What each boost is named by: a tag, an item id, or a column.
    parts
        What each boost adds to each item (items x boosts).
    """

    names: tuple[BoostName, ...]
    parts: sp.csr_array

    @cached_property
    def total(self) -> Array:
        """What all boosts together add to each item (items)."""
        return np.asarray(self.parts.sum(axis=1)).ravel()

    def of(self, item_index: int) -> tuple[tuple[BoostName, float], ...]:
        """Return the boosts that an item has, by name."""
        span = slice(self.parts.indptr[item_index], self.parts.indptr[item_index + 1])
        pairs = zip(self.parts.indices[span].tolist(), self.parts.data[span].tolist(), strict=True)
        return tuple((self.names[j], part) for j, part in pairs)


@dataclass(frozen=True, eq=False)
class Placed:
    """A selection, placed on the items of a model.

    Attributes
    ----------
    allowed
        Which items may be listed (items), or None for all.
    boosts
        What is added to scores, or None.
    ignored
        How many unknown names were ignored.
    ignores
        Whether unknown ids of histories are to be ignored.
    """

    allowed: Array | None = None
    boosts: Boosts | None = None
    ignored: int = 0
    ignores: bool = False

    def boosted(self, scores: Array) -> Array:
        """Return scores with the boosts added (..., items)."""
        return scores if self.boosts is None else np.asarray(scores + self.boosts.total)

    def boosts_of(self, item_index: int) -> tuple[tuple[BoostName, float], ...]:
        """Return the boosts that an item has, by name."""
        return () if self.boosts is None else self.boosts.of(item_index)


NOTHING_ASKED = Placed()


class Selection:
    """The filters of one request; see `Filters`."""

    def __init__(self, **filters: Unpack[Filters]) -> None:
        self._asked = filters

    @classmethod
    def read(cls, filters: Filters, method: Callable[..., Any]) -> Self:
        """Return filters that were given by name to a method that takes them.

        A name that is none of them, nor an option of the method itself, is refused with the
        closest.
        """
        if not filters.keys() <= Filters.__annotations__.keys():
            own = inspect.signature(method).parameters.values()
            options = [p.name for p in own if p.kind is inspect.Parameter.KEYWORD_ONLY]
            check_names(filters, [*options, *Filters.__annotations__])
        return cls(**filters)

    def place(self, table: ItemTable, tags: TagTable | None = None) -> Placed:
        """Return what was asked, by the positions of items.

        Parameters
        ----------
        table, tags
            The items of the model, and their tags where it has tags.
        """
        unknown = self._asked.get("unknown", "raise")
        if unknown not in ("raise", "ignore"):
            raise ParameterError(f"unknown must be 'raise' or 'ignore', found {unknown!r}.")
        items, exclude = self._asked.get("items"), self._asked.get("exclude")
        where, allowed = self._asked.get("where"), self._asked.get("allowed")
        missing: list[object] = []
        mask = np.ones(len(table), dtype=bool)
        mask[table.barred(allowed)] = False
        if items is not None:
            mask &= self._are_named("items", items, table, missing)
        if exclude is not None:
            mask &= ~self._are_named("exclude", exclude, table, missing)
        if where is not None:
            mask &= pass_where(where, table, tags, missing if self._ignores else None)
        boosts = self._place_boosts(table, tags, missing)
        limited = any(each is not None for each in (items, exclude, where, allowed))
        return Placed(mask if limited else None, boosts, len(missing), self._ignores)

    @property
    def _ignores(self) -> bool:
        return self._asked.get("unknown") == "ignore"

    def _are_named(self, option: str, ids: Any, table: ItemTable, missing: list[object]) -> Array:
        """Return which items are named (items)."""
        if isinstance(ids, str | bytes | Mapping) or not isinstance(ids, Iterable):
            raise ParameterError(f"{option} is a list of item ids, found {ids!r}.")
        mask = np.zeros(len(table), dtype=bool)
        for item_id in ids:
            place = table.ids.find(item_id) if self._ignores else table.ids.index_of(item_id)
            if place is None:
                missing.append(item_id)
            else:
                mask[place] = True
        return mask

    def _place_boosts(
        self, table: ItemTable, tags: TagTable | None, missing: list[object]
    ) -> Boosts | None:
        boost = self._asked.get("boost")
        if boost is None:
            return None
        if not isinstance(boost, Mapping):
            raise ParameterError(
                f"boost maps ids or tags to numbers, such as {{'promoted': 0.2}}; found {boost!r}."
            )
        names: list[BoostName] = []
        columns: list[Array] = []
        for name, number in boost.items():
            amount = check_boost(name, number)
            try:
                named, weights = find_items(name, table, tags)
            except UnknownNameError:
                if not self._ignores:
                    raise
                missing.append(name)
                continue
            names.append(named)
            columns.append(amount * weights)
        if not names:
            return None
        return Boosts(tuple(names), sp.csr_array(np.column_stack(columns)))


def check_names(given: Iterable[str], known: Iterable[str]) -> None:
    """Raise `ParameterError` for an option of a list that there is not."""
    names = list(known)
    for name in given:
        if name not in names:
            raise ParameterError(
                f"A list has no option {name!r}.{closest(name, names)} Known: {', '.join(names)}."
            )


def check_boost(name: object, number: Any) -> float:
    """Return the number of a boost, or raise unless it is finite."""
    is_number = isinstance(number, Real) and not isinstance(number, bool)
    if not is_number or not math.isfinite(number):
        shown = str(name) if isinstance(name, Tag) else repr(name)
        raise ParameterError(f"The boost of {shown} must be a finite number, found {number!r}.")
    return float(number)


def parse_boosts(texts: Iterable[str]) -> dict[str, float]:
    """Return what is added by id or tag, from texts such as `town=Ghent:0.2`.

    A text may hold several, separated by semicolons. What is added to one name twice is summed.
    """
    boosts: dict[str, float] = {}
    for text in texts:
        at, whole = 0, text.strip().rstrip(";")
        while at < len(whole) or not whole:
            found = _BOOST.match(whole, at)
            if found is None:
                raise ParameterError(
                    "A boost is written as ID_OR_TAG:number, such as town=Ghent:0.2; "
                    f"found {text!r}."
                )
            name, at = found[1].strip(), found.end()
            boosts[name] = boosts.get(name, 0.0) + float(found[2])
    return boosts


def known_history(
    table: ItemTable, history: Any, placed: Placed = NOTHING_ASKED
) -> tuple[dict[int, float], int]:
    """Return the strengths of a history by position, and how many unknown ids were ignored."""
    if not placed.ignores or isinstance(history, str | bytes) or not isinstance(history, Iterable):
        return table.strengths(history), 0
    if isinstance(history, Mapping):
        known: Any = {name: x for name, x in history.items() if name in table.ids}
        return table.strengths(known), len(history) - len(known)
    given = list(history)
    known = [name for name in given if name in table.ids]
    return table.strengths(known), len(given) - len(known)
