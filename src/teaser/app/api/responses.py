"""The responses of the API as typed JSON, made from the objects of the library."""

from datetime import date as day
from typing import Any, Self

from teaser import explain as why
from teaser import profile as who
from teaser.app.api.examples import Schema
from teaser.app.api.reason_responses import (
    AnyReason,
    Named,
    named,
    reasons_of,
)
from teaser.app.api.requests import ItemId, ProfileOptions, Share
from teaser.app.serving.catalogue import Card as CatalogueCard
from teaser.errors import UnknownFeatureError, closest_names
from teaser.guide.similarity import Similar


class Error(Schema):
    """An error: a code for programs, a sentence for people."""

    code: str
    message: str


class ErrorAnswer(Schema):
    """The shape of every error."""

    error: Error


class Recommendation(Schema):
    """One entry of a list. `match` is the score relative to the highest of all items, 0 to 1."""

    item_id: ItemId
    title: str | None
    score: float
    match: Share
    reasons: list[AnyReason]

    @classmethod
    def of(cls, found: why.Recommendation) -> Self:
        """Return a recommendation of the library."""
        return cls(**_entry(found))


class Recommendations(Schema):
    """A list, the best first."""

    recommendations: list[Recommendation]


class Explanation(Recommendation):
    """The whole score of one item: every tag it has, the largest share first.

    If the model has a remainder, every viewed item that adds something is a reason too.
    `from_tags` and `from_viewed` sum to `score`; `tag_share` is the share of the tags in the sum
    of all absolute contributions.
    """

    from_tags: float
    from_viewed: float
    tag_share: Share

    @classmethod
    def of_score(cls, found: why.Explanation) -> Self:
        """Return an explanation of the library."""
        return cls(
            **_entry(found),
            from_tags=sum(found.contributions.values()),
            from_viewed=sum(found.viewed.values()),
            tag_share=min(1.0, found.tag_share),
        )


def _entry(found: why.Recommendation | why.Explanation) -> dict[str, Any]:
    return {
        "item_id": found.item_id,
        "title": found.title,
        "score": found.score,
        "match": found.match,
        "reasons": reasons_of(found.reasons),
    }


class Affinity(Named):
    """The affinity with a tag, and the net presses that it includes."""

    affinity: float
    presses: int


class FeatureProfile(Schema):
    """One feature: its share of impact on the scores, and its tags, the strongest first."""

    feature: str
    impact: Share
    tags: list[Affinity]


class Profile(Schema):
    """The profile of a person; the impacts of all features sum to 1.

    `tags_weight` is the weight of tags in scores: 1 unless a balance lowers it. `about` are the
    facts about the person that were used.
    """

    certainty: Share
    tags_weight: Share
    about: list[str]
    features: list[FeatureProfile]

    @classmethod
    def of(cls, profile: who.Profile, options: ProfileOptions) -> Self:
        """Return a profile of the library, the features with most impact first."""
        for feature in options.features:
            if feature not in profile.impacts:
                raise UnknownFeatureError(feature, closest_names(feature, profile.impacts))
        shown = [
            (f, i)
            for f, i in profile.impacts.items()
            if not options.features or f in options.features
        ]
        return cls(
            certainty=profile.certainty,
            tags_weight=profile.tags_weight,
            about=list(map(str, profile.about)),
            features=[
                FeatureProfile(
                    feature=feature,
                    impact=min(1.0, impact),
                    tags=[
                        Affinity(**named(tag), affinity=value, presses=profile.presses.get(tag, 0))
                        for tag, value in profile.top(options.top, feature=feature)
                    ],
                )
                for feature, impact in sorted(shown, key=lambda pair: -pair[1])
            ],
        )


class Origin(Schema):
    """What one item of the history adds to the raw score of a tag."""

    item_id: ItemId
    title: str | None
    part: float


class AboutOrigin(Named):
    """What one fact about the person adds to the raw score of a tag."""

    part: float


class Origins(Named):
    """Where an affinity comes from: all parts sum to `raw`, and the affinity is a multiple of it.

    `origins` are items of the history, `about` facts about the person.
    """

    affinity: float
    raw: float
    origins: list[Origin]
    about: list[AboutOrigin]


class SharedTag(Named):
    """A tag that two items share, and its share of their similarity."""

    share: Share


class SimilarItem(Schema):
    """An item that is similar to another: 0 is no tag in common, 1 the same tags."""

    item_id: ItemId
    title: str | None
    similarity: Share
    shared: list[SharedTag]

    @classmethod
    def of(cls, found: Similar) -> Self:
        """Return a similar item of the library."""
        return cls(
            item_id=found.item_id,
            title=found.title,
            similarity=found.similarity,
            shared=[SharedTag(**named(tag), share=min(1.0, s)) for tag, s in found.shared],
        )


class SimilarItems(Schema):
    """Items that are similar to one, the most similar first."""

    similar: list[SimilarItem]


class Card(Schema):
    """The data of an item; what the data do not have is null. `facts`: tag values by feature."""

    item_id: ItemId
    title: str
    description: str | None
    link: str | None
    date: day | None
    has_picture: bool
    facts: dict[str, list[str]]

    @classmethod
    def of(cls, card: CatalogueCard) -> Self:
        """Return a card of the catalogue."""
        return cls.model_validate(card, from_attributes=True)


class FoundItem(Schema):
    """An item and its title."""

    item_id: ItemId
    title: str


class FoundTag(Named):
    """A tag, and how many items have it."""

    n_items: int


class Found(Schema):
    """Items and tags whose names contain every word, the best matches first."""

    items: list[FoundItem]
    tags: list[FoundTag]


class Remainder(Schema):
    """The size of the remainder: how many items it has, and how many entries are stored.

    `neighbours`: how many others may explain an item; null if all may.
    """

    items: int
    entries: int
    sparse: bool
    neighbours: int | None


class Model(Schema):
    """The model that is served. `tags`: their number, by feature; `roles`: the column of each role.

    `user_tags`: the facts about a person that can be given, by feature; `remainder`: null if the
    model has none.
    """

    kind: str
    items: int
    tags: dict[str, int]
    user_tags: dict[str, list[str]]
    parameters: dict[str, Any]
    iterations: int
    residual: float
    converged: bool
    remainder: Remainder | None
    roles: dict[str, str]
