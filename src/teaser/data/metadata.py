"""Tables of items, of users and of new items become tags."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp

from teaser.data.infer import (
    address_warnings,
    free_text_notes,
    infer_roles,
    infer_rules,
)
from teaser.data.interactions import as_ids, check_items
from teaser.data.matrix import Ids, ItemId, read_only
from teaser.data.reading import EXAMPLES, Refusal, Table, first_ids, need_columns, read, tidy
from teaser.data.rules import FREE_TEXT, Rules, RulesLike, as_rules
from teaser.data.tags import (
    Tag,
    TagReport,
    build_tags,
    encode_tags,
    no_tags,
    resolve_tag,
    tag_warnings,
)
from teaser.errors import DataError, ParameterError, RuleError

LOG = logging.getLogger("teaser")
# For what `Dataset.lines` tells too.
REPORT_LOG = logging.getLogger("teaser.report")
# A value of few users may identify them, and says little about others.
_MIN_USERS = 10
_MANY_USERS = 300


def describe_items(
    raw: Table | None, chosen: pl.DataFrame, item: str, rules: RulesLike
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
    table, refused = ids.clear().to_frame(), tuple[Refusal, ...]()
    if raw is not None:
        table, twice = check_items(raw.frame, item=item)
        refused = (*raw.refused, *twice)
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
    notes = (*free_text_notes(given.skipped), *address_warnings(table, roles))
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
        object.__setattr__(self, "Q", read_only(self.Q))

    def at(self, rows: Any) -> "UserFeatures":
        """Return the features of some of the users, by their positions."""
        return replace(self, Q=sp.csr_array(self.Q[rows]))

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
    raw: Table, users: pl.Series, user: str, rules: RulesLike
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
    table, refused = check_items(raw.frame, item=user, what="user")
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
        rows=raw.frame.height + sum(refusal.count for refusal in raw.refused),
        known=known,
        unknown=len(users) - known,
        unused=len(unused),
        unused_examples=tuple(map(str, unused.head(EXAMPLES).to_list())),
        refused=(*raw.refused, *refused),
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
    if not inferred.tags:
        why = "; ".join(f"{column!r}: {reason}" for column, reason in skipped.items())
        raise RuleError(
            f"No column of the users can become tags ({why or 'there is none'}). Add columns, or "
            "write rules."
        )
    return inferred


@dataclass(frozen=True, eq=False)
class NewItems:
    """New items: their ids, their tags (items x tags), and the metadata of all items."""

    ids: list[ItemId]
    S: sp.csr_array
    table: pl.DataFrame


def read_new_items(
    items: Any,
    table: pl.DataFrame,
    ids: Ids,
    tags: tuple[Tag, ...],
    rules: Rules,
    *,
    counted: tuple[Tag, ...] = (),
) -> NewItems:
    """Return new items, none of which is known; missing and unknown tags are logged.

    Parameters
    ----------
    items
        A table (file or frame), or a mapping from item id to tags.
    table, ids
        The metadata and the ids of the known items.
    tags, rules
        Declared tags, discovered ones, and the rules that made the first. A column that they
        read and the table of new items lacks is not stated.
    counted
        Tags of a model that nobody can give.
    """
    id_column, kind = table.columns[0], table.dtypes[0]
    unknown = list[Tag]()
    if isinstance(items, Mapping):
        names = new_ids(items, ids, kind)
        S = tag_rows(items, tags, counted)
        rows = pl.DataFrame({id_column: names}, schema={id_column: kind})
    else:
        found = tidy(read(items, what="items"), id_column, "the items")
        rows, refused = check_items(found.frame, item=id_column)
        refused = (*found.refused, *refused)
        if refused:
            raise DataError(f"Nothing was added: {'; '.join(map(str, refused))}.")
        names = new_ids(rows[id_column].to_list(), ids, kind)
        rows = rows.with_columns(pl.Series(id_column, names, dtype=kind))
        declared = tuple(tag for tag in tags if not tag.discovered)
        rows = _with_columns(rows, table, rules)
        S, unknown = encode_tags(rows, rules.tags, declared)
        # Columns of discovered tags follow, empty.
        S = sp.csr_array((S.data, S.indices, S.indptr), shape=(S.shape[0], len(tags)))
    if unknown:
        few = ", ".join(map(str, unknown[:3]))
        LOG.warning("%d tags of the new items are not known: %s", len(unknown), few)
    blank = int((np.diff(S.indptr) == 0).sum())
    if blank:
        LOG.warning(
            "%d of %d new items carry no known tag: unless their texts are known, general appeal "
            "places them",
            *(blank, len(names)),
        )
    return NewItems(names, S, _joined(table, rows))


def _with_columns(rows: pl.DataFrame, known: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Return new items with all columns that the rules read, empty where the table has none."""
    read_by = dict.fromkeys(column for rule in rules.tags for column in rule.columns)
    missing = [column for column in read_by if column not in rows.columns]
    if not missing:
        return rows
    LOG.warning(
        "the new items have no column %s: what it would say is not stated",
        ", ".join(map(repr, missing)),
    )
    kinds = ((column, known.schema.get(column, pl.String())) for column in missing)
    return rows.with_columns(pl.lit(None, kind).alias(column) for column, kind in kinds)


def new_ids(given: Iterable[Any], known: Ids, kind: Any) -> list[ItemId]:
    """Return ids of the same type as the known ones, none of them known or given twice."""
    names = list(given)
    found = as_ids(pl.Series("item", names, strict=False)).cast(kind, strict=False)
    if found.null_count():
        what = "whole numbers" if kind.is_integer() else "texts"
        odd = names[int(found.is_null().arg_true()[0])]
        raise DataError(f"Item ids here are {what}, found {odd!r}. Nothing was added.")
    ids: list[ItemId] = found.to_list()
    there = [name for name in ids if name in known]
    if there or len(set(ids)) < len(ids):
        said = f"are known already: {there[:3]}" if there else "are named twice"
        raise DataError(
            f"{len(there) or len(ids) - len(set(ids))} items {said}. Nothing was added."
        )
    return ids


def tag_rows(
    items: Mapping[ItemId, Iterable[Tag | str]],
    tags: tuple[Tag, ...],
    counted: tuple[Tag, ...] = (),
) -> sp.csr_array:
    """Return the named tags of items as a matrix (items x tags)."""
    n_tags = len(tags)
    index = {tag: place for place, tag in enumerate((*tags, *counted))}
    for name, named in items.items():
        if isinstance(named, str | Tag) or not isinstance(named, Iterable):
            raise ParameterError(f"Item {name!r} needs a list of tags, found {named!r}.")
    places = [sorted({resolve_tag(t, index) for t in named}) for named in items.values()]
    if any(j >= n_tags or tags[j].discovered for row in places for j in row):
        raise ParameterError(
            "Popularity is counted and discovered tags are found by a fit: leave both out of a new "
            "item's tags."
        )
    indptr = np.cumsum([0, *(len(row) for row in places)])
    indices = np.array([j for row in places for j in row], dtype=np.int64)
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(places), n_tags))


def _joined(table: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the metadata with further rows."""
    try:
        return pl.concat([table, rows], how="diagonal_relaxed").select(table.columns)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"The new items do not fit the columns of the known ones: {error}."
        ) from error
