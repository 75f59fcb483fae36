"""What an action did, worked out by hand."""

from datetime import UTC

import pytest

from teaser import Teaser
from teaser.app.i18n.texts import texts_in
from teaser.app.pages.list_changes import NEW, compare, describe_action, describe_effect
from teaser.app.serving.catalogue import Catalogue
from teaser.app.state import Event, State, state_of

EN = texts_in("en")
MINUS = "\N{MINUS SIGN}"


def test_moves_by_hand() -> None:
    change = compare(["a", "b", "c", "d"], ["c", "a", "x", "d"])
    assert change.moves == {"c": 2, "a": -1, "x": NEW, "d": 0}
    assert (change.rose, change.fell, change.entered, change.left) == (1, 1, 1, 1)
    assert describe_effect(change, EN) == "1 rose, 1 fell, 1 is new on this page, 1 left it."


def test_equal_lists() -> None:
    change = compare([1, 2], [1, 2])
    assert describe_effect(change, EN) == "the list stays as it was."


def test_lists_of_other_lengths() -> None:
    assert compare([], ["a"]).entered == 1
    assert compare(["a", "b"], []).left == 2


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Event("press", {"presses": {"type=film": 1}}), "+ on <b>film</b>"),
        (Event("press", {"presses": {"type=film": -3}}), f"{MINUS}3 on <b>film</b>"),
        (Event("view", {"item": "i1"}), "You looked at <b>Event 1</b>"),
        (Event("remove", {"item": "i1"}), "Removed <b>Event 1</b> from what you looked at"),
        (Event("hide", {"item": "<i>"}), "Hid <b>&lt;i&gt;</b>"),
        (Event("unhide", {"item": "i1"}), "Brought <b>Event 1</b> back"),
        (Event("balance", {"balance": 0}), "Balance: <b>my tags alone</b>"),
        (Event("balance", {"balance": 0.5}), "Balance: <b>both, as learned</b>"),
        (Event("balance", {"balance": 1}), "Balance: <b>people like me alone</b>"),
        (Event("about", {"about": ["age=<b>", "sex=F"]}), "About you: <b>&lt;b&gt; and Sex: F</b>"),
        (Event("about", {"about": []}), "Removed the facts about you"),
        (Event("reset"), "Started again"),
        (Event("hide", {"tag": "type=film"}), "Hid <b>film</b>"),
        (Event("unhide", {"tag": "type=film"}), "Brought <b>film</b> back"),
        (Event("filter", {"filters": {}}), "No filters in this list"),
        (
            Event("filter", {"filters": {"without": ["type=film"], "at_most": {"price": 9}}}),
            "Filters of this list: <b>no film, Price at most 9</b>",
        ),
        (Event("make_feed", {"feed": "<i>"}), "New feed: <b>&lt;i&gt;</b>"),
        (Event("switch_feed", {"feed": ""}), "Now you see <b>For you</b>"),
        (Event("rename_feed", {"feed": "A", "name": "B"}), "Renamed <b>A</b> to <b>B</b>"),
        (Event("drop_feed", {"feed": "A"}), "Dropped the feed <b>A</b>"),
        (Event("profiling", {"on": True}), "With your profile"),
        (Event("profiling", {"on": False}), "Without your profile"),
        (Event("import", {"state": {}}), "Imported a profile"),
        (
            Event("press", {"presses": {"type=film": 2}, "until": "2999-01-02T00:00:00+00:00"}),
            "+2 on <b>film</b>, until Tue 1 Jan 2999",
        ),
        (
            Event("several", {"actions": [["make_feed", {"feed": "A"}], ["vary", {"variety": 0}]]}),
            "New feed: <b>A</b>; Variety at <b>0\N{NARROW NO-BREAK SPACE}%</b>",
        ),
    ],
)
def test_every_action_is_said(model: Teaser, event: Event, said: str) -> None:
    assert describe_action(event, State(), Catalogue(model, zone=UTC), EN) == said


def test_undo_and_redo_name_what_they_took_back(model: Teaser) -> None:
    course = [Event("vary", {"variety": 0.4})]
    before = state_of(course)
    said = describe_action(Event("undo"), before, Catalogue(model), EN)
    assert said.startswith("Taken back: Variety at <b>40")
    before = state_of([*course, Event("undo")])
    said = describe_action(Event("redo"), before, Catalogue(model), EN)
    assert said.startswith("Done again: Variety at <b>40")
