"""The honest rival of steering: any model, and a bonus on the items of pressed tags."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.tags import Tag
from teaser.model.base import Model
from teaser.model.scores import TagMoves, ordinary_lifts
from teaser.model.tagged import TaggedModel
from teaser.profile import MAX_PRESSES

Array = NDArray[Any]


class Bonus:
    """A model without tags that is steered all the same: a press adds to the items of its tag.

    It is what one would do without a steerable model. Presses on a tag add the move of a person to
    the score of each item that carries the tag; the moves are those of a steerable model, made
    from the model's own scores.

    Parameters
    ----------
    model
        A fitted model, such as EASE.
    tagged
        A model of the same items, whose tags are pressed.
    """

    def __init__(self, model: Model, tagged: TaggedModel) -> None:
        self.model, self.tagged = model, tagged
        self.items_, self.popularity_ = model.items_, model.popularity_
        self.tags_, self.tag_table_ = tagged.tags_, tagged.tag_table_
        self.decoder_ = tagged.decoder_
        self._carried = (tagged.decoder_ != 0).astype(np.float64).T.tocsr()
        self._columns = {tag: column for column, tag in enumerate(tagged.tags_)}

    def check_fitted(self) -> None:
        """Raise `NotFittedError` unless both models are fitted."""
        self.model.check_fitted()
        self.tagged.check_fitted()

    def score_batch(
        self, X: Any, presses: Sequence[Mapping[Tag, int] | None] | None = None
    ) -> Array:
        """Return the score of every item for every row of histories (users x items)."""
        scores = np.asarray(self.model.score_batch(X), dtype=np.float64)
        if presses is None:
            return scores
        rows = sp.csr_array(X)
        pressed = sp.lil_array((len(presses), len(self._columns)))
        for row, (own, lift) in enumerate(zip(presses, ordinary_lifts(scores, rows), strict=True)):
            columns = [self._columns[tag] for tag in own or ()]
            seen = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
            moves = TagMoves(scores[row], seen, lift, self._carried)(columns)
            for column, count, each in zip(columns, (own or {}).values(), moves, strict=True):
                pressed[row, column] = each[count + MAX_PRESSES]
        added: Array = (pressed.tocsr() @ self._carried).toarray()
        return np.asarray(scores + added)
