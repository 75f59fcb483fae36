"""Actions: names resolved, presses that move something, decided on the state that is stored."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from app.conftest import append
from hypothesis import given
from hypothesis import strategies as st

from teaser import Tag, Teaser
from teaser.app.actions import act, decide, effective_presses
from teaser.app.i18n.texts import texts_in
from teaser.app.people.events import Event, State, check, fold
from teaser.app.people.store import Store
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.site.view.profile_view import tag_row
from teaser.data.ids import ItemId
from teaser.errors import (
    NotHiddenError,
    NotInHistoryError,
    ParameterError,
    PressRangeError,
    UnknownItemError,
    UnknownNameError,
    UnknownTagError,
)
from teaser.profile import GENERAL

PLUS = Event("press", {"presses": {"type=film": 1}})


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
def test_what_is_kept_moves_the_affinity_and_takes_as_many_presses_as_that_needs(
    model: Teaser, history: list[str], now: int, steps: int, name: str
) -> None:
    catalogue, tag = Catalogue(model), Tag.parse(name)
    presses = {name: now} if now else {}
    session = personal_model(catalogue, history, presses)
    before = session.profile.affinities[tag]

    def at(net: int) -> float:
        return model.profile(history, {tag: net}).affinities[tag]

    found = effective_presses(session, {tag: steps})
    row = tag_row(tag, before, session, texts_in("en"))
    assert bool(effective_presses(session, {tag: 1})) == row.can_rise
    assert bool(effective_presses(session, {tag: -1})) == row.can_fall
    if not found:
        assert all(at(k) == before for k in (range(now, 6) if steps > 0 else range(-5, now + 1)))
        return
    kept = found[tag]
    assert kept * steps > 0
    assert abs(now + kept) <= 5
    assert (at(now + kept) - before) * steps > 0
    wanted = max(-5, min(5, now + steps))
    if at(wanted) != before:
        assert now + kept == wanted
    else:  # the first that moves
        assert abs(kept) > abs(wanted - now)
        assert at(now + kept + (1 if kept < 0 else -1)) == before


# Two items that carry the affinity with general appeal beyond 1.
VIEWED, BOUND = ["i14", "i15"], GENERAL


def test_the_first_press_back_from_a_bound_moves(catalogue: Catalogue, model: Teaser) -> None:
    tag, learned = BOUND, model.profile(VIEWED).general
    assert learned > 1
    # Presses made before the item carried the affinity to the bound lie beyond it.
    idle = personal_model(catalogue, VIEWED, {str(tag): 5})
    assert effective_presses(idle, {tag: 1}) == {}
    assert effective_presses(idle, {tag: -1}) == {tag: -6}
    assert model.profile(VIEWED, {tag: -1}).general == pytest.approx(learned - 0.2)
    # The event can be stored, and several steps are stored as they were made.
    event = decide(idle.state, Event("press", {"presses": {str(tag): -1}}), catalogue)
    assert event is not None
    check(idle.state, event)
    assert fold([Event("press", {"presses": {str(tag): 5}}), event]).presses == {str(tag): -1}
    low = personal_model(catalogue, VIEWED, {str(tag): -2})
    assert effective_presses(low, {tag: 4}) == {tag: 4}


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

    def test_presses_that_move_nothing_are_left_out(self, catalogue: Catalogue) -> None:
        full = State(presses={"type=film": 5})
        assert decide(full, PLUS, catalogue) is None
        both = Event("press", {"presses": {"type=film": 1, "town=Ghent": 2}})
        assert decide(full, both, catalogue) == Event("press", {"presses": {"town=Ghent": 2}})

    def test_other_actions_stay_as_they_are(self, catalogue: Catalogue) -> None:
        for asked in (Event("undo"), Event("reset"), Event("vary", {"variety": 0.3})):
            assert decide(State(), asked, catalogue) is asked

    def test_unknown_names_are_refused_with_the_closest(self, catalogue: Catalogue) -> None:
        with pytest.raises(UnknownItemError) as item:
            decide(State(), Event("view", {"item": "i400"}), catalogue)
        assert item.value.item_id == "i400"
        assert "i4" in item.value.closest
        with pytest.raises(UnknownTagError) as tag:
            decide(State(), Event("press", {"presses": {"town=Gent": 1}}), catalogue)
        assert str(tag.value.tag) == "town=Gent"
        assert tag.value.closest[0] == "town=Ghent"

    def test_steps_that_are_not_whole_numbers_or_out_of_range_are_refused(
        self, catalogue: Catalogue
    ) -> None:
        for steps in (1.5, True, 0, "1", None):
            with pytest.raises(ParameterError, match="type=film"):
                decide(State(), Event("press", {"presses": {"type=film": steps}}), catalogue)
        with pytest.raises(PressRangeError) as raised:
            decide(State(), Event("press", {"presses": {"type=film": 6}}), catalogue)
        assert (raised.value.presses, raised.value.limit) == (6, 5)


class TestAct:
    def test_what_is_decided_is_stored(self, store: Store, catalogue: Catalogue) -> None:
        person, _ = store.create_person()
        done = act(store, person, PLUS, catalogue)
        assert (done.before, done.event) == (State(), PLUS)
        assert done.after == store.state(person)
        for _ in range(4):
            act(store, person, PLUS, catalogue)
        done = act(store, person, PLUS, catalogue)
        assert done.event is None
        assert done.before == done.after == store.state(person)
        assert done.after.n_events == 5

    def test_what_is_refused_is_not_stored(self, store: Store, catalogue: Catalogue) -> None:
        person, _ = store.create_person()
        refused: list[tuple[Event, type[Exception]]] = [
            (Event("view", {"item": "none"}), UnknownItemError),
            (Event("remove", {"item": "i1"}), NotInHistoryError),
            (Event("unhide", {"item": "i1"}), NotHiddenError),
            (Event("about", {"about": ["age=young"]}), ParameterError),
            (Event("undo"), ParameterError),
            (Event("dance"), ParameterError),
        ]
        for asked, error in refused:
            with pytest.raises(error):
                act(store, person, asked, catalogue)
        assert store.events(person) == []
        with pytest.raises(UnknownNameError):
            act(store, "nobody", PLUS, catalogue)

    def test_presses_at_once_from_two_connections_leave_what_sequential_ones_do(
        self, store: Store, catalogue: Catalogue
    ) -> None:
        person, _ = store.create_person()
        other = Store(store.url)

        def press(number: int) -> bool:
            done = act((store, other)[number % 2], person, PLUS, catalogue)
            return done.event is not None

        with ThreadPoolExecutor(8) as pool:
            stored = list(pool.map(press, range(16)))
        other.close()
        assert sum(stored) == 5
        assert store.state(person).presses == {"type=film": 5}
        assert [e.data for e in store.events(person)] == [PLUS.data] * 5

    def test_presses_back_at_once_take_the_idle_ones_away_once(
        self, store: Store, catalogue: Catalogue, model: Teaser
    ) -> None:
        tag = BOUND
        back = Event("press", {"presses": {str(tag): -1}})
        other = Store(store.url)
        for _ in range(8):
            person, _ = store.create_person()
            append(store, person, Event("press", {"presses": {str(tag): 5}}))
            for viewed in VIEWED:
                append(store, person, Event("view", {"item": viewed}))
            with ThreadPoolExecutor(2) as pool:
                futures = [pool.submit(act, s, person, back, catalogue) for s in (store, other)]
            events = [future.result().event for future in futures]
            steps = sorted(event.data["presses"][str(tag)] for event in events if event)
            assert steps == [-6, -1]
            assert store.state(person).presses == {str(tag): -2}
        other.close()
