"""Routes that help a person to steer: fewest presses, first picks, plain statements."""

from typing import Annotated, Literal, Self

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from teaser.app.api.model_input import ModelInput
from teaser.app.api.reason_responses import NAMED, Named, named
from teaser.app.api.requests import MAX_HISTORY, ItemId, K, Press, Taste, example
from teaser.app.dependencies import catalogue_of
from teaser.guide import Lift as FoundLift
from teaser.guide import quick_picks, say, smallest_presses, statements, undo_presses

router = APIRouter(tags=["stateless"])

MOST_PICKS = 50
_VIEWED = ["e0001", "e0002", "e0003"]
_PRESS = {"tag": "town=Ghent", "steps": 3}
_LIFT = {"presses": [_PRESS], "total": 3, "rank_before": 143, "rank_after": 9}
_PICK = {"item_id": "e0007", "title": "Jazz in the park"}
_SAID = {
    "leaning": "towards",
    "said": "You lean towards Ghent.",
    "strength": 0.6,
    "tags": [NAMED],
    "denial": [{"tag": "town=Ghent", "steps": -3}],
}


class LiftRequest(Taste):
    """The item that should rise, and how far."""

    model_config = example(history=_VIEWED, item_id="e0004", rank=10)

    item_id: ItemId
    rank: Annotated[K, Field(description="The item should be among the first `rank`.")] = 10


class PicksRequest(BaseModel):
    """The items picked so far, and the items shown beside them."""

    model_config = {"extra": "forbid", **example(picks=["e0001"], shown=["e0002", "e0003"], k=6)}

    picks: Annotated[list[ItemId], Field(max_length=MAX_HISTORY)] = []
    shown: Annotated[list[ItemId], Field(max_length=MAX_HISTORY)] = []
    k: Annotated[K, Field(le=MOST_PICKS)] = 6


class Lift(BaseModel):
    """The presses to add to the present ones; none if the item is among the first already."""

    model_config = example(**_LIFT)

    presses: list[Press]
    total: int
    rank_before: int
    rank_after: int

    @classmethod
    def of(cls, found: FoundLift) -> Self:
        """Return presses that the library found."""
        return cls(
            presses=[Press(tag=str(tag), steps=n) for tag, n in found.presses.items()],
            total=found.total,
            rank_before=found.rank_before,
            rank_after=found.rank_after,
        )


class LiftAnswer(BaseModel):
    """The fewest presses; null if ten are not enough, or the item was viewed."""

    model_config = example(lift=_LIFT)

    lift: Lift | None


class Pick(BaseModel):
    """An item to offer."""

    model_config = example(**_PICK)

    item_id: ItemId
    title: str | None


class Picks(BaseModel):
    """Items to offer, the one that tells most first."""

    model_config = example(picks=[_PICK])

    picks: list[Pick]


class Denial(BaseModel):
    """Steps on one tag; steps that take back earlier presses are included."""

    model_config = example(tag="town=Ghent", steps=-3)

    tag: str
    steps: int


class Statement(BaseModel):
    """One sentence about a profile; `denial` are the presses by which a person disagrees."""

    model_config = example(**_SAID)

    leaning: Literal["towards", "away"]
    said: str
    strength: float
    tags: list[Named]
    denial: list[Denial]


class Statements(BaseModel):
    """At most three sentences; none if too little is known."""

    model_config = example(statements=[_SAID])

    statements: list[Statement]


@router.post("/lift")
def lift(request: Request, asked: LiftRequest) -> LiftAnswer:
    """Return the fewest presses that bring an item among the first `rank`."""
    given = ModelInput.of_request(catalogue_of(request), asked)
    found = smallest_presses(
        given.catalogue.model,
        asked.item_id,
        given.history,
        given.presses,
        rank=asked.rank,
        about=given.about,
        steering=given.steering,
    )
    return LiftAnswer(lift=Lift.of(found) if found else None)


@router.post("/picks")
def picks(request: Request, asked: PicksRequest) -> Picks:
    """Return items to offer a new person, whose choice tells most about a taste."""
    model = catalogue_of(request).model
    found = quick_picks(model, asked.picks, shown=asked.shown, k=asked.k)
    titles = [model.title(model.items_.index_of(item_id)) for item_id in found]
    return Picks(
        picks=[Pick(item_id=i, title=title) for i, title in zip(found, titles, strict=True)]
    )


@router.post("/statements")
def state(request: Request, asked: Taste) -> Statements:
    """Return what the profile for this history and these presses says, in plain sentences."""
    given = ModelInput.of_request(catalogue_of(request), asked)
    learned = given.profile({})
    return Statements(
        statements=[
            Statement(
                leaning="towards" if found.leaning > 0 else "away",
                said=say(found),
                strength=found.strength,
                tags=[Named(**named(tag)) for tag in found.tags],
                denial=[
                    Denial(tag=str(tag), steps=n)
                    for tag, n in undo_presses(found, learned, given.presses).items()
                ],
            )
            for found in statements(given.profile())
        ]
    )
