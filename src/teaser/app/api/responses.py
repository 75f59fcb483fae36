"""The responses of the API as typed JSON, made from the objects of the library."""

from datetime import date as day
from typing import Any, Self

from pydantic import BaseModel

from teaser import explain as why
from teaser import profile as who
from teaser.app.api.reason_responses import (
    NAMED,
    REASON,
    VIEWED,
    AnyReason,
    Named,
    named,
    reasons_of,
)
from teaser.app.api.requests import ItemId, ProfileOptions, Share, example
from teaser.app.serving.catalogue import Card as CatalogueCard
from teaser.errors import UnknownFeatureError, closest_names
from teaser.guide.similarity import Similar

_ERROR = {"code": "unknown_name", "message": "Unknown tag town=Gent. Closest: town=Ghent."}
_ENTRY = {"item_id": "e0004", "title": "Jazz at the quay", "score": 0.8, "match": 0.9}
_AFFINITY = {
    "tag": "town=Ghent",
    "feature": "town",
    "value": "Ghent",
    "affinity": 0.7,
    "presses": 3,
}
_FEATURE = {"feature": "town", "impact": 0.4, "tags": [_AFFINITY]}
_ORIGIN = {"item_id": "e0001", "title": "Jazz at the quay", "part": 0.02}
_FACT = {"tag": "age=25-34", "feature": "age", "value": "25-34", "part": 0.01}
_SHARED = {**NAMED, "share": 0.8}
_SIMILAR = {
    "item_id": "e0007",
    "title": "Jazz in the park",
    "similarity": 0.6,
    "shared": [_SHARED],
}
_FOUND_ITEM = {"item_id": "e0001", "title": "Jazz at the quay"}
_FOUND_TAG = {"tag": "town=Ghent", "feature": "town", "value": "Ghent", "n_items": 210}


class Error(BaseModel):
    """An error: a code for programs, a sentence for people."""

    model_config = example(**_ERROR)

    code: str
    message: str


class ErrorAnswer(BaseModel):
    """The shape of every error."""

    model_config = example(error=_ERROR)

    error: Error


class Recommendation(BaseModel):
    """One entry of a list. `match` is the score relative to the highest of all items, 0 to 1."""

    model_config = example(**_ENTRY, reasons=[REASON, VIEWED])

    item_id: ItemId
    title: str | None
    score: float
    match: Share
    reasons: list[AnyReason]

    @classmethod
    def of(cls, found: why.Recommendation) -> Self:
        """Return a recommendation of the library."""
        return cls(**_entry(found))


class Recommendations(BaseModel):
    """A list, the best first."""

    model_config = example(recommendations=[{**_ENTRY, "reasons": [REASON, VIEWED]}])

    recommendations: list[Recommendation]


class Explanation(Recommendation):
    """The whole score of one item: every tag it has, the largest share first.

    If the model has a remainder, every viewed item that adds something is a reason too.
    `from_tags` and `from_viewed` sum to `score`; `tag_share` is the share of the tags in the sum
    of all absolute contributions.
    """

    model_config = example(
        **_ENTRY, reasons=[REASON, VIEWED], from_tags=0.6, from_viewed=0.2, tag_share=0.75
    )

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

    model_config = example(**_AFFINITY)

    affinity: float
    presses: int


class FeatureProfile(BaseModel):
    """One feature: its share of impact on the scores, and its tags, the strongest first."""

    model_config = example(**_FEATURE)

    feature: str
    impact: Share
    tags: list[Affinity]


class Profile(BaseModel):
    """The profile of a person; the impacts of all features sum to 1.

    `tags_weight` is the weight of tags in scores: 1 unless a balance lowers it. `about` are the
    facts about the person that were used.
    """

    model_config = example(certainty=0.8, tags_weight=1.0, about=[], features=[_FEATURE])

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


class Origin(BaseModel):
    """What one item of the history adds to the raw score of a tag."""

    model_config = example(**_ORIGIN)

    item_id: ItemId
    title: str | None
    part: float


class AboutOrigin(Named):
    """What one fact about the person adds to the raw score of a tag."""

    model_config = example(**_FACT)

    part: float


class Origins(Named):
    """Where an affinity comes from: all parts sum to `raw`, and the affinity is a multiple of it.

    `origins` are items of the history, `about` facts about the person.
    """

    model_config = example(**NAMED, affinity=0.6, raw=0.03, origins=[_ORIGIN], about=[_FACT])

    affinity: float
    raw: float
    origins: list[Origin]
    about: list[AboutOrigin]


class SharedTag(Named):
    """A tag that two items share, and its share of their similarity."""

    model_config = example(**_SHARED)

    share: Share


class SimilarItem(BaseModel):
    """An item that is similar to another: 0 is no tag in common, 1 the same tags."""

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
    """Items that are similar to one, the most similar first."""

    model_config = example(similar=[_SIMILAR])

    similar: list[SimilarItem]


class Card(BaseModel):
    """The data of an item; what the data do not have is null. `facts`: tag values by feature."""

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
        return cls.model_validate(card, from_attributes=True)


class FoundItem(BaseModel):
    """An item and its title."""

    model_config = example(**_FOUND_ITEM)

    item_id: ItemId
    title: str


class FoundTag(Named):
    """A tag, and how many items have it."""

    model_config = example(**_FOUND_TAG)

    n_items: int


class Found(BaseModel):
    """Items and tags whose names contain every word, the best matches first."""

    model_config = example(items=[_FOUND_ITEM], tags=[_FOUND_TAG])

    items: list[FoundItem]
    tags: list[FoundTag]


class Remainder(BaseModel):
    """The size of the remainder: how many items it has, and how many entries are stored."""

    model_config = example(items=2400, entries=5757600, sparse=False)

    items: int
    entries: int
    sparse: bool


class Model(BaseModel):
    """The model that is served. `tags`: their number, by feature; `roles`: the column of each role.

    `user_tags`: the facts about a person that can be given, by feature; `remainder`: null if the
    model has none.
    """

    model_config = example(
        kind="Teaser",
        items=2400,
        tags={"type": 16, "town": 101, "popularity": 1},
        user_tags={"age": ["18-24", "25-34"]},
        parameters={"l2_weights": 200.0, "l2_encoder": 500.0},
        iterations=4,
        residual=0.0003,
        converged=True,
        remainder={"items": 2400, "entries": 5757600, "sparse": False},
        roles={"title": "title", "date": "date"},
    )

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
