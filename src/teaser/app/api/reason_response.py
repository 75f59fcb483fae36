"""The two kinds of reason as typed JSON: a tag, or an item that was viewed."""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field
from typing_extensions import TypeAliasType

from teaser import explain as why
from teaser.app.api.requests import ItemId, example
from teaser.data.tagging.tag import Tag

NAMED = {"tag": "type=Concert", "feature": "type", "value": "Concert"}
REASON = {
    "kind": "tag",
    **NAMED,
    "contribution": 0.6,
    "share": 0.75,
    "affinity": 0.6,
    "weight": 1.0,
}
VIEWED = {
    "kind": "viewed",
    "item_id": "e0001",
    "title": "Jazz by night",
    "contribution": 0.2,
    "share": 0.25,
}


class Named(BaseModel):
    """A tag, whole and in its two parts."""

    model_config = example(**NAMED)

    tag: str
    feature: str
    value: str


class Reason(Named):
    """One tag's part in the score of an item.

    `contribution`s of an item, of all tags and viewed items, sum to its score; `share` is signed,
    and the absolute shares of them all sum to 1. `weight` is how much the tag counts for the item.
    """

    model_config = example(**REASON)

    kind: Literal["tag"]
    contribution: float
    share: float
    affinity: float
    weight: float

    @classmethod
    def of(cls, reason: why.Reason) -> Self:
        """Return a reason of the library."""
        return cls(
            kind="tag",
            **named(reason.tag),
            contribution=reason.contribution,
            share=reason.share,
            affinity=reason.affinity,
            weight=reason.weight,
        )


class ViewedReason(BaseModel):
    """The part of one viewed item in the score of an item, beside the tags.

    Only models with a remainder have such reasons.
    """

    model_config = example(**VIEWED)

    kind: Literal["viewed"]
    item_id: ItemId
    title: str | None
    contribution: float
    share: float

    @classmethod
    def of(cls, reason: why.ViewedReason) -> Self:
        """Return a reason of the library."""
        return cls(
            kind="viewed",
            item_id=reason.item_id,
            title=reason.title,
            contribution=reason.contribution,
            share=reason.share,
        )


# One name for the two kinds of reason, so that generated clients have one type for it.
AnyReason = TypeAliasType(
    "AnyReason",
    Annotated[
        Reason | ViewedReason,
        Field(
            discriminator="kind",
            description="A tag, or an item that was viewed; `kind` tells which.",
            examples=[REASON, VIEWED],
        ),
    ],
)


def reasons_of(reasons: Iterable[why.AnyReason]) -> list[Reason | ViewedReason]:
    """Return reasons of the library, of both kinds."""
    return [Reason.of(r) if isinstance(r, why.Reason) else ViewedReason.of(r) for r in reasons]


def named(tag: Tag) -> dict[str, str]:
    """Return a tag whole and in its parts, as every answer that is about a tag has them."""
    return {"tag": str(tag), "feature": tag.feature, "value": tag.value}
