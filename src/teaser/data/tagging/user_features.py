"""Turn a table of user features into user tags and a binary matrix."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import polars as pl
import scipy.sparse as sp

from teaser.data.reading.interactions import check_items
from teaser.data.reading.table import EXAMPLES, Refusal, few, need_columns
from teaser.data.sparse_matrix import fixed
from teaser.data.tagging.infer import infer_rules, need_rules
from teaser.data.tagging.item_metadata import with_common_ids
from teaser.data.tagging.one_hot import TagReport, build_tags
from teaser.data.tagging.rule_set import Rule, Rules, RulesLike, Text, as_rules
from teaser.data.tagging.tag import Tag
from teaser.errors import DataError, RuleError

# A value of few users may identify them, and says little about others.
_MIN_USERS = 10
_MANY_USERS = 300


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
        object.__setattr__(self, "Q", fixed(self.Q))

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
    def of(cls, settings: Mapping[str, Any], Q: sp.csr_array, tags: tuple[Tag, ...]) -> Self:
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
            f"interactions have {few(users)}, the table {few(table[user])}. "
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
    skipped = {c: why.replace("item", "user") for c, why in found.skipped.items()}
    skipped |= {c: f"it looks like the {role} of a user" for role, c in found.roles.items()}
    rules: list[Rule] = []
    for rule in found.tags:
        if isinstance(rule, Text):
            skipped |= dict.fromkeys(rule.columns, "free text can identify a user")
        else:
            rules.append(replace(rule, min_items=max(least, rule.min_items)))
    inferred = Rules(tuple(rules), {}, skipped)
    need_rules(inferred, "users")
    return inferred
