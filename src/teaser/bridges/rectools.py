"""A RecTools model: `TeaserModel` recommends from RecTools data sets.

    model = TeaserModel(recipe="discovered").fit(dataset)
    model.recommend(users, dataset, k=10, filter_viewed=True)

The fitted model is its `model_`, with profiles, reasons and steering.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.infer import infer_rules
from teaser.data.rules import ListOf, Rules
from teaser.data.tags import Tag
from teaser.errors import DataError, MissingPackageError
from teaser.model.scores import top_k
from teaser.steer.similarity import rarity_rows

try:
    from pydantic import create_model
    from rectools import Columns
    from rectools.dataset import Dataset as RecToolsDataset
    from rectools.dataset.features import DIRECT_FEATURE_VALUE, SparseFeatures
    from rectools.models.base import ModelBase, ModelConfig
except ImportError as error:
    raise MissingPackageError("The bridge to RecTools", "RecTools", extra="rectools") from error

from teaser.bridges._options import GivenOptions, as_column, option_fields

Array = NDArray[Any]
Triplet = tuple[Array, Array, Array]
# Positions of items of the model, best first, with their scores.
Ranked = tuple[Array, Array]

# Users whose scores are held at a time.
_BATCH = 512

_Options: Any = create_model(
    "_Options",
    __base__=(GivenOptions, ModelConfig),
    **option_fields(strength=Columns.Weight),
)


class TeaserModelConfig(_Options):
    """What `TeaserModel` takes, by keyword; only what is given is kept and dumped.

    positive, negative, strength, counts, time, half_life
        How interactions are read: see `Dataset.from_tables`. Their columns are `weight`, which
        is the strength unless `strength=None` is given, and `datetime`.
    rules
        How item features become tags. Without rules each category is a tag, and rules for direct
        features are inferred.
    recipe
        `"auto"` chooses among recipes on held-out users; see `teaser.fit`.
    l2_weights, l2_encoder, ...
        The parameters of `Teaser`. `user_features=True` learns from categories of users too.
    verbose
        As for every model of RecTools; it has no effect here.
    """


class TeaserModel(ModelBase[TeaserModelConfig]):
    """Recommend items by affinities with their tags.

    Users without interactions get popular items, or with `user_features=True` those that their
    features speak for. Items are similar by the tags they share.

    Parameters
    ----------
    verbose
        As for every model of RecTools; it has no effect here.
    options
        See `TeaserModelConfig`.

    Attributes
    ----------
    model_
        The fitted `Teaser`; its item ids are those of the data set.
    """

    recommends_for_warm = True
    recommends_for_cold = True
    config_class = TeaserModelConfig

    def __init__(self, *, verbose: int = 0, **options: Any) -> None:
        super().__init__(verbose=verbose)
        self.config = TeaserModelConfig(**options)

    def _get_config(self) -> TeaserModelConfig:
        given = self.config.given(self.config.model_fields_set)
        return TeaserModelConfig(**{**given, "cls": type(self), "verbose": self.verbose})

    @classmethod
    def _from_config(cls, config: TeaserModelConfig) -> Self:
        given = config.given(config.model_fields_set - {"cls", "verbose"})
        return cls(verbose=config.verbose, **given)

    def _fit(self, dataset: RecToolsDataset) -> None:
        self.model_ = self.config.fit(read_dataset(dataset, self.config))
        names = dataset.item_id_map.external_ids.tolist()
        self._place_of = {name: place for place, name in enumerate(names)}

    def _recommend_u2i(
        self,
        user_ids: Array,
        dataset: RecToolsDataset,
        k: int,
        filter_viewed: bool,
        sorted_item_ids_to_recommend: Array | None,
    ) -> Triplet:
        places = self._places(dataset)
        rows = self._rows(dataset, user_ids, places)
        shape = (len(user_ids), len(places))
        seen = None
        if filter_viewed:
            pairs = rows["user"].to_numpy(), rows["item"].to_numpy()
            seen = sp.csr_array((np.ones(rows.height), pairs), shape=(shape[0], self._n_items))
        X = self.config.histories(rows, (shape[0], self._n_items))
        allowed = self._allowed(places, sorted_item_ids_to_recommend)
        about = self._about(dataset, user_ids)
        return _triplet(user_ids, self._rank(X, k, allowed, seen, about), places)

    def _recommend_u2i_warm(
        self,
        user_ids: Array,
        dataset: RecToolsDataset,
        k: int,
        sorted_item_ids_to_recommend: Array | None,
    ) -> Triplet:
        return self._recommend_u2i(user_ids, dataset, k, False, sorted_item_ids_to_recommend)

    def _recommend_cold(
        self,
        target_ids: Array,
        dataset: RecToolsDataset,
        k: int,
        sorted_item_ids_to_recommend: Array | None,
    ) -> Triplet:
        places = self._places(dataset)
        allowed = self._allowed(places, sorted_item_ids_to_recommend)
        X = sp.csr_array((1, self._n_items), dtype=np.float32)
        lists = list(self._rank(X, k, allowed)) * len(target_ids)
        return _triplet(target_ids, lists, places)

    def _recommend_i2i(
        self,
        target_ids: Array,
        dataset: RecToolsDataset,
        k: int,
        sorted_item_ids_to_recommend: Array | None,
    ) -> Triplet:
        places = self._places(dataset)
        allowed = self._allowed(places, sorted_item_ids_to_recommend)
        return _triplet(target_ids, self._similar(places[target_ids], k, allowed), places)

    _recommend_i2i_warm = _recommend_i2i

    @property
    def _n_items(self) -> int:
        return len(self.model_.items_)

    def _places(self, dataset: RecToolsDataset) -> Array:
        """Return the model's position of each internal item id of a data set, -1 for others."""
        names = dataset.item_id_map.external_ids.tolist()
        return np.array([self._place_of.get(name, -1) for name in names], dtype=np.int64)

    def _allowed(self, places: Array, wanted: Array | None) -> Array:
        """Return which of the model's items may be recommended, true or false for each."""
        some = places if wanted is None else places[wanted]
        allowed = np.zeros(self._n_items, dtype=bool)
        allowed[some[some >= 0]] = True
        return allowed

    def _rows(self, dataset: RecToolsDataset, user_ids: Array, places: Array) -> pl.DataFrame:
        """Return the interactions of some users, with positions of users and items."""
        table = dataset.interactions.df
        frame = interactions_frame(table[table[Columns.User].isin(user_ids)])
        row_of = np.zeros(dataset.user_id_map.size, dtype=np.int64)
        row_of[user_ids] = np.arange(len(user_ids))
        return frame.with_columns(
            pl.Series("user", row_of[frame[Columns.User].to_numpy()]),
            pl.Series("item", places[frame[Columns.Item].to_numpy()]),
        ).filter(pl.col("item") >= 0)

    def _about(self, dataset: RecToolsDataset, user_ids: Array) -> list[list[Tag]] | None:
        """Return the user tags of users, from the data set's features; None without any."""
        known = set(self.model_.user_tags_)
        if not known or dataset.user_features is None:
            return None
        table = features_frame(dataset.user_id_map, dataset.user_features, Columns.User)
        columns = [c for c in table.columns[1:] if isinstance(table[c].dtype, pl.List)]
        return [
            [
                tag
                for column in columns
                for value in row[column]
                if (tag := Tag(tag_feature(column), value)) in known
            ]
            for row in table[user_ids.tolist()].iter_rows(named=True)
        ]

    def _rank(
        self,
        X: sp.csr_array,
        k: int,
        allowed: Array,
        seen: sp.csr_array | None = None,
        about: list[list[Tag]] | None = None,
    ) -> Iterator[Ranked]:
        """Yield the best items for each history (users x items)."""
        for start in range(0, X.shape[0], _BATCH):
            part = slice(start, start + _BATCH)
            known = None if about is None else about[part]
            for row, scores in enumerate(self.model_.score_batch(X[part], about=known), start):
                viewed: Any = ()
                if seen is not None:
                    viewed = seen.indices[seen.indptr[row] : seen.indptr[row + 1]]
                best = self.model_.rank_items(scores, k=k, seen=viewed, allowed=allowed)
                yield best, scores[best]

    def _similar(self, targets: Array, k: int, allowed: Array) -> Iterator[Ranked]:
        """Yield the items that share most with each target, itself among them."""
        V, barred = rarity_rows(self.model_), np.flatnonzero(~allowed)
        for place in targets.tolist():
            similarity = np.zeros(self._n_items)
            if place >= 0:
                # Round, so that ties are broken by popularity and not by rounding errors.
                similarity = np.round(V @ V[[place]].toarray().ravel(), 12)
            best = top_k(similarity, k, exclude=barred, tie=self.model_.popularity_)
            best = best[similarity[best] > 0]
            yield best, similarity[best]


def _triplet(targets: Array, lists: Iterable[Ranked], places: Array) -> Triplet:
    """Return lists as RecTools has them: targets, internal item ids and scores, a row each."""
    found = list(lists)
    internal = np.full(int(places.max(initial=0)) + 1, -1, dtype=np.int64)
    known = np.flatnonzero(places >= 0)
    internal[places[known]] = known
    items = [internal[best] for best, _ in found]
    return (
        np.repeat(targets, [len(best) for best in items]),
        np.concatenate([*items, np.zeros(0, np.int64)]),
        np.concatenate([*(scores for _, scores in found), np.zeros(0)]),
    )


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
