"""Routes that help a person to steer: fewest presses, first picks, plain statements."""

from typing import Literal, Self

from fastapi import APIRouter, Request

from teaser.app.api.model_input import ModelInput
from teaser.app.api.schema.examples import Schema
from teaser.app.api.schema.person_responses import Steps
from teaser.app.api.schema.reason_responses import Named, named
from teaser.app.api.schema.requests import LiftRequest, ModelItemId, PicksRequest, Taste
from teaser.app.dependencies import catalogue_of
from teaser.app.serving.lift import find_lift
from teaser.errors import SearchTimeoutError
from teaser.steer import Lift as FoundLift
from teaser.steer import say, statements, undo_presses

router = APIRouter(tags=["stateless"])


class Lift(Schema):
    """The presses to add to the present ones; none if the item is among the first already."""

    presses: list[Steps]
    total: int
    rank_before: int
    rank_after: int

    @classmethod
    def of(cls, found: FoundLift) -> Self:
        """Return presses that the library found."""
        return cls(
            presses=[Steps(tag=str(tag), steps=n) for tag, n in found.presses.items()],
            total=found.total,
            rank_before=found.rank_before,
            rank_after=found.rank_after,
        )


class LiftAnswer(Schema):
    """The fewest presses; null if ten are not enough, or the item was viewed.

    `finished` is false if no answer was found quickly; more than ten presses may be needed, or
    fewer.
    """

    lift: Lift | None
    finished: bool = True

    @classmethod
    def of(cls, given: ModelInput, item_id: ModelItemId, k: int) -> Self:
        """Return the answer of a short search."""
        try:
            found = find_lift(
                given.catalogue.model,
                item_id,
                given.history,
                given.presses,
                k=k,
                about=given.about,
                steering=given.steering,
            )
        except SearchTimeoutError:
            return cls(lift=None, finished=False)
        return cls(lift=Lift.of(found) if found else None)


class Pick(Schema):
    """An item to offer."""

    item_id: ModelItemId
    title: str | None


class Picks(Schema):
    """Items to offer, the most informative first."""

    picks: list[Pick]


class Denial(Schema):
    """Steps on one tag; steps that take back earlier presses are included."""

    tag: str
    steps: int


class Statement(Schema):
    """One sentence about a profile; `denial` are the presses by which a person disagrees."""

    leaning: Literal["towards", "away"]
    said: str
    strength: float
    tags: list[Named]
    denial: list[Denial]


class Statements(Schema):
    """At most three sentences; none if too little is known."""

    statements: list[Statement]


@router.post("/lift")
def lift(request: Request, asked: LiftRequest) -> LiftAnswer:
    """Return the fewest presses that bring an item among the first k."""
    given = ModelInput.of_request(catalogue_of(request), asked)
    return LiftAnswer.of(given, asked.item_id, asked.k)


@router.post("/picks")
def picks(request: Request, asked: PicksRequest) -> Picks:
    """Return items to offer a new person: those whose choice is most informative about a taste."""
    catalogue = catalogue_of(request)
    model = catalogue.model
    found = catalogue.quick_start.picks(asked.picks, shown=asked.shown, k=asked.k)
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
