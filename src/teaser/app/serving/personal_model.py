"""The model applied to one person's state: profile, scores, list.

Items and tags that the model does not have stay in the state and are ignored here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.app.monitoring import measured
from teaser.app.serving.catalogue import (
    Catalogue,
    by_date,
    passing,
    places_of,
    without_tags,
)
from teaser.app.state import State
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag, resolve_tag
from teaser.errors import ParameterError, SearchTimeoutError
from teaser.model.scores import Scored
from teaser.model.tables import History
from teaser.model.tagged import TaggedModel
from teaser.profile import PressesLike, Profile, Steering, place_presses
from teaser.recommend import Recommendations
from teaser.steer import Lift, smallest_presses
from teaser.steer.variety import spread


@dataclass(frozen=True)
class PersonalModel:
    """One person's state with the model of one catalogue."""

    catalogue: Catalogue
    state: State

    @cached_property
    def history(self) -> list[ItemId] | dict[ItemId, float]:
        """What the profile is made from: `viewed`, or nothing for a list without profile."""
        return self.viewed if self.state.profiling else []

    @cached_property
    def viewed(self) -> list[ItemId] | dict[ItemId, float]:
        """The viewed items that the model has, the latest last; by strength where one is not 1."""
        items, strengths = self.catalogue.model.items_, self.state.strengths
        places = ((i, items.find(i)) for i in self.state.history)
        known = {items[place]: i for i, place in places if place is not None}
        if not any(i in strengths for i in known.values()):
            return list(known)
        return {item: strengths.get(i, 1.0) for item, i in known.items()}

    @cached_property
    def presses(self) -> Mapping[Tag, int]:
        """The presses on tags that the model has, by their names of today; none without profile."""
        if not self.state.profiling:
            return {}
        return known_presses(self.catalogue, self.state.presses)

    @cached_property
    def about(self) -> list[Tag]:
        """The facts about the person that the model has; none without profile."""
        if not self.state.profiling:
            return []
        index = self.catalogue.user_tag_index
        parsed = [Tag.parse(text) for text in self.state.about] if index else []
        return [tag for tag in parsed if tag in index]

    @cached_property
    def steering(self) -> Steering:
        """The settings of the state that change scores; without profile there are none."""
        return Steering(balance=self.state.balance) if self.state.profiling else Steering()

    @cached_property
    @measured("model")
    def profile(self) -> Profile:
        """The person's profile, presses included."""
        if not self.presses:
            return self.learned
        return self.catalogue.model.pressed(self.learned, self.presses, self.steering.step)

    @cached_property
    @measured("model")
    def learned(self) -> Profile:
        """The profile without the presses."""
        return self.catalogue.model.profile(
            self.history, about=self.about or None, steering=self.steering
        )

    @property
    def is_new(self) -> bool:
        """Whether nothing of the person is used, so that general appeal orders the list."""
        return not (self.history or self.presses or self.about)

    @property
    def can_balance(self) -> bool:
        """Whether the balance changes the list: viewed items count besides their tags."""
        return self.catalogue.model.has_remainder and bool(self.history)

    def affinity(self, tag: Tag) -> float:
        """Return the affinity with a tag, general appeal included."""
        return float(self.profile.values[self.catalogue.tag_index[tag]])

    @cached_property
    @measured("model")
    def scores(self) -> NDArray[np.float64]:
        """The score of every item, the boosts of the site included."""
        return self.catalogue.placed.boosted(self.catalogue.model.scores(self.profile))

    @property
    def is_by_date(self) -> bool:
        """Whether dates order the list: it is without profile, and the newest come first."""
        chosen = not self.state.profiling and self.state.order == "newest"
        return chosen and self.catalogue.dates is not None

    @cached_property
    def hidden(self) -> NDArray[np.bool_] | None:
        """A mask of the items that are never shown, by themselves or by a tag; None if none is."""
        places = places_of(self.catalogue, self.state.hidden)
        by_tag = without_tags(self.catalogue, self.state.hidden_tags)
        if not places and by_tag is None:
            return None
        items = self.catalogue.model.items_
        mask = np.zeros(len(items), dtype=bool) if by_tag is None else ~by_tag
        mask[places] = True
        return mask

    def is_hidden(self, item_id: ItemId) -> bool:
        """Return whether an item is never shown, by itself or by one of its tags."""
        place = self.catalogue.model.items_.find(item_id)
        return place is not None and self.hidden is not None and bool(self.hidden[place])

    def shown(
        self, allowed: NDArray[np.bool_] | None = None, *, filtered: bool = True
    ) -> NDArray[np.bool_]:
        """Return a mask of the items that may be recommended: allowed and not hidden.

        `filtered=False` leaves out the filters of the current feed.
        """
        items = self.catalogue.model.items_
        mask = np.ones(len(items), dtype=bool) if allowed is None else allowed.copy()
        own = passing(self.catalogue, self.state.filters) if filtered else None
        if own is not None:
            mask &= own
        if self.hidden is not None:
            mask &= ~self.hidden
        return mask

    @measured("model")
    def rank(self, *, k: int = 12, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Return the positions of the items that `recommend` returns."""
        is_limited = self.hidden is not None or bool(self.state.filters)
        mask = self.shown(allowed) if is_limited else allowed
        if self.is_by_date:
            order = by_date(self.catalogue, self.catalogue.today)
            return (order if mask is None else order[mask[order]])[:k]
        model, variety = self.catalogue.model, self.state.variety
        seen = [model.items_.index_of(i) for i in self.history]
        if not variety:
            return model.rank_items(self.scores, k=k, seen=seen, allowed=mask)
        return spread(model, self.scores, variety=variety, k=k, seen=seen, allowed=mask)

    @measured("model")
    def recommend(
        self, *, k: int = 12, allowed: NDArray[np.bool_] | None = None
    ) -> Recommendations:
        """Return the list, with the variety of the state, among the items that may be shown."""
        return self.entries(self.rank(k=k, allowed=allowed))

    @measured("model")
    def entries(self, places: NDArray[np.int64]) -> Recommendations:
        """Return the items at some positions with match and reasons."""
        return self.catalogue.model.entries(
            places, self.profile, self.scores, placed=self.catalogue.placed
        )

    @cached_property
    def scored(self) -> Scored:
        """The scores, from which matches follow."""
        return Scored(self.scores)


def known_presses(catalogue: Catalogue, presses: Mapping[str, int]) -> dict[Tag, int]:
    """Return net presses on tags that the model has, by their names of today."""
    index, tags = catalogue.tag_index, catalogue.model.tags_
    parsed = {Tag.parse(text): steps for text, steps in presses.items()}
    known = {tag: steps for tag, steps in parsed.items() if tag in index}
    return {tags[place]: steps for place, steps in place_presses(known, index).items() if steps}


def read_about(texts: Iterable[str], catalogue: Catalogue) -> list[str]:
    """Return facts about a person, spelled as in the model; empty texts are dropped.

    Raises
    ------
    ParameterError
        If the model was fitted without user features.
    UnknownTagError
        If the model does not have one of the tags.
    """
    given = [text for text in texts if text]
    index = catalogue.user_tag_index
    if given and not index:
        raise ParameterError(
            f"This model was fitted without user features, so {given[0]} cannot be used. "
            "Leave such facts out."
        )
    known = catalogue.model.user_tags_
    return list(dict.fromkeys(str(known[resolve_tag(text, index)]) for text in given))


# A search takes a whole core, so a worker makes one at a time.
SECONDS, WAIT_SECONDS = 0.1, 0.05
_searching = Lock()


def find_lift(
    model: TaggedModel, item_id: ItemId, history: History, presses: PressesLike, **options: Any
) -> Lift | None:
    """Return the result of `smallest_presses`.

    Raises
    ------
    SearchTimeoutError
        If the search does not end within `SECONDS`, or if another one is under way.
    """
    if not _searching.acquire(timeout=WAIT_SECONDS):
        raise SearchTimeoutError(WAIT_SECONDS)
    try:
        return smallest_presses(model, item_id, history, presses, seconds=SECONDS, **options)
    finally:
        _searching.release()
