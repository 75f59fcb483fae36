"""Similar items, by the tags they share; rare tags count more."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.frame import FrameList, make_frame
from teaser.model.scores import top_k
from teaser.model.tagged import TaggedModel
from teaser.parameters import check_k

Array = NDArray[Any]


@dataclass(frozen=True)
class Similar:
    """An item that resembles another.

    Attributes
    ----------
    similarity
        From 0, no tag in common, to 1, the same tags.
    shared
        The tags that both carry, each with its share of the similarity, largest first; the
        shares sum to 1.
    """

    item_id: ItemId
    similarity: float
    shared: tuple[tuple[Tag, float], ...]
    title: str | None = None


class SimilarItems(FrameList[Similar]):
    """The items that resemble another, the most similar first."""

    def to_frame(self) -> pl.DataFrame:
        """Return a frame with one row an item.

        Its columns are `rank` (from 1), `item_id`, `title`, `similarity` and `shared`: a list of
        structs with the fields `feature`, `value` and `share`.
        """
        rows = (
            (rank, each.item_id, each.title, each.similarity, _fields(each.shared))
            for rank, each in enumerate(self, 1)
        )
        return make_frame(rows, _COLUMNS)


_SHARED = pl.Struct({"feature": pl.String, "value": pl.String, "share": pl.Float64})
_COLUMNS = {
    "rank": pl.Int64,
    "item_id": None,
    "title": pl.String,
    "similarity": pl.Float64,
    "shared": pl.List(_SHARED),
}


def similar(model: TaggedModel, item_id: ItemId, *, k: int = 10) -> SimilarItems:
    """Return the k items most similar to one by their declared and discovered tags.

    The similarity is the cosine of the angle between rows of tags weighted by their rarity.
    Ties are ordered by popularity, then by position. Items that share nothing are
    left out, so an item without tags has none.
    """
    model.check_fitted()
    k = check_k(k)
    item = model.items_.index_of(item_id)
    V = rarity_rows(model)
    own = V[[item]].toarray().ravel()
    # Round, so that ties are broken by popularity and not by rounding errors.
    similarity = np.round(np.clip(V @ own, 0, 1), 12)
    best = top_k(similarity, k, exclude=np.array([item]), tie=model.popularity_)
    return SimilarItems(
        Similar(
            item_id=model.items_[i],
            similarity=float(similarity[i]),
            shared=_shared(model, V, i, own),
            title=model.title(i),
        )
        for i in best[similarity[best] > 0].tolist()
    )


def _fields(shared: tuple[tuple[Tag, float], ...]) -> list[dict[str, Any]]:
    return [{"feature": tag.feature, "value": tag.value, "share": x} for tag, x in shared]


def rarity_rows(model: TaggedModel, places: Array | None = None) -> sp.csr_array:
    """Return the items' tags weighted by log(1 + items / carriers), in rows of length 1 or 0.

    The columns are those of the decoder, with 0 for all but declared and discovered tags. The
    rows are all items, or those at the given positions.
    """
    rarity = model.tag_table_.rarity.copy()
    rarity[model.tag_table_.n_personal :] = 0.0
    D = model.decoder_ if places is None else model.decoder_[places]
    data = D.data * rarity[D.indices]
    owner = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    length = np.sqrt(np.bincount(owner, weights=data**2, minlength=D.shape[0]))
    data /= np.where(length > 0, length, 1.0)[owner]
    return sp.csr_array((data, D.indices, D.indptr), shape=D.shape)


def _shared(
    model: TaggedModel, V: sp.csr_array, i: int, own: Array
) -> tuple[tuple[Tag, float], ...]:
    row = slice(V.indptr[i], V.indptr[i + 1])
    places = V.indices[row]
    # One term of the cosine for each tag of the item; tags that only one carries add 0.
    parts = V.data[row] * own[places]
    parts = parts / parts.sum()
    order = np.argsort(-parts, kind="stable")
    return tuple((model.tags_[places[o]], float(parts[o])) for o in order if parts[o] > 0)
