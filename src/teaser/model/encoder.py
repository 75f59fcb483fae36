"""A model whose raw tag scores are rows of an encoder, summed over the history."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.partitions import Interactions
from teaser.model._arrays import blocks
from teaser.model.extensions.groups import Groups
from teaser.model.extensions.sparse import Encoder, sum_rows
from teaser.model.gpu import DeviceScorer, cupy
from teaser.model.tagged import TaggedModel

Array = NDArray[Any]

# Moving fewer users than this to a GPU takes longer than scoring them.
_BATCH = 32


class EncoderModel(TaggedModel, abstract=True):
    """A model with tags whose raw tag scores are rows of an encoder, summed over the history.

    Attributes
    ----------
    encoder_
        E, items x learned tags, a row for every item that was there at the fit.
    device
        Where batches are scored: `"cpu"` or `"cuda"`.
    groups_
        The groups behind discovered tags, or None.
    """

    encoder_: Encoder
    device: str
    groups_: Groups | None = None

    _on_device: tuple[Encoder, sp.csr_array, DeviceScorer] | None = None

    def encode(self, rows: sp.csr_array) -> Array:
        """Return p, the encoder rows of each history summed (users x tags), in double precision.

        Items that were added after the fit have no row, and add nothing.
        """
        if self.device == "cuda" and rows.shape[0] >= _BATCH:
            return self._scorer().encode(rows)
        return sum_rows(self.encoder_, rows)

    def decode(self, affinities: Array) -> Array:
        """Return the score of every item for affinities with tags (users x items)."""
        if self.device == "cuda" and len(affinities) >= _BATCH:
            return self._scorer().decode(affinities)
        return super().decode(affinities)

    def decode_viewed(self, rows: sp.csr_array) -> Array:
        """Return what histories add to every item by the remainder (users x items), unweighted."""
        if self.device == "cuda" and rows.shape[0] >= _BATCH and self.remainder_ is not None:
            return self._scorer().decode_viewed(rows)
        return super().decode_viewed(rows)

    def encode_parts(self, positions: Array, strengths: Array, direction: Array) -> Array:
        """Return what each item of a history adds to p.c, x_i E_i.c, for a direction c."""
        out = np.zeros(len(positions))
        # Items added after the fit have no row.
        known = positions < self.encoder_.shape[0]
        rows = self.encoder_[positions[known]].astype(np.float64)
        out[known] = strengths[known] * (rows @ direction)
        return out

    def mean_raw(self, dataset: Dataset, sample: Array) -> Array:
        """Return the mean raw tag scores of the training users (tags): mean row of X, times E."""
        X = dataset.X
        if isinstance(X, Interactions):
            return super().mean_raw(dataset, sample)
        mean = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / max(1, X.shape[0])
        E, found = self.encoder_, np.zeros(self.encoder_.shape[1])
        if self.device == "cuda":
            found = self._scorer().weighted_sum(mean)
        else:
            for rows in [slice(None)] if sp.issparse(E) else blocks(E):
                found += E[rows].astype(np.float64).T @ mean[rows]
        if self.user_rows_ is not None and dataset.Q is not None:
            found = found + self.user_rows_.mean(dataset.Q, np.diff(X.indptr))
        return found

    def _scorer(self) -> DeviceScorer:
        """Return encoder and decoder on the GPU, moved there once."""
        kept = self._on_device
        # A fit replaces both arrays and `add_items` the decoder, so identity is enough.
        if kept is None or kept[0] is not self.encoder_ or kept[1] is not self.decoder_:
            like = cupy().zeros(1, dtype=self.encoder_.dtype)
            scorer = DeviceScorer(self.encoder_, self.decoder_, self.remainder_, like=like)
            kept = self._on_device = (self.encoder_, self.decoder_, scorer)
        return kept[2]
