"""A model whose raw tag scores are rows of an encoder, summed over the history."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.partitions import Interactions
from teaser.model.extensions.groups import Groups
from teaser.model.extensions.sparse import Encoder, sum_rows
from teaser.model.gram.blocks import blocks
from teaser.model.gram.gpu import DeviceScorer, cupy
from teaser.model.lists.all_lists import ListOptions, rank_block
from teaser.model.lists.best_items import Best, TagRanker
from teaser.model.lists.device_lists import DeviceLists
from teaser.model.lists.ranking import kernels
from teaser.model.lists.selection import Placed
from teaser.model.tagged import TaggedModel
from teaser.model.user_state import UserStates

Array = NDArray[Any]

# Moving fewer users than this to a GPU takes longer than scoring them.
_BATCH = 32
# What a remainder adds is held for 64 users at a time, those of a larger batch in turn.
_SHARE = 16


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

    _kept_ranker: TagRanker | None = None
    _kept_lists: DeviceLists | None = None
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

    @property
    def list_width(self) -> int:
        """How many numbers `list_block` holds for each user, about."""
        n_items, n_tags = self.decoder_.shape
        if not self._ranks_tags or kernels() is None:
            return int(n_items)
        return int(n_tags if self.remainder_ is None else max(n_tags, n_items // _SHARE))

    @property
    def _ranks_tags(self) -> bool:
        """Whether lists are found without an array of all scores."""
        is_sparse = self.remainder_ is None or sp.issparse(self.remainder_)
        return self.device == "cpu" and is_sparse

    def _best(
        self, rows: sp.csr_array, about: sp.csr_array | None, options: ListOptions, placed: Placed
    ) -> tuple[Best, UserStates | None]:
        """Return the best items of several users, without an array of all scores if possible."""
        states = None
        # On a GPU, users who dislike nothing are encoded where they are scored.
        if self.device == "cpu" or options.reasons or about is not None or (rows.data <= 0).any():
            states = self.user_states(rows, about=about, steering=options.steering)
        exclude = options.exclude_history
        if states is None or self.device == "cuda":
            found = self._device_lists().best(
                rows,
                placed,
                k=options.k,
                steering=options.steering,
                exclude_history=exclude,
                states=states,
            )
            return found, states
        if self._ranks_tags:
            best = self._ranker().best(states, options.k, placed, exclude_history=exclude)
            if best is not None:
                return best, states
        scores = self._score_block(states, placed)
        return rank_block(self.item_table_, rows, scores, options, placed), states

    def _device_lists(self) -> DeviceLists:
        """Return what makes lists on the GPU, moved there once."""
        kept = self._kept_lists
        parts = (self.encoder_, self.tag_table_, self.item_table_, self.remainder_)
        if kept is None or any(a is not b for a, b in zip(kept.parts, parts, strict=True)):
            like = cupy().zeros(1, dtype=np.float32)
            kept = self._kept_lists = DeviceLists(*parts, like)
        return kept

    def _ranker(self) -> TagRanker:
        """Return what lists of many users are made from, prepared once."""
        kept = self._kept_ranker
        parts = (self.item_table_, self.decoder_, self.remainder_)
        # A fit and `add_items` replace them, so identity is enough.
        if kept is None or any(a is not b for a, b in zip(kept.parts, parts, strict=True)):
            kept = self._kept_ranker = TagRanker(*parts)
        return kept

    def _scorer(self) -> DeviceScorer:
        """Return encoder and decoder on the GPU, moved there once."""
        kept = self._on_device
        # A fit replaces both arrays and `add_items` the decoder, so identity is enough.
        if kept is None or kept[0] is not self.encoder_ or kept[1] is not self.decoder_:
            scorer = DeviceScorer(self.encoder_, self.decoder_, self.remainder_)
            kept = self._on_device = (self.encoder_, self.decoder_, scorer)
        return kept[2]
