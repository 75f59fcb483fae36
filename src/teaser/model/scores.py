"""Scores of users: what they are made from, the parts that sum to them, the best items by them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import explain as why
from teaser.errors import ParameterError
from teaser.explain import Parts
from teaser.model._arrays import as_dense, kernels_for
from teaser.model._kernels import compiled
from teaser.model.extensions.remainder import RemainderMatrix
from teaser.model.extensions.sparse import Encoder
from teaser.model.filters import Boosts
from teaser.model.tables import ItemTable, TagTable
from teaser.profile import MAX_PRESSES, PAPER_STEP, Steering

Array = NDArray[Any]
# Scores of one block of users.
_NUMBERS = 2**20
# From so many users on, histories are summed by compiled loops.
_MANY_USERS = 32
# The length of the list that presses are made for.
_RANK = 20
# Five presses of + bring so many more items with the tag into the first 20, and fill at least
# this share of them: 8 of 20.
_MORE, _FILLED = 3, 0.4
# How far from the first press to the fifth n presses are: ((n - 1) / 4)^power, of + and of -.
_PLUS, _MINUS = 3.0, 0.5
# Items move clearly further than they need.
_CLEARLY = 1.01
# The first press moves at least this part of what lifts an ordinary item into the list, and the
# fifth as much more.
_LEAST = 0.05
# Scores that differ by less, relative to their size, are equal.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class UserStates:
    """Several users, in the order of their histories.

    Attributes
    ----------
    rows
        Histories with the strength of each item, below 0 if disliked (users x items).
    values
        Affinities with tags, presses included (users x tags).
    tags_weight, viewed_weight
        What the tags' part of a score is multiplied by, and what the sum over the history of the
        remainder is (users).
    offset
        What is added to the score of every item: what centring took from all of them, in a model
        for which the sign of a score matters; 0 in others (users).
    """

    rows: sp.csr_array
    values: Array
    tags_weight: Array
    viewed_weight: Array
    offset: Array

    def at(self, users: slice | Sequence[int] | Array) -> "UserStates":
        """Return some of the users."""
        parts = (self.values, self.tags_weight, self.viewed_weight, self.offset)
        return UserStates(self.rows[users], *(part[users] for part in parts))

    def __iter__(self) -> Iterator["UserStates"]:
        """Yield the users one by one."""
        return (self.at([user]) for user in range(len(self.values)))


def user_blocks(n_users: int, n_items: int) -> Iterator[slice]:
    """Yield blocks of users whose scores take about 8 MB."""
    size = max(1, _NUMBERS // max(1, n_items))
    return (slice(first, first + size) for first in range(0, n_users, size))


def match_of(scores: Array, highest: Array | float) -> Array:
    """Return the match of items, shown in percent: max(0, score) / the highest score of all items.

    Where no item has a positive score, nothing matches: 0.
    """
    most = np.broadcast_to(highest, np.shape(scores))
    found: Array = np.zeros(np.shape(scores))
    np.divide(np.maximum(scores, 0.0), most, out=found, where=most > 0)
    return found


@dataclass(frozen=True, eq=False)
class Scored:
    """The score of every item for one user; of a product, also the scores of both models."""

    scores: Array
    factors: tuple[Array, Array] | None = None

    @cached_property
    def highest(self) -> float:
        """The highest score of all items."""
        return float(self.scores.max())

    def match(self, item_index: int) -> float:
        """Return the match of the item at a position, from 0 to 1."""
        return max(0.0, float(self.scores[item_index])) / self.highest if self.highest > 0 else 0.0


def sum_rows(matrix: Encoder, rows: sp.csr_array) -> Array:
    """Return sum_i x_i M_i over each history (users x columns), in double precision.

    Items beyond the rows of the matrix, which were added after the fit, add nothing.

    Parameters
    ----------
    matrix
        The encoder or the remainder, dense or csr.
    rows
        Histories with the strength x of each item (users x items).
    """
    n_learned, width = matrix.shape
    X = sp.csr_array(rows[:, :n_learned], dtype=np.float64)
    out = np.zeros((X.shape[0], width))
    is_sparse = sp.issparse(matrix)
    n_terms = X.nnz * (matrix.nnz // max(1, n_learned) if is_sparse else width)
    fast = kernels_for(n_terms) if X.shape[0] >= _MANY_USERS else None
    if fast is not None and is_sparse:
        of_X, of_M = ((M.indptr, M.indices, M.data) for M in (X, matrix))
        fast.add_sparse_rows(*of_X, *of_M, out)
    elif fast is not None:
        fast.add_rows(X.indptr, X.indices, X.data, np.asarray(matrix), out)
    else:
        # One user at a time: the same bits alone and in a batch.
        for user, (first, last) in enumerate(pairwise(X.indptr)):
            out[user] = X.data[first:last] @ matrix[X.indices[first:last]]
    return out


def score_parts(
    table: TagTable,
    R: RemainderMatrix,
    items: ItemTable,
    states: UserStates,
    user: Array,
    item: Array,
    boosts: Boosts | None = None,
) -> Parts:
    """Return the parts of the scores of some items, each for a user.

    Parameters
    ----------
    R
        The remainder, or None.
    user, item
        The user and the item of each row, by position.
    boosts
        What boosts add to each item, or None.
    """
    D = table.decoder[item]
    row = np.repeat(np.arange(len(item)), np.diff(D.indptr))
    affinity = states.values[user[row], D.indices]
    added = states.tags_weight[user[row]] * affinity * D.data  # a_j D_ij
    own, general = np.ones(len(row), dtype=np.bool_), states.offset[user]
    if table.general is not None:
        own = D.indices != table.general
        general = general + np.bincount(row[~own], added[~own], minlength=len(item))
    found = [(row[own], np.full(own.sum(), why.TAG), D.indices[own], added[own])]
    if R is not None:
        found.append(_viewed_parts(R, states, user, item))
    if boosts is not None:
        B = boosts.parts[item]
        row = np.repeat(np.arange(len(item)), np.diff(B.indptr))
        found.append((row, np.full(len(row), why.BOOST), B.indices, B.data))
    row, kind, place, added = (np.concatenate(each) for each in zip(*found, strict=True))
    return Parts(
        tags=table.tags,
        general=general,
        usual=np.ones(len(item)) if table.item_scale is None else table.item_scale[item],
        row=row,
        kind=kind,
        place=place,
        added=added,
        affinity=affinity[own],
        weight=D.data[own],
        groups=table.near_equal_group,
        item_name=items.name,
        boosts=() if boosts is None else boosts.names,
    )


def _viewed_parts(
    R: RemainderMatrix, states: UserStates, user: Array, item: Array
) -> tuple[Array, Array, Array, Array]:
    """Return what viewed items add: row, kind, item of the history, and number of each part.

    Items beyond those of R, which were added after the fit, add nothing and get nothing.
    """
    history = states.rows[user]
    row = np.repeat(np.arange(len(item)), np.diff(history.indptr))
    known = (history.indices < R.shape[0]) & (item[row] < R.shape[1])
    row, seen, strength = row[known], history.indices[known], history.data[known]
    # R on the items that some history or list has.
    (i, at_i), (j, at_j) = _numbered(seen, R.shape[0]), _numbered(item[row], R.shape[1])
    weights = as_dense(R[i][:, j])[at_i, at_j]
    added = states.viewed_weight[user[row]] * strength * weights  # w x_i R_ij
    kind = np.where(strength < 0, why.DISLIKED, why.VIEWED)
    adds = added != 0
    return row[adds], kind[adds], seen[adds], added[adds]


def _numbered(places: Array, n: int) -> tuple[Array, Array]:
    """Return the different ones of places below n, and the number of each place among them."""
    marked = np.zeros(n, dtype=np.bool_)
    marked[places] = True
    return np.flatnonzero(marked), (np.cumsum(marked) - 1)[places]


def ordinary_lifts(scores: Array, rows: sp.csr_array) -> Array:
    """Return what lifts an ordinary item into the list of each user: score at rank 20 - median.

    Items of the history have no rank. Of fewer than 160 items, the first eighth takes the place of
    the first 20. Where these scores are equal, it is five of the paper's steps.

    Parameters
    ----------
    scores
        Without presses, filters and boosts (users x items).
    rows
        Histories (users x items).
    """
    out = np.full(len(scores), MAX_PRESSES * PAPER_STEP)
    for user, own in enumerate(scores):
        left = np.delete(own, rows.indices[rows.indptr[user] : rows.indptr[user + 1]])
        if not len(left):
            continue
        place, middle = len(left) - min(_RANK, max(1, len(left) // 8)), len(left) // 2
        # The element below the middle is only part of the median of an even number of items.
        lower = middle - 1 + len(left) % 2
        left.partition((lower, middle, place))
        gap = left[place] - (left[lower] + left[middle]) / 2
        if gap > _ROUNDING * max(abs(left[place]), abs(left[middle])):
            out[user] = gap
    return out


@dataclass(frozen=True, eq=False)
class TagMoves:
    """How far presses of a user move the affinity with each tag, found where it is asked for.

    One press of + brings one more item with the tag into the first 20; five bring at least 8, and
    three more than there were. One press of - takes one out, five all of them. Between the first
    press and the fifth, + is gentle and - is thorough: most wishes for more of something are met
    by a few such items, and what is unwanted is unwanted everywhere.

    Attributes
    ----------
    scores
        Of one user, without presses, filters and boosts (items).
    seen
        The positions of the history's items, which have no rank.
    lift
        What lifts an ordinary item into the first 20; see `ordinary_lifts`.
    weights
        The weight of each tag in the items that carry it, above 0 (tags x items).
    """

    scores: Array
    seen: Array
    lift: float
    weights: sp.csr_array

    def __call__(self, places: Sequence[int] | None = None) -> Array:
        """Return the moves by -5 to 5 presses on the tags at some places (tags x 11); None: all."""
        every = range(self.weights.shape[0]) if places is None else places
        tags = np.asarray(every, dtype=np.int64)
        left, order = self._left
        rank = min(_RANK, max(1, len(order) // 8))
        scores = np.asarray(self.scores, dtype=np.float64)
        W, ends = self.weights, np.zeros((4, len(tags)))
        data = np.asarray(W.data, dtype=np.float64)
        _find_ends(scores, order, left, W.indptr, W.indices, data, tags, rank, _FILLED, ends)
        ends *= _CLEARLY
        least, n = _LEAST * self.lift, np.arange(1, MAX_PRESSES + 1)
        sides = []
        for first, last, power in ((ends[0], ends[1], _PLUS), (ends[2], ends[3], _MINUS)):
            first = np.maximum(first, least)
            more = np.maximum(last - first, least)
            part = ((n - 1) / (MAX_PRESSES - 1)) ** power
            sides.append(first[:, None] + more[:, None] * part)
        plus, minus = sides
        # Popularity and general appeal, which no item carries as a tag.
        apart = np.diff(W.indptr)[tags] == 0
        plus[apart] = minus[apart] = self.lift / MAX_PRESSES * n
        return np.hstack([-minus[:, ::-1], np.zeros((len(tags), 1)), plus])

    @cached_property
    def _left(self) -> tuple[Array, Array]:
        """A mask of the items that have a rank, and their positions in the order of the scores."""
        left = np.ones(len(self.scores), dtype=np.bool_)
        left[self.seen] = False
        order = np.argsort(-self.scores)  # moves are scores, so the order of equal ones is free
        return left, order[left[order]]


def _ends(
    scores: Array,
    order: Array,
    left: Array,
    indptr: Array,
    indices: Array,
    weights: Array,
    tags: Array,
    rank: int,
    filled: float,
    out: Array,
) -> None:
    """Write how far the affinities with some tags must move (4 x tags).

    The rows: up, so that one more item with the tag is among the first; up, so that they fill a
    share `filled` of the places, and `_MORE` more than now; down, so that one less is; down, so
    that none is. It is 0 where there is nothing to move.
    """
    mark = np.zeros(len(scores), dtype=np.int64)
    rivals = np.zeros(rank)  # the highest scores of items without the tag
    for n in range(len(tags)):
        first, last = indptr[tags[n]], indptr[tags[n] + 1]
        own, weight = np.zeros(last - first), np.zeros(last - first)
        n_own = 0
        for place in range(first, last):
            if left[indices[place]]:
                mark[indices[place]] = n + 1
                own[n_own], weight[n_own] = scores[indices[place]], weights[place]
                n_own += 1
        own, weight = own[:n_own], weight[:n_own]
        n_rivals = now = 0
        for place in range(len(order)):
            if n_rivals == rank:
                break
            if mark[order[place]] == n + 1:
                now += place < rank
            else:
                rivals[n_rivals] = scores[order[place]]
                n_rivals += 1
        # m items with the tag are among the first if m of them stand above the (rank + 1 - m)-th
        # rival. Each of them moves by its weight.
        one = min(n_own, rank, now + 1)
        many = min(n_own, rank, max(int(np.ceil(filled * rank)), now + _MORE))
        for row, m in ((0, one), (1, many)):
            if m > now and rank - m < n_rivals:
                moves = np.sort((rivals[rank - m] - own) / weight)
                out[row, n] = max(0.0, moves[m - 1])
        # At most m stay if the others fall below the (rank - m)-th rival.
        for row, m in ((2, now - 1), (3, 0)):
            if 0 <= m < now and rank - m <= n_rivals:
                moves = np.sort((own - rivals[rank - m - 1]) / weight)
                out[row, n] = max(0.0, moves[n_own - m - 1])


_find_ends = compiled(_ends)


def check_steered(presses: Any, steering: Any, n_users: int) -> None:
    """Raise `ParameterError` unless these are presses of several users, and a steering."""
    if not isinstance(steering, Steering):
        raise ParameterError(f"steering must be a Steering, found {steering!r}.")
    if presses is None:
        return
    if isinstance(presses, Mapping) or not isinstance(presses, Sequence):
        raise ParameterError("The presses of several users are a list, one mapping for each.")
    if len(presses) != n_users:
        raise ParameterError(f"There are {n_users} histories and {len(presses)} sets of presses.")


def top_k(scores: Array, k: int, *, exclude: Array, tie: Array) -> Array:
    """Return the positions of the k best items, best first.

    Parameters
    ----------
    scores
        Numbers; -inf where an item may not be returned.
    exclude
        Positions that may not be returned.
    tie
        Decides between equal scores, larger first; then the position does.
    """
    values = np.array(scores, dtype=np.float64)
    values[exclude] = -np.inf
    found = top_k_rows(values[None], k, exclude=None, tie=tie)[0]
    return np.asarray(found[found >= 0])


def top_k_rows(
    scores: Array, k: int, *, exclude: sp.csr_array | None, tie: Array, allowed: Array | None = None
) -> Array:
    """Return the k best items of every row, best first; -1 fills up (users x k).

    Parameters
    ----------
    scores
        Users x items, finite.
    exclude
        Items that may not be returned (users x items), or None.
    tie
        Decides between equal scores, larger first; then the position does.
    allowed
        Which items may be returned, true or false for each; None for all.
    """
    values = np.array(scores, order="C")
    if allowed is not None:
        values[:, ~allowed] = -np.inf
    if exclude is not None:
        user = np.repeat(np.arange(exclude.shape[0]), np.diff(exclude.indptr))
        values[user, exclude.indices] = -np.inf
    n_items = values.shape[1]
    out = np.full((len(values), k), -1, dtype=np.int64)
    width = min(k, n_items)
    if width == 0 or len(values) == 0:
        return out
    # Linear in the number of items; only those that reach the k-th largest score are sorted.
    least = np.partition(values, n_items - width, axis=1)[:, [n_items - width]]
    user, item = np.nonzero((values >= least) & (values > -np.inf))
    # lexsort decides by its last key first: user, score, then tie, then position.
    order = np.lexsort((item, -tie[item], -values[user, item], user))
    user, item = user[order], item[order]
    place = np.arange(len(user)) - np.searchsorted(user, user)
    first = place < width
    out[user[first], place[first]] = item[first]
    return out
