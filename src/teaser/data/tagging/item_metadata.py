"""Join the items that are described with those that were chosen, and turn metadata into tags."""

import logging
from dataclasses import replace
from typing import Any

import polars as pl

from teaser.data.reading.interactions import check_items
from teaser.data.reading.table import few, need_columns
from teaser.data.tagging.infer import infer_rules
from teaser.data.tagging.one_hot import build_tags
from teaser.data.tagging.roles import address_warnings, infer_roles
from teaser.data.tagging.rule_set import RulesLike, as_rules
from teaser.data.tagging.tag_quality import no_tags, tag_warnings
from teaser.errors import DataError

# For what `Dataset.lines` tells too.
REPORT_LOG = logging.getLogger("teaser.report")


def describe_items(
    raw: pl.DataFrame | None, chosen: pl.DataFrame, item: str, rules: RulesLike
) -> dict[str, Any]:
    """Return the attributes of a `Dataset` that come from its items.

    Parameters
    ----------
    raw
        The metadata, one row an item; None if items are known by their ids alone.
    chosen
        The items of the interactions: item, and count, the number of users that chose it.
    item
        The column of the ids in the metadata.
    rules
        How columns become tags; inferred when not given.
    """
    ids = chosen["item"].alias(item)
    table, refused = (ids.clear().to_frame(), ()) if raw is None else check_items(raw, item=item)
    table, ids = with_common_ids(table, ids, item)
    missing = ids.to_frame().join(table.select(item), on=item, how="anti", maintain_order="left")
    if raw is not None and missing.height == chosen.height:
        raise DataError(
            f"None of the {missing.height:,} chosen items is described: the interactions have "
            f"{few(missing[item])}, the items {few(table[item])}. "
            + (
                "They differ by leading zeros: write them alike in both tables."
                if _bare(missing[item]).is_in(_bare(table[item]).implode()).any()
                else f"Do both tables belong together, and is {item!r} the id in both?"
            )
        )
    table = pl.concat([table, missing], how="diagonal")
    if rules is None:
        given = infer_rules(table, item=item, counts=count_items(table[item], chosen))
    else:
        given = as_rules(rules)
    for role, column in given.roles.items():
        need_columns(table, (column,), f"the role {role!r}")
    tagged = build_tags(table, given.tags, allow_none=rules is None or not given.tags)
    warnings = tag_warnings(tagged.S, tagged.tags) if tagged.tags else (no_tags(given),)
    for warning in warnings:
        REPORT_LOG.warning(warning)
    roles = given.roles or infer_roles(table, item=item)
    notes = address_warnings(table, roles)
    return {
        "S": tagged.S,
        "tags": tagged.tags,
        "table": table.select(item, pl.exclude(item)),
        "rules": replace(given, tags=tagged.rules, roles=dict(roles)),
        "tag_report": replace(tagged.report, warnings=warnings),
        "items_without_metadata": missing.height,
        "items_refused": refused,
        "notes": notes,
    }


def _bare(ids: pl.Series) -> pl.Series:
    """Return ids as texts without leading zeros."""
    return ids.cast(pl.String).str.strip_chars_start("0")


def told(*notes: str | None) -> tuple[str, ...]:
    """Return the notes that there are, after logging them: warnings as such."""
    found = tuple(note for note in notes if note)
    for note in found:
        REPORT_LOG.log(logging.WARNING if note.startswith("warning") else logging.INFO, "%s", note)
    return found


def count_items(ids: pl.Series, chosen: pl.DataFrame) -> pl.Series:
    """Return how many users chose each of these items, given (item, count) of those chosen."""
    wanted = ids.to_frame("item")
    known = chosen.with_columns(pl.col("item").cast(ids.dtype))
    joined = wanted.join(known, on="item", how="left", maintain_order="left")
    return joined["count"].fill_null(0).cast(pl.Int64)


def with_common_ids(
    table: pl.DataFrame, ids: pl.Series, column: str
) -> tuple[pl.DataFrame, pl.Series]:
    """Return both with ids of one type: texts, unless their types are equal."""
    if ids.dtype == table[column].dtype:
        return table, ids
    return table.with_columns(pl.col(column).cast(pl.String)), ids.cast(pl.String)
