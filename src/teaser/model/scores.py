"""Scores of users: what they are made from, the parts that sum to them, the best items by them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import explain as why
from teaser.errors import ParameterError
from teaser.explain import BoostName, Contributions
from teaser.model._arrays import kernels_for
from teaser.model._kernels import compiled
from teaser.model.extensions.remainder import RemainderMatrix
from teaser.model.extensions.sparse import Encoder
from teaser.model.tables import ItemTable, TagTable
from teaser.profile import MAX_PRESSES, OWN_POWER, PAPER_STEP, Steering, press_moves

Array = NDArray[Any]
# From so many users on, histories are summed by compiled loops.
_MANY_USERS = 32
# The rank that an ordinary item reaches by all presses on one of its tags.
_RANK = 20
# Three presses bring one more item with the tag into the first 20, or take one out, and five fill
# this share of the places: 8 of 20.
_ONE, _MANY, _FILLED = 3, MAX_PRESSES, 0.4
# Tags on more than this share of the items, and on more than two lists of them, fill half of these
# places: otherwise three presses would bring more such items than people who press like.
_BROAD = 0.01
# Items move clearly further than they need.
_CLEARLY = 1.01
# Steps are within these multiples of that of an ordinary item.
_LEAST_STEP, _MOST_STEP = 0.1, 2.0
# Scores that differ by less, relative to their size, are equal.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class UserState:
    """One user.

    Attributes
    ----------
    values
        Affinities with tags, presses included (tags).
    seen, strengths
        The positions of the history's items, and the strength of each, below 0 if disliked.
    tags_weight, viewed_weight
        What the tags' part of a score is multiplied by, and what the sum over the history of the
        remainder is.
    offset
        What is added to the score of every item: what centring took from all of them, in a model
        for which the sign of a score matters; 0 in others.
    """

    values: Array
    seen: Array
    strengths: Array
    tags_weight: float
    viewed_weight: float
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class UserStates:
    """Several users, in the order of their histories.

    Attributes
    ----------
    rows
        Histories with the strength of each item, users x items.
    values
        Affinities with tags, presses included (users x tags).
    tags_weight, viewed_weight, offset
        As in `UserState`, one for each user.
    """

    rows: sp.csr_array
    values: Array
    tags_weight: Array
    viewed_weight: Array
    offset: Array

    def __getitem__(self, user: int) -> UserState:
        span = slice(self.rows.indptr[user], self.rows.indptr[user + 1])
        return UserState(
            self.values[user],
            self.rows.indices[span],
            self.rows.data[span],
            float(self.tags_weight[user]),
            float(self.viewed_weight[user]),
            float(self.offset[user]),
        )

    def at(self, users: slice | Array) -> "UserStates":
        """Return some of the users."""
        parts = (self.values, self.tags_weight, self.viewed_weight, self.offset)
        return UserStates(self.rows[users], *(part[users] for part in parts))

    def __iter__(self) -> Iterator[UserState]:
        return (self[user] for user in range(self.rows.shape[0]))


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
    """The score of every item for one user."""

    scores: Array

    @cached_property
    def highest(self) -> float:
        """The highest score of all items."""
        return float(self.scores.max())

    def match(self, item_index: int) -> float:
        """Return the match of the item at a position, from 0 to 1."""
        return max(0.0, float(self.scores[item_index])) / self.highest if self.highest > 0 else 0.0


def sum_rows(encoder: Encoder, rows: sp.csr_array) -> Array:
    """Return p = sum_i x_i E_i over each history (users x tags), in double precision.

    Items beyond the encoder's rows add nothing.

    Parameters
    ----------
    rows
        Histories with the strength x of each item (users x items).
    """
    n_learned, n_tags = encoder.shape
    raw = np.zeros((rows.shape[0], n_tags))
    if rows.shape[0] >= _MANY_USERS and not sp.issparse(encoder):
        X = sp.csr_array(rows[:, :n_learned], dtype=np.float64)
        fast = kernels_for(X.nnz * n_tags)
        if fast is not None:
            fast.add_rows(X.indptr, X.indices, X.data, np.asarray(encoder), raw)
            return raw
    # One user at a time: the same bits alone and in a batch.
    for user in range(rows.shape[0]):
        span = slice(rows.indptr[user], rows.indptr[user + 1])
        raw[user] = weighted_sum(encoder, rows.indices[span], rows.data[span])
    return raw


def weighted_sum(matrix: Encoder, places: Array, weights: Array) -> Array:
    """Return the weighted sum of some rows of a matrix, dense or csr, in double precision.

    Places beyond its rows, of items that were added after the fit, add nothing.
    """
    known = places < matrix.shape[0]
    rows, x = matrix[places[known]], weights[known].astype(np.float64)
    if sp.issparse(matrix):
        parts = rows.data * np.repeat(x, np.diff(rows.indptr))
        return np.bincount(rows.indices, parts, minlength=matrix.shape[1])
    weighted = rows if (x == 1).all() else x[:, None] * rows
    return np.asarray(weighted.sum(axis=0, dtype=np.float64))


def viewed_sum(R: RemainderMatrix, places: Array, n_items: int, strengths: Array) -> Array:
    """Return sum_i x_i R_ij over a history for every item j (n_items), in double precision.

    Items beyond those of R, which were added after the fit, add nothing and get nothing.

    Parameters
    ----------
    places, strengths
        The positions of the history's items, and x, the strength of each.
    """
    return np.pad(weighted_sum(R, places, strengths), (0, n_items - R.shape[1]))


def viewed_parts(R: RemainderMatrix, places: Array, items: Array) -> Array:
    """Return R_ij of each item j and of each item i of a history (items x history), as doubles."""
    out = np.zeros((len(items), len(places)))
    known, given = places < R.shape[0], items < R.shape[1]
    if isinstance(R, np.ndarray):
        out[np.ix_(given, known)] = R[np.ix_(places[known], items[given])].T
        return out
    rows = R[places[known]]
    at = np.full(R.shape[1], -1)  # where an item stands among those that are asked for
    at[items[given]] = np.flatnonzero(given)
    of = np.repeat(np.flatnonzero(known), np.diff(rows.indptr))
    wanted = at[rows.indices]
    found = wanted >= 0
    out[wanted[found], of[found]] = rows.data[found]
    return out


def item_contributions(
    table: TagTable,
    R: RemainderMatrix,
    items: ItemTable,
    places: Array,
    state: UserState,
    boosts: Callable[[int], tuple[tuple[BoostName, float], ...]] = lambda item: (),
) -> Iterator[Contributions]:
    """Yield the parts of the scores of several items for a user.

    Parameters
    ----------
    R
        The remainder, or None.
    places
        The positions of the items, each once.
    boosts
        Returns what each boost of an item adds.
    """
    D = table.decoder
    # w x_i R_ij for each item i of the history
    weights = state.viewed_weight * state.strengths
    each = None if R is None else weights * viewed_parts(R, state.seen, places)
    for n, item in enumerate(places.tolist()):
        row = slice(D.indptr[item], D.indptr[item + 1])
        yield why.find_contributions(
            state.values,
            D.indices[row],
            D.data[row],
            table.tags,
            scale=state.tags_weight,
            general=table.general,
            offset=state.offset,
            viewed=None
            if each is None
            else why.Viewed(each[n], lambda v: items.name(int(state.seen[v])), state.strengths < 0),
            groups=table.near_equal_group,
            boosts=boosts(item),
            usual=1.0 if table.item_scale is None else float(table.item_scale[item]),
        )


def press_steps(scores: Array, rows: sp.csr_array) -> Array:
    """Return the step of each user: (score at rank 20 - median score) / 5^0.45.

    Five presses then lift an ordinary item with the tag into the first 20. Items of the history
    have no rank. Of fewer than 160 items, the first eighth takes the place of the first 20. Where
    these scores are equal, the step is the paper's.

    Parameters
    ----------
    scores
        Without presses, filters and boosts (users x items).
    rows
        Histories (users x items).
    """
    out = np.full(len(scores), PAPER_STEP)
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
            out[user] = gap / press_moves(MAX_PRESSES, OWN_POWER)
    return out


def tag_steps(
    scores: Array,
    seen: Array,
    step: float,
    carriers: sp.csr_array,
    weights: Array,
    places: Sequence[int] | None = None,
) -> Array:
    """Return how far one press of a user moves the affinity with each tag.

    Three presses bring at least one more item with the tag into the first 20, or take one out, and
    five bring at least 8, as far as `step` allows; 4 where more than 1 % of the items carry the
    tag. A tag that most of the first 20 carry needs little, so that it does not drown everything
    else.

    Parameters
    ----------
    scores
        Of one user, without presses, filters and boosts (items).
    seen
        The positions of the history's items, which have no rank.
    step
        The result of `press_steps`: the largest move of an ordinary item's score.
    carriers
        Which items carry each tag (tags x items).
    weights
        The usual weight of each tag in its items (tags).
    places
        The tags that are asked for; None: all.
    """
    every = range(carriers.shape[0]) if places is None else places
    tags = np.asarray(every, dtype=np.int64)
    left = np.ones(len(scores), dtype=np.bool_)
    left[seen] = False
    n_left = int(left.sum())
    rank = min(_RANK, max(1, n_left // 8))
    order = np.argsort(-scores, kind="stable")
    order = order[left[order]]
    moves = np.zeros((3, len(tags)))
    _find_moves(
        np.asarray(scores, dtype=np.float64),
        order,
        left,
        carriers.indptr,
        carriers.indices,
        tags,
        rank,
        _FILLED,
        moves,
    )
    more, less, many = moves
    one = np.maximum(more, less) / press_moves(_ONE, OWN_POWER)
    needed = _CLEARLY * np.maximum(one, many / press_moves(_MANY, OWN_POWER))
    found = np.clip(needed, _LEAST_STEP * step, _MOST_STEP * step)
    # Popularity and general appeal, which no item carries as a tag.
    found[np.diff(carriers.indptr)[tags] == 0] = step
    return np.asarray(found / weights[tags])


def _moves(
    scores: Array,
    order: Array,
    left: Array,
    indptr: Array,
    indices: Array,
    tags: Array,
    rank: int,
    filled: float,
    out: Array,
) -> None:
    """Write how far the items with each tag must move in score (3 x tags).

    The rows: up, so that one more is among the first; down, so that one less is; up, so that they
    have a share `filled` of the places, or half of it; 0 where there is nothing to move.
    """
    mark = np.zeros(len(scores), dtype=np.int64)
    best = np.zeros(rank)  # the highest scores of carriers
    rivals = np.zeros(rank)  # and of other items
    broad = max(2 * rank, int(_BROAD * len(order)))
    for n in range(len(tags)):
        n_best = n_own = 0
        for place in range(indptr[tags[n]], indptr[tags[n] + 1]):
            item = indices[place]
            if not left[item]:
                continue
            mark[item] = n + 1
            n_own += 1
            score = scores[item]
            if n_best == rank and score <= best[rank - 1]:
                continue
            at = n_best if n_best < rank else rank - 1
            while at > 0 and best[at - 1] < score:
                best[at] = best[at - 1]
                at -= 1
            best[at] = score
            n_best = min(rank, n_best + 1)
        n_rivals = now = 0
        for place in range(len(order)):
            if n_rivals == rank:
                break
            if mark[order[place]] == n + 1:
                now += place < rank
            else:
                rivals[n_rivals] = scores[order[place]]
                n_rivals += 1
        # m carriers are among the first if the m-th stands above the (rank + 1 - m)-th rival.
        if now < n_best and rank - now <= n_rivals:
            out[0, n] = max(0.0, rivals[rank - now - 1] - best[now])
        if now > 0 and rank - now < n_rivals:
            out[1, n] = max(0.0, best[now - 1] - rivals[rank - now])
        share = filled if n_own <= broad else filled / 2
        m = min(n_best, int(np.ceil(share * rank)))
        if m > now and rank - m < n_rivals:
            out[2, n] = max(0.0, rivals[rank - m] - best[m - 1])


_find_moves = compiled(_moves)


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
