"""The input of the model for one request, and what the model answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from teaser.app.api import requests, responses
from teaser.app.catalogue import Catalogue, PersonalModel, by_date, find_lift, read_about
from teaser.app.monitoring import measured
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag, resolve_tag
from teaser.errors import ParameterError, SearchTimeoutError, UnknownNameError, closest_names
from teaser.explain import Difference, Explanation
from teaser.model.filters import Filters, Unknown
from teaser.model.tables import History
from teaser.profile import PressesLike, Profile, Steering
from teaser.recommend import Recommendations
from teaser.steer.tag_examples import TagExamples, tag_examples
from teaser.steer.variation import Changes, Variation, vary_item
from teaser.steer.variety import varied


@dataclass(frozen=True)
class ModelInput:
    """A history, presses, facts about the person and steering, beside a catalogue."""

    catalogue: Catalogue
    history: History
    presses: Mapping[Tag, int]
    about: Sequence[Tag | str]
    steering: Steering
    personal: PersonalModel | None = None

    @classmethod
    def from_request(cls, catalogue: Catalogue, asked: requests.Taste) -> Self:
        """Return the input that a request describes."""
        about = read_about(asked.about, catalogue)
        steering = Steering(scale=asked.scale, balance=asked.balance)
        return cls(catalogue, asked.history, asked.net_presses(), about, steering)

    @classmethod
    def from_person(
        cls, personal: PersonalModel, scale: str = "robust", balance: float | None = None
    ) -> Self:
        """Return the input of a person; a balance that is given replaces the person's own."""
        chosen = personal.steering.balance if balance is None else balance
        steering = Steering(scale=scale, balance=chosen)
        taste = personal.history, personal.presses, personal.about
        return cls(personal.catalogue, *taste, steering, personal)

    @property
    def _taste(self) -> dict[str, Any]:
        """The arguments that most functions of the library take."""
        return {
            "history": self.history,
            "presses": self.presses,
            "about": self.about,
            "steering": self.steering,
        }

    @measured("model")
    def profile(self, presses: PressesLike | None = None) -> Profile:
        """Return the profile, with other presses if they are given."""
        own = {} if presses is None else {"presses": presses}
        return self.catalogue.model.profile(**{**self._taste, **own})

    @measured("model")
    def recommend(
        self, asked: requests.ListOptions, variety: float, boost: Mapping[str, float] | None = None
    ) -> Recommendations:
        """Return a list; items that a person hid are left out."""
        boosts = self._boosts(boost or {}, asked.unknown)
        filters = self._filters(asked)
        filters["boost"] = boosts
        if self.personal and self.personal.is_by_date:
            found = self._newest(asked, filters)
        else:
            found = varied(
                self.catalogue.model,
                variety=variety,
                k=asked.k,
                exclude_history=asked.exclude_history,
                negative_reasons=asked.negative_reasons,
                **self._taste,
                **filters,
            )
        found.ignored += self._n_unknown(asked) + len(boost or {}) - len(boosts)
        return found

    def _newest(self, asked: requests.ListOptions, filters: Filters) -> Recommendations:
        """Return a list in the order of dates, with the scores of everybody's list."""
        model, profile = self.catalogue.model, self.profile()
        placed = model.place_filters(filters)
        order = by_date(self.catalogue, self.catalogue.today)
        places = order if placed.allowed is None else order[placed.allowed[order]]
        scores = placed.boosted(model.scores(profile))
        found = model.entries(
            places[: asked.k],
            profile,
            scores,
            negative_reasons=asked.negative_reasons,
            placed=placed,
        )
        found.ignored = placed.ignored
        return found

    @measured("model")
    def explain(self, item_id: ItemId, boost: Mapping[str, float] | None = None) -> Explanation:
        """Return the whole score of one item."""
        boosts = self._boosts(boost or {}, "raise")
        return self.catalogue.model.explain(item_id, boost=boosts, **self._taste)

    @measured("model")
    def compare(
        self, item_id: ItemId, other_id: ItemId, boost: Mapping[str, float] | None = None
    ) -> Difference:
        """Return why one item stands above another."""
        boosts = self._boosts(boost or {}, "raise")
        return self.catalogue.model.compare(item_id, other_id, boost=boosts, **self._taste)

    @measured("model")
    def vary(self, asked: requests.VariationRequest, changes: Changes) -> Variation:
        """Return a list like an item, with some of its tags changed."""
        found = vary_item(
            self.catalogue.model,
            asked.item_id,
            changes,
            n=asked.n,
            steps=asked.steps,
            k=asked.k,
            exclude_history=asked.exclude_history,
            negative_reasons=asked.negative_reasons,
            **self._taste,
            **self._filters(asked),
        )
        found.recommendations.ignored += self._n_unknown(asked)
        return found

    @measured("model")
    def examples(self, asked: requests.TagExamplesOptions) -> TagExamples:
        """Return what a tag brings up; items that a person hid are left out."""
        return tag_examples(
            self.catalogue.model,
            self._tag(asked.tag),
            k=asked.k,
            places=asked.places,
            allowed=None if self.personal is None else self.personal.shown(),
            **self._taste,
        )

    @measured("model")
    def lift(self, item_id: ItemId, k: int) -> responses.LiftAnswer:
        """Return the fewest presses that bring an item among the first k, by a short search."""
        try:
            found = find_lift(self.catalogue.model, item_id, k=k, **self._taste)
        except SearchTimeoutError:
            return responses.LiftAnswer(lift=None, finished=False)
        lift = None if found is None else responses.Lift.model_validate(found)
        return responses.LiftAnswer(lift=lift, finished=True)

    @measured("model")
    def origins(self, text: str) -> responses.Origins:
        """Return where the affinity with a tag comes from, the largest parts first."""
        model, tag = self.catalogue.model, self._tag(text)
        parts = model.origins(tag, self.history, self.about)
        ordered = sorted(parts.items(), key=lambda pair: -abs(pair[1]))
        return responses.Origins.model_validate(
            {
                "tag": tag,
                "affinity": float(self.profile().values[self.catalogue.tag_index[tag]]),
                "raw": sum(parts.values()),
                "origins": [
                    {"item_id": i, "title": model.title(model.items_.index_of(i)), "part": part}
                    for i, part in ordered
                    if not isinstance(i, Tag)
                ],
                "about": [{"tag": t, "part": part} for t, part in ordered if isinstance(t, Tag)],
            }
        )

    def _filters(self, asked: requests.ListOptions) -> Filters:
        """Return the filters of a request, and of a person what they hid."""
        if self.catalogue.dates is None and (asked.first_date or asked.last_date):
            raise ParameterError("This catalogue has no dates. Leave first_date and last_date out.")
        tags = self._conditions(asked)
        allowed: NDArray[np.bool_] = self.catalogue.allowed(
            tags, first=asked.first_date, last=asked.last_date
        )
        return Filters(
            allowed=self.personal.shown(allowed) if self.personal else allowed,
            items=asked.items,
            exclude=asked.exclude,
            unknown=asked.unknown,
        )

    def _conditions(self, asked: requests.ListOptions) -> list[Tag]:
        """Return the tags of `where`.

        A value that the model does not have stays if unknown names are ignored: no item passes by
        it, where a condition left out would let all items pass. Its feature must be known.
        """
        index, features = self.catalogue.tag_index, self.catalogue.features
        tags = [Tag.parse(text) for text in asked.where]
        for tag in tags:
            if asked.unknown == "raise":
                resolve_tag(tag, index)
            elif tag not in index and tag.feature not in features:
                raise UnknownNameError("feature", tag.feature, closest_names(tag.feature, features))
        return tags

    def _n_unknown(self, asked: requests.ListOptions) -> int:
        return sum(Tag.parse(text) not in self.catalogue.tag_index for text in asked.where)

    def _boosts(self, given: Mapping[str, float], unknown: Unknown) -> dict[Tag | str, float]:
        """Return boosts by item id and by tag, and by nothing else that the model would find."""
        ids, index = self.catalogue.model.items_, self.catalogue.tag_index
        found: dict[Tag | str, float] = {}
        for name, number in given.items():
            is_tag = "=" in name and Tag.parse(name) in index
            if name in ids:
                found[name] = number
            elif is_tag or (unknown == "raise" and "=" in name):
                found[self._tag(name)] = number
            elif unknown == "raise":
                near = closest_names(name, [*map(str, index), *map(str, ids)])
                said = "boost names {name!r}, which is no item id and no tag as feature=value."
                raise UnknownNameError("boost", name, near, said)
        return found

    def _tag(self, text: str) -> Tag:
        # Parsed first: a program names a tag by its feature too, so that it stays the same tag.
        return self.catalogue.model.tags_[resolve_tag(Tag.parse(text), self.catalogue.tag_index)]
