"""The best items of many users by their affinities, without an array of all scores."""

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model.extensions.remainder import RemainderMatrix
from teaser.model.gram import operator
from teaser.model.gram.bands import unwritable
from teaser.model.lists.ranking import kernels_for, tie_rank
from teaser.model.lists.selection import Placed
from teaser.model.tables import ItemTable
from teaser.model.user_state import UserStates

Array = NDArray[Any]

# Popular items that are looked at first, so that few others reach the worst of a list.
_FIRST = 64
# The rounding of a sum in single precision, with a factor of 4 to spare.
_ROUNDING = 2.0**-22
# Numbers beyond these may not be held in single precision.
_LARGEST, _SMALLEST = 1e30, 1e-36
_NONE = np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class Best:
    """The best items of several users.

    Attributes
    ----------
    places, scores
        Positions of items and their scores (users x k); -1 and 0 after the end of a list.
    highest
        The highest score of any item (users).
    """

    places: Array
    scores: Array
    highest: Array


@dataclass(frozen=True, eq=False)
class TagRanker:
    """What lists of many users are made from, where tags and a sparse remainder make scores.

    Attributes
    ----------
    items
        The items of the model.
    decoder
        D, items x tags.
    remainder
        R, a sparse one, or None.
    """

    items: ItemTable
    decoder: sp.csr_array
    remainder: RemainderMatrix = None

    def best(
        self,
        states: UserStates,
        k: int,
        placed: Placed,
        *,
        exclude_history: bool = True,
    ) -> Best | None:
        """Return the k best items of users, or None where the compiled loops cannot find them."""
        n_users, n_items = len(states.values), len(self.items)
        fast = kernels_for(n_users * self.decoder.nnz)
        boost = np.zeros(0) if placed.boosts is None else placed.boosts.total
        slack = self._slack(states, boost)
        if fast is None or not (slack < _LARGEST).all():
            return None
        width, rows = min(k, n_items), states.rows
        rows = rows if rows.has_sorted_indices else rows.sorted_indices()
        barred = np.zeros(0, dtype=bool) if placed.allowed is None else ~placed.allowed
        found = Best(
            np.empty((n_users, width), dtype=np.int64),
            np.empty((n_users, width)),
            np.empty(n_users),
        )
        seen_from = rows.indptr if exclude_history else np.zeros(n_users + 1, rows.indptr.dtype)
        factors = np.array([states.tags_weight, states.viewed_weight, states.offset, slack])
        D = self.decoder
        seen_from, seen = unwritable(seen_from, rows.indices)
        for first in range(0, n_users, fast.LANES):
            some = slice(first, first + fast.LANES)
            fast.best_items(
                (D.indptr, D.indices, D.data),
                states.values[some],
                factors[:, some],
                self._viewed(rows, some),
                boost,
                self._order,
                self.rank,
                barred,
                (seen_from[first : first + fast.LANES + 1], seen),
                (found.places[some], found.scores[some], found.highest[some]),
            )
        return found

    @property
    def parts(self) -> tuple[ItemTable, sp.csr_array, RemainderMatrix]:
        """What it was made from."""
        return self.items, self.decoder, self.remainder

    @cached_property
    def rank(self) -> Array:
        """The place of each item where all scores are equal: by popularity, then position."""
        return tie_rank(self.items.popularity)

    @cached_property
    def _order(self) -> Array:
        is_first = self.rank < _FIRST
        return np.concatenate([np.flatnonzero(is_first), np.flatnonzero(~is_first)])

    @cached_property
    def _reach(self) -> tuple[float, int]:
        """The largest sum of |D_ij| over the tags j of an item, and the most tags of one."""
        D = self.decoder
        sums = np.asarray(abs(D).sum(axis=1)).ravel()
        return float(sums.max(initial=0.0)), int(np.diff(D.indptr).max(initial=0))

    @cached_property
    def _viewed_reach(self) -> Array:
        """The largest |R_ij| of each row of the remainder, by item."""
        out, R = np.zeros(len(self.items)), self.remainder
        if R is not None:
            out[: R.shape[0]] = np.asarray(abs(R).max(axis=1).todense()).ravel()
        return out

    def _slack(self, states: UserStates, boost: Array) -> Array:
        """Return twice the bound of what single precision is wrong by (users).

        A sum of n products, each factor rounded, is within (n + 2) u sum_j |a_j D_ij|.
        """
        reach, most = self._reach
        largest = np.abs(states.values).max(axis=1, initial=0.0)
        size = (most + 4) * np.abs(states.tags_weight) * largest * reach
        if self.remainder is not None:
            size += np.abs(states.viewed_weight) * (abs(states.rows) @ self._viewed_reach)
        size += np.abs(boost).max(initial=0.0) + np.abs(states.offset)
        return np.asarray(_ROUNDING * size + _SMALLEST)

    def _viewed(self, rows: sp.csr_array, some: slice) -> Array:
        """Return what histories add to every item by the remainder (users x items)."""
        R = self.remainder
        if R is None:
            return _NONE
        own = sp.csr_array(rows[some, : R.shape[0]])
        out, fast = np.zeros((own.shape[0], rows.shape[1])), cast(ModuleType, operator.kernels())
        # Places without a sign spare the loop a test of each.
        kind = np.uint32 if R.indices.itemsize == 4 else np.uint64
        of_X = (own.indptr, own.indices, own.data)
        of_R = (R.indptr, R.indices.view(kind), R.data)
        fast.add_sparse_rows(*of_X, *of_R, out)
        return out
