"""The loops over scores of many users, compiled by numba: imported only where it is installed.

The best items of a user are kept in a heap whose root is the worst of them; an item is looked at
only if its score reaches the root's. Places in `rank` decide between equal scores, the smaller
first.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.model.compiled.compiler import compiled

Array = NDArray[Any]
# Users whose scores are summed side by side, so that a loop over them fills the vector registers
# and their affinities stay in the cache of a core.
LANES = 64
# Items, or scores of one user, that are compared with the worst of the list at once.
_TILE = 64
_LOWEST = float(np.finfo(np.float64).min)
# How numbers are told apart at first: by their exponent and 6 bits, over 16 powers of two.
_BUCKETS, _SHIFT = 1024, 46


def _is_worse(score: float, item: int, other: float, other_item: int, rank: Array) -> bool:
    """Return whether an item stands below another."""
    return score < other or (score == other and rank[item] > rank[other_item])


def _sink(scores: Array, items: Array, rank: Array, size: int) -> None:
    """Move the root of a heap down to where it belongs."""
    at, score, item = 0, scores[0], items[0]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and is_worse(
            scores[child + 1], items[child + 1], scores[child], items[child], rank
        ):
            child += 1
        if not is_worse(scores[child], items[child], score, item, rank):
            break
        scores[at], items[at] = scores[child], items[child]
        at = child
    scores[at], items[at] = score, item


def _keep(scores: Array, items: Array, rank: Array, size: int, score: float, item: int) -> int:
    """Put an item into a heap of at most len(scores) items, and return how many it then has."""
    if size == scores.size:
        if is_worse(scores[0], items[0], score, item, rank):
            scores[0], items[0] = score, item
            sink(scores, items, rank, size)
        return size
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if not is_worse(score, item, scores[parent], items[parent], rank):
            break
        scores[at], items[at] = scores[parent], items[parent]
        at = parent
    scores[at], items[at] = score, item
    return size + 1


def _sort(scores: Array, items: Array, rank: Array, size: int) -> None:
    """Turn a heap into a list, best first; -1 stands after its end."""
    for last in range(size - 1, 0, -1):
        scores[0], scores[last] = scores[last], scores[0]
        items[0], items[last] = items[last], items[0]
        sink(scores, items, rank, last)
    for at in range(size, scores.size):
        scores[at], items[at] = 0.0, -1


def _nth_largest(bits: Array, n: int, nth: int, found: Array) -> None:
    """Write the nth largest of the first n numbers of every row, and the one above it.

    Parameters
    ----------
    bits
        Numbers of at least 0 as whole numbers of the same bits, whose order is the same.
    nth
        Its place from above, at least 2.
    found
        Rows x 2, bits as well.
    """
    # Buckets of numbers with the same exponent and first bits, the largest first.
    counts = np.zeros(_BUCKETS, np.int64)
    near = np.zeros(n, np.int64)
    for r in range(bits.shape[0]):
        row, largest = bits[r], bits[r, 0]
        for j in range(n):
            largest = max(largest, row[j])
        first = largest >> _SHIFT
        counts[:] = 0
        for j in range(n):
            counts[min(first - (row[j] >> _SHIFT), _BUCKETS - 1)] += 1
        last, above = 0, counts[0]
        while above < nth:
            last += 1
            above += counts[last]
        least = (first - last) << _SHIFT if last < _BUCKETS - 1 else 0
        size = 0
        for j in range(n):
            if row[j] >= least:
                near[size] = row[j]
                size += 1
        ordered = np.sort(near[:size])
        found[r, 0], found[r, 1] = ordered[size - nth], ordered[size - nth + 1]


def _is_seen(seen: Array, first: int, last: int, item: int) -> bool:
    """Return whether an item is among sorted ones."""
    while first < last:
        middle = (first + last) // 2
        if seen[middle] < item:
            first = middle + 1
        elif seen[middle] > item:
            last = middle
        else:
            return True
    return False


def _exact_score(
    decoder: tuple[Array, Array, Array],
    user: Array,
    factors: Array,
    viewed: float,
    boost: Array,
    i: int,
) -> float:
    """Return the score of an item for one user, term by term, in double precision."""
    tags_from, tags, weights = decoder
    total = 0.0
    for at in range(tags_from[i], tags_from[i + 1]):
        total += weights[at] * user[tags[at]]
    total = factors[0] * total + factors[1] * viewed + factors[2]
    return float(total + boost[i] if boost.size else total)


def _select_rows(
    values: Array,
    history: tuple[Array, Array],
    rank: Array,
    barred: Array,
    places: Array,
    scores: Array,
) -> None:
    """Write the best items of every row of scores (users x items); see `best_items`."""
    seen_from, seen = history
    n_items = values.shape[1]
    for u in range(values.shape[0]):
        row, kept, own = values[u], scores[u], places[u]
        # Nothing is listed by a score of minus infinity, or by one that is not a number.
        size, bound = 0, _LOWEST
        for first in range(0, n_items, _TILE):
            last = min(first + _TILE, n_items)
            hits = 0
            for i in range(first, last):
                hits += row[i] >= bound
            if hits == 0:
                continue
            for i in range(first, last):
                if not row[i] >= bound or (barred.size and barred[i]):
                    continue
                if is_seen(seen, seen_from[u], seen_from[u + 1], i):
                    continue
                size = keep(kept, own, rank, size, row[i], i)
                if size == kept.size:
                    bound = kept[0]
        sort(kept, own, rank, size)


def _turn(users: Array, factor: Array, lanes: int) -> Array:
    """Return factor x users, turned (tags x lanes) and in single precision."""
    n, n_tags = users.shape
    turned = np.zeros((n_tags, lanes), np.float32)
    for first in range(0, n_tags, _TILE):
        for u in range(n):
            for j in range(first, min(first + _TILE, n_tags)):
                turned[j, u] = factor[u] * users[u, j]
    return turned


def _add_tags(
    tags: Array, weights: Array, first: int, last: int, turned: Array, total: Array
) -> None:
    """Add to the sums of all lanes the affinities with the tags of an item."""
    lanes, at = total.size, first
    # Four tags a turn, so that the sums are read and written once for all of them.
    while at + 4 <= last:
        a, b = turned[tags[at]], turned[tags[at + 1]]
        c, d = turned[tags[at + 2]], turned[tags[at + 3]]
        v, w = np.float32(weights[at]), np.float32(weights[at + 1])
        x, y = np.float32(weights[at + 2]), np.float32(weights[at + 3])
        for u in range(lanes):
            total[u] += (v * a[u] + w * b[u]) + (x * c[u] + y * d[u])
        at += 4
    while at < last:
        a, v = turned[tags[at]], np.float32(weights[at])
        for u in range(lanes):
            total[u] += v * a[u]
        at += 1


def _best_items(
    decoder: tuple[Array, Array, Array],
    users: Array,
    factors: Array,
    viewed: Array,
    boost: Array,
    order: Array,
    rank: Array,
    barred: Array,
    history: tuple[Array, Array],
    found: tuple[Array, Array, Array],
) -> None:
    """Write the best items of at most `LANES` users, without their scores of all items.

    Scores are summed in single precision, side by side. Where one comes within the slack of the
    worst of a list, it is computed again in double precision, as `score_state` does.

    Parameters
    ----------
    decoder
        The arrays of D (items x tags): where rows begin, tags, weights.
    users
        Affinities (users x tags).
    factors
        Four rows: `tags_weight`, `viewed_weight` and `offset` of `UserStates`, and the slack,
        twice what single precision may be wrong by.
    viewed
        What histories add by the remainder (users x items), unweighted; no rows without one.
    boost, barred
        What is added to each item, and which may not be listed; empty for none.
    order, rank
        The items as they are looked at, and their places where scores are equal.
    history
        Where the items of each history begin, and these, sorted, which are not listed.
    found
        What is written: positions and scores (users x k), -1 and 0 after the end of a list, and
        the highest score of any item.
    """
    (tags_from, tags, weights), (seen_from, seen) = decoder, history
    tags_weight, viewed_weight, offset, slack = factors
    places, scores, highest = found
    n, n_items, lanes = users.shape[0], tags_from.size - 1, -(-users.shape[0] // 16) * 16
    turned = turn(users, tags_weight, lanes)
    # What a score without offset must reach: to be in the list, and to be the highest.
    bound, top = np.full(lanes, np.inf, np.float32), np.full(lanes, np.inf, np.float32)
    bound[:n], top[:n], highest[:] = -np.inf, -np.inf, -np.inf
    size = np.zeros(n, np.int64)
    tile = np.zeros((_TILE, lanes), np.float32)
    for start in range(0, n_items, _TILE):
        stop = min(start + _TILE, n_items)
        tile[:] = 0
        for u in range(viewed.shape[0]):
            for place in range(start, stop):
                tile[place - start, u] = viewed_weight[u] * viewed[u, order[place]]
        for place in range(start, stop):
            i, total = order[place], tile[place - start]
            add_tags(tags, weights, tags_from[i], tags_from[i + 1], turned, total)
            added = np.float32(boost[i]) if boost.size else np.float32(0)
            is_barred, hits = barred.size > 0 and barred[i], 0
            limit = top if is_barred else bound
            for u in range(lanes):
                hits += total[u] + added >= limit[u]
            if hits == 0:
                continue
            for u in range(n):
                if total[u] + added < limit[u]:
                    continue
                is_listed = not is_barred and not is_seen(seen, seen_from[u], seen_from[u + 1], i)
                if not is_listed and total[u] + added < top[u]:
                    continue
                also = viewed[u, i] if viewed.shape[0] else 0.0
                score = exact_score(decoder, users[u], factors[:, u], also, boost, i)
                if score > highest[u]:
                    highest[u], top[u] = score, score - offset[u] - slack[u]
                if is_listed:
                    size[u] = keep(scores[u], places[u], rank, size[u], score, i)
                if size[u] == scores.shape[1]:
                    bound[u] = scores[u, 0] - offset[u] - slack[u]
    for u in range(n):
        sort(scores[u], places[u], rank, size[u])


is_worse: Callable[..., bool] = compiled(_is_worse)
sink = compiled(_sink)
keep: Callable[..., int] = compiled(_keep)
sort = compiled(_sort)
nth_largest = compiled(_nth_largest)
is_seen: Callable[..., bool] = compiled(_is_seen)
exact_score: Callable[..., float] = compiled(_exact_score)
select_rows = compiled(_select_rows)
turn: Callable[..., Array] = compiled(_turn)
add_tags = compiled(_add_tags, reorder=True)
best_items = compiled(_best_items, reorder=True)
