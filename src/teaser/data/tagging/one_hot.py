"""Metadata columns become tags, and the items' tags a one-hot matrix, by declared rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import scipy.sparse as sp

from teaser.data.tagging.rule_kinds import Rule, Text, unreadable
from teaser.data.tagging.tag import Tag
from teaser.errors import RuleError, TableError, closest


@dataclass(frozen=True)
class TagReport:
    """What turning metadata into tags kept and left out.

    Attributes
    ----------
    tags
        Tags kept, by feature.
    too_rare, too_common
        Tags left out because fewer, or more, items carry them than the rule allows.
    without_items
        Tags left out because no item carries them, such as bins that nothing falls into.
    unreadable
        By column: how many cells held no number or year, and the first of them.
    items_without_tags
        Items that carry no tag at all: only popularity can recommend them.
    """

    tags: Mapping[str, int] = field(default_factory=dict)
    too_rare: Mapping[str, int] = field(default_factory=dict)
    too_common: Mapping[str, int] = field(default_factory=dict)
    without_items: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    items_without_tags: int = 0

    def lines(self) -> list[str]:
        """Return the report as sentences."""
        out = [
            f"{sum(self.tags.values()):,} tags: "
            + (", ".join(f"{n:,} {feature}" for feature, n in self.tags.items()) or "none")
        ]
        left_out = (
            (self.too_rare, "too few"), (self.too_common, "too many"), (self.without_items, "no"),
        )  # fmt: skip
        for counts, why in left_out:
            if counts:
                said = ", ".join(f"{n:,} {feature}" for feature, n in counts.items())
                out.append(
                    f"{sum(counts.values()):,} tags left out, carried by {why} items: {said}"
                )
        for column, (n, examples) in self.unreadable.items():
            out.append(f"{n:,} cells of {column} could not be read, such as {', '.join(examples)}")
        out.append(f"{self.items_without_tags:,} items carry no tag")
        return out


@dataclass(frozen=True)
class TagTable:
    """The one-hot matrix of the items' tags, with what it was made by."""

    S: sp.csr_array
    tags: tuple[Tag, ...]
    rules: tuple[Rule, ...]
    report: TagReport


def build_tags(items: pl.DataFrame, rules: Sequence[Rule]) -> TagTable:
    """Turn the columns of `items` into tags by `rules`.

    The rules in the result are resolved: what they learnt from this table, such as the edges of
    quantile bins, is written into them, so that `encode_tags` reads new items in the same way.
    """
    _check_columns(items, rules)
    resolved = tuple(rule.resolve(items) for rule in rules)
    pairs: list[pl.DataFrame] = []
    rare: dict[str, int] = {}
    common: dict[str, int] = {}
    nowhere: dict[str, int] = {}
    for rule in resolved:
        found = _pairs(items, rule)
        low, high = rule.bounds(items.height)
        counts = found.group_by("feature", "value").len()
        _count(rare, rule.name, counts.filter(pl.col("len") < low).height)
        _count(common, rule.name, counts.filter(pl.col("len") > high).height)
        _count(nowhere, rule.name, len(set(rule.declared()) - set(counts["value"])))
        kept = counts.filter(pl.col("len").is_between(low, high))
        pairs.append(found.join(kept, on=["feature", "value"], how="semi"))
    empty = pl.DataFrame(schema={"row": pl.Int64, "feature": pl.String, "value": pl.String})
    every = pl.concat([empty, *pairs]).unique(maintain_order=True)
    tags = _vocabulary(every, [rule.name for rule in resolved])
    S = _one_hot(every, tags, items.height)
    by_feature: dict[str, int] = {}
    for tag in tags:
        _count(by_feature, tag.feature, 1)
    without = int((np.diff(S.indptr) == 0).sum())
    report = TagReport(by_feature, rare, common, nowhere, _unread(items, resolved), without)
    if not tags:
        raise RuleError(
            f"No tag is left: {'; '.join(report.lines())}. "
            "Lower min_items, widen the shares of text rules, or add rules for other columns."
        )
    return TagTable(S, tags, resolved, report)


def encode_tags(
    items: pl.DataFrame, rules: Sequence[Rule], tags: Sequence[Tag]
) -> tuple[sp.csr_array, list[Tag]]:
    """Return the one-hot matrix of further items over given tags, and the tags not given."""
    _check_columns(items, rules)
    empty = pl.DataFrame(schema={"row": pl.Int64, "feature": pl.String, "value": pl.String})
    every = pl.concat([empty, *(_pairs(items, rule) for rule in rules)]).unique(maintain_order=True)
    known = set(tags)
    found = _vocabulary(every, [rule.name for rule in rules])
    # The words of a text are a choice by their share, so one more is no loss.
    texts = {rule.name for rule in rules if isinstance(rule, Text)}
    unknown = [tag for tag in found if tag not in known and tag.feature not in texts]
    return _one_hot(every, tags, items.height), unknown


def _pairs(items: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Return the distinct (row, feature, value) of one rule."""
    long = pl.DataFrame(
        {
            "row": np.arange(items.height, dtype=np.int64),
            "value": rule.values(items).cast(pl.List(pl.String)),
        }
    ).explode("value", empty_as_null=False, keep_nulls=False)
    # Two ways to write one letter, or a line break, would make two tags that look the same.
    one_line = pl.col("value").str.normalize("NFC").str.replace_all(r"[\s\p{Cc}]+", " ")
    long = long.with_columns(one_line.str.strip_chars())
    long = long.filter(pl.col("value").is_not_null() & (pl.col("value") != ""))
    return long.select("row", pl.lit(rule.name).alias("feature"), "value").unique(
        maintain_order=True
    )


def _vocabulary(pairs: pl.DataFrame, features: Sequence[str]) -> tuple[Tag, ...]:
    """Return the tags in the order of the rules, and by value within a feature."""
    order = {feature: place for place, feature in reversed(list(enumerate(features)))}
    found = pairs.select("feature", "value").unique().rows()
    return tuple(Tag(*row) for row in sorted(found, key=lambda row: (order[row[0]], row[1])))


def _one_hot(pairs: pl.DataFrame, tags: Sequence[Tag], n_items: int) -> sp.csr_array:
    """Return the binary items x tags matrix; pairs whose tag is not in `tags` have no column."""
    vocabulary = pl.DataFrame(
        {
            "feature": [t.feature for t in tags],
            "value": [t.value for t in tags],
            "column": np.arange(len(tags), dtype=np.int64),
        },
        schema={"feature": pl.String, "value": pl.String, "column": pl.Int64},
    )
    found = pairs.join(vocabulary, on=["feature", "value"], how="inner")
    place = (found["row"].to_numpy(), found["column"].to_numpy())
    S = sp.csr_array((np.ones(found.height, np.float32), place), shape=(n_items, len(tags)))
    S.sort_indices()
    return S


def _check_columns(items: pl.DataFrame, rules: Sequence[Rule]) -> None:
    for rule in rules:
        for column in rule.columns:
            if column not in items.columns:
                raise TableError(
                    f"The {rule.kind} rule reads column {column!r}, which the items do not have. "
                    f"Found: {', '.join(items.columns)}.{closest(column, items.columns)}"
                )


def _unread(items: pl.DataFrame, rules: Sequence[Rule]) -> dict[str, tuple[int, tuple[str, ...]]]:
    out = {}
    for rule in rules:
        cells = unreadable(rule, items)
        if len(cells):
            out[rule.column] = (
                len(cells),
                tuple(cells.unique(maintain_order=True).head(3).to_list()),
            )
    return out


def _count(counts: dict[str, int], name: str, n: int) -> None:
    if n:
        counts[name] = counts.get(name, 0) + n
