"""The items of a fitted model: ids, metadata and popularity."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.data.infer import check_roles
from teaser.data.matrix import Ids, ItemId, saved_ids
from teaser.errors import ParameterError
from teaser.model.packed import Packed

Array = NDArray[Any]
# The items of a history; a mapping gives the strength of each, below 0 for a disliked one.
History = Iterable[ItemId] | Mapping[Any, float]


@dataclass(frozen=True, eq=False)
class ItemTable:
    """The items that a model can recommend.

    Attributes
    ----------
    ids
        The owner's item ids, in the order of the scores.
    metadata
        The metadata of the items, one row each; the first column holds the ids.
    popularity
        Item count / highest count.
    title_column
        The column of the metadata that holds titles, or None.
    """

    ids: Ids
    metadata: pl.DataFrame
    popularity: Array
    title_column: str | None = None

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> Self:
        """Return the items of a data set."""
        title_column = dataset.rules.roles.get("title")
        return cls(dataset.items, dataset.table, popularity(dataset), title_column)

    @classmethod
    def unpack(cls, content: Content) -> Self:
        """Return what `pack` gave; raise `ValueError` where its parts do not fit together."""
        metadata, counted = content.tables["items"], np.array(content.arrays["popularity"])
        if counted.shape != (len(metadata),) or counted.dtype.kind != "f":
            raise ValueError("its items and their popularity are of different sizes")
        title_column = _title_column(content.settings)
        if title_column is not None:
            check_roles({"title": title_column}, metadata.columns)
        return cls(saved_ids(metadata.to_series(0), "items"), metadata, counted, title_column)

    def pack(self) -> Packed:
        """Return settings, arrays and tables to be saved."""
        return Packed(
            {"title": self.title_column},
            {"popularity": self.popularity},
            {"items": self.metadata},
        )

    def __len__(self) -> int:
        return len(self.ids)

    def title(self, item_index: int) -> str | None:
        """Return the title of the item at a position, where the metadata have one."""
        found = self.metadata[self.title_column][item_index] if self.title_column else None
        return None if found is None or not str(found).strip() else str(found)

    def name(self, item_index: int) -> tuple[ItemId, str | None]:
        """Return the id and the title of the item at a position."""
        return self.ids[item_index], self.title(item_index)

    def positions(self, history: History) -> list[int]:
        """Return the positions of a history's items, each once, in the order of the history."""
        return list(self.strengths(history))

    def strengths(self, history: History) -> dict[int, float]:
        """Return the strength of each item of a history, by position, in its order.

        It is 1 unless the history is a mapping. A disliked item has a strength below 0; an item
        of strength 0 is not in the history.
        """
        if isinstance(history, str | bytes) or not isinstance(history, Iterable):
            raise ParameterError(f"A history is a list of item ids, found {history!r}.")
        if not isinstance(history, Mapping):
            return dict.fromkeys((self.ids.index_of(item_id) for item_id in history), 1.0)
        for item_id, strength in history.items():
            is_number = isinstance(strength, Real) and not isinstance(strength, bool)
            if not is_number or not math.isfinite(strength):
                raise ParameterError(
                    f"The strength of an item must be a finite number, found {strength!r} for "
                    f"{item_id!r}. A disliked item has one below 0."
                )
        found = {self.ids.index_of(item_id): float(x) for item_id, x in history.items()}
        return {place: x for place, x in found.items() if x != 0}

    def rows(self, histories: Sequence[Sequence[int] | Mapping[int, float]]) -> sp.csr_array:
        """Return histories as a matrix (users x items), in double precision.

        Parameters
        ----------
        histories
            Positions, each once, or mappings from positions to strengths.
        """
        weighted = [h if isinstance(h, Mapping) else dict.fromkeys(h, 1.0) for h in histories]
        positions = [sorted(history) for history in weighted]
        indptr = np.cumsum([0, *(len(row) for row in positions)])
        indices = np.array([i for row in positions for i in row], dtype=np.int64)
        pairs = zip(weighted, positions, strict=True)
        data = np.array([history[i] for history, row in pairs for i in row], dtype=np.float64)
        return sp.csr_array((data, indices, indptr), shape=(len(positions), len(self)))

    def barred(self, allowed: Array | None) -> Array:
        """Return the positions of the items that a mask of allowed items leaves out."""
        if allowed is None:
            return np.zeros(0, dtype=np.int64)
        mask = np.asarray(allowed)
        if mask.dtype != bool or mask.shape != (len(self),):
            raise ParameterError(
                f"allowed must hold true or false for each of {len(self):,} items, "
                f"found {mask.dtype} of shape {mask.shape}."
            )
        return np.flatnonzero(~mask)

    def extended(self, ids: Sequence[ItemId], metadata: pl.DataFrame) -> "ItemTable":
        """Return a table with further items, which have no popularity yet.

        Parameters
        ----------
        metadata
            That of all items, the new ones last.
        """
        counted = np.concatenate([self.popularity, np.zeros(len(ids))])
        return ItemTable(self.ids.extended(ids), metadata, counted, self.title_column)


def liked_part(rows: sp.csr_array) -> sp.csr_array:
    """Return histories without disliked items, those of a strength below 0 (users x items)."""
    if not (rows.data < 0).any():
        return rows
    liked = sp.csr_array(
        (np.maximum(rows.data, 0.0), rows.indices.copy(), rows.indptr.copy()), shape=rows.shape
    )
    liked.eliminate_zeros()
    return liked


def popularity(dataset: Dataset) -> Array:
    """Return item count / highest count."""
    counts = dataset.item_counts
    return np.asarray(counts / max(1, counts.max()))


def _title_column(settings: Mapping[str, Any]) -> str | None:
    """Return the column of titles; earlier models with tags named it in their rules alone."""
    roles = settings["rules"]["roles"] if "title" not in settings else settings
    found: str | None = roles.get("title")
    return found
