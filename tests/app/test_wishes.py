"""Wishes become one action: what is asked for holds afterwards, and one undo takes it back."""

from datetime import UTC, date, datetime
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import Dataset, Teaser
from teaser.app.actions import MAX_WISHES, decide, event_of
from teaser.app.catalogue import Catalogue
from teaser.app.state import ListFilter, State, check, state_after
from teaser.data import demo
from teaser.errors import LimitError, ParameterError, UnknownNameError
from teaser.words.wishes import Wish, find_contradictions

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    dataset: Dataset = demo.dataset(n_events=120, n_users=200, start=date(2026, 11, 16))
    return Catalogue(Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset), zone=UTC)


def read(*texts: str) -> list[Wish]:
    return [Wish.parse(text) for text in texts]


def after(state: State, catalogue: Catalogue, *texts: str) -> State:
    """Return the state after wishes, checked as the store checks them."""
    event = decide(state, event_of(read(*texts), state, catalogue, now=NOW), catalogue)
    assert event is not None
    check(state, event)
    return state_after(state, event)


def test_each_wish_has_its_effect(catalogue: Catalogue) -> None:
    town = catalogue.features["town"][0]
    kind, other = catalogue.features["type"][:2]
    state = after(
        State(),
        catalogue,
        f"press +2 {kind}",
        f"press -1 {other} for week",
        f"only {town}",
        f"without {other}",
        f"never {catalogue.features['theme'][0]} for today",
        "at_most price 20",
        "when weekend",
        "variety 0.6",
    )
    assert state.presses == {str(kind): 2, str(other): -1}
    assert state.permanent == {str(kind): 2}
    assert state.filters == ListFilter((str(town),), (str(other),), {"price": 20}, when="weekend")
    assert state.hidden_tags == (str(catalogue.features["theme"][0]),)
    assert state.variety == 0.6
    ends = {(end.kind, end.until) for end in state.ends}
    assert ends == {
        ("hide", datetime(2026, 11, 17, tzinfo=UTC)),
        ("press", datetime(2026, 11, 24, tzinfo=UTC)),
    }


def test_conditions_come_to_those_of_the_feed_and_the_latest_counts(catalogue: Catalogue) -> None:
    one, other = map(str, catalogue.features["type"][:2])
    begun = after(State(), catalogue, f"only {one}", "at_least price 10", "when week")
    more = after(begun, catalogue, f"only {other}", "at_most price 20", "when weekend")
    assert more.filters == ListFilter((one, other), (), {"price": 20}, {"price": 10}, "weekend")
    turned = after(more, catalogue, f"without {one}", "at_most price 5")
    assert turned.filters == ListFilter((other,), (one,), {"price": 5}, {}, "weekend")


def test_of_two_bounds_the_tighter_holds_whatever_their_order(catalogue: Catalogue) -> None:
    bounds = ["at_most price 999", "at_most price 30", "at_least price 2", "at_least price 10"]
    for texts in permutations(bounds):
        found = after(State(), catalogue, *texts).filters
        assert (found.at_most, found.at_least) == ({"price": 30}, {"price": 10})
    begun = after(State(), catalogue, "at_most price 9")
    wider = after(begun, catalogue, "at_most price 999")
    assert wider.filters.at_most == {"price": 999}, "a later request replaces a bound"


@pytest.mark.parametrize(
    ("periods", "shared"),
    [
        (("week", "weekend"), "weekend"),
        (("weekend", "week"), "weekend"),
        (("2026-11-20..", "month"), "2026-11-20..2026-11-30"),
        (("..2026-11-22", "2026-11-20.."), "2026-11-20..2026-11-22"),
        (("month", "2026-11-18..", "..2026-11-21"), "2026-11-18..2026-11-21"),
    ],
)
def test_of_two_periods_the_shared_days_hold(
    catalogue: Catalogue, periods: tuple[str, ...], shared: str
) -> None:
    assert after(State(), catalogue, *(f"when {period}" for period in periods)).filters.when == (
        shared
    )


def test_more_wishes_than_apply_together_are_refused(catalogue: Catalogue) -> None:
    wishes = read(*(f"at_most price {n}" for n in range(MAX_WISHES + 1)))
    with pytest.raises(LimitError, match=f"{MAX_WISHES + 1} wishes"):
        event_of(wishes, State(), catalogue, now=NOW)
    assert event_of(wishes[1:], State(), catalogue, now=NOW)


def test_what_cannot_be_is_refused_with_a_sentence(catalogue: Catalogue) -> None:
    tag = catalogue.features["type"][0]
    with pytest.raises(ParameterError, match=f"press \\+2 {tag} and without {tag}"):
        event_of(read(f"press +2 {tag}", f"without {tag}"), State(), catalogue)
    with pytest.raises(ParameterError, match="Nothing is wished"):
        event_of([], State(), catalogue)
    refused: list[tuple[str, type[Exception], str]] = [
        ("press +1 type=Wrkshop", UnknownNameError, "type=Workshop"),
        ("never type=Wrkshop", UnknownNameError, "type=Workshop"),
        ("only type=Wrkshop", UnknownNameError, "type=Workshop"),
        ("at_most prise 20", UnknownNameError, "'prise'.* price"),
        ("like none", UnknownNameError, "'none'"),
    ]
    for text, error, found in refused:
        with pytest.raises(error, match=found):
            decide(State(), event_of(read(text), State(), catalogue), catalogue)


TEXTS = st.one_of(
    st.builds(
        lambda steps, tag, lasts: f"press {steps:+d} {tag} for {lasts}",
        st.sampled_from([-3, -2, -1, 1, 2, 3]),
        st.sampled_from(["type=film", "type=concert", "town=Ghent"]),
        st.sampled_from(["today", "week", "always"]),
    ),
    st.builds(
        lambda kind, tag: f"{kind} {tag}",
        st.sampled_from(["only", "without", "never"]),
        st.sampled_from(["type=film", "type=concert", "town=Ghent"]),
    ),
    st.sampled_from(["variety 0", "variety 0.6", "like i3"]),
)


@given(st.lists(TEXTS, min_size=1, max_size=6), st.lists(TEXTS, max_size=4))
def test_any_wishes_without_contradiction_can_be_applied_one_set_after_the_other(
    model: Teaser, first: list[str], second: list[str]
) -> None:
    catalogue, state = Catalogue(model), State()
    for texts in (first, second):
        wishes = read(*texts)
        if not wishes:
            continue
        if find_contradictions(wishes):
            with pytest.raises(ParameterError, match="cannot both be"):
                event_of(wishes, state, catalogue)
            continue
        event = decide(state, event_of(wishes, state, catalogue, now=NOW), catalogue)
        if event is not None:
            check(state, event)
            state = state_after(state, event)
        for wish in wishes:
            assert wish.kind != "only" or wish.name in state.filters.only
            assert wish.kind != "without" or wish.name in state.filters.without
            assert wish.kind != "never" or wish.name in state.hidden_tags
