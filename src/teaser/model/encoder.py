"""A model with an encoder at work: histories summed, scores decoded, on a GPU where asked."""

from collections.abc import Iterable
from typing import Any

import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag, resolve_tag
from teaser.model.extensions.sparse_encoder import Encoder, sum_rows
from teaser.model.extensions.user_features import About, place_about
from teaser.model.extensions.viewed_items import RemainderMatrix
from teaser.model.gram.gpu import DeviceScorer
from teaser.model.tagged import TaggedModel

Array = NDArray[Any]

# Fewer people than this are scored sooner than they are moved to a GPU.
_BATCH = 32


class EncoderModel(TaggedModel):
    """An aspect model whose raw tag scores are rows of an encoder, summed over the history.

    Attributes
    ----------
    encoder_
        E, items x tags, a row for every item that was there at the fit.
    remainder_
        R, items x items likewise, or None.
    device
        Where batches are scored: `"cpu"` or `"cuda"`.
    """

    encoder_: Encoder
    remainder_: RemainderMatrix
    device: str

    def encode(self, rows: sp.csr_array) -> Array:
        """Return p, the encoder rows of each history summed (people x tags), in double precision.

        Items that were added after the fit have no row, and add nothing.
        """
        if self.device == "cuda" and rows.shape[0] >= _BATCH:
            return self._scorer().encode(rows)
        return sum_rows(self.encoder_, rows)

    def decode(self, affinities: Array) -> Array:
        """Return the score of every item for affinities with tags (people x items)."""
        if self.device == "cuda" and len(affinities) >= _BATCH:
            return self._scorer().decode(affinities)
        return super().decode(affinities)

    def decode_viewed(self, rows: sp.csr_array) -> Array:
        """Return what histories add to every item by the remainder (people x items), unweighted."""
        if self.device == "cuda" and rows.shape[0] >= _BATCH and self.remainder_ is not None:
            return self._scorer().decode_viewed(rows)
        return super().decode_viewed(rows)

    def origins(
        self, tag: Tag | str, history: Iterable[ItemId], about: About | None = None
    ) -> dict[Any, float]:
        """Return where an affinity comes from: what each item of the history adds to the raw score.

        What is known of the person follows, each with its `Tag` as the key. The parts sum to the
        raw score p of the tag, of which the affinity is a multiple.
        """
        self.check_fitted()
        column = resolve_tag(tag, self._tag_index)
        learnt, places = self.encoder_.shape[0], self._places(history)
        parts: dict[Any, float] = {
            self.items_[i]: float(self.encoder_[i, column]) if i < learnt else 0.0 for i in places
        }
        known = place_about(about, self._people)
        if self._people is not None:
            parts |= self._people.origins(known, column, len(places))
        return parts

    def _scorer(self) -> DeviceScorer:
        """Return encoder and decoder on the GPU, moved there once."""
        kept = self.__dict__.get("_on_device")
        if kept is None or kept[0] is not self.encoder_ or kept[1] is not self.decoder_:
            scorer = DeviceScorer(self.encoder_, self.decoder_, self.remainder_)
            kept = (self.encoder_, self.decoder_, scorer)
            self._on_device = kept
        scorer_kept: DeviceScorer = kept[2]
        return scorer_kept
