"""Why an item has its score, and why it stands above another: contributions, reasons, differences.

A score has parts that add up: general appeal, tags, viewed items, and boosts. A reason is a tag, or
a few tags that lie on nearly the same items, or an item of the history where the model has a
remainder, or a boost. General appeal is told apart, and is never a reason.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from teaser.data.tags import Tag, differing_names, feature_label, feature_words
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
class Together:
    """How often users who chose one item chose another too.

    Attributes
    ----------
    share
        The share of those who chose the one that chose the other.
    others
        The share of all users that did.
    """

    share: float
    others: float

    def sentence(self) -> str:
        """Return both shares in words."""
        (n, total), (m, of) = small_numbers(self.share), small_numbers(self.others)
        return f"{n} in {total:,} who chose it also chose this, {m} in {of:,} of all"


def small_numbers(share: float) -> tuple[int, int]:
    """Return a share as two small numbers: (1, 14) is one in fourteen.

    Examples
    --------
    >>> small_numbers(0.33), small_numbers(0.37), small_numbers(0.012)
    ((1, 3), (2, 5), (1, 83))
    """
    if share <= 0:
        return 0, 1
    whole = round(1 / share)
    if whole >= 10 or (whole >= 2 and abs(1 / whole - share) < 0.02):
        return 1, whole
    found = Fraction(min(9, round(10 * share)), 10)
    return found.numerator, found.denominator


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
        What viewing the item adds.
    share
        contribution / the sum of all absolute contributions to the scored item; signed.
    together
        How often people who chose the item also chose the scored one; None where that does not
        stand out, or was not counted.
    """

    kind: ClassVar[str] = "viewed"

    item_id: int | str
    contribution: float
    share: float
    title: str | None = None
    disliked: bool = False
    together: Together | None = None

    def sentence(self) -> str:
        """Return the reason as a sentence."""
        named = self.item_id if self.title is None else self.title
        did = "disliked" if self.disliked else "viewed"
        told = f" ({self.together.sentence()})" if self.together else ""
        return f"{share_text(self.share)} because you {did} {named}{told}"


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
    'George Lucas (director or writer)'
    """
    return distinct_labels([tags])[0]


def distinct_labels(groups: Sequence[Sequence[Tag]]) -> list[str]:
    """Return the values of groups of tags, each group as a list in words.

    A value that occurs with several features is told with the feature. Of several that share a
    word the first is told, and three at most.

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
        names = [
            f"{label} ({' or '.join(told[label])})" if len(features[label]) > 1 else label
            for label in differing_names(told)
        ]
        found.append(join_names(names))
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
PartKind = Literal["general", "tag", "viewed", "disliked", "boost"]


@dataclass(frozen=True, kw_only=True)
class Cover:
    """Which part of the score of a product of two models the reasons cover.

    Attributes
    ----------
    explained_by, explained
        The model that the reasons are of, and its score of the item, to which contributions sum.
    other, unexplained
        The other model, and its score, which has no reasons. The score is the product of both,
        either taken as 0 where it is negative.
    alone
        Whether the other model scores nothing for this user, so that the reasons cover the whole
        score.
    """

    explained_by: str
    explained: float
    other: str
    unexplained: float
    alone: bool

    def sentence(self) -> str:
        """Return as a sentence which part of the score the reasons cover."""
        if self.alone:
            return (
                f"The reasons cover the whole score: {self.other} knows nothing of this user yet."
            )
        return (
            f"The reasons cover the part of {self.explained_by}, {self.explained:.3g}; it is "
            f"multiplied by the part of {self.other}, {self.unexplained:.3g}, "
            "which has no reasons."
        )


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
    cover
        Which part of the score of a product the reasons cover; None where that is all.
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
    cover: Cover | None = field(default=None, repr=False)

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
        """Return what general appeal adds, every reason that adds or takes something, the note."""
        first = [general_sentence(self.general_share)] if self.general else []
        told = tell_reasons([reason for reason in self.reasons if reason.contribution != 0])
        return [*first, *told, *filter(None, [self.note])]

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
        """What the reasons of a product cover, as a sentence; empty for other models."""
        return "" if self.cover is None else self.cover.sentence()

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


# Leanings that are smaller than this, relative to the largest, are rounding.
_ROUNDING = 1e-9
# The kinds of parts, by number.
_KINDS: tuple[PartKind, ...] = ("tag", "viewed", "disliked", "boost")
TAG, VIEWED, DISLIKED, BOOST = range(len(_KINDS))


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of the scores of several items, each for a user, in flat arrays.

    An item and its user are a row. Tags come first, then viewed items, then boosts. Near-equal tags
    of a row are one reason, every other part is a reason of its own. Reasons are numbered in the
    order of their first parts.

    Attributes
    ----------
    tags
        All tags of the model.
    general, usual
        What general appeal adds to each row, and `Reason.usual` of each (rows).
    row, kind, place, added
        Of each part its row, its kind, its place (the tag's column, the item's position, or the
        number of the boost), and what it adds (parts).
    affinity, weight
        The affinities with tags and their weights (parts that are tags).
    groups
        For each tag of the model the number of its group of near-equal tags, -1 for none; or None.
    item_name
        Returns the id and the title of the item at a position.
    boosts
        What boosts are named by.
    """

    tags: Sequence[Tag]
    general: Array
    usual: Array
    row: Array
    kind: Array
    place: Array
    added: Array
    affinity: Array
    weight: Array
    groups: Array | None = None
    item_name: Callable[[int], tuple[int | str, str | None]] = lambda place: (place, None)
    boosts: Sequence[BoostName] = ()

    @cached_property
    def members(self) -> tuple[Array, Array]:
        """The parts in the order of their reasons, and where those of each reason begin."""
        first = np.arange(len(self.row))  # the first part of the reason of each part
        if self.groups is not None:
            group = self.groups[self.place[: len(self.weight)]]
            own = np.flatnonzero(group >= 0)
            key = self.row[own] * (self.groups.max(initial=0) + 1) + group[own]
            _, at, same = np.unique(key, return_index=True, return_inverse=True)
            first[own] = own[at[same]]
        order = np.argsort(first, kind="stable")
        return order, np.flatnonzero(np.diff(first[order], prepend=-1))

    @cached_property
    def head(self) -> Array:
        """The first part of each reason."""
        order, starts = self.members
        return np.asarray(order[starts])

    @cached_property
    def contribution(self) -> Array:
        """What each reason adds."""
        order, starts = self.members
        return np.add.reduceat(self.added[order], starts) if len(starts) else np.zeros(0)

    @cached_property
    def total(self) -> Array:
        """The sum of all absolute contributions (rows)."""
        return np.abs(self.general) + self.sums(np.abs(self.added))

    @cached_property
    def share(self) -> Array:
        """The signed share of each reason."""
        return self.contribution / np.where(self.total > 0, self.total, 1.0)[self.row[self.head]]

    @property
    def boost(self) -> Array:
        """What all boosts add (rows)."""
        return self.sums(np.where(self.kind == BOOST, self.added, 0.0))

    def sums(self, numbers: Array) -> Array:
        """Return the sum of numbers of the parts over each row (rows)."""
        return np.bincount(self.row, numbers, minlength=len(self.general))

    def main(self, leaning: Array, *, negative: bool) -> Array:
        """Return the main reasons, row by row; see `first_reasons`.

        A tag is a reason only if its contribution has the sign of the leaning towards it, a viewed
        item only if it speaks for the item, and a disliked one if it speaks against it.

        Parameters
        ----------
        leaning
            The leaning of the user towards each part that is a tag.
        """
        order, starts = self.members
        agrees = (self.added < 0) == (self.kind == DISLIKED)
        agrees[self.kind == BOOST] = True
        sizes = np.diff(starts, append=len(order))
        of_part = np.empty(len(order), dtype=np.int64)
        of_part[order] = np.repeat(np.arange(len(starts)), sizes)
        n = len(leaning)
        # A leaning of 0 is that of rounding, as towards a tag that all items carry.
        real = np.abs(leaning) > _ROUNDING * np.abs(leaning).max(initial=0.0)
        agrees[:n] = (self.contribution[of_part[:n]] * leaning > 0) & real
        told = np.bincount(of_part, ~agrees, minlength=len(starts)) == 0
        row, is_boost = self.row[self.head], self.kind[self.head] == BOOST
        places = np.flatnonzero(told)
        found = first_reasons(row[told], self.share[told], is_boost[told], negative=negative)
        return np.asarray(places[found])

    def reasons(self, chosen: Array | None = None) -> Iterator[AnyReason]:
        """Yield reasons by their numbers; None: all, the largest absolute share first."""
        if chosen is None:
            # Stable: equal shares stay in the order of the decoder's row.
            chosen = np.argsort(-np.abs(self.share), kind="stable")
        order, starts = self.members
        ends = np.append(starts[1:], len(order))
        columns = (starts, ends, self.contribution, self.share)
        for start, end, part, share in zip(*(c[chosen].tolist() for c in columns), strict=True):
            n = int(order[start])
            kind, place = int(self.kind[n]), int(self.place[n])
            if kind == TAG:
                yield self._tag_reason(order[start:end], part, share)
            elif kind == BOOST:
                yield BoostReason(self.boosts[place], part, share)
            else:
                item_id, title = self.item_name(place)
                yield ViewedReason(item_id, part, share, title, kind == DISLIKED)

    def _tag_reason(self, own: Array, part: float, share: float) -> Reason:
        usual = float(self.usual[self.row[own[0]]])
        if len(own) == 1:
            n = own[0]
            own_numbers = float(self.affinity[n]), float(self.weight[n])
            return Reason(self.tags[self.place[n]], part, share, *own_numbers, usual=usual)
        own = own[np.argsort(-np.abs(self.added[own]), kind="stable")]
        named = tuple(self.tags[j] for j in self.place[own].tolist())
        a, weights = self.affinity[own], self.weight[own]
        weight = float(weights.mean())
        # So that affinity x weight is sum_j a_j D_ij also where the weights differ.
        affinity = float(a @ weights) / weight if weight else float(a.sum())
        return Reason(named[0], part, share, affinity, weight, named, usual)

    def by_tag(self) -> dict[Tag, float]:
        """Return what each tag adds to the only row."""
        n = len(self.weight)
        names = (self.tags[j] for j in self.place[:n].tolist())
        return dict(zip(names, self.added[:n].tolist(), strict=True))

    def by_item(self) -> dict[int | str, float]:
        """Return what each viewed item adds to the only row that adds something."""
        viewed = np.flatnonzero((self.kind == VIEWED) | (self.kind == DISLIKED))
        names = (self.item_name(i)[0] for i in self.place[viewed].tolist())
        return dict(zip(names, self.added[viewed].tolist(), strict=True))


def first_reasons(row: Array, share: Array, is_boost: Array, *, negative: bool = True) -> Array:
    """Return which reasons are told, row by row, the largest absolute share first.

    They are at most five of a share of at least 5 %. Boosts are always among them, so that no item
    is promoted without saying so. If none of the user's own reasons speaks for the item, the
    largest that does is one more, however small.

    Parameters
    ----------
    row, share, is_boost
        Of each reason that may be told.
    negative
        Whether reasons against the item are told.
    """
    size, n_rows = np.abs(share), int(row.max(initial=-1)) + 1
    # Stable: equal shares stay in their order.
    order = np.lexsort((-size, row))
    able, speaks = negative | (share > 0), (share > 0) & ~is_boost
    told = able & is_boost
    left = N_REASONS - np.bincount(row[told], minlength=n_rows)
    own = order[(able & ~is_boost & (size >= MIN_SHARE))[order]]
    place = np.arange(len(own)) - np.searchsorted(row[own], row[own])
    told[own[place < left[row[own]]]] = True
    speaking = order[speaks[order]]
    rows, first = np.unique(row[speaking], return_index=True)
    lacking = np.bincount(row[told & speaks], minlength=n_rows)[rows] == 0
    told[speaking[first[lacking]]] = True
    return np.asarray(order[told[order]])


def number_features(tags: Sequence[Tag]) -> tuple[list[str], Array]:
    """Return the features in order of appearance, and the number of each tag's feature."""
    number: dict[str, int] = {}
    numbers = [number.setdefault(tag.feature, len(number)) for tag in tags]
    return list(number), np.array(numbers, dtype=np.int64)


# The tags of a feature are names if they are on less than this share of the items in the mean.
_NAMES = 0.01


def are_names(tags: Sequence[Tag], counts: Array, n_items: int) -> Array:
    """Return which declared tags are names, such as actors and authors, and no places.

    They are those of a feature if few items carry each.

    Parameters
    ----------
    counts
        How many items carry each tag.
    """
    _, number = number_features(tags)
    n_carried = np.bincount(number, counts)
    n_tags = np.bincount(number, counts > 0)
    few = n_carried < _NAMES * n_items * np.maximum(n_tags, 1)
    sayable = [not (tag.discovered or tag.is_place) for tag in tags]
    return np.asarray(few[number] & np.array(sayable, dtype=bool))


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
    cover, other_cover
        Which factor of each score of a product the parts cover; None where that is all.
    """

    item_id: int | str
    other_id: int | str
    score: float
    other_score: float
    parts: tuple[DifferencePart, ...] = field(repr=False)
    title: str | None = None
    other_title: str | None = None
    cover: Cover | None = field(default=None, repr=False)
    other_cover: Cover | None = field(default=None, repr=False)

    @property
    def difference(self) -> float:
        """Score - other_score."""
        return self.score - self.other_score

    @property
    def explained(self) -> tuple[float, float]:
        """The two scores that the parts sum to."""
        if self.cover is None or self.other_cover is None:
            return self.score, self.other_score
        return self.cover.explained, self.other_cover.explained

    @property
    def total(self) -> float:
        """The sum of all absolute differences, which shares are of."""
        return sum(abs(part.difference) for part in self.parts)

    @property
    def note(self) -> str:
        """What the parts of a product cover, as a sentence; empty for other models."""
        own, other = self.cover, self.other_cover
        if own is None or other is None:
            return ""
        if own.alone:
            return own.sentence()
        return (
            f"The parts cover the scores of {own.explained_by}, {own.explained:.3g} and "
            f"{other.explained:.3g}; each is multiplied by the score of {own.other}, "
            f"{own.unexplained:.3g} and {other.unexplained:.3g}, which has no reasons."
        )

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


def find_parts(parts: Parts) -> tuple[DifferencePart, ...]:
    """Return the parts of the difference of two scores, largest absolute difference first.

    Parameters
    ----------
    parts
        The parts of both scores, in rows 0 and 1, for the same user and with the same boosts.
    """
    found = []
    if parts.general.any():
        found.append(_pair_part("general", GENERAL, parts.general.tolist(), (GENERAL,)))
    groups: dict[tuple[int, int], dict[int, list[float]]] = {}
    columns = (parts.row, parts.kind, parts.place, parts.added)
    for row, kind, place, added in zip(*(c.tolist() for c in columns), strict=True):
        number = -1 if kind != TAG or parts.groups is None else int(parts.groups[place])
        # Parts in no group stand alone; they have numbers that no group has.
        group = groups.setdefault((kind, number if number >= 0 else -1 - place), {})
        group.setdefault(place, [0.0, 0.0])[row] += added
    for (kind, _), group in groups.items():
        # The tag that contributes most names the part.
        places = sorted(group, key=lambda place: -sum(map(abs, group[place])))
        sums = [sum(group[place][row] for place in places) for row in (0, 1)]
        name: BoostName
        tags: tuple[Tag, ...] = ()
        title = None
        if kind == TAG:
            tags = tuple(parts.tags[j] for j in places)
            name = tags[0]
        elif kind == BOOST:
            name = parts.boosts[places[0]]
            tags = (name,) if isinstance(name, Tag) else ()
        else:
            name, title = parts.item_name(places[0])
        found.append(_pair_part(_KINDS[kind], name, sums, tags, title))
    total = sum(abs(part.difference) for part in found)
    shared = (replace(part, share=part.difference / total if total else 0.0) for part in found)
    # Stable: equal ones stay in the order of the decoder's columns.
    return tuple(sorted(shared, key=lambda part: -abs(part.difference)))


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
