"""Examples under a tag: what it brings up, what one press more would, and the tags beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from teaser.data.matrix import ItemId
from teaser.data.tags import Tag, resolve_tag
from teaser.frame import Framed, make_frame
from teaser.model.extensions.user_features import About
from teaser.model.filters import Filters, ResolvedFilters, known_history
from teaser.model.tables import History
from teaser.model.tagged import TaggedModel
from teaser.parameters import check_count, check_k
from teaser.profile import (
    DEFAULT_STEERING,
    MAX_PRESSES,
    PressesLike,
    Profile,
    Steering,
    place_presses,
)

Array = NDArray[Any]


@dataclass(frozen=True)
class TagExample:
    """An item with a tag, and its rank in the user's list with less and more of the tag.

    Attributes
    ----------
    contribution
        What the tag adds to the item's score.
    rank
        The item's rank among all items that can be recommended, from 1.
    rank_without
        Its rank if the affinity with the tag were 0.
    rank_pressed
        Its rank with one press + more on the tag.
    """

    item_id: ItemId
    contribution: float
    rank: int
    rank_without: int
    rank_pressed: int
    title: str | None = None


@dataclass(frozen=True)
class TagBeside:
    """A tag that often stands on the same items as another.

    Attributes
    ----------
    n_items
        How many items carry both.
    share
        How much of the items with the other tag that is.
    times
        share / the share of all items that carry the tag: above 1.
    """

    tag: Tag
    n_items: int
    share: float
    times: float


@dataclass(frozen=True)
class TagExamples(Framed):
    """What a tag does in the list of a user.

    Attributes
    ----------
    affinity, presses
        The user's affinity with the tag, and the net presses on it that are included.
    can_press
        Whether one press + more is possible.
    brings_up
        The items with the tag that stand highest in the list.
    would_bring_up
        The items with the tag that one press + more would bring among the first of the list, and
        that are not there now; the highest first.
    comes_with
        The tags that are most over-represented on the items with the tag.
    """

    tag: Tag
    n_items: int
    affinity: float
    presses: int
    can_press: bool
    brings_up: tuple[TagExample, ...] = field(repr=False)
    would_bring_up: tuple[TagExample, ...] = field(repr=False)
    comes_with: tuple[TagBeside, ...] = field(repr=False)

    def to_frame(self) -> pl.DataFrame:
        """Return a frame with one row an item, those that are brought up first.

        Its columns are `part` (brings_up or would_bring_up), `item_id`, `title`, `contribution`,
        `rank`, `rank_without` and `rank_pressed`.
        """
        parts = {"brings_up": self.brings_up, "would_bring_up": self.would_bring_up}
        _, *names = _COLUMNS
        rows = (
            (part, *(getattr(each, name) for name in names))
            for part, examples in parts.items()
            for each in examples
        )
        return make_frame(rows, _COLUMNS)


_COLUMNS = {
    "part": pl.String,
    "item_id": None,
    "title": pl.String,
    "contribution": pl.Float64,
    "rank": pl.Int64,
    "rank_without": pl.Int64,
    "rank_pressed": pl.Int64,
}


def tag_examples(
    model: TaggedModel,
    tag: Tag | str,
    history: History = (),
    presses: PressesLike | None = None,
    *,
    k: int = 6,
    places: int = 20,
    about: About | None = None,
    steering: Steering = DEFAULT_STEERING,
    **filters: Unpack[Filters],
) -> TagExamples:
    """Return what a tag brings up for a user, what one press more would, and the tags beside it.

    Parameters
    ----------
    history, presses, about, steering, filters
        As in `recommend`.
    k
        The most items, and the most tags, of each kind.
    places
        How many items count as the first of the list.
    """
    model.check_fitted()
    k, places = check_k(k), check_count("places", places)
    column = resolve_tag(tag, model.tag_table_.index)
    placed = model.place_filters(filters)
    viewed, _ = known_history(model.item_table_, history, placed)
    known = {model.items_[i]: strength for i, strength in viewed.items()}
    net = place_presses(presses, model.tag_table_.index)
    more = {**net, column: min(net.get(column, 0) + 1, MAX_PRESSES)}
    own, pressed = (
        model.profile(
            known,
            {model.tags_[j]: steps for j, steps in each.items()},
            about=about,
            steering=steering,
        )
        for each in (net, more)
    )
    without = own.values.copy()
    without[column] = 0.0
    profiles = (own, replace(own, values=without), pressed)
    now, less, then = (_ranks(model, profile, placed, viewed) for profile in profiles)
    carriers = np.flatnonzero(model.decoder_[:, [column]].toarray())
    # Rank 0: the item cannot be recommended.
    listed = carriers[now[carriers] > 0]
    rising = listed[(now[listed] > places) & (then[listed] <= places)]
    factor = own.tags_weight * float(own.values[column])

    def examples(chosen: Array, order: Array) -> tuple[TagExample, ...]:
        first = chosen[np.argsort(order[chosen], kind="stable")][:k]
        weights = model.decoder_[first][:, [column]].toarray().ravel()
        return tuple(
            TagExample(
                model.items_[i], factor * w, int(now[i]), int(less[i]), int(then[i]), model.title(i)
            )
            for i, w in zip(first.tolist(), weights.tolist(), strict=True)
        )

    return TagExamples(
        tag=model.tags_[column],
        n_items=len(carriers),
        affinity=float(own.values[column]),
        presses=net.get(column, 0),
        can_press=net.get(column, 0) < MAX_PRESSES,
        brings_up=examples(listed, now),
        would_bring_up=examples(rising, then),
        comes_with=_beside(model, column, carriers)[:k],
    )


def _ranks(
    model: TaggedModel, profile: Profile, placed: ResolvedFilters, seen: Mapping[int, float]
) -> Array:
    """Return the rank of every item for a profile, from 1; 0 for what cannot be recommended."""
    scores = placed.boosted(model.scores(profile))
    order = model.rank_items(scores, k=len(scores), seen=list(seen), allowed=placed.allowed)
    found = np.zeros(len(scores), dtype=np.int64)
    found[order] = np.arange(1, len(order) + 1)
    return found


def _beside(model: TaggedModel, column: int, carriers: Array) -> tuple[TagBeside, ...]:
    """Return the declared and discovered tags that stand more often beside a tag than elsewhere.

    The largest share x log times comes first, by which also groups get their label.
    """
    D, n = model.decoder_, model.tag_table_.n_personal
    if not len(carriers):
        return ()
    everywhere = np.bincount(D.indices[D.data != 0], minlength=D.shape[1])[:n]
    beside = D[carriers]
    both = np.bincount(beside.indices[beside.data != 0], minlength=D.shape[1])[:n]
    share = both / len(carriers)
    times = share / np.maximum(everywhere / D.shape[0], 1e-300)
    found = [j for j in np.flatnonzero(times > 1).tolist() if j != column]
    found.sort(key=lambda j: (-share[j] * np.log(times[j]), j))
    return tuple(
        TagBeside(model.tags_[j], int(both[j]), float(share[j]), float(times[j])) for j in found
    )
