"""What is known of people: a table of users becomes tags of people and a binary matrix."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import polars as pl
import scipy.sparse as sp

from teaser.data.read_only import fixed
from teaser.data.reading.interactions import EXAMPLES, Refusal, check_items, need_column
from teaser.data.tagging.infer import infer_rules
from teaser.data.tagging.one_hot import TagReport, build_tags
from teaser.data.tagging.rule_set import Rule, Rules, Text, as_rules
from teaser.data.tagging.tag import Tag
from teaser.errors import DataError, RuleError

# What few people share tells who they are, and little about others.
_MIN_PEOPLE = 10
_MANY = 300


@dataclass(frozen=True)
class UserFeatureReport:
    """What reading the table of users took and left out.

    Attributes
    ----------
    rows
        Rows of the table.
    known
        Users of the interactions who have a row.
    unknown
        Users of the interactions without a row: nothing is known of them.
    unused
        Users of the table without a counted interaction, who are left out.
    unused_examples
        The first of those.
    refused
        Rows that were not taken, with reasons.
    tags
        Tags of people kept and left out.
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
        named = f", such as {', '.join(self.unused_examples)}" if self.unused else ""
        counts = self.tags.tags
        said = ", ".join(f"{n:,} {feature}" for feature, n in counts.items())
        return [
            f"{self.rows:,} rows of users: {self.known:,} of people with interactions, "
            f"{self.unused:,} of others{named}",
            *(f"users: {refusal}" for refusal in self.refused),
            f"{self.unknown:,} people have interactions and no row: nothing is known of them",
            f"{sum(counts.values()):,} tags of people: {said}",
            *self._left_out(),
        ]

    def _left_out(self) -> Iterable[str]:
        left_out = ((self.tags.too_rare, "few"), (self.tags.too_common, "many"))
        for counts, why in left_out:
            if counts:
                said = ", ".join(f"{n:,} {feature}" for feature, n in counts.items())
                yield f"{sum(counts.values()):,} tags of people left out, of too {why}: {said}"
        for column, (n, examples) in self.tags.unreadable.items():
            yield (
                f"{n:,} cells of the users' {column} could not be read, such as "
                f"{', '.join(examples)}"
            )


@dataclass(frozen=True, eq=False)
class UserFeatures:
    """What is known of the users of a data set; never changed once made.

    Attributes
    ----------
    F
        Who has which tag of people (users x tags of people), binary.
    tags
        The tags of people, in the order of the columns.
    rules
        The rules that made them, with all that they learnt from the table.
    report
        What was read and left out.
    """

    F: sp.csr_array = field(repr=False)
    tags: tuple[Tag, ...]
    rules: Rules = field(repr=False)
    report: UserFeatureReport = field(repr=False)

    def __post_init__(self) -> None:
        if self.F.shape[1] != len(self.tags):
            raise DataError(
                f"There are {len(self.tags):,} tags of people and {self.F.shape[1]:,} columns."
            )
        object.__setattr__(self, "F", fixed(self.F))

    def at(self, rows: Any) -> "UserFeatures":
        """Return what is known of some of the users, by their positions."""
        return replace(self, F=sp.csr_array(self.F[rows]))

    def settings(self) -> dict[str, Any]:
        """Return all but F and the tags, as json can hold it."""
        return {
            "rules": self.rules.as_dict(),
            "skipped": dict(self.rules.skipped),
            "report": asdict(self.report),
        }

    @classmethod
    def of(cls, settings: Mapping[str, Any], F: sp.csr_array, tags: tuple[Tag, ...]) -> Self:
        """Return what `settings` told of, with F and the tags."""
        rules = Rules.from_dict(settings["rules"], origin="the rules of users")
        report = {**settings["report"]}
        report["unused_examples"] = tuple(report["unused_examples"])
        report["refused"] = tuple(
            Refusal(r["reason"], r["count"], tuple(r["examples"])) for r in report["refused"]
        )
        unreadable = report["tags"]["unreadable"].items()
        cells = {column: (n, tuple(examples)) for column, (n, examples) in unreadable}
        report["tags"] = TagReport(**{**report["tags"], "unreadable": cells})
        return cls(F, tags, Rules(rules.tags, {}, settings["skipped"]), UserFeatureReport(**report))


def describe_user_features(
    raw: pl.DataFrame,
    users: pl.Series,
    user: str,
    rules: Rules | str | Path | Iterable[Rule] | None,
) -> UserFeatures:
    """Turn a table of users into tags of people.

    Parameters
    ----------
    raw
        One row a user, with a column of ids.
    users
        The users that have interactions, in the order of the rows wanted.
    user
        The column of the ids.
    rules
        How columns become tags; inferred when not given.
    """
    need_column(raw, user, "the users")
    table, refused = check_items(raw, item=user, what="user")
    if users.dtype != table[user].dtype:
        users = users.cast(pl.String)
        table = table.with_columns(pl.col(user).cast(pl.String))
    wanted = users.alias(user).to_frame()
    unused = table.join(wanted, on=user, how="anti", maintain_order="left")[user]
    known = table.height - len(unused)
    if known == 0:
        raise DataError(
            f"None of the {len(users):,} users who chose something is in the table of users: the "
            f"interactions name {_few(users)}, the table {_few(table[user])}. Are both of the "
            f"same people, and is {user!r} the id in both?"
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
    return UserFeatures(tagged.S, tagged.tags, Rules(tagged.rules, {}, given.skipped), report)


def feature_values(tags: Iterable[Tag]) -> dict[str, list[str]]:
    """Return the values of each feature, in the order of the tags."""
    values: dict[str, list[str]] = {}
    for tag in tags:
        values.setdefault(tag.feature, []).append(tag.value)
    return values


def _checked(rules: Rules, table: pl.DataFrame) -> Rules:
    """Refuse rules that cannot be those of users."""
    if rules.roles:
        raise RuleError(
            f"Users are not shown, so that the role {next(iter(rules.roles))!r} has no meaning "
            "in their rules. Leave [roles] out."
        )
    if not rules.tags:
        raise RuleError("The rules of users have no [[tags]]. Add one, or leave the rules out.")
    for rule in rules.tags:
        for column in rule.columns:
            need_column(table, column, f"the {rule.kind} rule of the users")
    return rules


def _inferred(table: pl.DataFrame, user: str) -> Rules:
    """Guess rules as for items, but for what would tell who somebody is."""
    found = infer_rules(table, item=user)
    least = _MIN_PEOPLE if table.height >= _MANY else 1
    skipped = {c: why.replace("every item", "everybody") for c, why in found.skipped.items()}
    skipped |= {c: f"it looks like the {role} of a person" for role, c in found.roles.items()}
    rules: list[Rule] = []
    for rule in found.tags:
        if isinstance(rule, Text):
            skipped |= dict.fromkeys(rule.columns, "free text can tell who somebody is")
        else:
            rules.append(replace(rule, min_items=max(least, rule.min_items)))
    if not rules:
        why = "; ".join(f"{column!r}: {reason}" for column, reason in skipped.items())
        raise RuleError(
            f"No column of the users can be turned into tags ({why or 'there is none'}). "
            "Add columns, or say how with rules."
        )
    return Rules(tuple(rules), {}, skipped)


def _few(ids: pl.Series) -> str:
    return ", ".join(repr(name) for name in ids.head(3).to_list())
