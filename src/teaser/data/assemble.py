"""Make the attributes of a data set of its tables."""

from typing import Any

import polars as pl

from teaser.data.disliked import disliked_matrix
from teaser.data.ids import Ids
from teaser.data.reading.files import Tables
from teaser.data.reading.interactions import check_interactions, doubtful_ids
from teaser.data.reading.part import interaction_matrix, interaction_times
from teaser.data.reading.positive import Positive
from teaser.data.reading.strength import Strength
from teaser.data.reading.table import Table, named_errors
from teaser.data.tagging.item_metadata import describe_items, told
from teaser.data.tagging.rule_set import RulesLike
from teaser.data.tagging.user_features import describe_user_features
from teaser.data.unused_columns import unused_notes


def describe(
    items: Table | None, chosen: pl.DataFrame, key: str, rules: RulesLike
) -> dict[str, Any]:
    """Return the attributes that come from the items, with rows that could not be read.

    Parameters
    ----------
    items
        The table of items, or None.
    chosen
        The items of the interactions: item, and count, the number of users that chose it.
    key
        The column of the ids in the items.
    rules
        How columns become tags; inferred when not given.
    """
    described = describe_items(None if items is None else items.frame, chosen, key, rules)
    refused = () if items is None else items.refused
    return described | {"items_refused": (*refused, *described["items_refused"])}


def assemble(
    tables: Tables,
    strength: Strength | None,
    which: tuple[str | Positive | None, str | Positive | None],
    rules: RulesLike,
    user_rules: RulesLike,
) -> dict[str, Any]:
    """Return the attributes of the data set that these tables make.

    Parameters
    ----------
    tables
        Interactions, items and users as they were read.
    strength
        How strong an interaction is, and when it was; 1 if not given.
    which
        The rules for positive and for disliked rows.
    rules, user_rules
        How metadata and user features become tags; inferred when not given.
    """
    found, rows = tables.ids, tables.interactions
    columns: dict[str, str] = {"user": found.user, "item": found.item}
    positive, negative = map(Positive.of, which)
    with named_errors(rows.name):
        pairs, report = check_interactions(
            rows.frame, **columns, positive=positive, strength=strength, negative=negative
        )
    item_counts = pairs.group_by("item", maintain_order=True).len("count")
    described = describe(tables.items, item_counts, found.items_id, rules)
    ids = described["table"].to_series(0)
    pairs = pairs.with_columns(pl.col("item").cast(ids.dtype))
    names = pairs["user"].unique(maintain_order=True)
    user_features = None
    if tables.users is not None:
        user_features = describe_user_features(
            tables.users.frame, names, found.users_id, user_rules
        ).with_refused(tables.users.refused)
    disliked, missed = disliked_matrix(
        rows.frame, pairs, negative, **columns, users=names, items=ids, strength=strength
    )
    doubtful = (doubtful_ids(rows.frame[column], rows.name) for column in columns.values())
    unused = unused_notes(rows, found, positive=positive, negative=negative, strength=strength)
    return described | {
        "X": interaction_matrix(pairs, names, ids),
        "times": interaction_times(pairs, names, ids),
        "users": Ids(names.to_list()),
        "items": Ids(ids.to_list()),
        "report": report.with_refused(rows.refused),
        "user_features": user_features,
        "disliked": disliked,
        "notes": told(*tables.notes, *doubtful, *unused, missed, *described["notes"]),
    }
