"""Explanations of scores: contributions, reasons and impacts.

A score has parts that add up: general appeal, tags, viewed items, and boosts. A reason is a tag, or
a few tags that lie on nearly the same items, or an item of the history where the model has a
remainder, or a boost. General appeal is told apart, and is never a reason.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from teaser.data.tags import Tag
from teaser.errors import counted
from teaser.frame import Framed, make_frame
from teaser.notebook.waterfall import Step, draw_waterfall
from teaser.profile import GENERAL, POPULARITY
from teaser.reason import (
    AnyReason,
    BoostName,
    BoostReason,
    Reason,
    ViewedReason,
    general_sentence,
    named_reason,
    tell_reasons,
)

# The parts of a score, as reports tell them apart.
PARTS = ("general", "declared", "discovered", "popularity", "viewed")

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Viewed:
    """The contributions of the items of a history to one score, and their ids and titles.

    `disliked` says which of them were disliked; None if none was.
    """

    parts: Array
    name: Callable[[int], tuple[int | str, str | None]]
    disliked: Array | None = None

    def reason(self, n: int, part: float, share: float) -> ViewedReason:
        """Return the reason of the n-th item."""
        disliked = self.disliked is not None and bool(self.disliked[n])
        item_id, title = self.name(n)
        return ViewedReason(item_id, part, share, title, disliked)


# The most reasons that an explanation shows as plain text.
_SHOWN = 12


@dataclass(frozen=True)
class Explanation(Framed):
    """The score of one item for one user, with all contributions.

    Attributes
    ----------
    general
        What general appeal adds: what an average user would see in the item.
    tags
        The contribution of each tag of the item, popularity among them.
    viewed
        By viewed item with a contribution; empty without a remainder.
    boost
        What the boosts of a request add; 0 without any. The score is
        `general + sum(tags.values()) + sum(viewed.values()) + boost`.
    reasons
        All of them, largest absolute share first; near-equal tags are one reason.
    match
        max(0, score) / the highest score of all items for this profile.
    """

    item_id: int | str
    score: float
    match: float
    tags: Mapping[Tag, float] = field(repr=False)
    reasons: tuple[AnyReason, ...] = field(repr=False)
    title: str | None = None
    viewed: Mapping[int | str, float] = field(default_factory=dict, repr=False)
    general: float = 0.0
    boost: float = 0.0

    @property
    def contributions(self) -> dict[Tag, float]:
        """The contributions of the tags, and of general appeal where it has one."""
        return {**self.tags, **({GENERAL: self.general} if self.general else {})}

    @property
    def from_tags(self) -> float:
        """What all tags add to the score."""
        return sum(self.tags.values())

    @property
    def from_viewed(self) -> float:
        """What all viewed items add to the score."""
        return sum(self.viewed.values())

    @property
    def total(self) -> float:
        """The sum of all absolute contributions, which shares are of."""
        boosts = (reason.contribution for reason in self._boosts())
        parts = (self.general, *self.tags.values(), *self.viewed.values(), *boosts)
        return sum(map(abs, parts))

    @property
    def general_share(self) -> float:
        """The signed share of general appeal."""
        return self.general / self.total if self.total > 0 else 0.0

    @property
    def tag_share(self) -> float:
        """The share of declared and discovered tags; 1 where all contributions are zero.

        Neither popularity nor general appeal counts as a tag here.
        """
        tags = sum(abs(part) for tag, part in self.tags.items() if tag != POPULARITY)
        return tags / self.total if self.total > 0 else 1.0

    def sentences(self) -> list[str]:
        """Return what general appeal adds, then every reason that adds or takes something."""
        told = tell_reasons([reason for reason in self.reasons if reason.contribution != 0])
        return [general_sentence(self.general_share), *told] if self.general else told

    def to_frame(self) -> pl.DataFrame:
        """Return a frame with one row a contribution; the contributions sum to the score.

        Its columns are `part` (general, tags, viewed or boost), `feature` and `value` (of a tag),
        `item_id` (of a viewed item), `contribution` and `share`. General appeal comes first, then
        the largest absolute contribution.
        """
        rows: list[tuple[Any, ...]] = [
            ("tags", tag.feature, tag.value, None, part) for tag, part in self.tags.items()
        ]
        rows += [("viewed", None, None, item_id, part) for item_id, part in self.viewed.items()]
        rows += [("boost", *r.named, None, r.contribution) for r in self._boosts()]
        rows.sort(key=lambda row: -abs(row[-1]))
        if self.general:
            rows.insert(0, ("general", GENERAL.feature, GENERAL.value, None, self.general))
        total = self.total
        shares = ((*row, row[-1] / total if total > 0 else 0.0) for row in rows)
        return make_frame(shares, _COLUMNS)

    @property
    def note(self) -> str:
        """What the reasons cover, as a sentence, where it is not the whole score."""
        return ""

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Write what adds to the score as lines, for IPython in a terminal."""
        name = str(self.item_id) if self.title is None else self.title
        lines = [f"Why {name}: score {self.score:.3f}, {self.match:.0%} match"]
        lines += [f"{self.general:+9.3f}  general appeal"] if self.general else []
        adding = [reason for reason in self.reasons if reason.contribution != 0]
        lines += [f"{r.contribution:+9.3f}  {named_reason(r)[0]}" for r in adding[:_SHOWN]]
        left = adding[_SHOWN:]
        if left:
            rest = sum(reason.contribution for reason in left)
            lines.append(f"{rest:+9.3f}  {counted(len(left), 'further reason')}")
        printer.text("\n".join([*lines, *([self.note] if self.note else [])]))

    def _repr_html_(self) -> str:
        steps = [Step(GENERAL.value, "", self.general)] if self.general else []
        steps += [_step(reason) for reason in self.reasons if reason.contribution != 0]
        name = str(self.item_id) if self.title is None else self.title
        return draw_waterfall(name, steps, score=self.score, match=self.match, note=self.note)

    def _boosts(self) -> list[BoostReason]:
        return [reason for reason in self.reasons if isinstance(reason, BoostReason)]


def _step(reason: AnyReason) -> Step:
    factors = (reason.affinity, reason.weight) if isinstance(reason, Reason) else ()
    return Step(*named_reason(reason), reason.contribution, *factors)


_COLUMNS = {
    "part": pl.String,
    "feature": pl.String,
    "value": pl.String,
    "item_id": None,
    "contribution": pl.Float64,
    "share": pl.Float64,
}


@dataclass(frozen=True, eq=False)
class Contributions:
    """The parts of one item's score for one user.

    Attributes
    ----------
    tags
        All tags of the model.
    positions, affinities, weights, parts
        The tags of the item but general appeal: their positions, the user's affinities with them,
        the item's weights, and what each adds to the score.
    general
        What general appeal adds.
    viewed
        What the items of the history add; None without a remainder.
    together
        For each tag of the model the number of its group of near-equal tags, -1 for none.
    boosts
        The boosts that the item has: what each is named by, and what it adds.
    """

    tags: Sequence[Tag]
    positions: Array
    affinities: Array
    weights: Array
    parts: Array
    general: float = 0.0
    viewed: Viewed | None = None
    together: Array | None = None
    boosts: tuple[tuple[BoostName, float], ...] = ()

    @cached_property
    def total(self) -> float:
        """The sum of all absolute contributions."""
        viewed = 0.0 if self.viewed is None else float(np.abs(self.viewed.parts).sum())
        boosts = sum(abs(part) for _, part in self.boosts)
        return abs(self.general) + float(np.abs(self.parts).sum()) + viewed + boosts

    @property
    def boost(self) -> float:
        """What all boosts add."""
        return sum((part for _, part in self.boosts), 0.0)

    @property
    def general_share(self) -> float:
        """The signed share of general appeal."""
        return self.general / self.total if self.total > 0 else 0.0

    def by_tag(self) -> dict[Tag, float]:
        """Return what each tag of the item adds."""
        names = (self.tags[j] for j in self.positions.tolist())
        return dict(zip(names, self.parts.tolist(), strict=True))

    def by_item(self) -> dict[int | str, float]:
        """Return what each viewed item adds that adds something."""
        if self.viewed is None:
            return {}
        places = np.flatnonzero(self.viewed.parts).tolist()
        return {self.viewed.name(n)[0]: float(self.viewed.parts[n]) for n in places}

    def reasons(self, *, min_share: float = 0.0) -> tuple[AnyReason, ...]:
        """Return every reason, largest absolute share first.

        Viewed items that add nothing are no reasons; tags of the item are.

        Parameters
        ----------
        min_share
            Reasons of a smaller absolute share are left out, but for boosts.
        """
        groups, parts, total = self._groups(), self.parts.tolist(), self.total
        sums = [parts[g[0]] if len(g) == 1 else float(self.parts[g].sum()) for g in groups]
        viewed = [] if self.viewed is None else self.viewed.parts.tolist()
        first_boost = len(sums) + len(viewed)
        kept: list[tuple[float, int, float]] = []
        for k, part in enumerate((*sums, *viewed, *(part for _, part in self.boosts))):
            share = part / total if total > 0 else 0.0
            adds = part != 0 or k < len(sums)
            if k >= first_boost or (adds and abs(share) >= min_share):
                kept.append((share, k, part))
        # Stable: equal shares stay in the order of the decoder's row.
        kept.sort(key=lambda each: -abs(each[0]))
        found: list[AnyReason] = []
        for share, k, part in kept:
            if k < len(sums):
                found.append(self._reason(groups[k], part, share))
            elif k >= first_boost or self.viewed is None:
                found.append(BoostReason(self.boosts[k - first_boost][0], part, share))
            else:
                found.append(self.viewed.reason(k - len(sums), part, share))
        return tuple(found)

    def _groups(self) -> list[list[int]]:
        """Return the places of the tags that are told together, largest contribution first."""
        every = range(len(self.positions))
        if self.together is None:
            return [[n] for n in every]
        groups: dict[int, list[int]] = {}
        for n, number in zip(every, self.together[self.positions].tolist(), strict=True):
            groups.setdefault(number if number >= 0 else -1 - n, []).append(n)
        return [
            group if len(group) == 1 else sorted(group, key=lambda n: -abs(self.parts[n]))
            for group in groups.values()
        ]

    def _reason(self, group: list[int], part: float, share: float) -> Reason:
        if len(group) == 1:
            n = group[0]
            tag = self.tags[self.positions[n]]
            return Reason(tag, part, share, float(self.affinities[n]), float(self.weights[n]))
        named = tuple(self.tags[j] for j in self.positions[group].tolist())
        a, w = self.affinities[group], self.weights[group]
        weight = float(w.mean())
        # So that affinity x weight is sum_j a_j D_ij also where the weights differ.
        affinity = float(a @ w) / weight if weight else float(a.sum())
        return Reason(named[0], part, share, affinity, weight, named)


def find_contributions(
    affinities: Array,
    positions: Array,
    weights: Array,
    tags: Sequence[Tag],
    *,
    scale: float = 1.0,
    general: int | None = None,
    offset: float = 0.0,
    viewed: Viewed | None = None,
    together: Array | None = None,
    boosts: tuple[tuple[BoostName, float], ...] = (),
) -> Contributions:
    """Return the parts of one item's score.

    Parameters
    ----------
    affinities
        The affinities of one user with all tags.
    positions, weights
        The item's row of the decoder: positions of its tags and their weights.
    scale
        The factor of the tags' part of the score, general appeal included.
    general
        The position of general appeal, or None.
    offset
        What is added to the score of every item; it is told with general appeal.
    viewed, together, boosts
        See `Contributions`.
    """
    a = affinities[positions]
    # a_j D_ij, times the factor of the tags' part
    parts = scale * a * weights
    if general is None:
        return Contributions(tags, positions, a, weights, parts, offset, viewed, together, boosts)
    own = positions != general
    appeal = float(parts[~own].sum()) + offset
    positions, a, weights, parts = (each[own] for each in (positions, a, weights, parts))
    return Contributions(tags, positions, a, weights, parts, appeal, viewed, together, boosts)


def number_features(tags: Sequence[Tag]) -> tuple[list[str], Array]:
    """Return the features in order of appearance, and the number of each tag's feature."""
    number: dict[str, int] = {}
    numbers = [number.setdefault(tag.feature, len(number)) for tag in tags]
    return list(number), np.array(numbers, dtype=np.int64)


def sum_impacts(
    affinities: Array, mass: Array, features: Sequence[str], numbers: Array
) -> dict[str, float]:
    """Return each feature's share of sum_j |a_j| sum_i D_ij; they sum to 1 unless all are 0.

    Parameters
    ----------
    mass
        The column sums of the decoder; general appeal, which is no feature, has none.
    features, numbers
        The features, and the number of each tag's feature, as `number_features` returns them.
    """
    # |a_j| sum_i D_ij for each tag j
    parts = np.abs(affinities) * mass
    total = float(parts.sum())
    shares: Array = np.bincount(numbers, weights=parts, minlength=len(features))
    if total > 0:
        shares = shares / total
    pairs = zip(features, shares.tolist(), strict=True)
    return {feature: share for feature, share in pairs if feature != GENERAL.feature}
