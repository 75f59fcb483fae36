"""Explanations of scores: contributions, reasons, impacts, and sentences for readers.

A reason is a tag or, in a model with a remainder, an item of the history.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.data.tagging.tag import Tag
from teaser.profile import POPULARITY

N_REASONS = 5
MIN_SHARE = 0.05
MATTERS_MORE = 1.25

Array = NDArray[Any]


@dataclass(frozen=True)
class Reason:
    """The contribution of one tag to the score of an item.

    Attributes
    ----------
    contribution
        affinity x the item's weight for the tag; the contributions of all tags sum to the score.
    share
        contribution / the sum of all absolute contributions to this item; signed.
    affinity
        The user's affinity with the tag.
    weight
        The item's weight for the tag: 1 unless weights were learned; for popularity, the
        popularity of the item.
    """

    tag: Tag
    contribution: float
    share: float
    affinity: float
    weight: float = 1.0

    @property
    def matters_more(self) -> bool:
        """Whether the weight of the tag for this item is clearly above 1."""
        return self.weight >= MATTERS_MORE and self.tag != POPULARITY

    def sentence(self) -> str:
        """Return the reason as a sentence."""
        more = ", which matters more here" if self.matters_more else ""
        return (
            f"{share_text(self.share)} because of your affinity of "
            f"{affinity_text(self.affinity)} with {self.tag.value}{more}"
        )


@dataclass(frozen=True)
class ViewedReason:
    """The contribution of one item of the history to the score of an item.

    Attributes
    ----------
    item_id, title
        The item that was viewed.
    contribution
        What viewing the item adds, from `viewed_parts` of `teaser.model.extensions.remainder`. The
        contributions of all tags and viewed items sum to the score.
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
    """One item of a list, with its score, match and main reasons."""

    item_id: int | str
    score: float
    match: float
    reasons: tuple[AnyReason, ...]
    title: str | None = None


@dataclass(frozen=True)
class Explanation:
    """The score of one item for one user, with all contributions.

    Attributes
    ----------
    contributions
        By tag of the item; with `viewed` they sum to `score`.
    viewed
        By viewed item with a contribution; empty without a remainder.
    reasons
        All of them, largest absolute share first.
    match
        max(0, score) / the highest score of all items for this profile.
    """

    item_id: int | str
    score: float
    match: float
    contributions: Mapping[Tag, float] = field(repr=False)
    reasons: tuple[AnyReason, ...] = field(repr=False)
    title: str | None = None
    viewed: Mapping[int | str, float] = field(default_factory=dict, repr=False)

    @property
    def tag_share(self) -> float:
        """The share of tags in the sum of all absolute contributions; 1 where all are zero."""
        tags = sum(map(abs, self.contributions.values()))
        total = tags + sum(map(abs, self.viewed.values()))
        return tags / total if total > 0 else 1.0

    def sentences(self) -> list[str]:
        """Return every reason that adds or takes something as a sentence."""
        return [reason.sentence() for reason in self.reasons if reason.contribution != 0]


def all_reasons(
    affinities: Array,
    positions: Array,
    weights: Array,
    tags: Sequence[Tag],
    *,
    scale: float = 1.0,
    viewed: Viewed | None = None,
    min_share: float = 0.0,
) -> tuple[AnyReason, ...]:
    """Return every contribution to one item's score, largest absolute share first.

    Parameters
    ----------
    affinities
        The affinities of one user with all tags.
    positions, weights
        The item's row of the decoder: positions of its tags and their weights.
    scale
        The factor of the tags' part of the score.
    viewed
        The contributions of the items of the history; those of zero are left out.
    min_share
        Contributions of a smaller absolute share are left out.
    """
    a = affinities[positions]
    # a_j D_ij, times the factor of the tags' part
    parts = scale * a * weights
    if viewed is not None:
        parts = np.concatenate([parts, viewed.parts])
    total = float(np.abs(parts).sum())
    shares = parts / total if total > 0 else np.zeros_like(parts)
    size = np.abs(shares)
    # Below any min_share: viewed items that add nothing are no reasons, tags of the item are.
    size[len(a) :][parts[len(a) :] == 0] = -1.0
    # Stable: equal shares stay in the order of the decoder's row.
    order = np.argsort(-size, kind="stable")
    found: list[AnyReason] = []
    for k in order[size[order] >= min_share].tolist():
        part, share = float(parts[k]), float(shares[k])
        if k < len(a) or viewed is None:
            tag = tags[positions[k]]
            found.append(Reason(tag, part, share, float(a[k]), float(weights[k])))
        else:
            item_id, title = viewed.name(k - len(a))
            found.append(ViewedReason(item_id, part, share, title))
    return tuple(found)


def by_tag(reasons: Sequence[AnyReason]) -> dict[Tag, float]:
    """Return the contributions of the tags among the reasons."""
    return {r.tag: r.contribution for r in reasons if isinstance(r, Reason)}


def by_item(reasons: Sequence[AnyReason]) -> dict[int | str, float]:
    """Return the contributions of the viewed items among the reasons."""
    return {r.item_id: r.contribution for r in reasons if isinstance(r, ViewedReason)}


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
        The column sums of the decoder.
    features, numbers
        The features, and the number of each tag's feature, as `number_features` returns them.
    """
    # |a_j| sum_i D_ij for each tag j
    parts = np.abs(affinities) * mass
    total = float(parts.sum())
    shares: Array = np.bincount(numbers, weights=parts, minlength=len(features))
    if total > 0:
        shares = shares / total
    return dict(zip(features, shares.tolist(), strict=True))


def affinity_text(value: float) -> str:
    """Return an affinity with one digit after the point, or one significant digit if tiny."""
    # Smaller values would read 0.1 or 0.0.
    return f"{value:.1f}" if abs(value) >= 0.095 or value == 0 else f"{value:.1g}"


def share_text(share: float) -> str:
    """Return a signed share in percent; one that rounds to zero is said to be small."""
    percent = round(100 * share)
    small = "under 1 % against it" if share < 0 else "under 1 %"
    return f"{percent} %" if percent else small
