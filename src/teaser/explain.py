"""Why an item has its score, and why it stands above another: contributions, reasons, differences.

A score has parts that add up: general appeal, tags, viewed items, and boosts. A reason is a tag, or
a few tags that lie on nearly the same items, or an item of the history where the model has a
remainder, or a boost. General appeal is told apart, and is never a reason.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from teaser.data.tags import Tag, feature_label, feature_words
from teaser.frame import Framed, make_frame
from teaser.notebook import draw_difference, draw_waterfall
from teaser.profile import GENERAL, POPULARITY
from teaser.steps import Step, StepKind, arrange, write_steps

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
        The item's weight for the tag: `usual` unless weights were learned; for popularity, the
        popularity of the item times it; for near-equal tags the mean.
    tags
        The tags of the item that the reason is about, which lie on nearly the same items; mostly
        `tag` alone.
    usual
        The item's weight for any tag where none was learned: 1, or less for popular items and
        more for others with `Weights(history_power=...)`.
    own, of
        How many liked items of the history carry the tags, and how many there are; None where that
        was not counted. Without any, the reason is a guess.
    like
        For a discovered tag the titles of some of these items.
    """

    kind: ClassVar[str] = "tag"

    tag: Tag
    contribution: float
    share: float
    affinity: float
    weight: float = 1.0
    tags: tuple[Tag, ...] = ()
    usual: float = 1.0
    own: int | None = None
    of: int | None = None
    like: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.tags:
            object.__setattr__(self, "tags", (self.tag,))

    @property
    def matters_more(self) -> bool:
        """Whether the weight of the tag for this item is clearly above the usual one."""
        return self.weight >= MATTERS_MORE * self.usual and self.tag != POPULARITY

    def agrees(self, leanings: Mapping[Tag, float]) -> bool:
        """Whether the contribution has the sign of the leanings towards the reason's tags."""
        return all(self.contribution * leanings.get(tag, 0.0) > 0 for tag in self.tags)

    def sentence(self, label: str | None = None) -> str:
        """Return the reason as a sentence; `label` names the tags otherwise than by their values.

        `tell_reasons` gives such labels where reasons stand beside each other.
        """
        named = label or join_values(self.tags)
        if self.like:
            named = f"items like {join_names(self.like)}"
        more = ", which matters more here" if self.matters_more else ""
        if self.own is None or self.tag == POPULARITY:
            known = f"your affinity of {affinity_text(self.affinity)} with {named}"
        elif self.is_guess:
            known = f"{named}, a guess"
        else:
            known = f"{named} ({self.own or 'none'} of your {self.of})"
        return f"{share_text(self.share)} because of {known}{more}"

    @property
    def is_guess(self) -> bool:
        """Whether it speaks for the item, and no liked item of the history carries the tags."""
        return self.own == 0 and self.contribution > 0 and self.tag != POPULARITY


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
        What viewing the item adds, from `viewed_parts` of `teaser.model.scores`.
    share
        contribution / the sum of all absolute contributions to the scored item; signed.
    """

    kind: ClassVar[str] = "viewed"

    item_id: int | str
    contribution: float
    share: float
    title: str | None = None
    disliked: bool = False

    def agrees(self, leanings: Mapping[Tag, float]) -> bool:
        """Whether a viewed item speaks for the item, or a disliked one against it."""
        return (self.contribution < 0) == self.disliked

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
    leanings: Mapping[Tag, float] | None = None,
) -> tuple[AnyReason, ...]:
    """Return the `n` main reasons of a list in order of absolute share.

    Boosts are always among them, so that no item is promoted without saying so.

    Parameters
    ----------
    leanings
        The leanings of the user. A tag is then a reason only if its contribution has the sign of
        the leaning towards it, and a viewed item only if it speaks for the item, a disliked one
        against it. If none of the user's own reasons speaks for the item, the largest that does is
        one more, however small. None: everything may be a reason.
    """
    if leanings is not None:
        reasons = [r for r in reasons if isinstance(r, BoostReason) or r.agrees(leanings)]
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
    if leanings is not None and not any(map(_speaks_for, found)):
        more = next(filter(_speaks_for, reasons), None)
        found = found if more is None else sorted([*found, more], key=lambda r: -abs(r.share))
    return tuple(found)


def told_reasons(reasons: Sequence[AnyReason]) -> list[AnyReason]:
    """Return the reasons that tell a person something: what they can check, and none twice.

    A group that is named by items is left out where others have named all of these, and a guess
    where another reason speaks for the item.
    """
    named = {named_reason(reason)[0] for reason in reasons if isinstance(reason, ViewedReason)}
    found: list[AnyReason] = []
    for reason in reasons:
        if isinstance(reason, Reason) and reason.like:
            new = tuple(title for title in reason.like if title not in named)
            # One title that is left is the group's least telling.
            if not new or (len(new) == 1 < len(reason.like)):
                continue
            named.update(new)
            found.append(replace(reason, like=new))
        else:
            found.append(reason)
    known = [each for each in found if not isinstance(each, Reason) or not each.is_guess]
    return known if any(map(_speaks_for, known)) else found


def _speaks_for(reason: AnyReason) -> bool:
    """Whether a reason is the user's own, and for the item."""
    return reason.share > 0 and not isinstance(reason, BoostReason)


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

    def reason(self, n: int, share: float) -> ViewedReason:
        """Return the reason of the n-th item."""
        disliked = self.disliked is not None and bool(self.disliked[n])
        item_id, title = self.name(n)
        return ViewedReason(item_id, float(self.parts[n]), share, title, disliked)


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
        lines += write_steps(self.steps())
        printer.text("\n".join([*lines, *([self.note] if self.note else [])]))

    def steps(self, *, zeros: bool = False) -> list[Step]:
        """Return the steps that add up to the score: general appeal, then the largest.

        `zeros=True` includes parts that add nothing.
        """
        general = Step("general", GENERAL.value, "", self.general)
        parts = [general, *map(_step, self.reasons)]
        return arrange(part for part in parts if zeros or part.adds)

    def _repr_html_(self) -> str:
        name = str(self.item_id) if self.title is None else self.title
        steps = self.steps()
        return draw_waterfall(name, steps, score=self.score, match=self.match, note=self.note)

    def _boosts(self) -> list[BoostReason]:
        return [reason for reason in self.reasons if isinstance(reason, BoostReason)]


def _step(reason: AnyReason) -> Step:
    label, group = named_reason(reason)
    if isinstance(reason, Reason):
        return Step(
            "tag",
            label,
            group,
            reason.contribution,
            affinity=reason.affinity,
            weight=reason.weight,
            tags=reason.tags,
        )
    if isinstance(reason, BoostReason):
        return Step("boost", label, group, reason.contribution, name=reason.name)
    kind: StepKind = "disliked" if reason.disliked else "viewed"
    return Step(kind, label, group, reason.contribution, name=reason.item_id)


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
    near_equal_group
        For each tag of the model the number of its group of near-equal tags, -1 for none.
    boosts
        The boosts that the item has: what each is named by, and what it adds.
    usual
        See `Reason`.
    """

    tags: Sequence[Tag]
    positions: Array
    affinities: Array
    weights: Array
    parts: Array
    general: float = 0.0
    viewed: Viewed | None = None
    near_equal_group: Array | None = None
    boosts: tuple[tuple[BoostName, float], ...] = ()
    usual: float = 1.0

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

    def main(self, leanings: Mapping[Tag, float], *, negative: bool) -> tuple[AnyReason, ...]:
        """Return the main reasons that agree with leanings."""
        chosen = main_reasons(
            self.reasons(min_share=MIN_SHARE), negative=negative, leanings=leanings
        )
        if not any(map(_speaks_for, chosen)):
            chosen = main_reasons(self.reasons(), negative=negative, leanings=leanings)
        return chosen

    @property
    def personal(self) -> float:
        """What all tags, viewed items and boosts add: the score without general appeal."""
        viewed = 0.0 if self.viewed is None else float(self.viewed.parts.sum())
        return float(self.parts.sum()) + viewed + self.boost

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
        groups = self._groups()
        tags = self.parts if groups is None else np.array([self.parts[g].sum() for g in groups])
        viewed = np.zeros(0) if self.viewed is None else self.viewed.parts
        first_viewed, first_boost = len(tags), len(tags) + len(viewed)
        parts = np.concatenate([tags, viewed, [part for _, part in self.boosts]])
        shares = parts / (self.total or 1.0)
        kept = np.abs(shares) >= min_share
        kept[first_viewed:first_boost] &= viewed != 0
        kept[first_boost:] = True
        places = np.flatnonzero(kept)
        # Stable: equal shares stay in the order of the decoder's row.
        places = places[np.argsort(-np.abs(shares[places]), kind="stable")]
        found: list[AnyReason] = []
        for k, share in zip(places.tolist(), shares[places].tolist(), strict=True):
            if k < first_viewed:
                found.append(self._reason([k] if groups is None else groups[k], parts[k], share))
            elif k < first_boost and self.viewed is not None:
                found.append(self.viewed.reason(k - first_viewed, share))
            else:
                found.append(BoostReason(*self.boosts[k - first_boost], share))
        return tuple(found)

    def _groups(self) -> list[list[int]] | None:
        """Return the places of the tags that are told together, largest contribution first.

        None if each tag is told alone.
        """
        if self.near_equal_group is None:
            return None
        groups: dict[int, list[int]] = {}
        for n, number in enumerate(self.near_equal_group[self.positions].tolist()):
            groups.setdefault(number if number >= 0 else -1 - n, []).append(n)
        if len(groups) == len(self.positions):
            return None
        return [sorted(group, key=lambda n: -abs(self.parts[n])) for group in groups.values()]

    def _reason(self, group: list[int], part: float, share: float) -> Reason:
        if len(group) == 1:
            n = group[0]
            tag = self.tags[self.positions[n]]
            own = float(self.affinities[n]), float(self.weights[n])
            return Reason(tag, float(part), share, *own, usual=self.usual)
        named = tuple(self.tags[j] for j in self.positions[group].tolist())
        a, w = self.affinities[group], self.weights[group]
        weight = float(w.mean())
        # So that affinity x weight is sum_j a_j D_ij also where the weights differ.
        affinity = float(a @ w) / weight if weight else float(a.sum())
        return Reason(named[0], float(part), share, affinity, weight, named, self.usual)


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
    groups: Array | None = None,
    boosts: tuple[tuple[BoostName, float], ...] = (),
    usual: float = 1.0,
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
    viewed, groups, boosts, usual
        See `Contributions`; `groups` is its `near_equal_group`.
    """
    a = affinities[positions]
    # a_j D_ij, times the factor of the tags' part
    parts = scale * a * weights
    if general is None:
        found = (positions, a, weights, parts)
        return Contributions(tags, *found, offset, viewed, groups, boosts, usual)
    own = positions != general
    appeal = float(parts[~own].sum()) + offset
    positions, a, weights, parts = (each[own] for each in (positions, a, weights, parts))
    return Contributions(tags, positions, a, weights, parts, appeal, viewed, groups, boosts, usual)


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


PartKind = Literal["general", "tag", "viewed", "disliked", "boost"]
# The most parts that the sentence of a difference names on each side.
_FOR, _AGAINST = 3, 2
# Parts below this share are not named in a sentence.
_TOLD = 0.01


@dataclass(frozen=True)
class DifferencePart:
    """What one tag, one item of the history, general appeal or a boost does to the difference.

    Attributes
    ----------
    kind
        general, tag, viewed, disliked (an item of the history) or boost.
    name
        The tag (also of general appeal), the id of the item of the history, or what the boost
        is named by.
    contribution, other_contribution
        What it adds to the score of the item, and to that of the other.
    difference
        contribution - other_contribution.
    share
        difference / the sum of all absolute differences; signed.
    tags
        The tags that the part is about: near-equal ones, which lie on nearly the same items, are
        one part. Empty for items of the history and for boosts by other names.
    title
        The title of the item of the history.
    """

    kind: PartKind
    name: Tag | int | str
    contribution: float
    other_contribution: float
    difference: float
    share: float = 0.0
    tags: tuple[Tag, ...] = ()
    title: str | None = None

    @property
    def label(self) -> str:
        """What the part is about, for a reader."""
        if self.tags:
            return join_values(self.tags)
        return str(self.name) if self.title is None else self.title

    @property
    def group(self) -> str:
        """What that is: the feature of a tag, viewed, disliked or boost; empty for appeal."""
        if self.kind == "tag" and isinstance(self.name, Tag):
            return feature_label(self.name.feature)
        return "" if self.kind == "general" else self.kind


@dataclass(frozen=True)
class Difference(Framed):
    """The difference of two items' scores for one user, with all parts.

    Attributes
    ----------
    item_id, other_id
        The two items.
    score, other_score
        Their scores. `sum(part.difference for part in parts)` is `score - other_score`.
    parts
        Every part of either score, largest absolute difference first. What both have in the
        same measure has a difference of 0 and stands at the end.
    title, other_title
        The titles of the items, where they have one.
    """

    item_id: int | str
    other_id: int | str
    score: float
    other_score: float
    parts: tuple[DifferencePart, ...] = field(repr=False)
    title: str | None = None
    other_title: str | None = None

    @property
    def difference(self) -> float:
        """Score - other_score."""
        return self.score - self.other_score

    @property
    def explained(self) -> tuple[float, float]:
        """The two scores that the parts sum to."""
        return self.score, self.other_score

    @property
    def total(self) -> float:
        """The sum of all absolute differences, which shares are of."""
        return sum(abs(part.difference) for part in self.parts)

    @property
    def note(self) -> str:
        """What the parts cover, as a sentence, where it is not the whole of both scores."""
        return ""

    def names(self) -> tuple[str, str]:
        """Return the titles of both items, or their ids."""
        pairs = ((self.title, self.item_id), (self.other_title, self.other_id))
        first, second = (str(item_id) if title is None else title for title, item_id in pairs)
        return first, second

    def labels(self) -> list[str]:
        """Return what each part is about; equal values of tags are told with their features."""
        moved = [part.tags for part in self.parts if part.tags and part.difference]
        told = dict(zip(moved, distinct_labels(moved), strict=True))
        return [told.get(part.tags, part.label) for part in self.parts]

    def sentence(self) -> str:
        """Return in a sentence which item stands above the other, and what decides it most."""
        name, other = self.names()
        way = 1 if self.difference > 0 else -1
        if not self.difference:
            told = f"{name} and {other} have the same score."
            return f"{told} {self.note}".rstrip()
        high, low = (name, other) if way > 0 else (other, name)
        least = _TOLD * self.total
        moved = [
            (_label_in(part, label, way), way * part.difference)
            for part, label in zip(self.parts, self.labels(), strict=True)
            if abs(part.difference) >= least
        ]
        towards = _named([pair for pair in moved if pair[1] > 0][:_FOR])
        against = _named([pair for pair in moved if pair[1] < 0][:_AGAINST])
        told = f"{high} stands {abs(self.difference):.3f} above {low}"
        told += f", because of {towards}" if towards else ""
        told += f", in spite of {against}" if against else ""
        return f"{told}. {self.note}".rstrip()

    def to_frame(self) -> pl.DataFrame:
        """Return a frame with one row a part; its differences sum to that of the scores.

        Its columns are `part` (general, tag, viewed, disliked or boost), `feature` and `value` (of
        tags; near-equal ones in one value), `item_id` (of the history), `contribution`,
        `other_contribution`, `difference` and `share`.
        """
        return make_frame((_difference_row(part) for part in self.parts), _DIFFERENCE_COLUMNS)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Write what decides as lines, for IPython in a terminal."""
        (name, other), (score, other_score) = self.names(), self.explained
        lines = [f"{name} ({score:.3f}) against {other} ({other_score:.3f})"]
        lines += write_steps(self.steps())
        lines.append(f"{score - other_score:+9.3f}  in all")
        printer.text("\n".join([*lines, *([self.note] if self.note else [])]))

    def steps(self, *, zeros: bool = False) -> list[Step]:
        """Return the steps from the other item's score to the item's, the largest first.

        `zeros=True` includes parts that are the same in both scores.
        """
        moved = (part for part in self.parts if zeros or part.difference)
        return arrange(map(_difference_step, moved), start=self.explained[1])

    def _repr_html_(self) -> str:
        return draw_difference(self.names(), self.steps(), scores=self.explained, note=self.note)


def _difference_step(part: DifferencePart) -> Step:
    return Step(
        part.kind,
        part.label,
        part.group,
        part.difference,
        own=part.contribution,
        other=part.other_contribution,
        tags=part.tags,
        name=part.name,
    )


_DIFFERENCE_COLUMNS = {
    "part": pl.String,
    "feature": pl.String,
    "value": pl.String,
    "item_id": None,
    "contribution": pl.Float64,
    "other_contribution": pl.Float64,
    "difference": pl.Float64,
    "share": pl.Float64,
}


def find_parts(first: Contributions, second: Contributions) -> tuple[DifferencePart, ...]:
    """Return the parts of the difference of two scores, largest absolute difference first.

    Parameters
    ----------
    first, second
        The parts of both scores, for the same user and with the same boosts.
    """
    found = [_pair_part("general", GENERAL, (first.general, second.general), (GENERAL,))]
    if not found[0].contribution and not found[0].other_contribution:
        found = []
    found += [*_tag_parts(first, second), *_viewed_parts(first, second)]
    boosts: dict[BoostName, list[float]] = {}
    for place, own in enumerate((first.boosts, second.boosts)):
        for name, added in own:
            boosts.setdefault(name, [0.0, 0.0])[place] += added
    for name, both in boosts.items():
        found.append(_pair_part("boost", name, both, (name,) if isinstance(name, Tag) else ()))
    total = sum(abs(part.difference) for part in found)
    shared = (
        DifferencePart(**{**vars(part), "share": part.difference / total if total else 0.0})
        for part in found
    )
    # Stable: equal ones stay in the order of the decoder's columns.
    return tuple(sorted(shared, key=lambda part: -abs(part.difference)))


def _tag_parts(first: Contributions, second: Contributions) -> Iterator[DifferencePart]:
    """Yield a part for each tag of either item; near-equal ones are one part."""
    groups: dict[int, dict[int, list[float]]] = {}
    for place, item in enumerate((first, second)):
        for j, added in zip(item.positions.tolist(), item.parts.tolist(), strict=True):
            number = -1 if first.near_equal_group is None else int(first.near_equal_group[j])
            # Tags in no group stand alone; they have numbers that no group has.
            group = groups.setdefault(number if number >= 0 else -1 - j, {})
            group.setdefault(j, [0.0, 0.0])[place] += added
    for group in groups.values():
        # The tag that contributes most names the part.
        places = sorted(group, key=lambda j: -sum(map(abs, group[j])))
        sums = [sum(group[j][place] for j in places) for place in (0, 1)]
        tags = tuple(first.tags[j] for j in places)
        yield _pair_part("tag", tags[0], sums, tags)


def _viewed_parts(first: Contributions, second: Contributions) -> Iterator[DifferencePart]:
    """Yield a part for each item of the history that adds something to either score."""
    if first.viewed is None or second.viewed is None:
        return
    own, other = first.viewed.parts, second.viewed.parts
    for n in np.flatnonzero((own != 0) | (other != 0)).tolist():
        said = first.viewed.reason(n, 0.0)
        kind: PartKind = "disliked" if said.disliked else "viewed"
        yield _pair_part(kind, said.item_id, (float(own[n]), float(other[n])), title=said.title)


def _pair_part(
    kind: PartKind,
    name: Tag | int | str,
    added: Sequence[float],
    tags: tuple[Tag, ...] = (),
    title: str | None = None,
) -> DifferencePart:
    own, other = map(float, added)
    return DifferencePart(kind, name, own, other, own - other, tags=tags, title=title)


def _difference_row(part: DifferencePart) -> tuple[Any, ...]:
    feature: str | None = None
    value: str | None = None
    item_id: int | str | None = None
    if part.tags:
        feature, value = part.tags[0].feature, " / ".join(tag.value for tag in part.tags)
    elif part.kind == "boost":
        value = str(part.name)
    elif not isinstance(part.name, Tag):
        item_id = part.name
    added = (part.contribution, part.other_contribution, part.difference, part.share)
    return (part.kind, feature, value, item_id, *added)


def _label_in(part: DifferencePart, label: str, way: int) -> str:
    """Return what a part is about; of a tag that the higher item lacks, the lack."""
    own = part.contribution if way > 0 else part.other_contribution
    return f"the lack of {label}" if part.kind == "tag" and not own else label


def _named(pairs: Sequence[tuple[str, float]]) -> str:
    return join_names([f"{label} ({moved:+.3f})" for label, moved in pairs]) if pairs else ""
