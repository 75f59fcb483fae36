"""Why an item scores as it does: contributions, reasons, impacts, and sentences for people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.data.tags import Tag

N_REASONS = 5
MIN_SHARE = 0.05

Array = NDArray[Any]


@dataclass(frozen=True)
class Reason:
    """One tag's part in the score of an item.

    Attributes
    ----------
    contribution
        affinity x the item's weight for the tag; over all tags these sum to the score.
    share
        contribution / the sum of all absolute contributions to this item; signed.
    affinity
        The person's affinity with the tag.
    """

    tag: Tag
    contribution: float
    share: float
    affinity: float

    def sentence(self) -> str:
        """Say the reason in plain words."""
        percent = round(100 * self.share)
        return (
            f"{percent or 'under 1'} % because of your affinity of {say_affinity(self.affinity)} "
            f"with {self.tag.value}"
        )


@dataclass(frozen=True)
class Recommendation:
    """One place in a list: the item, how well it matches, and why."""

    item_id: int | str
    score: float
    match: float
    reasons: tuple[Reason, ...]
    title: str | None = None


@dataclass(frozen=True)
class Explanation:
    """The whole score of one item for one person.

    Attributes
    ----------
    contributions
        By tag of the item; they sum to `score`.
    reasons
        All of them, largest absolute share first.
    match
        max(0, score) / the highest score in the catalogue for this profile.
    """

    item_id: int | str
    score: float
    match: float
    contributions: Mapping[Tag, float] = field(repr=False)
    reasons: tuple[Reason, ...] = field(repr=False)
    title: str | None = None

    def sentences(self) -> list[str]:
        """Say every reason in plain words."""
        return [reason.sentence() for reason in self.reasons]


def all_reasons(
    affinities: Array, places: Array, weights: Array, tags: Sequence[Tag]
) -> tuple[Reason, ...]:
    """Return every tag's part in one item's score, largest absolute share first.

    Parameters
    ----------
    affinities
        Of one person, over all tags.
    places, weights
        The item's row of the decoder: positions of its tags and their weights.
    """
    a = affinities[places]
    parts = a * weights
    total = float(np.abs(parts).sum())
    shares = parts / total if total > 0 else np.zeros_like(parts)
    order = np.argsort(-np.abs(shares), kind="stable")
    return tuple(
        Reason(tags[j], contribution, share, affinity)
        for j, contribution, share, affinity in zip(
            places[order].tolist(),
            parts[order].tolist(),
            shares[order].tolist(),
            a[order].tolist(),
            strict=True,
        )
    )


def main_reasons(
    reasons: Sequence[Reason],
    *,
    n: int = N_REASONS,
    min_share: float = MIN_SHARE,
    negative: bool = True,
) -> tuple[Reason, ...]:
    """Keep the reasons worth showing, from a list in order of absolute share."""
    kept = [r for r in reasons if abs(r.share) >= min_share and (negative or r.share > 0)]
    return tuple(kept[:n])


def impacts(affinities: Array, mass: Array, tags: Sequence[Tag]) -> dict[str, float]:
    """Return each feature's share of sum_j |a_j| sum_i D_ij; they sum to 1 unless all are 0.

    Parameters
    ----------
    mass
        The column sums of the decoder.
    """
    return sum_impacts(affinities, mass, *number_features(tags))


def number_features(tags: Sequence[Tag]) -> tuple[list[str], Array]:
    """Return the features in order of appearance, and for each tag the number of its feature."""
    number: dict[str, int] = {}
    numbers = [number.setdefault(tag.feature, len(number)) for tag in tags]
    return list(number), np.array(numbers, dtype=np.int64)


def sum_impacts(
    affinities: Array, mass: Array, features: Sequence[str], numbers: Array
) -> dict[str, float]:
    """Return what `impacts` does, for tags whose features are numbered already."""
    parts = np.abs(affinities) * mass
    total = float(parts.sum())
    shares = np.bincount(numbers, weights=parts, minlength=len(features))
    if total > 0:
        shares /= total
    return dict(zip(features, shares.tolist(), strict=True))


def say_affinity(value: float) -> str:
    """Write an affinity with as few digits as tell it apart from zero."""
    return f"{value:.1f}" if abs(value) >= 0.095 or value == 0 else f"{value:.1g}"
