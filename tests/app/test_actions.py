"""Actions: names resolved, presses that move something, decided on the state that is stored."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import Tag, Teaser
from teaser.app.actions import decide, effective_presses
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.state import Event, State, check, state_after, state_of, time_text
from teaser.data.matrix import ItemId
from teaser.errors import LimitError


@pytest.fixture(scope="module")
def catalogue(model: Teaser) -> Catalogue:
    return Catalogue(model)


def personal_model(
    catalogue: Catalogue, history: Sequence[ItemId], presses: dict[str, int]
) -> PersonalModel:
    return PersonalModel(catalogue, State(history=tuple(history), presses=presses))


@given(
    history=st.lists(st.integers(0, 39).map(lambda i: f"i{i}"), max_size=4, unique=True),
    now=st.integers(-5, 5),
    steps=st.integers(-5, 5).filter(bool),
    name=st.sampled_from(["type=film", "type=concert", "town=Ghent", "popularity=popularity"]),
)
def test_a_press_moves_the_affinity_while_presses_are_left(
    model: Teaser, history: list[str], now: int, steps: int, name: str
) -> None:
    catalogue, tag = Catalogue(model), Tag.parse(name)
    session = personal_model(catalogue, history, {name: now} if now else {})
    before = session.profile.affinities[tag]
    end = max(-5, min(5, now + steps))
    assert effective_presses(session, {tag: steps}) == ({tag: end - now} if end != now else {})
    after = model.profile(history, {tag: end}).affinities[tag]
    moves = session.profile.moves[session.profile.place_of(tag)]
    assert after - before == pytest.approx(moves[5 + end] - moves[5 + now])


class TestDecide:
    def test_names_are_those_of_the_catalogue_or_of_the_state(self, catalogue: Catalogue) -> None:
        state = State(history=(7, "gone"), hidden=("i3",))
        for asked, item in (
            (Event("view", {"item": "i1"}), "i1"),
            (Event("hide", {"item": "i1"}), "i1"),
            (Event("remove", {"item": "7"}), 7),
            (Event("remove", {"item": "gone"}), "gone"),
            (Event("unhide", {"item": "i3"}), "i3"),
        ):
            assert decide(state, asked, catalogue) == Event(asked.kind, {"item": item})
        press = Event("press", {"presses": {" town = Ghent": 2}})
        expected = Event("press", {"presses": {"town=Ghent": 2}})
        assert decide(State(), press, catalogue) == expected


DAY, WEEK = (datetime(2026, 11, day, tzinfo=UTC) for day in (17, 24))
GENT, GHENT = Tag("town", "Gent"), Tag("town", "Ghent")


@pytest.fixture
def renamed(model: Teaser) -> Catalogue:
    """A catalogue in which the town was called Gent before."""
    found = Catalogue(model)
    found.tag_index = {**found.tag_index, GENT: found.tag_index[GHENT]}
    return found


def apply(state: State, asked: Event, catalogue: Catalogue, now: datetime | None = None) -> State:
    """Return the state after an action, checked as the store checks it."""
    event = decide(state, asked, catalogue)
    if event is None:
        return state
    check(state, event)
    return state_after(state, event, now)


def pressed(steps: int, until: datetime | None = None, tag: object = "type=film") -> Event:
    ends = {"until": time_text(until)} if until else {}
    return Event("press", {"presses": {str(tag): steps}, **ends})


STEPS = st.integers(-5, 5).filter(bool)
WHEN = st.sampled_from([None, DAY, WEEK])
CLOCK = st.sampled_from([0, 0, 1, 7])  # days that pass before a press


@given(st.lists(st.tuples(STEPS, WHEN, CLOCK), max_size=8))
def test_a_press_moves_the_net_presses_as_far_as_asked_whatever_ends_when(
    model: Teaser, course: list[tuple[int, datetime | None, int]]
) -> None:
    catalogue = Catalogue(model)
    now = datetime(2026, 11, 16, 12, tzinfo=UTC)
    events: list[Event] = []
    for steps, until, days in course:
        now = now + timedelta(days)
        if until is not None and until <= now:
            continue
        state = state_of(events, now)
        net = state.presses.get("type=film", 0)
        try:
            event = decide(state, pressed(steps, until), catalogue)
        except LimitError:
            assert abs(net + steps) > 5
            assert abs(steps) > 1
            continue
        if event is None:
            continue
        check(state, event)
        after = state_of([*events, event], now)
        moved = after.presses.get("type=film", 0) - net
        # Further only if the affinity did not move before.
        assert moved * steps > 0
        assert abs(moved) >= abs(steps) or abs(net + steps) > 5
        if until is not None:
            assert after.permanent == state.permanent
        events.append(event)


def test_a_press_against_one_for_now_moves_at_once_and_lasts_as_far_as_it_can(
    catalogue: Catalogue,
) -> None:
    events = [pressed(4), pressed(-4, WEEK)]
    state = state_of(events, DAY)
    assert state.presses == {}
    event = decide(state, pressed(3), catalogue)
    assert event is not None
    # One more can last; what is beyond the range ends with what it stands against.
    assert event.data["actions"] == [
        ["press", {"presses": {"type=film": 1}}],
        ["press", {"presses": {"type=film": 2}, "until": time_text(WEEK)}],
    ]
    assert state_of([*events, event], DAY).presses == {"type=film": 3}
    assert state_of([*events, event], WEEK).presses == {"type=film": 5}


class TestNewKinds:
    def test_presses_under_earlier_names_move_along_in_their_feed_alone(
        self, renamed: Catalogue
    ) -> None:
        events = [pressed(2, tag=GENT), Event("make_feed", {"feed": "Friday"})]
        state = apply(state_of(events), pressed(1, tag="town=Ghent"), renamed)
        assert state.presses == {"town=Ghent": 3}
        assert state.feeds[""].presses == {"town=Gent": 2}
        main = apply(state, Event("switch_feed", {"feed": ""}), renamed)
        assert PersonalModel(renamed, main).presses == {GHENT: 2}
        assert apply(main, pressed(-1, tag=GENT), renamed).presses == {"town=Ghent": 1}
