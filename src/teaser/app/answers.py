"""What the API answers, as typed JSON, made from what the library returns."""

from datetime import date as day
from typing import Any, Self

from pydantic import BaseModel

from teaser import explain as why
from teaser import profile as who
from teaser.app.catalogue import Card as CatalogueCard
from teaser.app.schemas import ItemId, ProfileOptions, Share, example
from teaser.data.tags import Tag
from teaser.errors import UnknownTagError, closest
from teaser.guide.similar import Similar

_ERROR = {"code": "unknown_name", "message": "Unknown tag town=Gent. Closest: town=Ghent."}
_NAMED = {"tag": "type=Concert", "feature": "type", "value": "Concert"}
_REASON = {**_NAMED, "contribution": 0.6, "share": 0.75, "affinity": 0.6}
_PLACE = {"item_id": "e0004", "title": "Jazz at the quay", "score": 0.8, "match": 0.9}
_AFFINITY = {
    "tag": "town=Ghent",
    "feature": "town",
    "value": "Ghent",
    "affinity": 0.7,
    "presses": 3,
}
_FEATURE = {"feature": "town", "impact": 0.4, "tags": [_AFFINITY]}
_ORIGIN = {"item_id": "e0001", "title": "Jazz at the quay", "part": 0.02}
_SHARED = {**_NAMED, "share": 0.8}
_SIMILAR = {
    "item_id": "e0007",
    "title": "Jazz in the park",
    "similarity": 0.6,
    "shared": [_SHARED],
}
_FOUND_ITEM = {"item_id": "e0001", "title": "Jazz at the quay"}
_FOUND_TAG = {"tag": "town=Ghent", "feature": "town", "value": "Ghent", "n_items": 210}


class Error(BaseModel):
    """What went wrong: a code for programs, a sentence for people."""

    model_config = example(**_ERROR)

    code: str
    message: str


class ErrorAnswer(BaseModel):
    """The shape of every error."""

    model_config = example(error=_ERROR)

    error: Error


class Named(BaseModel):
    """A tag, whole and in its two parts."""

    model_config = example(**_NAMED)

    tag: str
    feature: str
    value: str


class Reason(Named):
    """One tag's part in the score of an item.

    `contribution`s of an item sum to its score; `share` is signed, and the absolute shares of all
    the item's tags sum to 1.
    """

    model_config = example(**_REASON)

    contribution: float
    share: float
    affinity: float

    @classmethod
    def of(cls, reason: why.Reason) -> Self:
        """Return a reason of the library."""
        return cls(
            **named(reason.tag),
            contribution=reason.contribution,
            share=reason.share,
            affinity=reason.affinity,
        )


class Recommendation(BaseModel):
    """One place in a list. `match` is the score over the highest in the catalogue, 0 to 1."""

    model_config = example(**_PLACE, reasons=[_REASON])

    item_id: ItemId
    title: str | None
    score: float
    match: Share
    reasons: list[Reason]

    @classmethod
    def of(cls, found: why.Recommendation | why.Explanation) -> Self:
        """Return a recommendation of the library."""
        return cls(
            item_id=found.item_id,
            title=found.title,
            score=found.score,
            match=found.match,
            reasons=[Reason.of(reason) for reason in found.reasons],
        )


class Recommendations(BaseModel):
    """A list, the best first."""

    model_config = example(recommendations=[{**_PLACE, "reasons": [_REASON]}])

    recommendations: list[Recommendation]


class Explanation(Recommendation):
    """The whole score of one item: every tag it carries, the largest share first."""

    model_config = example(**_PLACE, reasons=[_REASON])


class Affinity(Named):
    """How a person stands to a tag, and the net presses that are in it."""

    model_config = example(**_AFFINITY)

    affinity: float
    presses: int


class FeatureProfile(BaseModel):
    """One feature: its share in what moves the scores, and its tags, the strongest first."""

    model_config = example(**_FEATURE)

    feature: str
    impact: Share
    tags: list[Affinity]


class Profile(BaseModel):
    """What the model believes of a person; the impacts of all features sum to 1."""

    model_config = example(certainty=0.8, features=[_FEATURE])

    certainty: Share
    features: list[FeatureProfile]

    @classmethod
    def of(cls, profile: who.Profile, options: ProfileOptions) -> Self:
        """Return a profile of the library, the features with most impact first."""
        for feature in options.features:
            if feature not in profile.impacts:
                raise UnknownTagError(
                    f"Unknown feature {feature!r}.{closest(feature, profile.impacts)}"
                )
        shown = [
            (f, i)
            for f, i in profile.impacts.items()
            if not options.features or f in options.features
        ]
        return cls(
            certainty=profile.certainty,
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


class Origin(BaseModel):
    """What one item of the history adds to the raw score of a tag."""

    model_config = example(**_ORIGIN)

    item_id: ItemId
    title: str | None
    part: float


class Origins(Named):
    """Where an affinity comes from: the parts sum to `raw`, of which it is a multiple."""

    model_config = example(**_NAMED, affinity=0.6, raw=0.02, origins=[_ORIGIN])

    affinity: float
    raw: float
    origins: list[Origin]


class SharedTag(Named):
    """A tag that two items carry, and its share of their similarity."""

    model_config = example(**_SHARED)

    share: Share


class SimilarItem(BaseModel):
    """An item that resembles another: 0 is no tag in common, 1 the same tags."""

    model_config = example(**_SIMILAR)

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


class SimilarItems(BaseModel):
    """Items that resemble one, the most alike first."""

    model_config = example(similar=[_SIMILAR])

    similar: list[SimilarItem]


class Card(BaseModel):
    """What is known of an item; whatever the data do not have is null. `facts`: by feature."""

    model_config = example(
        item_id="e0001",
        title="Jazz at the quay",
        description="An evening by the water.",
        link=None,
        date="2026-05-01",
        has_picture=True,
        facts={"type": ["Concert"], "town": ["Ghent"]},
    )

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
        return cls(
            item_id=card.item_id,
            title=card.title,
            description=card.description,
            link=card.link,
            date=card.date,
            has_picture=card.has_picture,
            facts={feature: list(values) for feature, values in card.facts.items()},
        )


class FoundItem(BaseModel):
    """An item, by name."""

    model_config = example(**_FOUND_ITEM)

    item_id: ItemId
    title: str


class FoundTag(Named):
    """A tag, and how many items carry it."""

    model_config = example(**_FOUND_TAG)

    n_items: int


class Found(BaseModel):
    """Items and tags whose names hold every word, the popular and common ones first."""

    model_config = example(items=[_FOUND_ITEM], tags=[_FOUND_TAG])

    items: list[FoundItem]
    tags: list[FoundTag]


class Model(BaseModel):
    """What is served. `tags`: how many, by feature; `roles`: which column is shown as what."""

    model_config = example(
        kind="Teaser",
        items=2400,
        tags={"type": 16, "town": 101, "popularity": 1},
        parameters={"l2_weights": 200.0, "l2_encoder": 500.0},
        iterations=4,
        residual=0.0003,
        converged=True,
        roles={"title": "title", "date": "date"},
    )

    kind: str
    items: int
    tags: dict[str, int]
    parameters: dict[str, Any]
    iterations: int
    residual: float
    converged: bool
    roles: dict[str, str]


def named(tag: Tag) -> dict[str, str]:
    """Return a tag whole and in its parts, as every answer that is about a tag has them."""
    return {"tag": str(tag), "feature": tag.feature, "value": tag.value}
