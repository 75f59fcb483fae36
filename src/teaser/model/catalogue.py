"""The catalogue of a model with tags: items, their decoder and metadata, and further items."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import explain as why
from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.data.ids import Ids, ItemId
from teaser.data.sparse_matrix import pack, unpack
from teaser.data.tagging.rule_set import Rules
from teaser.data.tagging.tag import Tag, tag_frame, tags_from
from teaser.errors import ParameterError, RuleError
from teaser.model.base import Model
from teaser.model.new_items import read_newcomers
from teaser.profile import POPULARITY

Array = NDArray[Any]
History = Iterable[ItemId]


class Catalogued(Model):
    """A model of items that carry tags.

    Attributes
    ----------
    decoder_
        D, items x tags: the tags of each item, and its popularity in the last column.
    tags_
        The tags, in the order of the decoder's columns.
    items_
        The owner's item ids, in the order of the decoder's rows.
    popularity_
        Item count / highest count.
    table_
        The metadata of the items, one row each.
    rules_
        The rules that made the tags, for further items.
    """

    decoder_: sp.csr_array
    tags_: tuple[Tag, ...]
    popularity_: Array
    table_: pl.DataFrame
    rules_: Rules

    def title(self, place: int) -> str | None:
        """Return the title of the item at a place, where the metadata have one."""
        column = self.rules_.roles.get("title")
        found = self.table_[column][place] if column else None
        return None if found is None else str(found)

    def add_items(self, items: Any) -> Self:
        """Make further items recommendable without fitting again.

        Parameters
        ----------
        items
            A table (file or frame) with the columns that the rules read and the item id, or a
            mapping from item id to its tags. Such items have no popularity yet, and say
            nothing about the taste of whoever views them until the model is fitted again.
        """
        self.check_fitted()
        new = read_newcomers(items, self.items_, self.table_, self.tags_, self.rules_)
        self._extend(new.ids, new.S, new.table)
        return self

    @staticmethod
    def _check_dataset(dataset: Dataset) -> None:
        """Raise before any work if this is nothing to learn from."""
        if not isinstance(dataset, Dataset):
            raise ParameterError(
                f"A model is fitted to a Dataset, found a {type(dataset).__name__}. "
                "Make one with Dataset.from_tables."
            )
        if POPULARITY.feature in {tag.feature for tag in dataset.tags}:
            raise RuleError(
                f"A feature is named {POPULARITY.feature!r}, which the model adds itself. "
                "Give that rule another feature name."
            )

    def _take_catalogue(self, dataset: Dataset) -> None:
        """Set the attributes that come from the data set alone."""
        self.popularity_ = popularity(dataset)
        self.decoder_ = decoder(dataset.S, self.popularity_)
        self.tags_ = (*dataset.tags, POPULARITY)
        self.items_ = dataset.items
        self.table_ = dataset.table
        self.rules_ = dataset.rules
        self._index()

    def _catalogue(self) -> dict[str, dict[str, Any]]:
        """Return settings, arrays and tables of the catalogue, to be saved."""
        return {
            "settings": {"rules": self.rules_.as_dict(), "shape": list(self.decoder_.shape)},
            "arrays": {"popularity": self.popularity_, **pack("decoder", self.decoder_)},
            "tables": {"items": self.table_, "tags": tag_frame(self.tags_)},
        }

    def _read_catalogue(self, content: Content) -> None:
        """Set what `_catalogue` returned; raise `ValueError` where its parts do not fit."""
        rows, columns = content.settings["shape"]
        self.popularity_ = np.array(content.arrays["popularity"])
        self.decoder_ = unpack("decoder", content.arrays, (rows, columns)).astype(np.float64)
        self.tags_ = tags_from(content.tables["tags"])
        self.table_ = content.tables["items"]
        self.items_ = Ids(self.table_.to_series(0).to_list())
        self.rules_ = Rules.from_dict(content.settings["rules"])
        if (rows, columns) != (len(self.items_), len(self.tags_)):
            raise ValueError("its parts are of different sizes")
        if len(self.popularity_) != len(self.items_):
            raise ValueError("its parts do not fit together")
        self._index()

    def _index(self) -> None:
        """Prepare look-ups that follow from the tags and the decoder."""
        self._tag_index = {tag: i for i, tag in enumerate(self.tags_)}
        self._mass = np.asarray(abs(self.decoder_).sum(axis=0)).ravel()
        self._features = why.number_features(self.tags_)

    def _weigh(self, new: sp.csr_array) -> sp.csr_array:
        """Return the rows of the decoder of new items, given their tags."""
        return new

    def _extend(self, ids: Sequence[ItemId], S: sp.csr_array, table: pl.DataFrame) -> None:
        """Add items; the table is that of all."""
        new = self._weigh(decoder(S, np.zeros(len(ids))))
        self.decoder_ = sp.csr_array(sp.vstack([self.decoder_, new], format="csr"))
        self.popularity_ = np.concatenate([self.popularity_, np.zeros(len(ids))])
        self.table_ = table
        self.items_ = self.items_.extended(ids)
        self._index()

    def _places(self, history: History) -> list[int]:
        if isinstance(history, str | bytes) or not isinstance(history, Iterable):
            raise ParameterError(f"A history is a list of item ids, found {history!r}.")
        return list(dict.fromkeys(self.items_.index_of(item_id) for item_id in history))

    def _rows(self, histories: Iterable[History]) -> sp.csr_array:
        self.check_fitted()
        return self._matrix([self._places(history) for history in histories])

    def _matrix(self, histories: Sequence[list[int]]) -> sp.csr_array:
        places = [sorted(history) for history in histories]
        indptr = np.cumsum([0, *(len(row) for row in places)])
        indices = np.array([i for row in places for i in row], dtype=np.int64)
        shape = (len(places), len(self.items_))
        return sp.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=shape)


def popularity(dataset: Dataset) -> Array:
    """Return item count / highest count."""
    counts = dataset.item_counts
    return np.asarray(counts / max(1, counts.max()))


def decoder(S: sp.csr_array, popularity: Array) -> sp.csr_array:
    """Return D = [S | popularity] in double precision (items x tags + 1)."""
    column = sp.csr_array(np.asarray(popularity, dtype=np.float64).reshape(-1, 1))
    return sp.csr_array(sp.hstack([S.astype(np.float64), column], format="csr"))
