"""Tables of items and of users become tags."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import polars as pl
import scipy.sparse as sp

from teaser.data.infer import (
    address_warnings,
    free_text_notes,
    infer_roles,
    infer_rules,
    need_rules,
    number_notes,
)
from teaser.data.interactions import check_items
from teaser.data.matrix import read_only
from teaser.data.reading import EXAMPLES, Refusal, first_ids, need_columns
from teaser.data.rules import FREE_TEXT, Rules, RulesLike, as_rules
from teaser.data.tags import Tag, TagReport, build_tags, no_tags, tag_warnings
from teaser.errors import DataError, RuleError

# For what `Dataset.lines` tells too.
REPORT_LOG = logging.getLogger("teaser.report")
# A value of few users may identify them, and says little about others.
_MIN_USERS = 10
_MANY_USERS = 300


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
            f"{first_ids(missing[item])}, the items {first_ids(table[item])}. "
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
    notes = (
        *free_text_notes(given.skipped),
        *number_notes(table, given.tags),
        *address_warnings(table, roles),
    )
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


def log_notes(*notes: str | None) -> tuple[str, ...]:
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


@dataclass(frozen=True)
class UserFeatureReport:
    """Counts of the table of users.

    Attributes
    ----------
    rows
        Rows of the table.
    known
        Users of the interactions who have a row.
    unknown
        Users of the interactions without a row: they have no features.
    unused
        Users of the table without a positive interaction, who are left out.
    unused_examples
        The first of those.
    refused
        Rows that were refused, with reasons.
    tags
        User tags kept and left out.
    """

    rows: int
    known: int
    unknown: int
    unused: int
    unused_examples: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    tags: TagReport = field(default_factory=TagReport)

    def lines(self) -> list[str]:
        """Return the report as sentences."""
        examples = f", such as {', '.join(self.unused_examples)}" if self.unused else ""
        return [
            f"{self.rows:,} rows of users: {self.known:,} with interactions, "
            f"{self.unused:,} without{examples}",
            *(f"users: {refusal}" for refusal in self.refused),
            f"{self.unknown:,} users have interactions but no row, and so no features",
            *self.tags.lines(tags="user tags", items="users"),
        ]

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Self:
        """Return the report that `dataclasses.asdict` made plain values of."""
        typed = {
            "unused_examples": tuple(raw["unused_examples"]),
            "refused": Refusal.from_dicts(raw["refused"]),
            "tags": TagReport.from_dict(raw["tags"]),
        }
        return cls(**{**raw, **typed})


@dataclass(frozen=True, eq=False)
class UserFeatures:
    """The features of the users of a data set; immutable.

    Attributes
    ----------
    Q
        Which user has which user tag (users x user tags), binary.
    tags
        The user tags, in the order of the columns.
    rules
        The rules that made them, with what they learned from the table.
    report
        Counts of rows and tags that were kept and left out.
    """

    Q: sp.csr_array = field(repr=False)
    tags: tuple[Tag, ...]
    rules: Rules = field(repr=False)
    report: UserFeatureReport = field(repr=False)

    def __post_init__(self) -> None:
        if self.Q.shape[1] != len(self.tags):
            raise DataError(
                f"Q needs a column for each user tag: found {len(self.tags):,} user tags and "
                f"{self.Q.shape[1]:,} columns."
            )
        object.__setattr__(self, "Q", read_only(self.Q))

    def at(self, rows: Any) -> "UserFeatures":
        """Return the features of some of the users, by their positions."""
        return replace(self, Q=sp.csr_array(self.Q[rows]))

    def with_refused(self, refused: Sequence[Refusal]) -> "UserFeatures":
        """Return the features with rows in the report that were refused before."""
        rows = self.report.rows + sum(refusal.count for refusal in refused)
        report = replace(self.report, rows=rows, refused=(*refused, *self.report.refused))
        return replace(self, report=report)

    def settings(self) -> dict[str, Any]:
        """Return everything but Q and the tags as plain values."""
        return {
            "rules": self.rules.as_dict(),
            "skipped": dict(self.rules.skipped),
            "report": asdict(self.report),
        }

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, Any], Q: sp.csr_array, tags: tuple[Tag, ...]
    ) -> Self:
        """Return the user features that `settings` described, with Q and the tags."""
        rules = Rules.from_dict(settings["rules"], origin="the rules of users")
        report = UserFeatureReport.from_dict(settings["report"])
        return cls(Q, tags, replace(rules, skipped=settings["skipped"]), report)


def describe_user_features(
    raw: pl.DataFrame, users: pl.Series, user: str, rules: RulesLike
) -> UserFeatures:
    """Turn a table of users into user tags.

    Parameters
    ----------
    raw
        One row a user, with a column of ids.
    users
        The users that have interactions, in the order of the rows of Q.
    user
        The column of the ids.
    rules
        How columns become tags; inferred when not given.
    """
    table, refused = check_items(raw, item=user, what="user")
    table, users = with_common_ids(table, users, user)
    wanted = users.alias(user).to_frame()
    unused = table.join(wanted, on=user, how="anti", maintain_order="left")[user]
    known = table.height - len(unused)
    if known == 0:
        raise DataError(
            f"None of the {len(users):,} users with interactions is in the table of users: the "
            f"interactions have {first_ids(users)}, the table {first_ids(table[user])}. "
            f"Do both tables belong together, and is {user!r} the id in both?"
        )
    joined = wanted.join(table, on=user, how="left", maintain_order="left")
    given = _inferred(joined, user) if rules is None else _checked(as_rules(rules), joined)
    tagged = build_tags(joined, given.tags)
    report = UserFeatureReport(
        rows=raw.height,
        known=known,
        unknown=len(users) - known,
        unused=len(unused),
        unused_examples=tuple(map(str, unused.head(EXAMPLES).to_list())),
        refused=refused,
        tags=tagged.report,
    )
    return UserFeatures(tagged.S, tagged.tags, replace(given, tags=tagged.rules), report)


def _checked(rules: Rules, table: pl.DataFrame) -> Rules:
    """Refuse rules that cannot be those of users."""
    if rules.roles:
        raise RuleError(
            f"The role {next(iter(rules.roles))!r} has no meaning in the rules of users, which "
            "are not displayed. Leave [roles] out."
        )
    if not rules.tags:
        raise RuleError("The rules of users have no [[tags]]. Add one, or leave the rules out.")
    for rule in rules.tags:
        need_columns(table, rule.columns, f"the {rule.kind} rule of the users")
    return rules


def _inferred(table: pl.DataFrame, user: str) -> Rules:
    """Infer rules as for items, but not for columns that may identify a user."""
    found = infer_rules(table, item=user)
    least = _MIN_USERS if table.height >= _MANY_USERS else 1
    skipped = {
        c: "free text can identify a user" if why == FREE_TEXT else why.replace("item", "user")
        for c, why in found.skipped.items()
    }
    skipped |= {c: f"it looks like the {role} of a user" for role, c in found.roles.items()}
    rules = (replace(rule, min_items=max(least, rule.min_items)) for rule in found.tags)
    inferred = Rules(tuple(rules), {}, skipped)
    need_rules(inferred, "users")
    return inferred
