"""Results of tools that the API does not have: what a press or an undo did."""

from pydantic import Field

from teaser.app.api.schema.examples import Schema
from teaser.app.api.schema.person_responses import NetPresses, Person


class Pressed(Schema):
    """What a press changed. `presses` are the net presses on all tags after it.

    `stored` tells whether it was stored for a person. Otherwise the caller keeps `presses` and
    gives them with the next call. `note` says why a press moved nothing.
    """

    tag: str
    affinity_before: float
    affinity_after: float
    presses: list[NetPresses]
    stored: bool
    note: str | None


class Undone(Schema):
    """What was undone, and the state of the person after it."""

    undone: str = Field(description="The action that was taken back.")
    person: Person
