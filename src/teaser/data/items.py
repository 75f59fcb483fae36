"""What a data set holds of its items: those described and those chosen, and their tags."""

from typing import Any

import polars as pl

from teaser.data.reading.interactions import check_items, need_column
from teaser.data.tagging.infer import infer_roles, infer_rules
from teaser.data.tagging.one_hot import build_tags
from teaser.data.tagging.rule_set import Rules, as_rules
from teaser.errors import DataError, RuleError


def describe_items(raw: pl.DataFrame, chosen: pl.Series, item: str, rules: Any) -> dict[str, Any]:
    """Return what a data set holds of its items: those described and those that were chosen."""
    table, refused = check_items(raw, item=item)
    if chosen.dtype != table[item].dtype:
        chosen = chosen.cast(pl.String)
        table = table.with_columns(pl.col(item).cast(pl.String))
    table, undescribed = _with_undescribed(table, chosen, item)
    given = _inferred(table, item) if rules is None else as_rules(rules)
    roles = _checked_roles(given, table) or infer_roles(table, item=item)
    tagged = build_tags(table, given.tags)
    return {
        "S": tagged.S,
        "tags": tagged.tags,
        "table": table.select(item, pl.exclude(item)),
        "rules": Rules(tagged.rules, roles, given.skipped),
        "tag_report": tagged.report,
        "items_without_metadata": undescribed,
        "items_refused": refused,
    }


def _with_undescribed(
    table: pl.DataFrame, chosen: pl.Series, item: str
) -> tuple[pl.DataFrame, int]:
    """Append a row of nulls for every chosen item that the metadata do not describe."""
    distinct = chosen.unique(maintain_order=True).to_frame(item)
    missing = distinct.join(table.select(item), on=item, how="anti", maintain_order="left")
    if missing.height == distinct.height:
        raise DataError(
            f"None of the {missing.height:,} items that people chose is described: the "
            f"interactions name {_few(missing[item])}, the items {_few(table[item])}. "
            f"Are both of the same catalogue, and is {item!r} the id in both?"
        )
    return pl.concat([table, missing], how="diagonal"), missing.height


def _few(ids: pl.Series) -> str:
    return ", ".join(repr(name) for name in ids.head(3).to_list())


def _inferred(table: pl.DataFrame, item: str) -> Rules:
    rules = infer_rules(table, item=item)
    if not rules.tags:
        why = "; ".join(f"{column!r}: {reason}" for column, reason in rules.skipped.items())
        raise RuleError(
            f"No column of the items can be turned into tags ({why or 'there is none'}). "
            "Add columns, or say how with rules."
        )
    return rules


def _checked_roles(rules: Rules, table: pl.DataFrame) -> dict[str, str]:
    for role, column in rules.roles.items():
        need_column(table, column, f"the role {role!r}")
    return dict(rules.roles)
