"""What helps a person to steer, for programs: fewest presses, first picks, plain statements.

Nothing is kept. The routes are part of the API, with its prefix and its keys.
"""

from typing import Annotated, Literal, Self

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from teaser.app.api.reason_response import NAMED, Named, named
from teaser.app.api.requests import MAX_HISTORY, ItemId, K, Press, Taste, example
from teaser.app.dependencies import catalogue_of
from teaser.app.serving.personal_model import read_about
from teaser.data.tagging.tag import resolve_tag
from teaser.guide import Lift as FoundLift
from teaser.guide import quick_picks, say, smallest_presses, statements, undo_presses
from teaser.profile import PressesLike, Profile, Steering

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
    """Which item should come up, and how far."""

    model_config = example(history=_VIEWED, item_id="e0004", rank=10)

    item_id: ItemId
    rank: Annotated[K, Field(description="Among how many it should be.")] = 10


class PicksRequest(BaseModel):
    """What was picked so far, and what was shown beside it."""

    model_config = {"extra": "forbid", **example(picks=["e0001"], shown=["e0002", "e0003"], k=6)}

    picks: Annotated[list[ItemId], Field(max_length=MAX_HISTORY)] = []
    shown: Annotated[list[ItemId], Field(max_length=MAX_HISTORY)] = []
    k: Annotated[K, Field(le=MOST_PICKS)] = 6


class Lift(BaseModel):
    """The presses to make on top of those there are; none if the item is that far up already."""

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
    """The fewest presses; null where ten do not suffice, or the item was viewed."""

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
    """Steps on one tag; those the other way that are taken back count among them."""

    model_config = example(tag="town=Ghent", steps=-3)

    tag: str
    steps: int


class Statement(BaseModel):
    """One sentence about a taste; `denial` are the presses by which a person disagrees."""

    model_config = example(**_SAID)

    leaning: Literal["towards", "away"]
    said: str
    strength: float
    tags: list[Named]
    denial: list[Denial]


class Statements(BaseModel):
    """At most three sentences; none where too little is known."""

    model_config = example(statements=[_SAID])

    statements: list[Statement]


@router.post("/lift")
def lift(request: Request, asked: LiftRequest) -> LiftAnswer:
    """Return the fewest presses that bring an item among the first `rank`."""
    catalogue = catalogue_of(request)
    found = smallest_presses(
        catalogue.model,
        asked.item_id,
        asked.history,
        asked.net_presses(),
        rank=asked.rank,
        about=read_about(asked.about, catalogue),
        steering=Steering(scale=asked.scale, balance=asked.balance),
    )
    return LiftAnswer(lift=Lift.of(found) if found else None)


@router.post("/picks")
def picks(request: Request, asked: PicksRequest) -> Picks:
    """Return items to offer somebody new, whose choice tells most about a taste."""
    model = catalogue_of(request).model
    found = quick_picks(model, asked.picks, shown=asked.shown, k=asked.k)
    titles = [model.title(model.items_.index_of(item_id)) for item_id in found]
    return Picks(
        picks=[Pick(item_id=i, title=title) for i, title in zip(found, titles, strict=True)]
    )


@router.post("/statements")
def state(request: Request, asked: Taste) -> Statements:
    """Return what the profile of whoever viewed and pressed this says in plain sentences."""
    catalogue = catalogue_of(request)
    tags, index = catalogue.model.tags_, catalogue.tag_index
    presses = {tags[resolve_tag(tag, index)]: n for tag, n in asked.net_presses().items()}
    about = read_about(asked.about, catalogue)
    steering = Steering(scale=asked.scale, balance=asked.balance)

    def believe(pressed: PressesLike) -> Profile:
        return catalogue.model.profile(asked.history, pressed, about=about, steering=steering)

    learnt = believe({})
    return Statements(
        statements=[
            Statement(
                leaning="towards" if found.leaning > 0 else "away",
                said=say(found),
                strength=found.strength,
                tags=[Named(**named(tag)) for tag in found.tags],
                denial=[
                    Denial(tag=str(tag), steps=n)
                    for tag, n in undo_presses(found, learnt, presses).items()
                ],
            )
            for found in statements(believe(presses))
        ]
    )
