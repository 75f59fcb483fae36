"""The best items of many users on a GPU: only the lists come back to main memory.

The arrays are those of the library of an array `like`: CuPy's on a GPU, numpy's in main memory.
Items stand in the order in which equal scores are listed, so that a stable sort is enough.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.errors import ResourceError
from teaser.model.basis import Basis
from teaser.model.extensions.remainder import RemainderMatrix
from teaser.model.gram.blocks import is_sparse, sparse_like
from teaser.model.gram.gpu import free_memory, shortage_of, to_host
from teaser.model.lists.best_items import Best
from teaser.model.lists.ranking import tie_rank
from teaser.model.lists.selection import Placed
from teaser.model.tables import ItemTable, TagTable
from teaser.model.user_state import UserStates
from teaser.profile import Steering, scaled

Array = NDArray[Any]
# Bytes for each score of a user while lists are found: the scores themselves in single precision,
# what is added to them, which reach the bound, and their sorted positions.
_BYTES = 40
# Items of which the largest score stands for all, to find the best faster.
_GROUP = 32


class DeviceLists:
    """What makes lists on the device of an array.

    Parameters
    ----------
    encoder, table, items, remainder
        Of a fitted model; the encoder an array or a sparse one.
    like
        An array of the device.
    """

    def __init__(
        self,
        encoder: Any,
        table: TagTable,
        items: ItemTable,
        remainder: RemainderMatrix,
        like: Array,
    ) -> None:
        self.parts = (encoder, table, items, remainder)
        self.like, self.table = like, table
        _check_room(like, encoder, table.decoder, remainder)
        self.rank = tie_rank(items.popularity)
        self.order = np.argsort(self.rank)
        self.encoder = self._move(encoder)
        self.decoder = self._move(sp.csr_array(table.decoder)[self.order])
        self.remainder = None
        if remainder is not None:
            self.remainder = self._move(_by_rank(remainder, self.order))
        self.basis = None if table.basis is None else _DeviceBasis(table.basis, like)

    def affinities(self, rows: sp.csr_array, steering: Steering) -> tuple[Array, Array]:
        """Return affinities of users without dislikes (users x tags), and the factor of each."""
        known = self._rows(rows, self.encoder.shape[0])
        raw = known @ self.encoder
        raw = raw.toarray() if is_sparse(raw) else raw
        values = raw if self.basis is None else self.basis.apply(raw)
        return scaled(
            raw,
            values,
            np.diff(rows.indptr),
            n_personal=self.table.n_personal,
            cold=len(self.table.tags) - 1,
            steering=steering,
            nth_largest=_nth_largest,
        )

    def best(
        self,
        rows: sp.csr_array,
        placed: Placed,
        *,
        k: int,
        steering: Steering,
        exclude_history: bool,
        states: UserStates | None = None,
    ) -> Best:
        """Return the k best items of users.

        Parameters
        ----------
        rows
            Histories (users x items).
        states
            The users, where they are known or not computed here; None for those of `affinities`.
        """
        size, k = self.block_size(rows.shape[1], len(self.table.tags)), min(k, rows.shape[1])
        found = Best(
            np.full((rows.shape[0], k), -1), np.zeros((rows.shape[0], k)), np.zeros(rows.shape[0])
        )
        for first in range(0, rows.shape[0], size):
            some = slice(first, first + size)
            own = None if states is None else states.at(some)
            try:
                scores = self._scores(rows[some], steering, own)
                if placed.boosts is not None:
                    total = placed.boosts.total[self.order].astype(scores.dtype)
                    scores += np.asarray(total, like=scores)[:, None]
                found.highest[some] = to_host(scores.max(axis=0))
                self._bar(scores, rows[some] if exclude_history else None, placed.allowed)
                found.places[some], found.scores[some] = self._select(scores, k)
            except Exception as error:
                shortage = shortage_of(error)
                if shortage is None:
                    raise
                raise ResourceError(
                    f"The lists of {len(found.highest[some]):,} users ran out of the memory of "
                    f"the GPU ({shortage}). Use a smaller batch_size, or device='cpu'."
                ) from error
        return found

    def block_size(self, n_items: int, n_tags: int) -> int:
        """Return how many users are listed at a time, or raise `ResourceError` for none."""
        own = _BYTES * n_items + 6 * self.like.dtype.itemsize * n_tags
        have = 2**30 if isinstance(self.like, np.ndarray) else free_memory()
        if own > have // 2:
            raise ResourceError(
                f"The list of one user needs {own / 1e9:.3f} GB on the GPU, which has "
                f"{have / 1e9:.3f} GB free, and may use half of it. Use device='cpu'."
            )
        return max(1, have // 2 // max(1, own))

    def _scores(self, rows: sp.csr_array, steering: Steering, states: UserStates | None) -> Array:
        """Return the scores of all items (items x users), in the order of `rank`."""
        dtype = self.like.dtype
        n_viewed = 0 if self.remainder is None else self.remainder.shape[0]
        if states is None:
            values, factors = self.affinities(rows, steering)
            has_viewed = np.diff(rows[:, :n_viewed].indptr) > 0
            weight = np.asarray(np.where(has_viewed, steering.tags_weight, 1.0), like=values)
            viewed_weight = np.where(
                np.asarray(has_viewed, like=values), steering.viewed_weight * factors, 0.0
            )
            offset = np.zeros(rows.shape[0])
        else:
            values = np.asarray(states.values.astype(dtype), like=self.like)
            weight, viewed_weight = (
                np.asarray(each, like=self.like)
                for each in (states.tags_weight, states.viewed_weight)
            )
            offset = states.offset
        scores = self.decoder @ (weight[:, None] * values).astype(dtype).T
        if self.remainder is not None:
            viewed = self._rows(rows, n_viewed) @ self.remainder
            viewed = viewed.toarray() if is_sparse(viewed) else viewed
            scores += (viewed * viewed_weight.astype(dtype)[:, None]).T
        if offset.any():
            scores += np.asarray(offset.astype(dtype), like=scores)[None, :]
        return np.asarray(scores, order="C", like=scores)

    def _bar(self, scores: Array, seen: sp.csr_array | None, allowed: Array | None) -> None:
        """Set the scores of items that may not be listed to minus infinity."""
        if allowed is not None:
            barred = np.asarray(~allowed[self.order], like=scores)
            scores[barred] = -np.inf
        if seen is not None:
            user = np.repeat(np.arange(seen.shape[0]), np.diff(seen.indptr))
            item = self.rank[seen.indices]
            scores[np.asarray(item, like=scores), np.asarray(user, like=scores)] = -np.inf

    def _select(self, scores: Array, k: int) -> tuple[Array, Array]:
        """Return positions and scores of the k best items of each user (users x k)."""
        n_users = scores.shape[1]
        bound = _lower_bounds(scores, k)
        item, user = np.nonzero((scores >= bound[None, :]) & (scores > -np.inf))
        found = scores[item, user]
        # By user, then the largest score; a stable sort leaves equal scores in the order of items.
        order = np.argsort(_descending(found, user), kind="stable")
        item, user, found = item[order], user[order], found[order]
        place = np.arange(len(user), like=user) - np.searchsorted(user, user)
        first = place < k
        at = (user[first], place[first])
        # CuPy's `full` does not take all that numpy's passes on to it.
        places = np.zeros((n_users, k), dtype=np.int64, like=user) - 1
        kept = np.zeros((n_users, k), dtype=scores.dtype, like=scores)
        places[at], kept[at] = item[first], found[first]
        listed = to_host(places)
        return np.where(listed >= 0, self.order[listed], -1), to_host(kept)

    def _rows(self, rows: sp.csr_array, width: int) -> Any:
        """Return the first columns of histories, on the device."""
        return self._move(sp.csr_array(rows[:, :width]))

    def _move(self, matrix: Any) -> Any:
        dtype = self.like.dtype
        if sp.issparse(matrix):
            return sparse_like(sp.csr_array(matrix, dtype=dtype), self.like)
        return np.asarray(np.asarray(matrix, dtype=dtype), like=self.like)


class _DeviceBasis:
    """`Basis.apply` for many rows at once, on the device of an array."""

    def __init__(self, basis: Basis, like: Array) -> None:
        n_groups = int(basis.group.max(initial=-1)) + 1
        belongs = basis.group[None, :] == np.arange(n_groups)[:, None]
        learned = belongs[:, : basis.n_learned] * basis.share
        self.omega = basis.omega
        self.means, self.belongs, self.q = (
            np.asarray(each.astype(like.dtype), like=like) for each in (learned.T, belongs, basis.q)
        )

    def apply(self, raw: Array) -> Array:
        """Return v for rows of raw scores p (rows x learned tags), rows x columns."""
        n_learned = raw.shape[1]
        out = np.zeros((len(raw), len(self.q) + 1), dtype=raw.dtype, like=raw)
        v = out[:, :-1]
        v[:, :n_learned] = raw
        if len(self.belongs):
            v -= (raw @ self.means) @ self.belongs  # m_f of the feature of each column
        along = v @ self.q
        v -= along[:, None] * self.q
        out[:, -1] = self.omega * along
        return out


def _check_room(like: Array, *matrices: Any) -> None:
    """Raise `ResourceError` where the arrays of a model do not fit into the memory of a GPU."""
    if isinstance(like, np.ndarray):
        return
    need, have = 0, free_memory()
    for each in matrices:
        if each is not None:
            n = each.nnz if sp.issparse(each) else each.size
            need += n * (8 if sp.issparse(each) else 4)
    if need > have:
        raise ResourceError(
            f"The arrays of the model need {need / 1e9:.1f} GB on the GPU, which has "
            f"{have / 1e9:.1f} GB free. Use device='cpu'."
        )


def _by_rank(R: RemainderMatrix, order: Array) -> Any:
    """Return R with its columns in the order of ranks, zero for items added after the fit."""
    n_learned = R.shape[1]
    if sp.issparse(R):
        wide = sp.csr_array((R.data, R.indices, R.indptr), shape=(R.shape[0], len(order)))
        return wide[:, order]
    return np.pad(np.asarray(R), ((0, 0), (0, len(order) - n_learned)))[:, order]


def _lower_bounds(scores: Array, k: int) -> Array:
    """Return for each column a number that its k largest reach, and few others."""
    n_items, n_users = scores.shape
    n_groups = n_items // _GROUP
    groups = scores
    if n_groups >= 4 * k:
        groups = scores[: n_groups * _GROUP].reshape(_GROUP, n_groups, n_users).max(axis=0)
    ordered = np.sort(np.asarray(groups.T, order="C", like=scores), axis=1)
    return np.asarray(ordered[:, ordered.shape[1] - k], like=scores)


def _descending(scores: Array, user: Array) -> Array:
    """Return whole numbers in the order of users, then of scores in single precision, downwards."""
    bits = scores.astype(np.float32).view(np.int32).astype(np.int64)
    # The bits of numbers below 0 are in the opposite order.
    upwards = np.where(bits >= 0, bits, -(2**31) - bits)
    return np.asarray((user.astype(np.int64) << 33) - upwards, like=scores)


def _nth_largest(size: Array, n: int, nth: int) -> Array:
    """Return the nth largest of the first n numbers of each row, and the one above it."""
    return np.asarray(np.sort(size[:, :n], axis=1)[:, n - nth : n - nth + 2], like=size)
