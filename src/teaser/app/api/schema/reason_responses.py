"""The kinds of reason as typed JSON: a tag, a viewed item, or a boost."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import Field
from typing_extensions import TypeAliasType

from teaser import reason as why
from teaser.app.api.schema.examples import Schema, example_of
from teaser.app.api.schema.requests import ModelItemId
from teaser.data.tags import Tag


class Named(Schema):
    """A tag: its text, its feature and value, and whether the system found it."""

    tag: str
    feature: str
    value: str
    discovered: bool


class Reason(Named):
    """The contribution of one tag, or of near-equal tags together, to the score of an item.

    General appeal and the contributions of all reasons sum to the score. `share` is signed, and the
    absolute shares, that of general appeal included, sum to 1. `weight` is the weight of the tag
    for the item. `tags` are all that the reason is about, `tag` the first of them: tags that lie on
    nearly the same items are one reason.
    """

    kind: Literal["tag"]
    contribution: float
    share: float
    affinity: float
    weight: float
    tags: list[Named]

    @classmethod
    def of(cls, reason: why.Reason) -> Self:
        """Return a reason of the library."""
        tags = [named(tag) for tag in reason.tags]
        return cls(kind="tag", **{**vars(reason), **named(reason.tag), "tags": tags})


class ViewedReason(Schema):
    """The contribution of one viewed item to the score of an item, beside the tags.

    Only models with a remainder have such reasons.
    """

    kind: Literal["viewed"]
    item_id: ModelItemId
    title: str | None
    contribution: float
    share: float
    disliked: Annotated[bool, Field(description="Whether its strength in the history is below 0.")]

    @classmethod
    def of(cls, reason: why.ViewedReason) -> Self:
        """Return a reason of the library."""
        return cls(kind="viewed", **vars(reason))


class BoostReason(Schema):
    """What a boost of the request adds to the score of an item; `name` is the id or tag boosted."""

    kind: Literal["boost"]
    name: ModelItemId
    contribution: float
    share: float

    @classmethod
    def of(cls, reason: why.BoostReason) -> Self:
        """Return a reason of the library."""
        name = str(reason.name) if isinstance(reason.name, Tag) else reason.name
        return cls(kind="boost", **{**vars(reason), "name": name})


# A named union, so that generated clients have one type for it.
AnyReason = TypeAliasType(
    "AnyReason",
    Annotated[
        Reason | ViewedReason | BoostReason,
        Field(
            discriminator="kind",
            description="A tag, a viewed item or a boost, as `kind` says.",
            examples=[example_of(Reason), example_of(ViewedReason), example_of(BoostReason)],
        ),
    ],
)


def reasons_of(reasons: Iterable[why.AnyReason]) -> list[Reason | ViewedReason | BoostReason]:
    """Return reasons of the library, of every kind."""
    return [_reason_of(reason) for reason in reasons]


def _reason_of(reason: why.AnyReason) -> Reason | ViewedReason | BoostReason:
    if isinstance(reason, why.Reason):
        return Reason.of(reason)
    if isinstance(reason, why.BoostReason):
        return BoostReason.of(reason)
    return ViewedReason.of(reason)


def named(tag: Tag) -> dict[str, Any]:
    """Return the fields of a tag that every response about a tag has."""
    own = {"feature": tag.feature, "value": tag.value, "discovered": tag.discovered}
    return {"tag": str(tag), **own}
