"""Presses that count: what is kept of them, at the bounds of an affinity and away from them."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import Tag, Teaser
from teaser.app.actions import effective, settled
from teaser.app.i18n.texts import texts_in
from teaser.app.people.events import Event, State, check, fold
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import PersonalModel as Session
from teaser.app.site.profile_view import tag_row
from teaser.data.ids import ItemId
from teaser.errors import ParameterError, UnknownTagError

FILM = Tag("type", "film")


@pytest.fixture(scope="module")
def catalogue(model: Teaser) -> Catalogue:
    return Catalogue(model)


def session_of(catalogue: Catalogue, history: Sequence[ItemId], presses: dict[str, int]) -> Session:
    return Session(catalogue, State(history=tuple(history), presses=presses))


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
    session = session_of(catalogue, history, presses)
    before = session.profile.affinities[tag]

    def at(net: int) -> float:
        return model.profile(history, {tag: net}).affinities[tag]

    found = effective(session, {tag: steps})
    row = tag_row(tag, before, session, texts_in("en"))
    assert bool(effective(session, {tag: 1})) == row.can_rise
    assert bool(effective(session, {tag: -1})) == row.can_fall
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


def test_the_first_press_back_from_a_bound_moves(catalogue: Catalogue, model: Teaser) -> None:
    viewed, tag, learnt = next(
        (i, t, a) for i in model.items_ for t, a in model.profile([i]).affinities.items() if a > 1
    )
    # Presses of before an item carried the affinity beyond: they lie beyond the bound.
    idle = session_of(catalogue, [viewed], {str(tag): 5})
    assert effective(idle, {tag: 1}) == {}
    assert effective(idle, {tag: -1}) == {tag: -6}
    assert model.profile([viewed], {tag: -1}).affinities[tag] == pytest.approx(learnt - 0.2)
    # What is kept so can be stored, and several steps are kept as they were made.
    event = settled(catalogue, idle.state, Event("press", {"presses": {str(tag): -1}}))
    assert event is not None
    check(idle.state, event)
    assert fold([Event("press", {"presses": {str(tag): 5}}), event]).presses == {str(tag): -1}
    low = session_of(catalogue, [viewed], {str(tag): -2})
    assert effective(low, {tag: 4}) == {tag: 4}


def test_other_actions_and_idle_presses(catalogue: Catalogue) -> None:
    undo = Event("undo")
    assert settled(catalogue, State(), undo) is undo
    full = State(presses={"type=film": 5})
    press = {"type=film": 1}
    assert settled(catalogue, full, Event("press", {"presses": press})) is None
    both = settled(catalogue, full, Event("press", {"presses": {**press, "town=Ghent": 2}}))
    assert both == Event("press", {"presses": {"town=Ghent": 2}})


@pytest.mark.parametrize(
    ("presses", "error", "said"),
    [
        ({"type=opera": 1}, UnknownTagError, "Unknown tag type=opera"),
        ({"type=film": 1.5}, ParameterError, "whole number"),
        ({"type=film": True}, ParameterError, "whole number"),
        ({"type=film": 0}, ParameterError, "other than 0"),
        ({"type=film": 6}, ParameterError, "out of range"),
    ],
)
def test_what_cannot_be_pressed_is_said(
    catalogue: Catalogue, presses: dict[str, int], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        settled(catalogue, State(), Event("press", {"presses": presses}))
