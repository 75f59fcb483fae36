"""Scores after presses: those of the learned profile, moved by what was pressed.

A press moves the affinity with one tag, so only the items with that tag get another score. To sum
all tags of all items anew would read the whole decoder, which with many items is not in the
processor's cache.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.app.cache import Cache
from teaser.app.serving.catalogue import Catalogue, cached_per_catalogue
from teaser.profile import Profile

Array = NDArray[Any]

# Bytes that the kept scores may take, of at least some people.
_MAX_BYTES, _LEAST_KEPT, _MOST_KEPT = 2**25, 8, 256
# Tags whose items are kept.
_MAX_TAGS = 512


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
    scores = _kept(catalogue).find(learned, lambda: _unwritable(model.scores(learned)))
    if profile is learned:
        return scores
    scores = scores.copy()
    weight = profile.tags_weight if model.has_remainder else 1.0
    for place in sorted(profile.place_of(tag) for tag in profile.presses):
        items, parts = _items_with(catalogue, place)
        scores[items] += weight * (profile.values[place] - learned.values[place]) * parts
    return scores


@cached_per_catalogue(1)
def _kept(catalogue: Catalogue) -> Cache[Array]:
    """Return the kept scores of learned profiles, which stay the same while people press."""
    n_items = max(1, len(catalogue.model.items_))
    return Cache(min(_MOST_KEPT, max(_LEAST_KEPT, _MAX_BYTES // (8 * n_items))))


@cached_per_catalogue(_MAX_TAGS)
def _items_with(catalogue: Catalogue, place: int) -> tuple[Array, Array]:
    """Return the positions of the items that have a tag, and what it counts for each."""
    D = catalogue.model.decoder_
    entries = np.flatnonzero(D.indices == place)
    return np.searchsorted(D.indptr, entries, side="right") - 1, D.data[entries]


def _unwritable(scores: Array) -> Array:
    scores.flags.writeable = False
    return scores
