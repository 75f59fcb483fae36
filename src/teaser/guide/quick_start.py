"""Quick start: the few items to ask a new visitor about."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.ids import ItemId
from teaser.model.checks import check_k
from teaser.model.tagged import TaggedModel

# The most popular tenth of the items counts as well known, within these bounds.
_KNOWN = (30, 150)
# The most chosen items represent possible tastes.
_TASTES = 1_000

Array = NDArray[Any]


def quick_picks(
    model: TaggedModel,
    picks: Iterable[ItemId] = (),
    *,
    shown: Iterable[ItemId] = (),
    k: int = 6,
) -> list[ItemId]:
    """Return k well-known items whose choice is most informative about a new user's taste.

    The items should cover the space of tastes: every likely taste has one of them near. Picking
    item i reveals its encoder row E_i, general appeal told apart. The similarity of items i and c
    is the cosine of their rows over declared and discovered tags, weighted by the number of items
    that carry them, and 0 where it is negative.
    Items are taken greedily to maximise

        sum over items c of  w_c * max similarity of c to an item shown or taken

    where w_c is the likelihood that c is to the user's taste: its popularity and, after the first
    pick, also the exponential of its standardised score for the profile of the picks, without
    popularity and general appeal.

    Parameters
    ----------
    picks
        Items that were picked so far.
    shown
        Items that were shown so far. Neither is proposed again, so fewer than k may be left.
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
    # Cosines (tastes x candidates); opposite tastes count as unrelated.
    nearness = np.maximum(0, rows @ _directions(model, known).T)
    reached = np.maximum(0, rows @ _directions(model, before).T).max(axis=1, initial=0.0)
    return [model.items_[i] for i in known[_cover(worth, nearness, reached, k)].tolist()]


def _likelihood(model: TaggedModel, tastes: Array, picked: Sequence[ItemId]) -> Array:
    """Return the likelihood of each item, given the picks."""
    worth = model.popularity_[tastes]
    if not picked:
        return np.asarray(worth)
    profile = model.profile(picked)
    values, table = profile.values.copy(), model.tag_table_
    # Popularity is a factor of `worth` already, and general appeal is much the same.
    values[table.popularity] = 0.0
    if table.general is not None:
        values[table.general] = 0.0
    scores = model.scores(replace(profile, values=values))[tastes]
    spread = float(scores.std())
    return np.asarray(worth * np.exp((scores - scores.mean()) / spread) if spread > 0 else worth)


def _directions(model: TaggedModel, places: Sequence[int] | Array) -> Array:
    """Return weighted encoder rows of items, scaled to length 1 or 0 (items x tags)."""
    n = len(places)
    single = sp.csr_array(
        (np.ones(n), np.asarray(places, dtype=np.int64), np.arange(n + 1)),
        shape=(n, len(model.items_)),
    )
    table = model.tag_table_
    n = table.n_personal
    carriers = np.bincount(model.decoder_.indices, minlength=len(model.tags_))[:n]
    values = table.apply_basis(model.encode(single))[:, :n]
    # Roots, since a product of two rows has the weight of a tag twice.
    rows = (values * np.sqrt(carriers)).astype(np.float32)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1))


def _cover(worth: Array, nearness: Array, reached: Array, k: int) -> list[int]:
    """Return the columns taken greedily; ties go to the first, the most popular one."""
    free = np.ones(nearness.shape[1], dtype=bool)
    taken: list[int] = []
    for _ in range(min(k, len(free))):
        # By how much each candidate raises sum_c w_c * max similarity of c.
        gain = worth @ np.maximum(0, nearness - reached[:, None])
        gain[~free] = -np.inf
        taken.append(int(np.argmax(gain)))
        free[taken[-1]] = False
        reached = np.maximum(reached, nearness[:, taken[-1]])
    return taken
