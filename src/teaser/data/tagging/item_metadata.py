"""Join the items that are described with those that were chosen, and turn metadata into tags."""

from dataclasses import replace
from typing import Any

import polars as pl

from teaser.data.reading.files import few, need_columns
from teaser.data.reading.interactions import check_items
from teaser.data.tagging.infer import infer_roles, infer_rules, need_rules
from teaser.data.tagging.one_hot import build_tags
from teaser.data.tagging.rule_set import RulesLike, as_rules
from teaser.errors import DataError


def describe_items(
    raw: pl.DataFrame, chosen: pl.Series, item: str, rules: RulesLike
) -> dict[str, Any]:
    """Return the attributes of a `Dataset` that come from its items.

    Parameters
    ----------
    raw
        The metadata, one row an item.
    chosen
        The ids of the items in the interactions.
    item
        The column of the ids.
    rules
        How columns become tags; inferred when not given.
    """
    table, refused = check_items(raw, item=item)
    table, chosen = with_common_ids(table, chosen, item)
    distinct = chosen.unique(maintain_order=True).to_frame(item)
    missing = distinct.join(table.select(item), on=item, how="anti", maintain_order="left")
    if missing.height == distinct.height:
        raise DataError(
            f"None of the {missing.height:,} chosen items is described: the interactions have "
            f"{few(missing[item])}, the items {few(table[item])}. "
            f"Do both tables belong together, and is {item!r} the id in both?"
        )
    table = pl.concat([table, missing], how="diagonal")
    given = infer_rules(table, item=item) if rules is None else as_rules(rules)
    if rules is None:
        need_rules(given, "items")
    for role, column in given.roles.items():
        need_columns(table, (column,), f"the role {role!r}")
    tagged = build_tags(table, given.tags)
    roles = given.roles or infer_roles(table, item=item)
    return {
        "S": tagged.S,
        "tags": tagged.tags,
        "table": table.select(item, pl.exclude(item)),
        "rules": replace(given, tags=tagged.rules, roles=dict(roles)),
        "tag_report": tagged.report,
        "items_without_metadata": missing.height,
        "items_refused": refused,
    }


def with_common_ids(
    table: pl.DataFrame, ids: pl.Series, column: str
) -> tuple[pl.DataFrame, pl.Series]:
    """Return both with ids of one type: texts, unless their types are equal."""
    if ids.dtype == table[column].dtype:
        return table, ids
    return table.with_columns(pl.col(column).cast(pl.String)), ids.cast(pl.String)
