"""Lift: the fewest presses that bring an item into the first places of a list."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from time import thread_time
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.errors import SearchTimeoutError
from teaser.frame import Framed, make_frame
from teaser.model.extensions.user_features import About
from teaser.model.tables import History
from teaser.model.tagged import TaggedModel
from teaser.parameters import check_count
from teaser.profile import (
    DEFAULT_STEERING,
    MAX_PRESSES,
    PressesLike,
    Profile,
    Steering,
    place_presses,
    press,
    press_moves,
)

# The rounding error of a gap, in presses.
_MARGIN = 1e-9
_ROWS = 40
# Numbers that one step of a search with a time limit may hold: about a tenth of a second of work.
_MOST_NUMBERS = 5_000_000

Array = NDArray[Any]


@dataclass(frozen=True)
class Lift(Framed):
    """The fewest presses that bring an item up.

    Attributes
    ----------
    presses
        The presses to add to the current ones; empty if the item already ranks high enough.
    rank_before, rank_after
        The item's rank among all items that can be recommended, from 1.
    score_before, score_after
        The item's score with the current presses, and with `presses` added.
    """

    item_id: ItemId
    presses: Mapping[Tag, int]
    rank_before: int
    rank_after: int
    score_before: float
    score_after: float
    title: str | None = None

    @property
    def total(self) -> int:
        """The number of single presses."""
        return sum(map(abs, self.presses.values()))

    def to_frame(self) -> pl.DataFrame:
        """Return a frame with one row a pressed tag.

        Its columns are `item_id`, `title`, `feature`, `value`, `presses`, and the four ranks and
        scores, which are the same in every row.
        """
        item, numbers = (self.item_id, self.title), [getattr(self, name) for name in _NUMBERS]
        rows = (
            (*item, tag.feature, tag.value, steps, *numbers) for tag, steps in self.presses.items()
        )
        return make_frame(rows, _COLUMNS)


_NUMBERS = {
    "rank_before": pl.Int64,
    "rank_after": pl.Int64,
    "score_before": pl.Float64,
    "score_after": pl.Float64,
}
_COLUMNS = {
    "item_id": None,
    "title": pl.String,
    "feature": pl.String,
    "value": pl.String,
    "presses": pl.Int64,
    **_NUMBERS,
}


def smallest_presses(
    model: TaggedModel,
    item_id: ItemId,
    history: History,
    presses: PressesLike | None = None,
    *,
    k: int = 10,
    max_presses: int = 10,
    allowed: Array | None = None,
    about: About | None = None,
    steering: Steering = DEFAULT_STEERING,
    seconds: float | None = None,
) -> Lift | None:
    """Return the fewest presses that put an item into the first k recommendations.

    Among answers with equally few single presses, the one with the fewest tags is returned.
    The result is `None` if `max_presses` presses are not enough, and if the item is never
    recommended because it is in the history or not allowed.

    Parameters
    ----------
    presses
        The current presses. They stay in force: a tag at +4 can take one more +.
    k
        The length of the list that the item should come into.
    max_presses
        The largest number of single presses to propose. The cost of the search grows with it and
        with the number of tags of the item.
    allowed
        Which items may be recommended (n_items), as in `recommend`; all by default.
    about
        Facts about the user, as in `recommend`.
    seconds
        The longest processor time to search; no limit by default.

    Raises
    ------
    SearchTimeoutError
        If no answer was found within `seconds`.

    Notes
    -----
    Scores are linear in affinities, so a press on tag j that moves its affinity by x closes the
    gap to rival c by x (D_ij - D_cj). For binary tags, only + on the item's tags and - on other
    tags close a gap, and no gap widens. General appeal, popularity, and tags with learned or other
    weights than 1 can act either way. The effect of each further press, bounds included, is a table
    of constants.

    The search enumerates all choices of one press, then two, then three, and so on. It prunes a
    choice if its best continuation still leaves k rivals ahead, or if an equally good choice
    is examined elsewhere.

    The search starts with few rivals. Passing some rivals needs no more presses than passing all
    of them, so its answer is a lower bound. If the full ranking, computed as in `recommend`,
    confirms the answer, it is minimal; otherwise the rivals still ahead are added. Ties are broken
    by popularity and position, as in `recommend`: a rival that would win the tie must be passed by
    1e-9 of a press, so that no answer depends on rounding.

    With a remainder, the part of viewed items is a constant of each item. Presses act on the part
    that `steering.balance` leaves to tags.
    """
    model.check_fitted()
    check_count("k", k)
    check_count("max_presses", max_presses)
    time = _Time(seconds)
    barred = model.item_table_.barred(allowed)
    profile = model.profile(history, about=about, steering=steering)
    case = _Case(model, item_id, profile, presses, barred)
    if not case.may_rise:
        return None
    found = {} if case.rank({}) <= k else _search(case, int(k), int(max_presses), time)
    if found is None:
        return None
    return Lift(
        item_id=model.items_[case.item],
        presses={model.tags_[j]: steps for j, steps in sorted(found.items())},
        rank_before=case.rank({}),
        rank_after=case.rank(found),
        score_before=float(case.scores({})[case.item]),
        score_after=float(case.scores(found)[case.item]),
        title=model.title(case.item),
    )


class _Time:
    """The time limit of a search, in processor time: other work does not count."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.end = None if seconds is None else thread_time() + seconds

    def check(self, n_numbers: int = 0) -> None:
        """Raise `SearchTimeoutError` if the time is over, or if the next step is too large."""
        if self.seconds is None or self.end is None:
            return
        if thread_time() > self.end or n_numbers > _MOST_NUMBERS:
            raise SearchTimeoutError(self.seconds)


class _Case:
    """One item, one user, and the current presses."""

    def __init__(
        self,
        model: TaggedModel,
        item_id: ItemId,
        profile: Profile,
        presses: PressesLike | None,
        barred: Array,
    ) -> None:
        self.D, self.item = model.decoder_, model.items_.index_of(item_id)
        seen = [model.items_.index_of(known) for known in profile.history]
        # False for the history, what is not allowed, and the item itself
        self.rivals = np.ones(len(model.items_), dtype=bool)
        self.rivals[barred] = self.rivals[[self.item, *seen]] = False
        popularity, own = model.popularity_, model.popularity_[self.item]
        later = np.arange(len(popularity)) >= self.item
        # Against which items an equal score is enough. As in `top_k`: the more popular item comes
        # first, then the earlier one.
        self.wins_tie = (popularity < own) | ((popularity == own) & later)
        self.wins_tie[self.item] = self.item not in seen and self.item not in barred
        self.values, self.steps = profile.values, profile.steps  # before any press; of each tag
        self.weight, self.step, self.power = (
            profile.tags_weight,
            profile.step,
            profile.press_power,
        )
        # The part of viewed items in each score.
        self.viewed = model.viewed_scores(profile) if model.has_remainder else None
        self.placed = place_presses(presses, model.tag_table_.index)

    @property
    def may_rise(self) -> bool:
        return bool(self.wins_tie[self.item])

    def affinities(self, extra: Mapping[int, int]) -> Array:
        net = dict(self.placed)
        for j, steps in extra.items():
            net[j] = net.get(j, 0) + steps
        return press(self.values, net, self.steps[list(net)], self.power)

    def scores(self, extra: Mapping[int, int]) -> Array:
        tags = np.asarray(self.D @ self.affinities(extra))
        return tags if self.viewed is None else np.asarray(self.weight * tags + self.viewed)

    def ahead(self, scores: Array) -> Array:
        """Return the positions of the items that rank above the item."""
        own = scores[self.item]
        before = (scores > own) | ((scores == own) & ~self.wins_tie)
        return np.flatnonzero(before & self.rivals)

    def rank(self, extra: Mapping[int, int]) -> int:
        return 1 + len(self.ahead(self.scores(extra)))

    @cached_property
    def row(self) -> Array:
        return np.asarray(self.D[[self.item]].toarray()).ravel()

    def reach(self, sign: int, places: Array) -> list[Array]:
        """Return by how many steps 0, 1, ... further presses of a sign move each tag."""
        found = []
        for j in places.tolist():
            now = self.placed.get(j, 0)
            net = np.arange(now, sign * (MAX_PRESSES + 1), sign)
            found.append(np.abs(press_moves(net, self.power) - press_moves(now, self.power)))
        return found


def _search(case: _Case, k: int, max_presses: int, time: _Time) -> dict[int, int] | None:
    """Try one press, two, three, ...; add rivals until the full ranking confirms the answer."""
    # Presses move only the part of tags, whose factor is zero here.
    if case.weight == 0:
        return None
    now = case.scores({})
    rows = _worst(case.ahead(now), now, max(_ROWS, 3 * k))
    board = _Board(case, rows, now, max_presses, time)
    total = 1
    while total <= max_presses:
        missed: set[int] = set()
        fewest = 0
        for found in board.answers(total, k):
            # With more rivals, an answer with fewer tags might come first: search again.
            if missed and (len(found) > fewest or len(missed) > _ROWS):
                break
            time.check()
            fewest = len(found)
            scores = case.scores(found)
            ahead = case.ahead(scores)
            if len(ahead) < k:
                return found
            missed |= set(_worst(np.setdiff1d(ahead, rows), scores, k).tolist())
        if missed:
            rows = np.concatenate([rows, np.array(sorted(missed))])
            board = _Board(case, rows, now, max_presses, time)
        else:
            total += 1
    return None


def _worst(places: Array, scores: Array, n: int) -> Array:
    return np.asarray(places[np.argsort(-scores[places], kind="stable")[:n]])


@dataclass(frozen=True)
class _Lever:
    """A tag pressed in one direction: its effect on rivals and the reach of 0, 1, ... presses."""

    tag: int
    sign: int
    weights: Array
    reach: Array

    @property
    def whole(self) -> int:
        """The number of presses that each move the affinity by a full step."""
        steps = np.arange(len(self.reach))
        return int((np.abs(self.reach - steps) < 1e-9).sum()) - 1


class _Board:
    """The levers that act on the given rivals, strongest first.

    Gaps are in presses; a rival with a positive gap is ahead.

    Lever A covers lever B if A is at least as effective as B against every rival. Moving a press
    from B to A then leaves no rival further ahead, as long as A moves by full steps, which no press
    exceeds. The search skips B where A is pressed and not exhausted, and where A is not pressed and
    could take all of B's presses: an equally good answer with no more tags exists without B.
    """

    def __init__(self, case: _Case, rows: Array, now: Array, max_presses: int, time: _Time) -> None:
        self.time = time
        tie = np.where(case.wins_tie[rows], -_MARGIN, _MARGIN)
        # A press on tag j moves a score by weight * steps_j * D_ij. Gaps are in weight * step.
        self.gaps = (now[rows] - now[case.item]) / (case.weight * case.step) + tie
        # (D_ij - D_cj) steps_j / step for the item i, rivals c and tags j (rivals x tags).
        gain = (case.row - case.D[rows].toarray()) * (case.steps / case.step)
        levers = []
        for sign in (1, -1):
            places = np.flatnonzero((sign * gain > 0).any(axis=0))
            for j, reach in zip(places.tolist(), case.reach(sign, places), strict=True):
                if len(reach) > 1:
                    levers.append(_Lever(j, sign, sign * gain[:, j], reach[: max_presses + 1]))
        levers.sort(key=lambda lever: (-lever.weights.sum(), -lever.whole, -lever.sign, lever.tag))
        self.levers = levers
        self._compare()

    def _compare(self) -> None:
        """Compute which levers cover which, and how many presses the covering levers take first."""
        shape = (len(self.levers), len(self.gaps))
        W = np.array([lever.weights for lever in self.levers]).reshape(shape)
        self.whole = np.array([lever.whole for lever in self.levers], dtype=int)
        most = np.array([len(lever.reach) - 1 for lever in self.levers], dtype=int)
        self.strongest = float(W.max(initial=1.0))
        covers = np.zeros((len(W), len(W)), dtype=bool)
        for place, row in enumerate(W):
            self.time.check()
            covers[place] = (row >= W).all(axis=1)
        # Above the diagonal only: of two equal levers, the earlier covers the later.
        covers = np.triu(covers, 1)
        covers &= (self.whole > 0)[:, None]
        self.covered_by = [np.flatnonzero(column) for column in covers.T]
        binding = covers & (most <= self.whole[:, None])
        self.price = (binding * self.whole[:, None]).sum(axis=0)

    def answers(self, total: int, k: int) -> list[dict[int, int]]:
        """Return the choices of exactly `total` presses that pass the rivals, fewest tags first."""
        gaps, left = self.gaps[None], np.array([total])
        # 8 bits are enough: a tag takes at most 2 * MAX_PRESSES further presses.
        path = np.zeros((1, len(self.levers)), dtype=np.int8)
        order = np.flatnonzero(self.price < total).tolist()
        bounds = self._bounds(order, total)
        done = []
        for t, (capacity, supply) in zip([*order, None], bounds, strict=True):
            self.time.check(len(left) * (gaps.shape[1] + path.shape[1]))
            keep = _hopeful(
                gaps, left, k, np.minimum.outer(self.strongest * left, capacity), supply
            )
            done.append(path[keep & (left == 0)])
            keep &= left > 0
            gaps, left, path = gaps[keep], left[keep], path[keep]
            if t is None or not len(left):
                break
            gaps, left, path = self._branch(gaps, left, path, t)
        found = np.concatenate(done)
        found = found[np.argsort((found != 0).sum(axis=1), kind="stable")]
        return [self._read(row) for row in found]

    def _bounds(self, order: list[int], total: int) -> list[tuple[Array, Array]]:
        """Return bounds on the effect of each lever and all later ones.

        The first is how far each rival can be pushed; the second how far all rivals together can
        be pushed by 0, 1, ... presses.
        """
        capacity = np.zeros(len(self.gaps))
        gains: list[float] = []
        out = [(capacity, np.zeros(total + 1))]
        for t in reversed(order):
            lever = self.levers[t]
            pushes = np.maximum(lever.weights, 0)
            capacity = capacity + pushes * lever.reach[-1]
            # Where a later press moves further than one before, the largest move is the bound.
            each = np.diff(lever.reach)
            best = np.maximum.accumulate(each[::-1])[::-1] * pushes.sum()
            gains = sorted([*gains, *best.tolist()], reverse=True)[:total]
            supply = np.zeros(total + 1)
            supply[1 : len(gains) + 1] = np.cumsum(gains)
            supply[len(gains) + 1 :] = sum(gains)
            out.append((capacity, supply))
        return out[::-1]

    def _branch(self, gaps: Array, left: Array, path: Array, t: int) -> tuple[Array, Array, Array]:
        """Press lever t 0, 1, 2, ... times, where the levers that cover it allow it."""
        lever, above = self.levers[t], self.covered_by[t]
        pressed, whole = path[:, above], self.whole[above]
        free = (pressed >= whole) | (pressed == 0)
        least = np.where(pressed == 0, whole, 0).max(axis=1, initial=0)
        parts = [(gaps, left, path)]
        for m in range(1, min(len(lever.reach) - 1, int(left.max())) + 1):
            self.time.check()
            able = (left >= m) & (m > least) & free.all(axis=1)
            further = path[able]
            further[:, t] = m
            parts.append((gaps[able] - lever.reach[m] * lever.weights, left[able] - m, further))
        a, b, c = zip(*parts, strict=True)
        return np.concatenate(a), np.concatenate(b), np.concatenate(c)

    def _read(self, row: Array) -> dict[int, int]:
        levers = ((self.levers[t], int(row[t])) for t in np.flatnonzero(row))
        return {lever.tag: lever.sign * m for lever, m in levers}


def _hopeful(gaps: Array, left: Array, k: int, reach: Array, supply: Array) -> Array:
    """Return where the remaining presses may still leave fewer than k rivals ahead.

    `reach` bounds the push on each rival, `supply` the push on all rivals together.
    """
    stuck = (gaps > reach).sum(axis=1) >= k
    # k - 1 rivals may stay ahead: at the least, all but the k - 1 largest gaps must close.
    need = np.sort(np.maximum(gaps, 0), axis=1)[:, : gaps.shape[1] - k + 1].sum(axis=1)
    return np.asarray(~stuck & (need <= supply[left] + 1e-9))
