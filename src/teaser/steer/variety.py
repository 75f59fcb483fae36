"""Variety: a list re-ranked so that its items differ from each other."""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.errors import ParameterError
from teaser.model.extensions.user_features import About
from teaser.model.filters import Filters, known_history
from teaser.model.tables import History
from teaser.model.tagged import TaggedModel
from teaser.parameters import check_k
from teaser.profile import DEFAULT_STEERING, PressesLike, Steering
from teaser.recommend import Recommendations
from teaser.steer.similarity import rarity_rows

Array = NDArray[Any]


def varied(
    model: TaggedModel,
    history: History,
    presses: PressesLike | None = None,
    *,
    variety: float,
    k: int = 20,
    pool: int = 200,
    exclude_history: bool = True,
    negative_reasons: bool = True,
    about: About | None = None,
    steering: Steering = DEFAULT_STEERING,
    **filters: Unpack[Filters],
) -> Recommendations:
    """Return k of the best items for a user, chosen so that they differ from each other.

    Items are taken greedily by the largest

        (1 - variety) * match - variety * overlap

    where overlap is the highest similarity (see `steer.similar`) to the items taken so far.
    Score, match and reasons are those of `recommend`.

    Parameters
    ----------
    variety
        From 0, exactly the list of `recommend`, to 1, as different as the pool allows.
    pool
        How many of the best items to choose from; at least k.
    exclude_history, negative_reasons
        As in `recommend`.
    about, filters
        Facts about the user, and which items may be recommended, as in `recommend`.
    """
    placed = model.place_filters(filters)
    viewed, n = known_history(model.item_table_, history, placed)
    known = {model.items_[i]: strength for i, strength in viewed.items()}
    profile = model.profile(known, presses, about=about, steering=steering)
    scores = placed.boosted(model.scores(profile))
    seen = list(viewed) if exclude_history else []
    chosen = spread(
        model, scores, variety=variety, k=k, pool=pool, seen=seen, allowed=placed.allowed
    )
    found = model.entries(chosen, profile, scores, negative_reasons=negative_reasons, placed=placed)
    found.ignored = placed.ignored + n
    return found


def spread(
    model: TaggedModel,
    scores: Array,
    *,
    variety: float,
    k: int = 20,
    pool: int = 200,
    seen: Sequence[int] = (),
    allowed: Array | None = None,
) -> Array:
    """Return the positions of the items that `varied` lists, given the scores of all items.

    Parameters
    ----------
    seen
        Positions of items to leave out.
    """
    if not 0 <= variety <= 1:
        raise ParameterError(f"variety must be between 0 and 1, found {variety!r}.")
    k, pool = check_k(k), check_k(pool)
    if variety == 0:
        return model.rank_items(scores, k=k, seen=seen, allowed=allowed)
    best = model.rank_items(scores, k=max(k, pool), seen=seen, allowed=allowed)
    # Without a positive score every match is 0, and `tiny` avoids 0 / 0.
    match = np.maximum(0, scores[best]) / max(float(scores.max()), np.finfo(float).tiny)
    return np.asarray(best[_take(match, rarity_rows(model, best), float(variety), k)])


def _take(match: Array, V: sp.csr_array, variety: float, k: int) -> Array:
    """Return the positions taken greedily; ties go to the first."""
    # Rows of length 1, so these are cosines (pool x pool).
    likeness = (V @ V.T).toarray()
    overlap = np.zeros(len(match))
    free = np.ones(len(match), dtype=bool)
    taken: list[int] = []
    for _ in range(min(k, len(match))):
        worth = (1 - variety) * match - variety * overlap
        worth[~free] = -np.inf
        taken.append(int(np.argmax(worth)))
        free[taken[-1]] = False
        # The highest similarity to an item taken so far, kept up to date in O(pool) a step.
        overlap = np.maximum(overlap, likeness[taken[-1]])
    return np.array(taken, dtype=np.int64)
