"""Which items a list may have, and what is added to their scores: conditions, names, boosts."""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypedDict

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.condition import Condition, Conditions, equal
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag, resolve_tag
from teaser.errors import ParameterError, UnknownNameError, closest, closest_names
from teaser.explain import BoostName
from teaser.model.tables import ItemTable, TagTable
from teaser.parameters import is_number

Array = NDArray[Any]
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


def pass_where(
    where: Any, table: ItemTable, tags: TagTable | None, unmatched: list[object] | None = None
) -> Array:
    """Return which items pass a condition (items).

    Parameters
    ----------
    where
        A polars expression on the items' table, a mapping of columns or features to values, a
        condition as text (see `Condition`), or a list of such, all of which must hold. Values of
        one column or feature are alternatives, in one condition or in several.
    tags
        The tags of the items, where the model has tags.
    unmatched
        Gets the values that no item has; None to raise for them.
    """
    mask = np.ones(len(table), dtype=bool)
    alternatives: dict[str, list[Any]] = {}
    for each in where if isinstance(where, list | tuple) else [where]:
        if isinstance(each, Mapping):
            for name, wanted in each.items():
                alternatives.setdefault(name, []).extend(_values(wanted))
            continue
        if isinstance(each, pl.Expr):
            mask &= _pass_expression(each, table)
            continue
        if not isinstance(each, str):
            raise ParameterError(
                'where must be a polars expression such as pl.col("year") >= 1990, a mapping such '
                f'as {{"players": 2}}, or a text such as "players=2"; found {each!r}.'
            )
        terms = Conditions.parse(each).terms
        for term in terms:
            if term.sign == "=" and len(terms) == 1:
                alternatives.setdefault(term.name, []).extend(term.values)
            else:
                mask &= _pass_condition(term, table, tags, unmatched)
    for name, wanted in alternatives.items():
        mask &= _pass_values(name, wanted, table, tags, unmatched)
    return mask


def find_items(name: Any, table: ItemTable, tags: TagTable | None) -> tuple[BoostName, Array]:
    """Return what a boost names, and its weight for each item: 1 or 0 (items).

    A name is tried as an item id, as a column of true or false, as a tag, as `column=value`, as a
    feature with one tag, and as the value of one tag. The weight of popularity is the item's.
    """
    place = None if isinstance(name, Tag) else table.ids.find(name)
    if place is not None:
        return table.ids[place], np.asarray(np.arange(len(table)) == place, dtype=np.float64)
    if isinstance(name, str) and name in table.metadata.columns:
        flags = _flags(table.metadata[name])
        if flags is not None:
            return name, flags.astype(np.float64)
    tag = _find_tag(name, tags)
    if tag is not None and tags is not None:
        return tag, _tag_weights(tag, tags)
    if isinstance(name, str) and "=" in name:
        wanted = Tag.parse(name)
        if wanted.feature in table.metadata.columns:
            found = _equal_cells(table.metadata[wanted.feature], wanted.value)
            if found.any():
                return wanted, found.astype(np.float64)
    raise _no_such_boost(name, table, tags)


def _no_such_boost(name: Any, table: ItemTable, tags: TagTable | None) -> UnknownNameError:
    """Return the error of a boost of an unknown name."""
    said = "boost names {name!r}, which is no item id, no tag and no column of true or false."
    known = [] if tags is None else list(tags.tags)
    if examples := [f"{name}={value}" for value in _values_of(name, table, tags)[:3]]:
        what, near = "one of its values", tuple[str, ...]()
    else:
        names = [*map(str, known), *(tag.value for tag in known), *map(str, table.ids)]
        near = closest_names(str(name), [*names, *table.metadata.columns])
        examples = [] if near else [str(each) for each in (*table.ids[:1], *known[:1])]
        what = "an item or a tag"
    hint = f"Name {what}, such as {' or '.join(map(repr, examples))}." if examples else ""
    return UnknownNameError("boost", name, near, said, hint, examples=examples)


def _values_of(name: Any, table: ItemTable, tags: TagTable | None) -> list[str]:
    """Return the values of a feature of tags, or of a column."""
    known = [] if tags is None else [tag.value for tag in tags.tags if tag.feature == name]
    if known or name not in table.metadata.columns:
        return known
    cells = table.metadata[name]
    flat = cells.explode() if isinstance(cells.dtype, pl.List | pl.Array) else cells
    return [str(cell) for cell in flat.drop_nulls().unique(maintain_order=True)]


def _pass_condition(
    condition: Condition, table: ItemTable, tags: TagTable | None, unmatched: list[object] | None
) -> Array:
    """Return which items pass a condition by order, or `!=` (items)."""
    condition = replace(condition, name=_spelled(condition.name, table, tags))
    if condition.by_order:
        own = [] if tags is None else [t for t in tags.tags if t.feature == condition.name]
        if tags is not None and own and condition.name not in table.metadata.columns:
            return _pass_tags(condition, own, tags)
        _check_column(condition.name, table)
        return np.asarray(condition.compare(table.metadata[condition.name]).to_numpy())
    found = _pass_values(condition.name, list(condition.values), table, tags, unmatched)
    return ~found if condition.sign == "!=" else found


def _pass_tags(condition: Condition, own: list[Tag], tags: TagTable) -> Array:
    """Return which items have a tag whose number passes a condition by order (items)."""
    values = pl.Series("value", [tag.value for tag in own]).cast(pl.Float64, strict=False)
    if values.null_count() == len(own):
        some = ", ".join(tag.value for tag in own[:3])
        raise ParameterError(
            f"where cannot compare {condition.name!r} by order: it is a feature of tags that are "
            f"no numbers, such as {some}. Write {condition.name}=VALUE, or "
            f"{condition.name} in VALUE,VALUE."
        )
    passes = condition.compare(values.alias(condition.name)).to_numpy()
    columns = [tags.index[tag] for tag, passed in zip(own, passes, strict=True) if passed]
    return np.asarray(np.diff(tags.decoder[:, columns].indptr) > 0)


def _check_column(name: str, table: ItemTable) -> None:
    """Raise `ParameterError` unless the items' table has this column."""
    columns = table.metadata.columns
    if name not in columns:
        raise ParameterError(
            f"where names the column {name!r}, which the items' table does not have."
            f"{closest(name, columns)} Its columns: {', '.join(columns)}."
        )


def _pass_expression(where: pl.Expr, table: ItemTable) -> Array:
    metadata = table.metadata
    for name in where.meta.root_names():
        _check_column(name, table)
    try:
        found = metadata.select(where)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        told = str(error).splitlines()[0]
        raise ParameterError(f"where cannot be computed on the items' table: {told}.") from error
    shape = found.height, found.width
    if shape != (metadata.height, 1) or found.dtypes[0] != pl.Boolean:
        kinds = ", ".join(map(str, found.dtypes))
        raise ParameterError(
            f"where must be true or false for each of {metadata.height:,} items; found "
            f"{found.height:,} rows of {kinds}."
        )
    return np.asarray(found.to_series(0).fill_null(False).to_numpy())


def _pass_values(
    name: str,
    wanted: list[Any],
    table: ItemTable,
    tags: TagTable | None,
    unmatched: list[object] | None,
) -> Array:
    """Return which items have one of several values of a column or a feature (items)."""
    columns, known = table.metadata.columns, _columns_and_features(table, tags)
    name = _spelled(name, table, tags)
    if name not in known:
        raise ParameterError(
            f"where names {name!r}, which is no column of the items' table and no feature of tags."
            f"{closest(str(name), known)} Known: {', '.join(known)}."
        )
    mask = np.zeros(len(table), dtype=bool)
    for value in wanted:
        own = np.zeros(len(table), dtype=bool)
        if name in columns:
            own |= _equal_cells(table.metadata[name], value)
        tag = _find_tag(f"{name}={value}", tags)
        if tag is not None and tags is not None:
            own |= _tag_weights(tag, tags) != 0
        if not own.any():
            if unmatched is None:
                raise _no_item_has(name, value, table, tags)
            unmatched.append(value)
        mask |= own
    return mask


def _columns_and_features(table: ItemTable, tags: TagTable | None) -> list[str]:
    features = () if tags is None else (tag.feature for tag in tags.tags)
    return list(dict.fromkeys([*table.metadata.columns, *features]))


def _spelled(name: str, table: ItemTable, tags: TagTable | None) -> str:
    """Return a column or a feature as it is written, which case may tell otherwise."""
    known = _columns_and_features(table, tags)
    alike = [each for each in known if each.casefold() == str(name).casefold()]
    return alike[0] if name not in known and len(alike) == 1 else name


def _no_item_has(
    name: str, value: object, table: ItemTable, tags: TagTable | None
) -> ParameterError:
    known = _values_of(name, table, tags)
    near = closest_names(str(value), known) or tuple(known[:3])
    such = f" Such as: {', '.join(near)}." if near else ""
    return ParameterError(
        f"where asks for {name} = {value!r}, which no item has.{such} "
        "With unknown='ignore' such a value is no error, and no item passes by it."
    )


def _values(wanted: Any) -> list[Any]:
    if isinstance(wanted, str | bytes) or not isinstance(wanted, Iterable):
        return [wanted]
    return list(wanted)


def _equal_cells(cells: pl.Series, value: Any) -> Array:
    """Return which cells equal a value, or have it among theirs (items)."""
    try:
        return np.asarray(equal(cells, value).to_numpy())
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        return np.zeros(len(cells), dtype=bool)


def _find_tag(name: Any, tags: TagTable | None) -> Tag | None:
    """Return the tag that a name means, in any case where it is a text; or None."""
    if tags is None or not isinstance(name, Tag | str):
        return None
    try:
        return tags.tags[resolve_tag(name, tags.index)]
    except UnknownNameError:
        return None


def _tag_weights(tag: Tag, tags: TagTable) -> Array:
    """Return 1 for items with a tag, and the number itself of popularity and general appeal."""
    column = tags.index[tag]
    weights = tags.decoder[:, [column]].toarray().ravel()
    is_number = column in (tags.popularity, tags.general)
    return np.asarray(weights if is_number else weights != 0, dtype=np.float64)


def _flags(cells: pl.Series) -> Array | None:
    """Return a column of true or false, 1 and 0, or yes and no, as a mask; None for any other.

    A missing cell is not marked. Data frames turn true into 1.0 where some are missing.
    """
    if cells.dtype.is_nested():
        return None
    words = cells.cast(pl.String).str.strip_chars().str.to_lowercase().str.strip_suffix(".0")
    words = words.replace(["", "nan"], None)
    filled = words.drop_nulls()
    if filled.is_empty() or not filled.is_in([*_TRUE, *_FALSE]).all():
        return None
    return np.asarray(words.is_in(_TRUE).fill_null(False).to_numpy())


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


@dataclass(frozen=True, eq=False)
class ResolvedFilters:
    """Filters, placed on the items of a model.

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
        if self.boosts is None:
            return ()
        own = self.boosts.parts[[item_index]]
        pairs = zip(own.indices.tolist(), own.data.tolist(), strict=True)
        return tuple((self.boosts.names[j], part) for j, part in pairs)


NO_FILTERS = ResolvedFilters()


def resolve_filters(
    filters: Filters, method: Callable[..., Any], table: ItemTable, tags: TagTable | None = None
) -> ResolvedFilters:
    """Return filters that were given by name to a method, by the positions of items.

    Parameters
    ----------
    method
        What takes the filters, with further options of its own, for the message of an error.
    tags
        The tags of the items; None for a model without tags.
    """
    if not filters.keys() <= Filters.__annotations__.keys():
        own = inspect.signature(method).parameters.values()
        options = [p.name for p in own if p.kind is inspect.Parameter.KEYWORD_ONLY]
        check_names(filters, [*options, *Filters.__annotations__])
    unknown = filters.get("unknown", "raise")
    if unknown not in ("raise", "ignore"):
        raise ParameterError(f"unknown must be 'raise' or 'ignore', found {unknown!r}.")
    items, exclude = filters.get("items"), filters.get("exclude")
    where, allowed = filters.get("where"), filters.get("allowed")
    # The names that were not found, where they are ignored.
    missing: list[object] | None = [] if unknown == "ignore" else None
    mask = np.ones(len(table), dtype=bool)
    mask[table.barred(allowed)] = False
    if items is not None:
        mask &= _are_named("items", items, table, missing)
    if exclude is not None:
        mask &= ~_are_named("exclude", exclude, table, missing)
    if where is not None:
        mask &= pass_where(where, table, tags, missing)
    boosts = _place_boosts(filters.get("boost"), table, tags, missing)
    limited = any(each is not None for each in (items, exclude, where, allowed))
    n_ignored = len(missing or ())
    return ResolvedFilters(mask if limited else None, boosts, n_ignored, missing is not None)


def _are_named(option: str, ids: Any, table: ItemTable, missing: list[object] | None) -> Array:
    """Return which items are named (items)."""
    if isinstance(ids, str | bytes | Mapping) or not isinstance(ids, Iterable):
        raise ParameterError(f"{option} is a list of item ids, found {ids!r}.")
    mask = np.zeros(len(table), dtype=bool)
    for item_id in ids:
        if missing is not None and table.ids.find(item_id) is None:
            missing.append(item_id)
        else:
            mask[table.ids.index_of(item_id)] = True
    return mask


def _place_boosts(
    boost: Any, table: ItemTable, tags: TagTable | None, missing: list[object] | None
) -> Boosts | None:
    """Return what boosts add to each item, None without any."""
    if boost is None:
        return None
    if not isinstance(boost, Mapping):
        raise ParameterError(
            f"boost maps ids or tags to numbers, such as {{'promoted': 0.2}}; found {boost!r}."
        )
    parts: list[tuple[BoostName, Array]] = []
    for name, number in boost.items():
        amount = check_boost(name, number)
        try:
            named, weights = find_items(name, table, tags)
        except UnknownNameError:
            if missing is None:
                raise
            missing.append(name)
            continue
        parts.append((named, amount * weights))
    if not parts:
        return None
    names, columns = zip(*parts, strict=True)
    return Boosts(names, sp.csr_array(np.column_stack(columns)))


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
    if not is_number(number) or not math.isfinite(number):
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
    table: ItemTable, history: Any, placed: ResolvedFilters = NO_FILTERS
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
