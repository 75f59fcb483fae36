"""Quick start: the few items to ask a new visitor about."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.matrix import ItemId
from teaser.model.tagged import TaggedModel
from teaser.parameters import check_k

# The most popular tenth of the items counts as well known, within these bounds.
_KNOWN = (30, 150)
# The most chosen items represent possible tastes.
_TASTES = 1_000

Array = NDArray[Any]


class QuickStart:
    """The space of tastes of a model, from which items to ask about are chosen for many visitors.

    What does not depend on a visitor is computed once: the directions of the most chosen items.

    Parameters
    ----------
    model
        A fitted model, which must not change afterwards.
    """

    def __init__(self, model: TaggedModel) -> None:
        model.check_fitted()
        self.model = model
        table = model.tag_table_
        self._weights = np.sqrt(table.carriers.counts[: table.n_personal])
        self._order = np.lexsort((np.arange(len(model.items_)), -model.popularity_))
        self._tastes = self._order[:_TASTES]
        self._rows = _directions(model, self._tastes, self._weights)

    def picks(
        self, picks: Iterable[ItemId] = (), *, shown: Iterable[ItemId] = (), k: int = 6
    ) -> list[ItemId]:
        """Return k items to ask about; see `quick_picks`."""
        items, k = self.model.items_, check_k(k)
        picked = [items[items.index_of(i)] for i in picks]
        before = [items.index_of(i) for i in (*picked, *shown)]
        n_known = max(k, min(max(_KNOWN[0], len(self._order) // 10), _KNOWN[1]))
        known = np.flatnonzero(~np.isin(self._order, before))[:n_known]
        worth = _likelihood(self.model, self._tastes, picked)
        reached = self._near(before).max(axis=1, initial=0.0)
        taken = _cover(worth, self._near(self._order[known]), reached, k)
        return [items[i] for i in self._order[known[taken]].tolist()]

    def _near(self, places: Sequence[int] | Array) -> Array:
        """Return how near items are to each taste: the cosine, 0 for opposite directions."""
        rows = _directions(self.model, places, self._weights)
        return np.asarray(np.maximum(0, self._rows @ rows.T))


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

    See Also
    --------
    teaser.steer.quick_start.QuickStart
        Answers many such questions about one model.
    """
    return QuickStart(model).picks(picks, shown=shown, k=k)


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


def _directions(model: TaggedModel, places: Sequence[int] | Array, weights: Array) -> Array:
    """Return weighted encoder rows of items, scaled to length 1 or 0 (items x tags).

    `weights` are the roots of the numbers of items of each tag, since a product of two rows has
    them twice.
    """
    n = len(places)
    single = sp.csr_array(
        (np.ones(n), np.asarray(places, dtype=np.int64), np.arange(n + 1)),
        shape=(n, len(model.items_)),
    )
    values = model.tag_table_.apply_basis(model.encode(single))[:, : len(weights)]
    rows = (values * weights).astype(np.float32)
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
