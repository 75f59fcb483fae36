"""RecTools data sets as ours: interactions with weights and times, features as metadata."""

from collections import defaultdict
from typing import Any

import polars as pl

from teaser.bridges.options import GivenOptions, as_column
from teaser.data.dataset import Dataset
from teaser.data.tagging.infer import infer_rules
from teaser.data.tagging.rule_set import ListOf, Rules
from teaser.errors import DataError, MissingPackageError

try:
    from rectools import Columns
    from rectools.dataset import Dataset as RecToolsDataset
    from rectools.dataset.features import DIRECT_FEATURE_VALUE, SparseFeatures
except ImportError as error:
    raise MissingPackageError("The bridge to RecTools", "RecTools", extra="rectools") from error


def read_dataset(data: RecToolsDataset, options: GivenOptions) -> Dataset:
    """Return our data set of RecTools'; items without interactions are in it too.

    Parameters
    ----------
    options
        How to read it. With `user_features=True`, categories of users become user tags.
    """
    rules = options.given(["rules"]).get("rules")
    items = features_frame(data.item_id_map, data.item_features, Columns.Item)
    if rules is None:
        rules = _feature_rules(items, data.item_features)
    about: dict[str, Any] = {}
    if options.given(["user_features"]).get("user_features") and data.user_features is not None:
        users = features_frame(data.user_id_map, data.user_features, Columns.User)
        about = {"users": users, "user_rules": _category_rules(data.user_features)}
    found = Dataset.from_tables(
        interactions_frame(data.get_raw_interactions()),
        items,
        user=Columns.User,
        item=Columns.Item,
        rules=rules,
        **options.read(),
        **about,
    )
    if len(found.items) != data.item_id_map.size:
        raise DataError(
            f"RecTools has {data.item_id_map.size:,} items, of which {len(found.items):,} have "
            f"clean, distinct ids. {'; '.join(map(str, found.items_refused))}."
        )
    return found


def interactions_frame(table: Any) -> pl.DataFrame:
    """Return a pandas table as a polars frame, without need of pyarrow."""
    return pl.DataFrame({str(name): as_column(table[name].to_numpy()) for name in table.columns})


def features_frame(id_map: Any, features: Any, id_column: str) -> pl.DataFrame:
    """Return ids and features, a row for each internal id.

    A categorical feature is a column of lists, a direct one a column of numbers.
    """
    table: dict[str, Any] = {id_column: as_column(id_map.external_ids)}
    if features is None:
        return pl.DataFrame(table)
    if not isinstance(features, SparseFeatures):
        return pl.DataFrame(table | dict(zip(features.names, features.values.T, strict=True)))
    missing = id_map.size - features.values.shape[0]
    columns = features.values.tocsc()
    lists: dict[str, defaultdict[int, list[str]]] = {}
    for j, (name, value) in enumerate(features.names):
        carriers = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
        weights = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
        if value == DIRECT_FEATURE_VALUE:
            table[str(name)] = [*columns[:, [j]].toarray().ravel().tolist(), *[None] * missing]
            continue
        cells = lists.setdefault(str(name), defaultdict(list))
        for row in carriers[weights > 0].tolist():
            cells[row].append(str(value))
    for name, cells in lists.items():
        rows = [cells.get(row, []) for row in range(id_map.size)]
        table[name] = pl.Series(rows, dtype=pl.List(pl.String))
    return pl.DataFrame(table)


def _feature_rules(items: pl.DataFrame, features: Any) -> Rules:
    """Return rules by which each category is a tag; those of direct features are inferred."""
    own = _category_rules(features)
    categories = [rule.columns[0] for rule in own]
    others = infer_rules(items.select(pl.exclude(categories)), item=Columns.Item)
    return Rules((*own, *others.tags), others.roles, others.skipped)


def _category_rules(features: Any) -> tuple[ListOf, ...]:
    """Return a rule for each categorical feature that keeps every value."""
    if not isinstance(features, SparseFeatures):
        return ()
    named = [str(name) for name, value in features.names if value != DIRECT_FEATURE_VALUE]
    return tuple(ListOf(name, feature=tag_feature(name)) for name in dict.fromkeys(named))


def tag_feature(name: str) -> str:
    """Return the feature of tags of a named feature: an equal sign would end it."""
    return " ".join(name.replace("=", " ").split())
