"""Like this, but ...: the tags of an item as a start, with some changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from teaser.data.matrix import ItemId
from teaser.data.tags import Tag, resolve_tag
from teaser.errors import ParameterError
from teaser.model.extensions.user_features import About
from teaser.model.filters import Filters
from teaser.model.tables import History
from teaser.model.tagged import TaggedModel
from teaser.parameters import check_count, check_k
from teaser.profile import (
    DEFAULT_STEERING,
    MAX_PRESSES,
    PressesLike,
    Steering,
    check_press,
    place_presses,
)
from teaser.recommend import Recommendations
from teaser.steer.similarity import rarity_rows

Array = NDArray[Any]
# By tag of the item: `Tag` or "feature=value", and what takes its place.
Changes = Mapping[Any, Tag | str | None]
N_TAGS = 5
# Fewer presses leave a list that is more like its user than like the item.
STEPS = MAX_PRESSES


@dataclass(frozen=True)
class Variation:
    """A list that starts from an item.

    Attributes
    ----------
    item_id, title
        The item.
    start
        The presses that the item gives, changes included.
    presses
        The net presses behind the list: those of the user and `start`.
    recommendations
        The list, without the item itself.
    """

    item_id: ItemId
    start: Mapping[Tag, int]
    presses: Mapping[Tag, int]
    recommendations: Recommendations = field(repr=False)
    title: str | None = None


def start_presses(
    model: TaggedModel, item_id: ItemId, n: int = N_TAGS, *, steps: int = 1
) -> dict[Tag, int]:
    """Return presses on the tags that tell most about an item.

    A tag tells more the rarer it is, and the more weight it has for the item, as in `similar`.
    The strongest tag of each feature comes first, then the others. Of near-equal tags, which lie
    on nearly the same items, only the strongest is pressed. Discovered tags are taken only where
    the item has no declared ones, and tags that no other item has where it has no others.

    Parameters
    ----------
    n
        The most tags.
    steps
        The presses on each.

    Raises
    ------
    ParameterError
        If the item has neither declared nor discovered tags.
    """
    check_count("n", n)
    steps = _check_steps(steps)
    places = _tell_most(model, _own_tags(model, item_id))
    return {model.tags_[j]: steps for j in places[:n]}


def vary_item(
    model: TaggedModel,
    item_id: ItemId,
    changes: Changes,
    history: History = (),
    presses: PressesLike | None = None,
    *,
    n: int = N_TAGS,
    steps: int = STEPS,
    k: int = 20,
    exclude_history: bool = True,
    negative_reasons: bool = True,
    about: About | None = None,
    steering: Steering = DEFAULT_STEERING,
    **filters: Unpack[Filters],
) -> Variation:
    """Return a list like an item, with some of its tags changed.

    Parameters
    ----------
    changes
        For a tag of the item the tag that takes its place, or None to leave it out. A tag that
        is changed counts also where it is not among the n strongest. Tags that no item has
        together with a new one are left out: the region of a town that is changed, say.
    history, presses, k, exclude_history, negative_reasons, about, steering, filters
        As in `recommend`. The item's presses are added to those of the user, within the bounds
        of a tag.
    n, steps
        How many tags of the item are pressed besides those that are changed, and how often.

    Raises
    ------
    ParameterError
        If the item has no tags.
    ParameterError
        If the item does not have a tag that is to be changed.
    """
    k = check_k(k)
    start = _start(model, item_id, changes, check_count("n", n), _check_steps(steps))
    net = place_presses(presses, model.tag_table_.index)
    for tag, added in start.items():
        j = model.tag_table_.index[tag]
        net[j] = min(max(net.get(j, 0) + added, -MAX_PRESSES), MAX_PRESSES)
    total = {model.tags_[j]: number for j, number in net.items() if number}
    found = model.recommend(
        history,
        total,
        k=k + 1,
        exclude_history=exclude_history,
        negative_reasons=negative_reasons,
        about=about,
        steering=steering,
        **filters,
    )
    item = model.items_.index_of(item_id)
    others = found.with_entries(each for each in found if each.item_id != model.items_[item])
    return Variation(model.items_[item], start, total, others[:k], model.title(item))


def _start(
    model: TaggedModel,
    item_id: ItemId,
    changes: Changes,
    n: int,
    steps: int,
) -> dict[Tag, int]:
    """Return the presses of an item with changes: new tags first."""
    if not isinstance(changes, Mapping):
        raise ParameterError(
            f"changes must map tags of the item to other tags, found a {type(changes).__name__}."
        )
    index, own = model.tag_table_.index, _own_tags(model, item_id)
    gone, new = [], []
    for tag, other in changes.items():
        gone.append(resolve_tag(tag, index))
        if gone[-1] not in own:
            known = ", ".join(str(model.tags_[j]) for j in _tell_most(model, own)[:N_TAGS])
            raise ParameterError(
                f"The item {item_id!r} has no tag {tag}, so it cannot be changed. It has: {known}."
            )
        new += [] if other is None else [resolve_tag(other, index)]
    group = model.tag_table_.near_equal_group
    left = {j: weight for j, weight in own.items() if group[j] not in group[gone]}
    for j in new:
        beside = _tags_beside(model, j)
        left = {place: weight for place, weight in left.items() if place in beside}
    kept = [j for j in _tell_most(model, left) if j not in new]
    return {model.tags_[j]: steps for j in dict.fromkeys([*new, *kept[:n]])}


def _check_steps(steps: int) -> int:
    return check_press("the tags of an item", check_count("steps", steps))


def _own_tags(model: TaggedModel, item_id: ItemId) -> dict[int, float]:
    """Return the columns of an item's tags with how much each tells; raise if it has none."""
    row = rarity_rows(model, np.array([model.items_.index_of(item_id)]))
    own = {j: x for j, x in zip(row.indices.tolist(), row.data.tolist(), strict=True) if x}
    if not own:
        raise ParameterError(
            "The item {item_id!r} has no tags, so it cannot be a start. Choose another item.",
            problem="no tags",
            item_id=item_id,
        )
    return own


def _tell_most(model: TaggedModel, own: Mapping[int, float]) -> list[int]:
    """Return the columns of those tags of an item that stand for it, those that tell most first."""
    # A tag with a learned weight below 0 counts against the item.
    positive = [j for j in own if own[j] > 0]
    chosen = [j for j in positive if not model.tags_[j].discovered] or positive
    carriers = model.tag_table_.carriers.counts
    chosen = [j for j in chosen if carriers[j] > 1] or chosen
    apart: dict[int, int] = {}
    firsts: dict[str, int] = {}
    for j in sorted(chosen, key=lambda j: (-own[j], j)):
        apart.setdefault(int(model.tag_table_.near_equal_group[j]), j)
    for j in apart.values():
        firsts.setdefault(model.tags_[j].feature, j)
    # Stable: the first of each feature, then the others, each in their order.
    return sorted(apart.values(), key=lambda j: firsts[model.tags_[j].feature] != j)


def _tags_beside(model: TaggedModel, column: int) -> set[int]:
    """Return the columns of the tags that some item has together with a tag."""
    D = model.decoder_
    carriers = np.flatnonzero(D[:, [column]].toarray())
    return set(np.unique(D[carriers].indices).tolist())
