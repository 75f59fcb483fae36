"""What the API answers, as typed JSON, made from what the library returns."""

from collections.abc import Mapping
from datetime import date as day
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import BaseModel

from teaser import explain as why
from teaser import profile as who
from teaser.app.catalogue import Card as CatalogueCard
from teaser.app.catalogue import Catalogue
from teaser.app.schemas import ItemId, Press, ProfileOptions, Share, example
from teaser.app.state import State
from teaser.app.store import StoredEvent
from teaser.data.tags import Tag
from teaser.errors import UnknownTagError, closest
from teaser.guide.similar import Similar

_REASON = {
    "tag": "type=Concert",
    "feature": "type",
    "value": "Concert",
    "contribution": 0.6,
    "share": 0.75,
    "affinity": 0.6,
}


class Error(BaseModel):
    """What went wrong: a code for programs, a sentence for people."""

    code: str
    message: str


class ErrorAnswer(BaseModel):
    """The shape of every error."""

    model_config = example(
        error={"code": "unknown_name", "message": "Unknown tag town=Gent. Closest: town=Ghent."}
    )

    error: Error


class Named(BaseModel):
    """A tag, whole and in its two parts."""

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


_PLACE = {"item_id": "e0004", "title": "Jazz at the quay", "score": 0.8, "match": 0.9}


class Recommendations(BaseModel):
    """A list, the best first."""

    model_config = example(recommendations=[{**_PLACE, "reasons": [_REASON]}])

    recommendations: list[Recommendation]


class Explanation(Recommendation):
    """The whole score of one item: every tag it carries, the largest share first."""

    model_config = example(**_PLACE, reasons=[_REASON])


class Affinity(Named):
    """How a person stands to a tag, and the net presses that are in it."""

    affinity: float
    presses: int


class FeatureProfile(BaseModel):
    """One feature: its share in what moves the scores, and its tags, the strongest first."""

    feature: str
    impact: Share
    tags: list[Affinity]


class Profile(BaseModel):
    """What the model believes of a person; the impacts of all features sum to 1."""

    model_config = example(
        certainty=0.8,
        features=[
            {
                "feature": "town",
                "impact": 0.4,
                "tags": [
                    {
                        "tag": "town=Ghent",
                        "feature": "town",
                        "value": "Ghent",
                        "affinity": 0.7,
                        "presses": 3,
                    }
                ],
            }
        ],
    )

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

    item_id: ItemId
    title: str | None
    part: float


class Origins(Named):
    """Where an affinity comes from: the parts sum to `raw`, of which it is a multiple."""

    model_config = example(
        tag="type=Concert",
        feature="type",
        value="Concert",
        affinity=0.6,
        raw=0.02,
        origins=[{"item_id": "e0001", "title": "Jazz at the quay", "part": 0.02}],
    )

    affinity: float
    raw: float
    origins: list[Origin]


class SharedTag(Named):
    """A tag that two items carry, and its share of their similarity."""

    share: Share


class SimilarItem(BaseModel):
    """An item that resembles another: 0 is no tag in common, 1 the same tags."""

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

    similar: list[SimilarItem]


class Person(BaseModel):
    """What is kept of a person.

    `unknown_items` and `unknown_tags` are those names in it that the model of now does not know;
    they are kept and play no part until a model knows them.
    """

    model_config = example(
        person_id="x1Ck0b0s0mA6jH5nQ2yq5QJm3n8cQ0W7rT9uVxYzAbE",
        history=["e0001", "e0002"],
        presses=[{"tag": "town=Ghent", "steps": 3}],
        hidden=[],
        variety=0.0,
        can_undo=True,
        can_redo=False,
        n_events=3,
        unknown_items=[],
        unknown_tags=[],
    )

    person_id: str
    history: list[ItemId]
    presses: list[Press]
    hidden: list[ItemId]
    variety: Share
    can_undo: bool
    can_redo: bool
    n_events: int
    unknown_items: list[ItemId]
    unknown_tags: list[str]

    @classmethod
    def of(cls, person_id: str, state: State, catalogue: Catalogue) -> Self:
        """Return a state, seen beside the catalogue of now."""
        items, tags = catalogue.model.items_, catalogue.tag_index
        return cls(
            person_id=person_id,
            history=list(state.history),
            presses=_presses(state.presses),
            hidden=list(state.hidden),
            variety=state.variety,
            can_undo=state.undoable is not None,
            can_redo=state.redoable is not None,
            n_events=state.n_events,
            unknown_items=[i for i in (*state.history, *state.hidden) if i not in items],
            unknown_tags=[text for text in state.presses if Tag.parse(text) not in tags],
        )


class ExportedEvent(BaseModel):
    """One action, with its place in the person's course and its time."""

    place: int
    at: datetime
    kind: Literal["view", "remove", "press", "hide", "unhide", "vary", "reset", "undo", "redo"]
    item_id: ItemId | None
    presses: list[Press]
    variety: float | None

    @classmethod
    def of(cls, event: StoredEvent) -> Self:
        """Return an event of the store."""
        return cls(
            place=event.place,
            at=event.at,
            kind=event.kind,  # type: ignore[arg-type]
            item_id=event.data.get("item"),
            presses=_presses(event.data.get("presses", {})),
            variety=event.data.get("variety"),
        )


class Export(BaseModel):
    """All that is kept of a person, in the order in which it happened."""

    model_config = example(
        person_id="x1Ck0b0s0mA6jH5nQ2yq5QJm3n8cQ0W7rT9uVxYzAbE",
        events=[
            {
                "place": 1,
                "at": "2026-05-01T12:00:00Z",
                "kind": "view",
                "item_id": "e0001",
                "presses": [],
                "variety": None,
            }
        ],
    )

    person_id: str
    events: list[ExportedEvent]


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

    item_id: ItemId
    title: str


class FoundTag(Named):
    """A tag, and how many items carry it."""

    n_items: int


class Found(BaseModel):
    """Items and tags whose names hold every word, the popular and common ones first."""

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


def _presses(presses: Mapping[str, int]) -> list[Press]:
    return [Press(tag=tag, steps=steps) for tag, steps in presses.items()]
