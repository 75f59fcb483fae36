"""A LensKit component: `TeaserScorer` scores items in a LensKit pipeline.

    pipeline = lenskit.pipeline.topn_pipeline(TeaserScorer(positive="rating >= 4"))

The fitted model is its `model_`, with profiles, reasons and steering.
"""

import logging
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from teaser.data.dataset import Dataset
from teaser.errors import DataError, MissingPackageError

try:
    from lenskit.data import Dataset as LensKitDataset
    from lenskit.data import ItemList, RecQuery, Vocabulary
    from lenskit.pipeline import Component
    from lenskit.training import Trainable, TrainingOptions
    from pydantic import create_model
except ImportError as error:
    raise MissingPackageError("The bridge to LensKit", "LensKit", extra="lenskit") from error

from teaser.bridges._options import GivenOptions, as_column, option_fields

log = logging.getLogger("teaser")

_Options: Any = create_model("_Options", __base__=GivenOptions, **option_fields())


class TeaserConfig(_Options):
    """What `TeaserScorer` takes, by keyword; only what is given is kept and dumped.

    positive, negative, strength, counts, time, half_life, rules
        How the data set is read: see `Dataset.from_tables`. Columns of interactions are their
        attributes, such as `rating` and `timestamp`. Item attributes become tags by `rules`, and
        by rules that are inferred when there are none.
    recipe
        `"auto"` chooses among recipes on held-out users; see `teaser.fit`.
    l2_weights, l2_encoder, ...
        The parameters of `Teaser`. `user_features=True` learns from the attributes of users too.
    """


class TeaserScorer(Component[ItemList], Trainable):
    """Score items by affinities with their tags.

    Users without history get scores of general appeal. Items that were not in the training data
    get none.

    Attributes
    ----------
    model_
        The fitted `Teaser`; its item ids are those of the data set.
    items_
        The items of the training data, in the order of the model's.
    """

    config: TeaserConfig
    items_: Vocabulary
    _users: Any = None
    _about: Any = None

    def is_trained(self) -> bool:
        """Return whether there is a fitted model."""
        return "model_" in self.__dict__

    def train(self, data: LensKitDataset, options: TrainingOptions | None = None) -> None:
        """Fit a model to a data set; without `retrain`, a fitted one is kept.

        The seed is that of the configuration, else one drawn from the options' generator, else 0.
        """
        options = TrainingOptions() if options is None else options
        if self.is_trained() and not options.retrain:
            return
        dataset = read_dataset(data, self.config)
        seed = 0
        if options.rng is not None:
            seed = int(options.random_generator().integers(2**31))
        self.model_ = self.config.fit(dataset, rng=seed)
        self.items_ = data.items
        self._users = self._about = None
        if self.model_.user_tags_:
            self._users, self._about = dataset.users, dataset.Q

    def __call__(self, query: RecQuery, items: ItemList) -> ItemList:
        """Return the items with their scores for the user of a query."""
        about = self._about_user(query.user_id)
        every = self.model_.score_batch(self.history(query), about=about)[0]
        places = items.numbers(vocabulary=self.items_, missing="negative")
        scores = np.full(len(places), np.nan)
        scores[places >= 0] = every[places[places >= 0]]
        return ItemList(items, scores=scores)

    def history(self, query: RecQuery) -> sp.csr_array:
        """Return the history of a query (1 x items), read by the rules of the training."""
        shape = (1, len(self.items_))
        viewed = query.query_items
        if viewed is None:
            return sp.csr_array(shape, dtype=np.float32)
        places = viewed.numbers(vocabulary=self.items_, missing="negative")
        wanted = [name for name in self.config.columns() if viewed.field(name) is not None]
        columns = {name: as_column(np.asarray(viewed.field(name))) for name in wanted}
        rows = pl.DataFrame({"item": places.astype(np.int64), **columns})
        rows = rows.with_columns(pl.lit(0, pl.Int64).alias("user")).filter(pl.col("item") >= 0)
        return self.config.histories(rows, shape)

    def _about_user(self, user_id: object) -> sp.csr_array | None:
        """Return the user tags of a user (1 x user tags); None where the model has none."""
        if self._about is None:
            return None
        row = self._users.find(user_id)
        empty = sp.csr_array((1, self._about.shape[1]), dtype=np.float32)
        return empty if row is None else self._about[[row]]


def read_dataset(data: LensKitDataset, options: TeaserConfig) -> Dataset:
    """Return our data set of LensKit's: the default interactions, and attributes as metadata."""
    users = None
    if options.given(["user_features"]).get("user_features"):
        users = _entities(data, "user")
    found = Dataset.from_tables(
        pl.DataFrame(pl.from_arrow(data.interactions().arrow(ids=True))),
        _entities(data, "item"),
        rules=options.rules,
        users=users,
        **options.read(),
    )
    if len(found.items) != data.item_count:
        raise DataError(
            f"LensKit has {data.item_count:,} items, of which {len(found.items):,} have clean, "
            f"distinct ids. {'; '.join(map(str, found.items_refused))}."
        )
    return found


def _entities(data: LensKitDataset, name: str) -> pl.DataFrame:
    """Return the ids and attributes of users or items, a row each in LensKit's order."""
    entities = data.entities(name)
    columns: dict[str, Any] = {f"{name}_id": pl.Series(entities.ids().tolist())}
    for attribute in entities.attributes:
        cells = _cells(entities.attribute(attribute))
        if cells is None:
            log.info("The attribute %s of LensKit's %ss is a vector: left out.", attribute, name)
        else:
            columns[attribute] = cells
    return pl.DataFrame(columns)


def _cells(attribute: Any) -> Any:
    """Return the values of an attribute as a column, or None if it is a vector without names."""
    if attribute.is_vector:
        return None
    if attribute.is_sparse:
        if attribute.dim_names is None:
            return None
        names, matrix = attribute.dim_names, attribute.scipy().tocsr()
        ends = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
        return [[names[j] for j in matrix.indices[start:end]] for start, end in ends]
    return pl.from_arrow(attribute.arrow())
