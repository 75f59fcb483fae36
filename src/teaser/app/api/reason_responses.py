"""The two kinds of reason as typed JSON: a tag, or a viewed item."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import Field
from typing_extensions import TypeAliasType

from teaser import explain as why
from teaser.app.api.examples import Schema, example_of
from teaser.app.api.requests import ItemId
from teaser.data.tagging.tag import Tag


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
    item_id: ItemId
    title: str | None
    contribution: float
    share: float

    @classmethod
    def of(cls, reason: why.ViewedReason) -> Self:
        """Return a reason of the library."""
        return cls(kind="viewed", **vars(reason))


# A named union, so that generated clients have one type for it.
AnyReason = TypeAliasType(
    "AnyReason",
    Annotated[
        Reason | ViewedReason,
        Field(
            discriminator="kind",
            description="A tag or a viewed item, as `kind` says.",
            examples=[example_of(Reason), example_of(ViewedReason)],
        ),
    ],
)


def reasons_of(reasons: Iterable[why.AnyReason]) -> list[Reason | ViewedReason]:
    """Return reasons of the library, of both kinds."""
    return [Reason.of(r) if isinstance(r, why.Reason) else ViewedReason.of(r) for r in reasons]


def named(tag: Tag) -> dict[str, Any]:
    """Return the fields of a tag that every response about a tag has."""
    own = {"feature": tag.feature, "value": tag.value, "discovered": tag.discovered}
    return {"tag": str(tag), **own}
