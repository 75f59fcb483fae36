"""What pages show of a state: it is equal, and has one hash, for what looks the same."""

from teaser.app.pages.view.page_state import PageState
from teaser.app.state import Event, State, state_of

VIEW = Event("view", {"item": "a"})
PRESS = Event("press", {"presses": {"type=film": 1}})


def test_buttons_follow_from_what_was_done() -> None:
    found = [
        PageState.of(state_of(events))
        for events in ([], [VIEW], [VIEW, Event("undo")], [VIEW, PRESS, Event("undo")])
    ]
    assert [each.has_done for each in found] == [False, True, True, True]
    assert [each.can_undo for each in found] == [False, True, False, True]
    assert [each.can_redo for each in found] == [False, False, True, True]


def test_a_further_press_looks_the_same() -> None:
    one, two = (PageState.of(state_of([VIEW, *[PRESS] * n])) for n in (1, 2))
    assert one == two
    assert hash(one) == hash(two)
    for other in (State(variety=0.5), State(feed="a"), State(order="newest", profiling=False)):
        assert PageState.of(other) != PageState.of(State())
