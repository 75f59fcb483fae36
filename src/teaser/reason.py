"""Reasons of a score, and the sentences that tell them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from teaser.data.tags import Tag, feature_label, feature_words
from teaser.profile import POPULARITY

N_REASONS = 5
MIN_SHARE = 0.05
MATTERS_MORE = 1.25

# What a boost is named by: a tag, an item id, or a column of true or false.
BoostName = Tag | int | str


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

    kind: ClassVar[str] = "tag"

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

    def sentence(self, label: str | None = None) -> str:
        """Return the reason as a sentence; `label` names the tags otherwise than by their values.

        `tell_reasons` gives such labels where reasons stand beside each other.
        """
        more = ", which matters more here" if self.matters_more else ""
        return (
            f"{share_text(self.share)} because of your affinity of "
            f"{affinity_text(self.affinity)} with {label or join_values(self.tags)}{more}"
        )


@dataclass(frozen=True)
class ViewedReason:
    """The contribution of one item of the history to the score of an item.

    Attributes
    ----------
    item_id, title
        The item that was viewed.
    disliked
        Whether it was disliked: its strength in the history is below 0.
    contribution
        What viewing the item adds, from `viewed_parts` of `teaser.model.extensions.remainder`.
    share
        contribution / the sum of all absolute contributions to the scored item; signed.
    """

    kind: ClassVar[str] = "viewed"

    item_id: int | str
    contribution: float
    share: float
    title: str | None = None
    disliked: bool = False

    def sentence(self) -> str:
        """Return the reason as a sentence."""
        named = self.item_id if self.title is None else self.title
        did = "disliked" if self.disliked else "viewed"
        return f"{share_text(self.share)} because you {did} {named}"


@dataclass(frozen=True)
class BoostReason:
    """What the owner of the items adds to the score of one, by its id or by a tag of it.

    It is no part of the profile of a user.

    Attributes
    ----------
    name
        What was boosted: a tag, a column that is true or false, or the id of the item.
    contribution
        What it adds to the score.
    share
        contribution / the sum of all absolute contributions to the item; signed.
    """

    kind: ClassVar[str] = "boost"

    name: BoostName
    contribution: float
    share: float

    @property
    def named(self) -> tuple[str | None, str]:
        """The feature and the value of the tag, or None and the name."""
        if isinstance(self.name, Tag):
            return self.name.feature, self.name.value
        return None, str(self.name)

    @property
    def label(self) -> str:
        """What was boosted, for a reader; a number stands after its feature."""
        return self.name.label if isinstance(self.name, Tag) else str(self.name)

    def sentence(self) -> str:
        """Return the reason as a sentence."""
        how = "promotes it" if self.contribution >= 0 else "plays it down"
        return f"{share_text(self.share)} because the site {how} ({self.label})"


AnyReason = Reason | ViewedReason | BoostReason


def main_reasons(
    reasons: Sequence[AnyReason],
    *,
    n: int = N_REASONS,
    min_share: float = MIN_SHARE,
    negative: bool = True,
) -> tuple[AnyReason, ...]:
    """Return the `n` main reasons of a list in order of absolute share.

    Boosts are always among them, so that no item is promoted without saying so.
    """
    boosts = sum(isinstance(r, BoostReason) and (negative or r.share > 0) for r in reasons)
    left = n - boosts
    found: list[AnyReason] = []
    for reason in reasons:
        is_boost = isinstance(reason, BoostReason)
        if not negative and reason.share <= 0:
            continue
        if is_boost or (left > 0 and abs(reason.share) >= min_share):
            found.append(reason)
            left -= not is_boost
    return tuple(found)


def named_reason(reason: AnyReason) -> tuple[str, str]:
    """Return what a reason is about, and what that is.

    That is the feature of a tag, or viewed, disliked or boost.
    """
    if isinstance(reason, Reason):
        return join_values(reason.tags), feature_label(reason.tag.feature)
    if isinstance(reason, BoostReason):
        return reason.label, "boost"
    kind = "disliked" if reason.disliked else "viewed"
    return str(reason.item_id) if reason.title is None else reason.title, kind


def short_reasons(reasons: Sequence[AnyReason]) -> list[str]:
    """Return reasons in a few words: the values of tags, or the kind and the name of another."""
    labels = iter(distinct_labels([r.tags for r in reasons if isinstance(r, Reason)]))
    others = (named_reason(r) for r in reasons if not isinstance(r, Reason))
    named = (f"{kind} {name}" for name, kind in others)
    return [next(labels if isinstance(r, Reason) else named) for r in reasons]


def general_sentence(share: float) -> str:
    """Return what general appeal adds to a score as a sentence, given its signed share."""
    verb = "adds" if share >= 0 else "takes"
    return f"general appeal {verb} {share_text(abs(share))}"


def tell_reasons(reasons: Sequence[AnyReason]) -> list[str]:
    """Return reasons that stand beside each other as sentences, with names that differ."""
    labels = iter(distinct_labels([r.tags for r in reasons if isinstance(r, Reason)]))
    return [r.sentence(next(labels)) if isinstance(r, Reason) else r.sentence() for r in reasons]


def join_values(tags: Sequence[Tag]) -> str:
    """Return the values of tags as a list in words; a number stands after its feature.

    A value of several of the features stands once, with them.

    Examples
    --------
    >>> join_values([Tag("director", "George Lucas"), Tag("writer", "George Lucas")])
    'George Lucas (director and writer)'
    """
    return distinct_labels([tags])[0]


def distinct_labels(groups: Sequence[Sequence[Tag]]) -> list[str]:
    """Return the values of groups of tags, each group as a list in words.

    A value that occurs with several features is told with the feature.

    Examples
    --------
    >>> distinct_labels([[Tag("director", "Varda")], [Tag("writer", "Varda")]])
    ['Varda (director)', 'Varda (writer)']
    """
    features: dict[str, set[str]] = {}
    for tag in chain.from_iterable(groups):
        features.setdefault(tag.label, set()).add(tag.feature)
    found = []
    for tags in groups:
        told: dict[str, list[str]] = {}
        for tag in tags:
            told.setdefault(tag.label, []).append(feature_words(tag.feature))
        found.append(
            join_names(
                [
                    f"{label} ({join_names(words)})" if len(features[label]) > 1 else label
                    for label, words in told.items()
                ]
            )
        )
    return found


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
