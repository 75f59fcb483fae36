"""Two items side by side, an item as a start, and examples under a tag, as typed JSON."""

from typing import Annotated, Literal, Self

from pydantic import Field

from teaser import difference as apart
from teaser.app.api.schema.examples import Schema
from teaser.app.api.schema.person_responses import Steps
from teaser.app.api.schema.reason_responses import Named, named
from teaser.app.api.schema.requests import (
    MAX_NAME,
    MAX_TAGS,
    Boosts,
    BoostTexts,
    ItemId,
    ItemOptions,
    K,
    ListOptions,
    ModelItemId,
    OwnBalance,
    Scale,
    Share,
    StrictSchema,
    TagText,
    Taste,
)
from teaser.app.api.schema.responses import Recommendation
from teaser.data.tags import Tag
from teaser.profile import MAX_PRESSES
from teaser.steer import TagBeside as FoundBeside
from teaser.steer import TagExample as FoundExample
from teaser.steer import TagExamples as FoundExamples
from teaser.steer import Variation as FoundVariation
from teaser.steer.variation import N_TAGS, STEPS

MAX_START = 20
OtherId = Annotated[ItemId, Field(description="The item to compare it with.", examples=["e0007"])]


class CompareRequest(Taste):
    """Two items whose scores are compared for a history and presses."""

    item_id: ItemId
    other_id: OtherId
    boost: Boosts = Field(default_factory=dict)


class PersonCompareOptions(ItemOptions):
    """Two items whose scores are compared for a person."""

    other_id: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_NAME,
            description="The id of the item to compare it with.",
            examples=["e0007"],
        ),
    ]
    scale: Scale = "robust"
    balance: OwnBalance = None
    boost: BoostTexts = Field(default_factory=list)


class Change(StrictSchema):
    """A tag of the item, and the tag that takes its place; null leaves it out."""

    old: TagText
    new: Annotated[TagText | None, Field(description="null leaves the tag out.")] = None


class VariationRequest(Taste, ListOptions):
    """A list like an item, with some of its tags changed."""

    item_id: ItemId
    changes: Annotated[list[Change], Field(max_length=MAX_TAGS)] = Field(default_factory=list)
    n: Annotated[
        int,
        Field(ge=1, le=MAX_START, description="How many tags of the item count, at most."),
    ] = N_TAGS
    steps: Annotated[
        int, Field(ge=1, le=MAX_PRESSES, description="How often each of them is pressed.")
    ] = STEPS


class TagExamplesOptions(StrictSchema):
    """The tag whose examples are wanted."""

    tag: TagText
    k: Annotated[K, Field(description="How many items, and how many tags, at most.")] = 6
    places: Annotated[K, Field(description="How many items count as the first of a list.")] = 20


class PersonTagExamplesOptions(TagExamplesOptions):
    """The tag whose examples a person wants."""

    scale: Scale = "robust"
    balance: OwnBalance = None


class TagExamplesRequest(Taste, TagExamplesOptions):
    """The tag whose examples are wanted, for a history and presses."""


class DifferencePart(Schema):
    """What one part of two scores does to their difference; `share` is signed.

    `name` is a tag, the id of an item of the history, or what a boost is named by; `label` is the
    same for a reader. `tags` are all that the part is about: near-equal tags are one part.
    """

    kind: Literal["general", "tag", "viewed", "disliked", "boost"]
    name: ModelItemId
    label: str
    tags: list[Named]
    contribution: float
    other_contribution: float
    difference: float
    share: float

    @classmethod
    def of(cls, part: apart.DifferencePart, label: str) -> Self:
        """Return a part of the library, with its name for a reader."""
        return cls(
            kind=part.kind,
            name=str(part.name) if isinstance(part.name, Tag) else part.name,
            label=label,
            tags=[Named(**named(tag)) for tag in part.tags],
            contribution=part.contribution,
            other_contribution=part.other_contribution,
            difference=part.difference,
            share=part.share,
        )


class Difference(Schema):
    """Why one item stands above another: the differences of all parts sum to `difference`.

    `difference` is `score` less `other_score`. Parts that both items have in the same measure have
    a difference of 0; they come last.
    """

    item_id: ModelItemId
    other_id: ModelItemId
    title: str | None
    other_title: str | None
    score: float
    other_score: float
    difference: float
    said: str
    parts: list[DifferencePart]

    @classmethod
    def of(cls, found: apart.Difference) -> Self:
        """Return a difference of the library."""
        return cls(
            item_id=found.item_id,
            other_id=found.other_id,
            title=found.title,
            other_title=found.other_title,
            score=found.score,
            other_score=found.other_score,
            difference=found.difference,
            said=found.sentence(),
            parts=list(map(DifferencePart.of, found.parts, found.labels())),
        )


class Variation(Schema):
    """A list that starts from an item, without the item itself.

    `start` are the presses that the item gives, changes included; `presses` those behind the list.
    """

    item_id: ModelItemId
    title: str | None
    start: list[Steps]
    presses: list[Steps]
    recommendations: list[Recommendation]
    ignored: int

    @classmethod
    def of(cls, found: FoundVariation, ignored: int = 0) -> Self:
        """Return a list of the library; `ignored` names were unknown beside those it counts."""
        return cls(
            item_id=found.item_id,
            title=found.title,
            start=[Steps(tag=str(tag), steps=n) for tag, n in found.start.items()],
            presses=[Steps(tag=str(tag), steps=n) for tag, n in found.presses.items()],
            recommendations=[Recommendation.of(entry) for entry in found.recommendations],
            ignored=ignored + found.recommendations.ignored,
        )


class TagExample(Schema):
    """An item with a tag: its rank now, without the tag, and with one press + more."""

    item_id: ModelItemId
    title: str | None
    contribution: float
    rank: int
    rank_without: int
    rank_pressed: int

    @classmethod
    def of(cls, found: FoundExample) -> Self:
        """Return an example of the library."""
        return cls(**vars(found))


class TagBeside(Named):
    """A tag that `share` of the items with another carry: `times` as many as of all items."""

    n_items: int
    share: Share
    times: float

    @classmethod
    def of(cls, found: FoundBeside) -> Self:
        """Return a tag of the library."""
        return cls(
            **named(found.tag),
            n_items=found.n_items,
            share=min(1.0, found.share),
            times=found.times,
        )


class TagExamples(Named):
    """What a tag does in a list: what it brings up, what it would, and which tags come with it.

    `n_items`: how many items have it; `affinity`: presses included; `can_press`: whether one press
    + more is possible.
    """

    n_items: int
    affinity: float
    presses: int
    can_press: bool
    brings_up: list[TagExample]
    would_bring_up: list[TagExample]
    comes_with: list[TagBeside]

    @classmethod
    def of(cls, found: FoundExamples) -> Self:
        """Return examples of the library."""
        return cls(
            **named(found.tag),
            n_items=found.n_items,
            affinity=found.affinity,
            presses=found.presses,
            can_press=found.can_press,
            brings_up=[TagExample.of(each) for each in found.brings_up],
            would_bring_up=[TagExample.of(each) for each in found.would_bring_up],
            comes_with=[TagBeside.of(each) for each in found.comes_with],
        )
