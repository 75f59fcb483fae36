"""Long-form metadata: a row for each value of a property of an item, made one row an item."""

from collections.abc import Sequence

import polars as pl

from teaser.data.reading.delimited import typed
from teaser.data.reading.likely_ids import snake_case
from teaser.data.reading.table import Table, named_errors, need_columns, shown
from teaser.errors import ParameterError, TableError, counted

_MOST_PROPERTIES = 200
# A table with this many rows an item is in long form, or has rows that say the same.
_ROWS_PER_ITEM = 1.5
_PROPERTIES = (
    "property", "attribute", "feature", "key", "field", "predicate", "relation", "facet",
    "property_name", "attribute_name", "feature_name", "variable", "prop", "attr",
)  # fmt: skip
_VALUES = (
    "value", "val", "object", "property_value", "attribute_value", "feature_value", "content",
)  # fmt: skip


def as_long(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the columns of id, property and value, or of id and value, from names or a text."""
    parts = given.split(",") if isinstance(given, str) else given
    names = tuple(part.strip() if isinstance(part, str) else part for part in parts)
    is_named = all(isinstance(name, str) and name for name in names)
    if not is_named or len(names) not in (2, 3) or len(set(names)) < len(names):
        raise ParameterError(
            "long must name the columns of id, property and value, or of id and value, such as "
            "long=('item_id', 'property', 'value') (--long item_id,property,value); found "
            f"{given!r}."
        )
    return names


def widen(table: Table, long: str | Sequence[str]) -> Table:
    """Return one row an item, with a column for each property.

    A property of which items have several values becomes a column of lists, each value once, in
    order of appearance. Others become plain columns.

    Parameters
    ----------
    table
        A row for each value.
    long
        The columns of id, property and value; or of id and value, where the value's column is the
        one property.
    """
    names = as_long(long)
    with named_errors(table.name):
        need_columns(table.frame, names, "the long form")
    rows = table.frame.select(
        pl.col(names[0]).alias("id"),
        (
            pl.col(names[1]).cast(pl.String).str.strip_chars()
            if len(names) == 3
            else pl.lit(names[1])
        ).alias("property"),
        pl.col(names[-1]).alias("value"),
    )
    filled = rows.filter(pl.col("property") != "").drop_nulls()
    properties = filled["property"].unique(maintain_order=True)
    _check(table, names, properties)
    lists = filled.unique(maintain_order=True).group_by("id", "property", maintain_order=True)
    wide = lists.agg("value").pivot(on="property", index="id", values="value")
    wide = wide.select(pl.col("id").alias(names[0]), *(_plain(wide[p]) for p in properties))
    notes = [
        f"long form of {table.name}: {counted(rows.height, 'row')} of "
        f"{counted(wide.height, 'item')} became the columns {', '.join(properties.to_list()[:9])}"
        + (f" and {len(properties) - 9} more" if len(properties) > 9 else "")
    ]
    if rows.height > filled.height:
        notes.append(
            f"{counted(rows.height - filled.height, 'row')} of {table.name} without id, property "
            "or value left out"
        )
    return Table(wide, table.name, (*table.notes, *notes), table.refused)


def _check(table: Table, names: tuple[str, ...], properties: pl.Series) -> None:
    if len(properties) == 0:
        raise TableError(f"No row of {table.name} has an id, a property and a value.")
    if len(properties) > _MOST_PROPERTIES:
        raise TableError(
            f"Column {names[1]!r} of {table.name} has {len(properties):,} properties, such as "
            f"{shown(properties[0])}; at most {_MOST_PROPERTIES} become columns. Does long name "
            "id, property and value in this order? For a table of id and value alone give "
            f"long=({names[0]!r}, {names[-1]!r}) (--long {names[0]},{names[-1]})."
        )
    if names[0] in properties:
        raise TableError(
            f"A property of {table.name} is called {names[0]!r}, as the column of the ids. Rename "
            "one of them."
        )


def _plain(column: pl.Series) -> pl.Series:
    """Return cells in place of lists where no list has two values."""
    if (column.list.len() > 1).any():
        return column
    cells = column.list.first()
    return typed(cells) if cells.dtype == pl.String else cells


def find_long(table: Table, item: str) -> tuple[str, ...] | None:
    """Return id, property and value if a table of items has columns of these names, else None."""
    frame = table.frame
    if not _repeats(frame, item):
        return None
    lower = {snake_case(column): column for column in reversed(frame.columns) if column != item}
    prop = next((lower[name] for name in _PROPERTIES if name in lower), None)
    value = next((lower[name] for name in _VALUES if name in lower), None)
    return None if prop is None or value is None else (item, prop, value)


def check_wide(table: Table, item: str) -> None:
    """Raise `TableError` if a table has several rows an item that differ, and propose `long`."""
    frame = table.frame
    if not _repeats(frame, item) or frame.unique().height < _ROWS_PER_ITEM * _ids(frame, item):
        return
    per_item = pl.all().exclude(item).n_unique()
    varied = frame.drop_nulls(item).group_by(item).agg(per_item).drop(item)
    several = [c for c in varied.columns if (varied[c] > 1).any()]
    texts = [c for c in several if frame[c].dtype == pl.String]
    few = [c for c in texts if frame[c].n_unique() <= min(50, frame.height / 10)]
    if len(few) == 1 and len(frame.columns) == 3:
        value = next(c for c in frame.columns if c not in (item, few[0]))
        long: tuple[str, ...] = (item, few[0], value)
    else:
        long = (item, (texts or several)[0])
    raise TableError(
        f"The {frame.height:,} rows of {table.name} describe {_ids(frame, item):,} items, and rows "
        f"of one item differ in {', '.join(several)}. Items need one row each. If this is "
        f"long form, a row for each value, name its columns: long={long!r} "
        f"(--long {','.join(long)})."
    )


def _repeats(frame: pl.DataFrame, item: str) -> bool:
    return item in frame.columns and frame.height >= _ROWS_PER_ITEM * max(1, _ids(frame, item))


def _ids(frame: pl.DataFrame, item: str) -> int:
    return frame[item].drop_nulls().n_unique()
