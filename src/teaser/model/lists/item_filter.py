"""Items found by what their table or their tags say: conditions, and names of boosts."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from teaser.closeness import closest_names
from teaser.data.condition import Condition, Conditions, equal
from teaser.data.tags import Tag, find_bare
from teaser.errors import (
    ParameterError,
    UnknownBoostError,
    UnknownNameError,
    UnknownTagError,
    closest,
)
from teaser.model.tables import ItemTable, TagTable
from teaser.reason import BoostName

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
            mask &= _pass_expression(each, table.metadata)
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
    known = {str(t): t for t in (tags.tags if tags is not None else ())}
    if isinstance(name, Tag):
        return UnknownTagError(name, closest_names(str(name), known))
    columns = table.metadata.columns
    examples = [str(tag) for tag in known.values() if tag.feature == name]
    # The tags of numbers are ranges, or have words before them; cells are shorter.
    if name in columns and (not examples or table.metadata[name].dtype.is_numeric()):
        filled = table.metadata[name].drop_nulls()
        nested = isinstance(filled.dtype, pl.List | pl.Array)
        values = filled.explode().drop_nulls() if nested else filled
        examples = [f"{name}={value}" for value in values.unique(maintain_order=True).head(3)]
    if name in columns or examples:
        return UnknownBoostError(name, examples=examples[:3])
    names = [*known, *(t.value for t in known.values()), *columns, *map(str, table.ids)]
    near = closest_names(str(name), names)
    some = [str(each) for each in (*table.ids[:1], *list(known)[:1])]
    return UnknownBoostError(name, near, () if near else some)


def _pass_condition(
    condition: Condition, table: ItemTable, tags: TagTable | None, unmatched: list[object] | None
) -> Array:
    """Return which items pass a condition by order, or `!=` (items)."""
    if condition.by_order:
        own = [] if tags is None else [t for t in tags.tags if t.feature == condition.name]
        if tags is not None and own and condition.name not in table.metadata.columns:
            return _pass_tags(condition, own, tags)
        columns = table.metadata.columns
        if condition.name not in columns:
            raise ParameterError(
                f"where names the column {condition.name!r}, which the items' table does not have."
                f"{closest(condition.name, columns)} Its columns: {', '.join(columns)}."
            )
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


def _pass_expression(where: pl.Expr, metadata: pl.DataFrame) -> Array:
    columns = metadata.columns
    missing = [name for name in where.meta.root_names() if name not in columns]
    if missing:
        raise ParameterError(
            f"where names the column {missing[0]!r}, which the items' table does not have."
            f"{closest(missing[0], columns)} Its columns: {', '.join(columns)}."
        )
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
    columns = table.metadata.columns
    features = [] if tags is None else list(dict.fromkeys(tag.feature for tag in tags.tags))
    if name not in columns and name not in features:
        known = list(dict.fromkeys([*columns, *features]))
        raise ParameterError(
            f"where names {name!r}, which is no column of the items' table and no feature of tags."
            f"{closest(str(name), known)} Known: {', '.join(known)}."
        )
    mask = np.zeros(len(table), dtype=bool)
    for value in wanted:
        own = np.zeros(len(table), dtype=bool)
        if name in columns:
            own |= _equal_cells(table.metadata[name], value)
        if tags is not None and Tag(name, str(value)) in tags.index:
            own |= _tag_weights(Tag(name, str(value)), tags) != 0
        if not own.any():
            if unmatched is None:
                raise _no_item_has(name, value, table, tags)
            unmatched.append(value)
        mask |= own
    return mask


def _no_item_has(
    name: str, value: object, table: ItemTable, tags: TagTable | None
) -> ParameterError:
    known = [tag.value for tag in tags.tags if tag.feature == name] if tags is not None else []
    if not known and name in table.metadata.columns:
        cells = table.metadata[name]
        flat = cells.explode() if isinstance(cells.dtype, pl.List | pl.Array) else cells
        known = [str(cell) for cell in flat.drop_nulls().unique(maintain_order=True).to_list()]
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
    """Return the tag that a name means, or None."""
    if tags is None:
        return None
    if isinstance(name, Tag) or (isinstance(name, str) and "=" in name):
        wanted = name if isinstance(name, Tag) else Tag.parse(name)
        place = tags.index.get(wanted)
        return None if place is None else tags.tags[place]
    return find_bare(name, tags.tags) if isinstance(name, str) else None


def _tag_weights(tag: Tag, tags: TagTable) -> Array:
    """Return 1 for items with a tag, and the number itself of popularity and general appeal."""
    column = tags.index[tag]
    weights = np.zeros(tags.decoder.shape[0])
    D = tags.decoder
    entries = np.flatnonzero(D.indices == column)
    owner = np.searchsorted(D.indptr, entries, side="right") - 1
    is_number = column in (tags.popularity, tags.general)
    weights[owner] = D.data[entries] if is_number else D.data[entries] != 0
    return weights


def _flags(cells: pl.Series) -> Array | None:
    """Return a column of true or false, 1 and 0, or yes and no, as a mask; None for any other.

    A missing cell is not marked.
    """
    if cells.dtype == pl.Boolean:
        return np.asarray(cells.fill_null(False).to_numpy())
    if cells.null_count() == len(cells):
        return None
    # Data frames turn true and false into 1.0 and 0.0 where some are missing.
    if cells.dtype.is_numeric():
        numbers = cells.cast(pl.Float64).fill_nan(None)
        is_flag = ((numbers == 0) | (numbers == 1)).fill_null(True).all()
        return np.asarray(numbers.fill_null(0).to_numpy() == 1) if is_flag else None
    if cells.dtype == pl.String:
        words = cells.str.strip_chars().str.to_lowercase()
        if words.drop_nulls().is_in([*_TRUE, *_FALSE, ""]).all() and (words != "").any():
            return np.asarray(words.is_in(_TRUE).fill_null(False).to_numpy())
    return None
