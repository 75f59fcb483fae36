"""The input of the model for one request, and what the model answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from teaser.app.api import requests, responses
from teaser.app.catalogue import (
    Catalogue,
    PersonalModel,
    by_date,
    filter_mask,
    find_lift,
    read_about,
    read_filters,
)
from teaser.app.monitoring import measured
from teaser.app.state import NO_FILTER, check_filters
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.errors import ParameterError
from teaser.explain import Difference, Explanation
from teaser.model.filters import Filters
from teaser.profile import PressesLike, Profile, Steering
from teaser.recommend import Recommendations
from teaser.steer.tag_examples import TagExamples, tag_examples
from teaser.steer.variation import Changes, Variation, vary_item
from teaser.steer.variety import varied
from teaser.words.wishes import matching_items


@dataclass(frozen=True)
class ModelInput:
    """What most functions of the library take about a person, beside a catalogue."""

    catalogue: Catalogue
    taste: Mapping[str, Any]  # history, presses, about, steering
    personal: PersonalModel | None = None

    @classmethod
    def from_request(cls, catalogue: Catalogue, asked: requests.Taste) -> Self:
        """Return the input that a request describes."""
        taste = {"history": asked.history, "presses": asked.net_presses()}
        about = read_about(asked.about, catalogue)
        steering = Steering(scale=asked.scale, balance=asked.balance)
        return cls(catalogue, {**taste, "about": about, "steering": steering})

    @classmethod
    def from_person(
        cls, personal: PersonalModel, scale: str = "robust", balance: float | None = None
    ) -> Self:
        """Return the input of a person; a balance that is given replaces the person's own."""
        chosen = personal.steering.balance if balance is None else balance
        steering = Steering(scale=scale, balance=chosen)
        return cls(personal.catalogue, {**personal.taste, "steering": steering}, personal)

    @measured("model")
    def profile(self, presses: PressesLike | None = None) -> Profile:
        """Return the profile, with other presses if they are given."""
        own = {} if presses is None else {"presses": presses}
        return self.catalogue.model.profile(**{**self.taste, **own})

    @measured("model")
    def recommend(
        self, asked: requests.ListOptions, variety: float, boost: Mapping[str, float] | None = None
    ) -> Recommendations:
        """Return a list; items that a person hid are left out."""
        filters = self._filters(asked, boost or {})
        if self.personal and self.personal.is_by_date:
            return self._newest(asked, filters)
        return varied(self.catalogue.model, variety=variety, **self._options(asked), **filters)

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
        return self.catalogue.model.explain(item_id, boost=boost, **self.taste)

    @measured("model")
    def compare(
        self, item_id: ItemId, other_id: ItemId, boost: Mapping[str, float] | None = None
    ) -> Difference:
        """Return why one item stands above another."""
        return self.catalogue.model.compare(item_id, other_id, boost=boost, **self.taste)

    @measured("model")
    def vary(self, asked: requests.VariationRequest, changes: Changes) -> Variation:
        """Return a list like an item, with some of its tags changed."""
        return vary_item(
            self.catalogue.model,
            asked.item_id,
            changes,
            n=asked.n,
            steps=asked.steps,
            **self._options(asked),
            **self._filters(asked, {}),
        )

    @measured("model")
    def examples(self, asked: requests.TagExamplesOptions) -> TagExamples:
        """Return what a tag brings up; items that a person hid are left out."""
        return tag_examples(
            self.catalogue.model,
            self.catalogue.tag(Tag.parse(asked.tag)),
            k=asked.k,
            places=asked.places,
            allowed=None if self.personal is None else self.personal.shown(),
            **self.taste,
        )

    @measured("model")
    def lift(self, item_id: ItemId, k: int) -> responses.LiftAnswer:
        """Return the fewest presses that bring an item among the first k, by a short search."""
        found, finished = find_lift(self.catalogue.model, item_id, k=k, **self.taste)
        return responses.LiftAnswer.model_validate({"lift": found, "finished": finished})

    @measured("model")
    def origins(self, text: str) -> responses.Origins:
        """Return where the affinity with a tag comes from, the largest parts first."""
        model, tag = self.catalogue.model, self.catalogue.tag(Tag.parse(text))
        parts = model.origins(tag, self.taste["history"], self.taste["about"])
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

    def _options(self, asked: requests.ListOptions) -> dict[str, Any]:
        names = ("k", "exclude_history", "negative_reasons")
        return {**self.taste, **{name: getattr(asked, name) for name in names}}

    def _filters(self, asked: requests.ListOptions, boost: Mapping[str, float]) -> Filters:
        """Return the filters of a request, and of a person what they hid."""
        if self.catalogue.dates is None and (asked.first_date or asked.last_date):
            raise ParameterError("This catalogue has no dates. Leave first_date and last_date out.")
        allowed = matching_items(self.catalogue.model, first=asked.first_date, last=asked.last_date)
        if isinstance(asked, requests.FilteredList):
            given = check_filters(asked.filters.model_dump(exclude_defaults=True))
            filters = read_filters(self.catalogue, given, NO_FILTER)
            allowed = allowed & filter_mask(self.catalogue, filters)
        own = self.personal
        allowed = own.shown(allowed) if own else allowed & ~self.catalogue.over
        return Filters(
            allowed=allowed,
            items=asked.items,
            exclude=asked.exclude,
            where=[{tag.feature: tag.value} for tag in map(Tag.parse, asked.where)],
            boost=boost,
            unknown=asked.unknown,
        )
