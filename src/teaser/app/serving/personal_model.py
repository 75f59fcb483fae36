"""The model applied to one person's state: profile, scores, list.

Items and tags that the model does not have stay in the state and are ignored here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from teaser.app.people.events import State
from teaser.app.serving.catalogue import Catalogue
from teaser.app.telemetry.request_record import measured
from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag, resolve_tag
from teaser.errors import ParameterError
from teaser.guide.variety import spread
from teaser.profile import Profile, Steering, place_presses
from teaser.recommendation import Recommendations


@dataclass(frozen=True)
class PersonalModel:
    """One person's state with the model of one catalogue."""

    catalogue: Catalogue
    state: State

    @cached_property
    def history(self) -> list[ItemId] | dict[ItemId, float]:
        """The viewed items that the model has, the latest last; by strength where one is not 1."""
        items, strengths = self.catalogue.model.items_, self.state.strengths
        known = {items[items.index_of(i)]: i for i in self.state.history if i in items}
        if not any(i in strengths for i in known.values()):
            return list(known)
        return {item: strengths.get(i, 1.0) for item, i in known.items()}

    @cached_property
    def presses(self) -> Mapping[Tag, int]:
        """The presses on tags that the model has, by their names of today."""
        index, tags = self.catalogue.tag_index, self.catalogue.model.tags_
        parsed = {Tag.parse(text): steps for text, steps in self.state.presses.items()}
        known = {tag: steps for tag, steps in parsed.items() if tag in index}
        return {tags[place]: steps for place, steps in place_presses(known, index).items() if steps}

    @cached_property
    def about(self) -> list[Tag]:
        """The facts about the person that the model has."""
        index = self.catalogue.user_tag_index
        parsed = [Tag.parse(text) for text in self.state.about] if index else []
        return [tag for tag in parsed if tag in index]

    @cached_property
    def steering(self) -> Steering:
        """The settings of the state that change scores."""
        return Steering(balance=self.state.balance)

    @cached_property
    @measured("model")
    def profile(self) -> Profile:
        """The person's profile, presses included."""
        return self.catalogue.model.profile(
            self.history, self.presses, about=self.about, steering=self.steering
        )

    @cached_property
    @measured("model")
    def learned(self) -> Profile:
        """The profile without the presses."""
        if not self.presses:
            return self.profile
        return self.catalogue.model.profile(self.history, about=self.about, steering=self.steering)

    @property
    def is_new(self) -> bool:
        """Whether nothing is known about the person, so that general appeal orders the list."""
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

    def shown(self, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Return a mask of the items that may be recommended: allowed and not hidden."""
        items = self.catalogue.model.items_
        mask = np.ones(len(items), dtype=bool) if allowed is None else allowed.copy()
        mask[[items.index_of(i) for i in self.state.hidden if i in items]] = False
        return mask

    @measured("model")
    def rank(self, *, k: int = 12, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Return the positions of the items that `recommend` returns."""
        items = self.catalogue.model.items_
        return spread(
            self.catalogue.model,
            self.scores,
            variety=self.state.variety,
            k=k,
            seen=[items.index_of(i) for i in self.history],
            allowed=self.shown(allowed) if self.state.hidden else allowed,
        )

    @measured("model")
    def recommend(
        self, *, k: int = 12, allowed: NDArray[np.bool_] | None = None
    ) -> Recommendations:
        """Return the list, with the variety of the state, among the items that may be shown."""
        places = self.rank(k=k, allowed=allowed)
        return self.catalogue.model.entries(
            places, self.profile, self.scores, placed=self.catalogue.placed
        )


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
