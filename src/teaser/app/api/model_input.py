"""The input of the model for one request, and its answers as typed JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from teaser.app.api.schema import requests, responses
from teaser.app.api.schema.guidance import Variation, VariationRequest
from teaser.app.api.schema.reason_responses import named
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.list_filter import by_date
from teaser.app.serving.personal_model import PersonalModel, read_about
from teaser.app.telemetry.request_record import measured
from teaser.closeness import closest_names
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag, resolve_tag
from teaser.difference import Difference
from teaser.errors import (
    ParameterError,
    UnknownFeatureError,
    UnknownNameError,
    closest,
)
from teaser.model.lists.selection import Filters, Unknown
from teaser.model.tables import History
from teaser.profile import PressesLike, Profile, Steering
from teaser.recommendation import Recommendations
from teaser.steer.tag_examples import TagExamples, tag_examples
from teaser.steer.variation import Changes, vary_item
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
    def of_request(cls, catalogue: Catalogue, asked: requests.Taste) -> Self:
        """Return the input that a request describes."""
        about = read_about(asked.about, catalogue)
        steering = Steering(scale=asked.scale, balance=asked.balance)
        return cls(catalogue, asked.history, asked.net_presses(), about, steering)

    @classmethod
    def of_person(cls, personal: PersonalModel, scale: str, balance: float | None = None) -> Self:
        """Return the input of a person; a balance that is given replaces the person's own."""
        chosen = personal.steering.balance if balance is None else balance
        steering = Steering(scale=scale, balance=chosen)
        taste = personal.history, personal.presses, personal.about
        return cls(personal.catalogue, *taste, steering, personal)

    @measured("model")
    def profile(self, presses: PressesLike | None = None) -> Profile:
        """Return the profile, with other presses if they are given."""
        pressed = self.presses if presses is None else presses
        return self.catalogue.model.profile(
            self.history, pressed, about=self.about, steering=self.steering
        )

    @measured("model")
    def recommend(
        self,
        asked: requests.ListOptions,
        variety: float,
        boost: Mapping[str, float] | None = None,
    ) -> responses.Recommendations:
        """Return a list; items that a person hid are left out."""
        tags = self._conditions(asked)
        boosts = self._boosts(boost or {}, asked.unknown)
        filters = Filters(
            allowed=self._allowed(asked, tags),
            items=asked.items,
            exclude=asked.exclude,
            boost=boosts,
            unknown=asked.unknown,
        )
        if self.personal and self.personal.is_by_date:
            found = self._newest(asked, filters)
        else:
            found = varied(
                self.catalogue.model,
                self.history,
                self.presses,
                variety=variety,
                k=asked.k,
                exclude_history=asked.exclude_history,
                negative_reasons=asked.negative_reasons,
                about=self.about,
                steering=self.steering,
                **filters,
            )
        made = [responses.Recommendation.of(entry) for entry in found]
        ignored = sum(tag not in self.catalogue.tag_index for tag in tags)
        ignored += found.ignored + len(boost or {}) - len(boosts)
        return responses.Recommendations(recommendations=made, ignored=ignored)

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
    def explain(
        self, item_id: ItemId, boost: Mapping[str, float] | None = None
    ) -> responses.Explanation:
        """Return the whole score of one item."""
        found = self.catalogue.model.explain(
            item_id,
            self.history,
            self.presses,
            about=self.about,
            steering=self.steering,
            boost=self._boosts(boost or {}, "raise"),
        )
        return responses.Explanation.of_score(found)

    @measured("model")
    def compare(self, item_id: ItemId, other_id: ItemId, boost: Mapping[str, float]) -> Difference:
        """Return why one item stands above another."""
        return self.catalogue.model.compare(
            item_id,
            other_id,
            self.history,
            self.presses,
            about=self.about,
            steering=self.steering,
            boost=self._boosts(boost, "raise"),
        )

    @measured("model")
    def vary(self, asked: VariationRequest, changes: Changes) -> Variation:
        """Return a list like an item, with some of its tags changed."""
        tags = self._conditions(asked)
        found = vary_item(
            self.catalogue.model,
            asked.item_id,
            changes,
            self.history,
            self.presses,
            n=asked.n,
            steps=asked.steps,
            k=asked.k,
            exclude_history=asked.exclude_history,
            negative_reasons=asked.negative_reasons,
            allowed=self._allowed(asked, tags),
            items=asked.items,
            exclude=asked.exclude,
            unknown=asked.unknown,
            about=self.about,
            steering=self.steering,
        )
        return Variation.of(found, sum(tag not in self.catalogue.tag_index for tag in tags))

    @measured("model")
    def examples(self, text: str, k: int, places: int) -> TagExamples:
        """Return what a tag brings up; items that a person hid are left out."""
        return tag_examples(
            self.catalogue.model,
            self._tag(text),
            self.history,
            self.presses,
            k=k,
            places=places,
            allowed=None if self.personal is None else self.personal.shown(),
            about=self.about,
            steering=self.steering,
        )

    @measured("model")
    def origins(self, text: str) -> responses.Origins:
        """Return where the affinity with a tag comes from, the largest parts first."""
        model = self.catalogue.model
        tag = self._tag(text)
        parts = model.origins(tag, self.history, self.about)
        ordered = sorted(parts.items(), key=lambda pair: -abs(pair[1]))
        return responses.Origins(
            **named(tag),
            affinity=float(self.profile().values[self.catalogue.tag_index[tag]]),
            raw=sum(parts.values()),
            origins=[
                responses.Origin(
                    item_id=source, title=model.title(model.items_.index_of(source)), part=part
                )
                for source, part in ordered
                if not isinstance(source, Tag)
            ],
            about=[
                responses.AboutOrigin(**named(source), part=part)
                for source, part in ordered
                if isinstance(source, Tag)
            ],
        )

    def _allowed(self, asked: requests.ListOptions, tags: Sequence[Tag]) -> NDArray[np.bool_]:
        if self.catalogue.dates is None and (asked.first_date or asked.last_date):
            raise ParameterError("This catalogue has no dates. Leave first_date and last_date out.")
        allowed = self.catalogue.allowed(tags, first=asked.first_date, last=asked.last_date)
        return self.personal.shown(allowed) if self.personal else allowed

    def _conditions(self, asked: requests.ListOptions) -> list[Tag]:
        """Return the tags of `where`.

        A value that the model does not have stays if unknown names are ignored: no item passes by
        it, where a condition left out would let all items pass. Its feature must be known.
        """
        index, features = self.catalogue.tag_index, self.catalogue.features
        tags = [Tag.parse(text) for text in (*asked.where, *asked.only_tags)]
        for tag in tags:
            if asked.unknown == "raise":
                resolve_tag(tag, index)
            elif tag not in index and tag.feature not in features:
                raise UnknownFeatureError(tag.feature, closest_names(tag.feature, features))
        return tags

    def _boosts(self, given: Mapping[str, float], unknown: Unknown) -> dict[Tag | str, float]:
        """Return boosts by item id and by tag, and by nothing else that the model would find."""
        is_item = self._ids.__contains__
        known = {
            name: x
            for name, x in given.items()
            if unknown == "raise" or is_item(name) or self._is_tag(name)
        }
        return {name if is_item(name) else self._boosted(name): x for name, x in known.items()}

    def _boosted(self, name: str) -> Tag:
        if "=" in name:
            return self._tag(name)
        near = closest(name, [*map(str, self.catalogue.tag_index), *map(str, self._ids)])
        raise UnknownNameError(
            f"boost names {name!r}, which is no item id and no tag as feature=value.{near}"
        )

    @property
    def _ids(self) -> Sequence[ItemId]:
        return self.catalogue.model.items_

    def _is_tag(self, text: str) -> bool:
        return "=" in text and Tag.parse(text) in self.catalogue.tag_index

    def _tag(self, text: str) -> Tag:
        # Parsed first: a program names a tag by its feature too, so that it stays the same tag.
        return self.catalogue.model.tags_[resolve_tag(Tag.parse(text), self.catalogue.tag_index)]
