"""Explanations of scores: contributions, reasons, impacts, and sentences for readers.

A score has three parts that add up: general appeal, tags, and viewed items. A reason is a tag, or a
few tags that lie on nearly the same items, or an item of the history where the model has a
remainder. General appeal is told apart, and is never a reason.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.data.tagging.tag import Tag
from teaser.profile import GENERAL, POPULARITY

N_REASONS = 5
MIN_SHARE = 0.05
MATTERS_MORE = 1.25
# The parts of a score, as reports tell them apart.
PARTS = ("general", "declared", "discovered", "popularity", "viewed")

Array = NDArray[Any]


@dataclass(frozen=True)
class Reason:
    """The contribution of one tag, or of near-equal tags together, to the score of an item.

    Attributes
    ----------
    tag
        The tag, or of several the one that contributes most.
    contribution
        affinity x weight x the factor of the tags' part of the score. General appeal and the
        contributions of all tags and viewed items sum to the score.
    share
        contribution / the sum of all absolute contributions to this item, general appeal
        included; signed.
    affinity
        The user's affinity with the tag; with near-equal tags the sum of theirs.
    weight
        The item's weight for the tag: 1 unless weights were learned; for popularity, the
        popularity of the item; for near-equal tags the mean.
    tags
        The tags of the item that the reason is about, which lie on nearly the same items; mostly
        `tag` alone.
    """

    tag: Tag
    contribution: float
    share: float
    affinity: float
    weight: float = 1.0
    tags: tuple[Tag, ...] = ()

    def __post_init__(self) -> None:
        if not self.tags:
            object.__setattr__(self, "tags", (self.tag,))

    @property
    def matters_more(self) -> bool:
        """Whether the weight of the tag for this item is clearly above 1."""
        return self.weight >= MATTERS_MORE and self.tag != POPULARITY

    def sentence(self) -> str:
        """Return the reason as a sentence."""
        more = ", which matters more here" if self.matters_more else ""
        return (
            f"{share_text(self.share)} because of your affinity of "
            f"{affinity_text(self.affinity)} with {join_values(self.tags)}{more}"
        )


@dataclass(frozen=True)
class ViewedReason:
    """The contribution of one item of the history to the score of an item.

    Attributes
    ----------
    item_id, title
        The item that was viewed.
    contribution
        What viewing the item adds, from `viewed_parts` of `teaser.model.extensions.remainder`.
    share
        contribution / the sum of all absolute contributions to the scored item; signed.
    """

    item_id: int | str
    contribution: float
    share: float
    title: str | None = None

    def sentence(self) -> str:
        """Return the reason as a sentence."""
        named = self.item_id if self.title is None else self.title
        return f"{share_text(self.share)} because you viewed {named}"


AnyReason = Reason | ViewedReason


@dataclass(frozen=True, eq=False)
class Viewed:
    """The contributions of the items of a history to one score, and their ids and titles."""

    parts: Array
    name: Callable[[int], tuple[int | str, str | None]]


@dataclass(frozen=True)
class Recommendation:
    """One item of a list, with its score, match and main reasons.

    Attributes
    ----------
    general, general_share
        What general appeal adds to the score, and its signed share.
    """

    item_id: int | str
    score: float
    match: float
    reasons: tuple[AnyReason, ...]
    title: str | None = None
    general: float = 0.0
    general_share: float = 0.0


@dataclass(frozen=True)
class Explanation:
    """The score of one item for one user, with all contributions.

    Attributes
    ----------
    general
        What general appeal adds: what an average user would see in the item.
    tags
        The contribution of each tag of the item, popularity among them.
    viewed
        By viewed item with a contribution; empty without a remainder. The score is
        `general + sum(tags.values()) + sum(viewed.values())`.
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

    @property
    def contributions(self) -> dict[Tag, float]:
        """The contributions of the tags, and of general appeal where it has one."""
        return {**self.tags, **({GENERAL: self.general} if self.general else {})}

    @property
    def total(self) -> float:
        """The sum of all absolute contributions, which shares are of."""
        parts = (self.general, *self.tags.values(), *self.viewed.values())
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
        told = [reason.sentence() for reason in self.reasons if reason.contribution != 0]
        return [general_sentence(self.general_share), *told] if self.general else told


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
    """

    tags: Sequence[Tag]
    positions: Array
    affinities: Array
    weights: Array
    parts: Array
    general: float = 0.0
    viewed: Viewed | None = None
    together: Array | None = None

    @property
    def total(self) -> float:
        """The sum of all absolute contributions."""
        viewed = 0.0 if self.viewed is None else float(np.abs(self.viewed.parts).sum())
        return abs(self.general) + float(np.abs(self.parts).sum()) + viewed

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
            Reasons of a smaller absolute share are left out.
        """
        groups = self._groups()
        sums = np.array([self.parts[group].sum() for group in groups])
        viewed = np.zeros(0) if self.viewed is None else self.viewed.parts
        added = np.concatenate([sums, viewed])
        total = self.total
        shares = added / total if total > 0 else np.zeros_like(added)
        size = np.abs(shares)
        # Below any min_share, also of 0.
        size[len(sums) :][viewed == 0] = -1.0
        # Stable: equal shares stay in the order of the decoder's row.
        order = np.argsort(-size, kind="stable")
        found: list[AnyReason] = []
        for k in order[size[order] >= min_share].tolist():
            part, share = float(added[k]), float(shares[k])
            if k < len(groups) or self.viewed is None:
                found.append(self._reason(groups[k], part, share))
            else:
                item_id, title = self.viewed.name(k - len(groups))
                found.append(ViewedReason(item_id, part, share, title))
        return tuple(found)

    def _groups(self) -> list[list[int]]:
        """Return the places of the tags that are told together, largest contribution first."""
        every = range(len(self.positions))
        if self.together is None:
            return [[n] for n in every]
        groups: dict[int, list[int]] = {}
        for n, number in zip(every, self.together[self.positions].tolist(), strict=True):
            groups.setdefault(number if number >= 0 else -1 - n, []).append(n)
        return [sorted(group, key=lambda n: -abs(self.parts[n])) for group in groups.values()]

    def _reason(self, group: list[int], part: float, share: float) -> Reason:
        named = tuple(self.tags[j] for j in self.positions[group].tolist())
        a, w = self.affinities[group], self.weights[group]
        weight = float(w.mean())
        # So that affinity x weight is sum_j a_j D_ij also where the weights differ.
        affinity = float(a[0]) if len(a) == 1 else float(a @ w) / weight if weight else a.sum()
        return Reason(named[0], part, share, float(affinity), weight, named)


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
    viewed, together
        See `Contributions`.
    """
    a = affinities[positions]
    # a_j D_ij, times the factor of the tags' part
    parts = scale * a * weights
    if general is None:
        return Contributions(tags, positions, a, weights, parts, offset, viewed, together)
    own = positions != general
    appeal = float(parts[~own].sum()) + offset
    positions, a, weights, parts = (each[own] for each in (positions, a, weights, parts))
    return Contributions(tags, positions, a, weights, parts, appeal, viewed, together)


def main_reasons(
    reasons: Sequence[AnyReason],
    *,
    n: int = N_REASONS,
    min_share: float = MIN_SHARE,
    negative: bool = True,
) -> tuple[AnyReason, ...]:
    """Return the `n` main reasons of a list in order of absolute share."""
    kept = [r for r in reasons if abs(r.share) >= min_share and (negative or r.share > 0)]
    return tuple(kept[:n])


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


def general_sentence(share: float) -> str:
    """Return what general appeal adds to a score as a sentence, given its signed share."""
    verb = "adds" if share >= 0 else "takes"
    return f"general appeal {verb} {share_text(abs(share))}"


def join_values(tags: Sequence[Tag]) -> str:
    """Return the values of tags as a list in words; a number stands after its feature."""
    return join_names([tag.label for tag in tags])


def join_names(names: Sequence[str]) -> str:
    """Return names as a list in words."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def affinity_text(value: float) -> str:
    """Return an affinity with one digit after the point, or one significant digit if tiny."""
    # Smaller values would read 0.1 or 0.0.
    return f"{value:.1f}" if abs(value) >= 0.095 or value == 0 else f"{value:.1g}"


def share_text(share: float) -> str:
    """Return a signed share in percent; one that rounds to zero is said to be small."""
    percent = round(100 * share)
    small = "under 1 % against it" if share < 0 else "under 1 %"
    return f"{percent} %" if percent else small
