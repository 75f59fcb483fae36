"""Scores after presses: those of the learned profile, moved by what was pressed.

A press moves the affinity with one tag, so only the items with that tag get another score. To sum
all tags of all items anew would read the whole decoder, which with many items is not in the
processor's cache.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.app.cache import Cache
from teaser.app.serving.catalogue import Catalogue, cached_per_catalogue
from teaser.profile import Profile

Array = NDArray[Any]

# The scores of so many people are kept: as many as take 32 MB, between these bounds.
_LEAST_KEPT, _MOST_KEPT = 8, 256
_BYTES = 2**25


def scores_of(catalogue: Catalogue, learned: Profile, profile: Profile) -> NDArray[np.float64]:
    """Return the score of every item for a profile.

    They follow from the learned profile and the net presses, in whatever order these came. They are
    those of `TaggedModel.scores`; with presses, the last digits may differ.

    Parameters
    ----------
    learned
        The profile without presses.
    profile
        The same profile with them.
    """
    model = catalogue.model
    if profile is learned:
        return _learned_scores(catalogue, learned)
    by_tag = _by_tag(catalogue)
    places = sorted(profile.place_of(tag) for tag in profile.presses)
    starts, ends = by_tag.indptr[places], by_tag.indptr[[place + 1 for place in places]]
    # General appeal is on all items: nothing would be saved, and pressed to nearly 0 it would leave
    # the rounding of the difference to order the list.
    if (2 * (ends - starts) > len(model.items_)).any():
        return model.scores(profile)
    scores = _learned_scores(catalogue, learned).copy()
    weight = profile.tags_weight if model.has_remainder else 1.0
    for place, start, end in zip(places, starts.tolist(), ends.tolist(), strict=True):
        change = weight * (profile.values[place] - learned.values[place])
        entries = by_tag.data[start:end]
        scores[by_tag.indices[start:end]] += change * model.decoder_.data[entries]
    return scores


def _learned_scores(catalogue: Catalogue, learned: Profile) -> Array:
    """Return the scores of a profile without presses, which are kept and cannot be written."""

    def make() -> Array:
        scores = catalogue.model.scores(learned)
        scores.flags.writeable = False
        return scores

    return _kept(catalogue).find(learned, make)


@cached_per_catalogue(1)
def _kept(catalogue: Catalogue) -> Cache[Array]:
    """Return the kept scores of learned profiles, which stay the same while people press."""
    n_items = max(1, len(catalogue.model.items_))
    return Cache(min(_MOST_KEPT, max(_LEAST_KEPT, _BYTES // (8 * n_items))))


@cached_per_catalogue(1)
def _by_tag(catalogue: Catalogue) -> sp.csc_array:
    """Return the decoder by tag: its items, and for each where the entry is in the decoder."""
    D = catalogue.model.decoder_
    kind = np.int32 if D.nnz < 2**31 else np.int64
    entries = np.arange(D.nnz, dtype=kind)
    return sp.csr_array((entries, D.indices, D.indptr), shape=D.shape).tocsc()
