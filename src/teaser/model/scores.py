"""Scores of users: what they are made from, the parts that sum to them, the best items by them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser import explain as why
from teaser.errors import ParameterError
from teaser.explain import PARTS, BoostName, Contributions
from teaser.model._arrays import kernels_for
from teaser.model.extensions.remainder import RemainderMatrix
from teaser.model.extensions.sparse import Encoder
from teaser.model.tables import ItemTable, TagTable
from teaser.profile import MAX_PRESSES, PAPER_STEP, Steering

Array = NDArray[Any]
# From so many users on, histories are summed by one product, for so many tags at a time.
_MANY_USERS, _TAGS = 32, 256
# The rank that an ordinary item reaches by all presses on one of its tags.
_RANK = 20
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
        return float(match_of(self.scores[item_index], self.highest))


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """The scores of some items for several users, split into parts that sum to them.

    Attributes
    ----------
    parts
        Parts x users x items, in the order of `PARTS`: general appeal, declared tags, discovered
        tags, popularity, viewed items. Values that items do not state count as declared tags.
    listed
        Which of the items are there (users x items): false after the end of a short list.
    """

    parts: Array
    listed: Array

    def __getitem__(self, name: str) -> Array:
        """Return one part by its name (users x items)."""
        return np.asarray(self.parts[PARTS.index(name)])

    @property
    def scores(self) -> Array:
        """The sums of the parts (users x items)."""
        return np.asarray(self.parts.sum(axis=0))


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
        for first in range(0, n_tags, _TAGS):
            some = slice(first, first + _TAGS)
            raw[:, some] = X @ np.ascontiguousarray(encoder[:, some], dtype=np.float64)
        return raw
    # One user at a time: the same bits alone and in a batch.
    for user in range(rows.shape[0]):
        span = slice(rows.indptr[user], rows.indptr[user + 1])
        is_known = rows.indices[span] < n_learned
        some = encoder[rows.indices[span][is_known]]
        x = rows.data[span][is_known].astype(np.float64)
        if sp.issparse(encoder):
            weights = some.data * np.repeat(x, np.diff(some.indptr))
            raw[user] = np.bincount(some.indices, weights, minlength=n_tags)
        elif (x == 1).all():
            raw[user] = some.sum(axis=0, dtype=np.float64)
        else:
            raw[user] = (x[:, None] * some).sum(axis=0)
    return raw


def viewed_sum(
    R: RemainderMatrix, places: Array, n_items: int, strengths: Array | None = None
) -> Array:
    """Return sum_i x_i R_ij over a history for every item j (n_items), in double precision.

    Items beyond those of R, which were added after the fit, add nothing and get nothing.

    Parameters
    ----------
    places, strengths
        The positions of the history's items, and x, the strength of each; 1 by default.
    """
    width = R.shape[1]
    is_known = places < R.shape[0]
    rows, x = R[places[is_known]], np.ones(int(is_known.sum()))
    if strengths is not None:
        x = strengths[is_known].astype(np.float64)
    if isinstance(R, np.ndarray):
        weighted = rows if (x == 1).all() else x[:, None] * rows
        added = weighted.sum(axis=0, dtype=np.float64)
    else:
        weights = rows.data * np.repeat(x, np.diff(rows.indptr))
        added = np.bincount(rows.indices, weights=weights, minlength=width)
    return added if width == n_items else np.pad(added, (0, n_items - width))


def viewed_parts(R: RemainderMatrix, places: Array, item: int) -> Array:
    """Return R_ij of each item i of a history for one item j, in double precision."""
    out = np.zeros(len(places))
    if item >= R.shape[1]:
        return out
    known = places < R.shape[0]
    if isinstance(R, np.ndarray):
        out[known] = R[places[known], item]
        return out
    indptr, indices, data = R.indptr, R.indices, R.data
    column = indices.dtype.type(item)  # another type would have the row converted
    for n in np.flatnonzero(known).tolist():
        # By bisection: the columns of a row are sorted.
        first, last = indptr[places[n]], indptr[places[n] + 1]
        at = first + indices[first:last].searchsorted(column)
        if at < last and indices[at] == item:
            out[n] = data[at]
    return out


def item_contributions(
    table: TagTable,
    R: RemainderMatrix,
    items: ItemTable,
    item_index: int,
    state: UserState,
    boosts: tuple[tuple[BoostName, float], ...] = (),
) -> Contributions:
    """Return the parts of one item's score for a user.

    Parameters
    ----------
    R
        The remainder, or None.
    boosts
        What each boost of the item adds.
    """
    D = table.decoder
    row = slice(D.indptr[item_index], D.indptr[item_index + 1])
    viewed = None
    if R is not None:
        # x_i R_ij for each item i of the history
        each = state.strengths * viewed_parts(R, state.seen, item_index)
        viewed = why.Viewed(
            state.viewed_weight * each,
            lambda n: items.name(int(state.seen[n])),
            state.strengths < 0,
        )
    return why.find_contributions(
        state.values,
        D.indices[row],
        D.data[row],
        table.tags,
        scale=state.tags_weight,
        general=table.general,
        offset=state.offset,
        viewed=viewed,
        groups=table.near_equal_group,
        boosts=boosts,
        usual=1.0 if table.item_scale is None else float(table.item_scale[item_index]),
    )


def split_scores(
    table: TagTable, R: RemainderMatrix, states: UserStates, places: Array
) -> ScoreParts:
    """Return the parts of the scores of each user's items.

    Parameters
    ----------
    places
        Positions of items (users x items), -1 where there is none.
    """
    listed = places >= 0
    where = np.where(listed, places, 0)
    out = np.zeros((len(PARTS), *places.shape))
    n_items = table.decoder.shape[0]
    # One column for each part but that of viewed items: which tags belong to it (tags x parts).
    belongs = table.kinds[:, None] == np.arange(len(PARTS) - 1)
    for user, state in enumerate(states):
        own = where[user]
        tags = table.decoder[own] @ (state.tags_weight * state.values[:, None] * belongs)
        out[:-1, user] = tags.T
        out[PARTS.index("general"), user] += state.offset
        if R is not None:
            viewed = viewed_sum(R, state.seen, n_items, state.strengths)
            out[-1, user] = state.viewed_weight * viewed[own]
    out[:, ~listed] = 0.0
    return ScoreParts(out, listed)


def press_steps(scores: Array, rows: sp.csr_array) -> Array:
    """Return the step of each user: (score at rank 20 - median score) / 5.

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
            out[user] = gap / MAX_PRESSES
    return out


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


# Items of which the largest score stands for all, to find the best faster.
_GROUP = 8


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
    k = min(k, len(values))
    bound = float(_lower_bounds(values[None], k)[0, 0]) if k else -np.inf
    # Where fewer than k items may be returned, the bound is -inf, which the others reach too.
    candidates = np.flatnonzero(values >= bound if bound > -np.inf else values > bound)
    order = np.lexsort((candidates, -tie[candidates], -values[candidates]))
    return candidates[order[:k]]


def top_k_rows(
    scores: Array, k: int, *, exclude: sp.csr_array | None, tie: Array, allowed: Array | None = None
) -> Array:
    """Return the k best items of every row, as `top_k` does for one; -1 fills up (users x k).

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
    # Linear in the number of items; only those that reach the bound are sorted.
    user, item = np.nonzero((values >= _lower_bounds(values, width)) & (values > -np.inf))
    # lexsort decides by its last key first: user, score, then tie, then position.
    order = np.lexsort((item, -tie[item], -values[user, item], user))
    user, item = user[order], item[order]
    place = np.arange(len(user)) - np.searchsorted(user, user)
    first = place < width
    out[user[first], place[first]] = item[first]
    return out


def _lower_bounds(values: Array, k: int) -> Array:
    """Return for each row a number that its k largest values reach, and few others (rows x 1).

    Of the maxima of groups of items, the k-th largest is at most the k-th largest value.
    """
    n_items = values.shape[1]
    n_groups = n_items // _GROUP
    groups = values
    if n_groups >= 4 * k:
        groups = values[:, : n_groups * _GROUP].reshape(len(values), _GROUP, n_groups).max(axis=1)
    last = groups.shape[1] - k
    return np.asarray(np.partition(groups, last, axis=1)[:, last : last + 1])
