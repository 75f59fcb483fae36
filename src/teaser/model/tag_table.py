"""The tags of a fitted model's items: the decoder, the names of its columns, and the rules."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import explain as why
from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.data.sparse_matrix import pack, unpack
from teaser.data.tagging.rule_set import Rules
from teaser.data.tagging.tag import DISCOVERED, Tag, tag_frame, tags_from
from teaser.errors import RuleError
from teaser.model.checks import check_dataset
from teaser.model.item_table import popularity
from teaser.model.packed import Packed
from teaser.profile import POPULARITY

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class TagTable:
    """The tags of items.

    Attributes
    ----------
    tags
        The tags, in the order of the decoder's columns; popularity is the last.
    decoder
        D, items x tags: the tags of each item, and its popularity in the last column.
    rules
        The rules that made the tags, for further items.
    """

    tags: tuple[Tag, ...]
    decoder: sp.csr_array
    rules: Rules

    @classmethod
    def from_dataset(cls, dataset: Dataset, weights: sp.csr_array | None = None) -> Self:
        """Return the tags of a data set.

        Parameters
        ----------
        weights
            The decoder (items x tags) where its weights were learned.
        """
        D = decoder(dataset.S, popularity(dataset)) if weights is None else weights
        return cls((*dataset.tags, POPULARITY), D, dataset.rules)

    @classmethod
    def unpack(cls, content: Content) -> Self:
        """Return what `pack` gave; raise `ValueError` where its parts do not fit together."""
        n_items, n_tags = content.settings["shape"]
        tags = tags_from(content.tables["tags"])
        D = unpack("decoder", content.arrays, (n_items, n_tags)).astype(np.float64)
        if (n_items, n_tags) != (len(content.tables["items"]), len(tags)):
            raise ValueError("its decoder, items and tags are of different sizes")
        return cls(tags, D, Rules.from_dict(content.settings["rules"]))

    def pack(self) -> Packed:
        """Return settings, arrays and tables to be saved."""
        return Packed(
            {"rules": self.rules.as_dict(), "shape": list(self.decoder.shape)},
            pack("decoder", self.decoder),
            {"tags": tag_frame(self.tags)},
        )

    @cached_property
    def index(self) -> dict[Tag, int]:
        """The column of each tag."""
        return {tag: i for i, tag in enumerate(self.tags)}

    @cached_property
    def mass(self) -> Array:
        """The sum of the absolute weights of each tag over all items (tags)."""
        return np.asarray(abs(self.decoder).sum(axis=0)).ravel()

    @cached_property
    def features(self) -> tuple[list[str], Array]:
        """The names of the features, and for each tag the number of its feature."""
        return why.number_features(self.tags)

    def extended(self, rows: sp.csr_array) -> "TagTable":
        """Return a table with rows of the decoder for further items."""
        return replace(self, decoder=sp.csr_array(sp.vstack([self.decoder, rows], format="csr")))


def decoder(S: sp.csr_array, popularity: Array) -> sp.csr_array:
    """Return D = [S | popularity] in double precision (items x tags + 1)."""
    column = sp.csr_array(np.asarray(popularity, dtype=np.float64).reshape(-1, 1))
    return sp.csr_array(sp.hstack([S.astype(np.float64), column], format="csr"))


def check_tagged(dataset: Any) -> None:
    """Raise unless a model with tags can learn from this data set."""
    check_dataset(dataset, partitions=True)
    for own in (POPULARITY.feature, DISCOVERED):
        if own in {tag.feature for tag in dataset.tags}:
            raise RuleError(
                f"A feature is named {own!r}, which the model adds itself. "
                "Give that rule another feature name."
            )
