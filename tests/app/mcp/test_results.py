"""Results of presses and undo: what their schemas promise."""

from teaser.app.api.schema.person_responses import NetPresses
from teaser.app.mcp.results import Pressed, Undone


def test_a_press_can_be_given_back_with_the_next_call() -> None:
    presses = [NetPresses(tag="town=Ghent", steps=2)]
    made = Pressed(
        tag="town=Ghent",
        affinity_before=0.0,
        affinity_after=0.4,
        presses=presses,
        stored=False,
        note=None,
    )
    assert made.model_dump()["presses"] == [{"tag": "town=Ghent", "steps": 2}]


def test_an_undo_tells_what_it_took_back_and_what_is_left() -> None:
    assert set(Undone.model_json_schema()["required"]) == {"undone", "person"}
