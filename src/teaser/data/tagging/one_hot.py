"""Turn metadata columns into tags by rules, and the tags of the items into a one-hot matrix."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp

from teaser.data.reading.table import EXAMPLES
from teaser.data.sparse_matrix import binary_matrix
from teaser.data.tagging.rule_kinds import Rule, Text, unreadable
from teaser.data.tagging.tag import Tag, tag_frame
from teaser.errors import RuleError, TableError, closest


@dataclass(frozen=True)
class TagReport:
    """Counts of tags that were kept and left out.

    Attributes
    ----------
    tags
        Tags kept, by feature.
    too_rare, too_common
        Tags left out because fewer, or more, items have them than the rule allows.
    without_items
        Tags left out because no item has them, such as empty bins.
    unreadable
        By column: how many cells are no number or year, and the first of them.
    items_without_tags
        Items without any tag: only popularity can recommend them.
    warnings
        Sentences about tags that say little, such as near-equal tags.
    """

    tags: Mapping[str, int] = field(default_factory=dict)
    too_rare: Mapping[str, int] = field(default_factory=dict)
    too_common: Mapping[str, int] = field(default_factory=dict)
    without_items: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    items_without_tags: int = 0
    warnings: tuple[str, ...] = ()

    def lines(self, *, tags: str = "tags", items: str = "items") -> list[str]:
        """Return the report as sentences; `tags` and `items` are the words for both."""
        out = [f"{sum(self.tags.values()):,} {tags}: {_listed(self.tags) or 'none'}"]
        left_out = (
            (self.too_rare, "too few"), (self.too_common, "too many"), (self.without_items, "no"),
        )  # fmt: skip
        for counts, why in left_out:
            if counts:
                total = sum(counts.values())
                out.append(f"{total:,} {tags} left out, with {why} {items}: {_listed(counts)}")
        for column, (n, examples) in self.unreadable.items():
            out.append(
                f"{n:,} cells of the {items}' {column} could not be read, such as "
                f"{', '.join(examples)}"
            )
        bare = self.items_without_tags
        out.append(
            f"1 {items.removesuffix('s')} has no tag"
            if bare == 1
            else f"{bare:,} {items} have no tag"
        )
        return [*out, *(f"warning: {warning}" for warning in self.warnings)]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values, in the form of earlier versions where it can be."""
        raw = asdict(self)
        return raw if self.warnings else {k: v for k, v in raw.items() if k != "warnings"}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Self:
        """Return the report that `as_dict` made plain values of."""
        cells = {column: (n, tuple(few)) for column, (n, few) in raw["unreadable"].items()}
        warnings = tuple(raw.get("warnings", ()))  # earlier versions had none
        return cls(**{**raw, "unreadable": cells, "warnings": warnings})


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {feature}" for feature, n in counts.items())


@dataclass(frozen=True)
class OneHotTags:
    """The one-hot matrix of the items' tags, with its columns, rules and report."""

    S: sp.csr_array
    tags: tuple[Tag, ...]
    rules: tuple[Rule, ...]
    report: TagReport


def build_tags(
    items: pl.DataFrame, rules: Sequence[Rule], *, allow_none: bool = False
) -> OneHotTags:
    """Turn the columns of `items` into tags by `rules`; no tag is an error unless allowed.

    The rules in the result are resolved: they contain what was learned from this table, such as
    the edges of quantile bins, so that `encode_tags` reads new items in the same way.
    """
    _check_columns(items, rules)
    resolved = tuple(rule.resolve(items) for rule in rules)
    pairs: list[pl.DataFrame] = []
    rare: Counter[str] = Counter()
    common: Counter[str] = Counter()
    absent: Counter[str] = Counter()
    for rule in resolved:
        found = _pairs(items, rule)
        low, high = rule.bounds(items.height)
        counts = found.group_by("feature", "value").len()
        rare[rule.name] += counts.filter(pl.col("len") < low).height
        common[rule.name] += counts.filter(pl.col("len") > high).height
        absent[rule.name] += len(set(rule.declared()) - set(counts["value"]))
        kept = counts.filter(pl.col("len").is_between(low, high))
        pairs.append(found.join(kept, on=["feature", "value"], how="semi"))
    every = _union(pairs)
    tags = _vocabulary(every, [rule.name for rule in resolved])
    S = _one_hot(every, tags, items.height)
    report = TagReport(
        tags=dict(Counter(tag.feature for tag in tags)),
        too_rare=dict(+rare),
        too_common=dict(+common),
        without_items=dict(+absent),
        unreadable=_unreadable(items, resolved),
        items_without_tags=int((np.diff(S.indptr) == 0).sum()),
    )
    if not tags and not allow_none:
        raise RuleError(
            f"No tag is left: {'; '.join(report.lines())}. "
            "Lower min_items, widen the shares of text rules, or add rules for other columns."
        )
    return OneHotTags(S, tags, resolved, report)


def encode_tags(
    items: pl.DataFrame, rules: Sequence[Rule], tags: Sequence[Tag]
) -> tuple[sp.csr_array, list[Tag]]:
    """Return the one-hot matrix of further items over given tags, and their other tags."""
    _check_columns(items, rules)
    every = _union([_pairs(items, rule) for rule in rules])
    known = set(tags)
    found = _vocabulary(every, [rule.name for rule in rules])
    # Text rules choose words by their share, so that unknown words are expected.
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
    # Normalise letters and whitespace: tags that look the same must be the same.
    one_line = pl.col("value").str.normalize("NFC").str.replace_all(r"[\s\p{Cc}]+", " ")
    long = long.with_columns(one_line.str.strip_chars())
    long = long.filter(pl.col("value").is_not_null() & (pl.col("value") != ""))
    return long.select("row", pl.lit(rule.name).alias("feature"), "value").unique(
        maintain_order=True
    )


def _union(pairs: Sequence[pl.DataFrame]) -> pl.DataFrame:
    empty = pl.DataFrame(schema={"row": pl.Int64, "feature": pl.String, "value": pl.String})
    return pl.concat([empty, *pairs]).unique(maintain_order=True)


def _vocabulary(pairs: pl.DataFrame, features: Sequence[str]) -> tuple[Tag, ...]:
    """Return the tags in the order of the rules, sorted by value within a feature."""
    order = {feature: i for i, feature in reversed(list(enumerate(features)))}
    found = pairs.select("feature", "value").unique().rows()
    return tuple(Tag(*row) for row in sorted(found, key=lambda row: (order[row[0]], row[1])))


def _one_hot(pairs: pl.DataFrame, tags: Sequence[Tag], n_items: int) -> sp.csr_array:
    """Return the binary items x tags matrix; tags that are not in `tags` are left out."""
    vocabulary = tag_frame(tags).with_row_index("column")
    found = pairs.join(vocabulary, on=["feature", "value"], how="inner")
    return binary_matrix(found["row"], found["column"], (n_items, len(tags)))


def _check_columns(items: pl.DataFrame, rules: Sequence[Rule]) -> None:
    for rule in rules:
        for column in rule.columns:
            if column not in items.columns:
                raise TableError(
                    f"The {rule.kind} rule needs column {column!r}, which the table does not have. "
                    f"Found: {', '.join(items.columns)}.{closest(column, items.columns)}"
                )


def _unreadable(
    items: pl.DataFrame, rules: Sequence[Rule]
) -> dict[str, tuple[int, tuple[str, ...]]]:
    out = {}
    for rule in rules:
        cells = unreadable(rule, items)
        if len(cells):
            examples = cells.unique(maintain_order=True).head(EXAMPLES).to_list()
            out[rule.columns[0]] = (len(cells), tuple(examples))
    return out
