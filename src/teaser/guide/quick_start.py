"""A quick start: which few items to ask a new person about."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.ids import ItemId
from teaser.model.checks import check_k
from teaser.model.tagged import TaggedModel

# Well known is what is among the first tenth by popularity, between these bounds.
_KNOWN = (30, 150)
# Tastes are stood for by what people choose most.
_TASTES = 1_000

Array = NDArray[Any]


def quick_picks(
    model: TaggedModel,
    picks: Iterable[ItemId] = (),
    *,
    shown: Iterable[ItemId] = (),
    k: int = 6,
) -> list[ItemId]:
    """Return k well-known items to choose from, whose choice tells most about a person's taste.

    A choice tells the most when everybody finds something near to their taste, and it is far
    from what others would take. What a pick of item i tells is its encoder row E_i; how near
    items i and c are is the cosine of their rows, tags weighted by how many items carry them,
    and 0 where it is negative. One after the other, the item is taken that adds most to

        sum over items c of  w_c * highest nearness of c to an item shown or taken

    where w_c is how likely c is to be to the person's taste: its popularity, multiplied, once
    there are picks, by the exponential of its standardised score for a profile of the picks,
    popularity left out.

    Parameters
    ----------
    picks
        What the person picked so far.
    shown
        What was shown so far. Neither is proposed again, so that k and less are left at the end.
    """
    model.check_fitted()
    k = check_k(k)
    picked = [model.items_[model.items_.index_of(i)] for i in picks]
    before = [model.items_.index_of(i) for i in (*picked, *shown)]
    order = np.lexsort((np.arange(len(model.items_)), -model.popularity_))
    tastes = order[:_TASTES]
    n_known = max(k, min(max(_KNOWN[0], len(order) // 10), _KNOWN[1]))
    known = order[~np.isin(order, before)][:n_known]
    worth = _likelihood(model, tastes, picked)
    rows = _directions(model, tastes)
    nearness = np.maximum(0, rows @ _directions(model, known).T)
    reached = np.maximum(0, rows @ _directions(model, before).T).max(axis=1, initial=0.0)
    return [model.items_[i] for i in known[_cover(worth, nearness, reached, k)].tolist()]


def _likelihood(model: TaggedModel, tastes: Array, picked: Sequence[ItemId]) -> Array:
    """Return how likely each item is to be to the taste of somebody who picked some."""
    worth = model.popularity_[tastes]
    if not picked:
        return np.asarray(worth)
    profile = model.profile(picked)
    values = profile.values.copy()
    values[-1] = 0.0
    scores = model.scores(replace(profile, values=values))[tastes]
    spread = float(scores.std())
    return np.asarray(worth * np.exp((scores - scores.mean()) / spread) if spread > 0 else worth)


def _directions(model: TaggedModel, places: Sequence[int] | Array) -> Array:
    """Return what items say about taste, in rows of length 1 or 0 (items x tags)."""
    n = len(places)
    single = sp.csr_array(
        (np.ones(n), np.asarray(places, dtype=np.int64), np.arange(n + 1)),
        shape=(n, len(model.items_)),
    )
    carriers = np.bincount(model.decoder_.indices, minlength=len(model.tags_))
    rows = (model.encode(single)[:, :-1] * np.sqrt(carriers[:-1])).astype(np.float32)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1))


def _cover(worth: Array, nearness: Array, reached: Array, k: int) -> list[int]:
    """Return the columns taken one by one; of equals the first, which is the best known."""
    free = np.ones(nearness.shape[1], dtype=bool)
    taken: list[int] = []
    for _ in range(min(k, len(free))):
        gain = worth @ np.maximum(0, nearness - reached[:, None])
        gain[~free] = -np.inf
        taken.append(int(np.argmax(gain)))
        free[taken[-1]] = False
        reached = np.maximum(reached, nearness[:, taken[-1]])
    return taken
