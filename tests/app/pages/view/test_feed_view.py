"""Feeds on a page: their filters as chips, what is hidden, what ends by itself."""

import json
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from teaser.app.i18n.texts import texts_in
from teaser.app.pages.view.clock import Clock
from teaser.app.pages.view.feed_view import (
    ending_presses,
    feed_names,
    feed_views,
    filter_chips,
    filter_text,
    filter_wishes,
    hidden_rows,
    without_wish,
)
from teaser.app.serving.catalogue import Catalogue
from teaser.app.state import Ending, Feed, ListFilter, State

EN = texts_in("en")
NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
CLOCK = Clock(NOW, UTC)
TAGS = st.lists(st.sampled_from(["a=b", "a=c", "b=d"]), unique=True).map(tuple)
BOUNDS = st.dictionaries(st.sampled_from(["price", "year"]), st.integers(0, 9).map(float))
PERIODS = st.sampled_from(["", "weekend", "2026-11-20.."])
FILTERS = st.builds(
    ListFilter, only=TAGS, without=TAGS, at_most=BOUNDS, at_least=BOUNDS, when=PERIODS
)


@given(FILTERS)
def test_each_condition_can_be_taken_off_alone(filters: ListFilter) -> None:
    wishes = filter_wishes(filters)
    assert bool(wishes) == bool(filters)
    for wish in wishes:
        left = filter_wishes(without_wish(filters, wish))
        assert left == [other for other in wishes if other != wish]


@given(FILTERS)
def test_conditions_survive_a_form(filters: ListFilter) -> None:
    assert ListFilter.from_json(json.loads(filter_text(filters))) == filters


def test_chips_say_what_they_do_and_what_stays(catalogue: Catalogue) -> None:
    filters = ListFilter(only=("town=Ghent",), at_most={"price": 20.0}, when="weekend")
    chips = filter_chips(filters, catalogue, EN, CLOCK)
    assert [chip.label.split(":")[0] for chip in chips] == [
        "only Ghent",
        "Price at most 20",
        "this weekend",
    ]
    assert json.loads(chips[0].rest) == {"at_most": {"price": 20.0}, "when": "weekend"}


def test_the_main_list_comes_first_and_has_a_name(catalogue: Catalogue) -> None:
    feeds = {
        "": Feed(),
        "Friday": Feed(
            presses={"type=film": -2, "town=Ghent": 1},
            filters=ListFilter(without=("type=film",)),
            variety=0.5,
        ),
    }
    state = State(feed="Friday", feeds=feeds)
    assert [(f.name, f.label, f.is_current) for f in feed_names(state, EN)] == [
        ("", "For you", False),
        ("Friday", "Friday", True),
    ]
    main, friday = feed_views(state, catalogue, EN, CLOCK)
    assert (main.n_presses, main.filters, main.variety) == (0, (), 0.0)
    assert (friday.n_presses, friday.filters, friday.variety) == (3, ("no film",), 0.5)


def test_hidden_things_are_listed_with_their_end(catalogue: Catalogue) -> None:
    until = NOW + timedelta(days=3)
    state = State(
        hidden=("i3", "gone"),
        hidden_tags=("type=film",),
        ends=(Ending("hide", "type=film", 0, until), Ending("hide", "gone", 0, until, True)),
    )
    rows = hidden_rows(state, catalogue, EN, CLOCK)
    assert [(r.field, r.value, r.label) for r in rows] == [
        ("unhide_tag", "type=film", "film"),
        ("unhide", "i3", "Event 3"),
        ("unhide", "gone", "gone"),
    ]
    assert [r.end and r.end.words for r in rows] == ["until Thursday", None, "until Thursday"]


def test_presses_that_end_can_be_taken_back_exactly(catalogue: Catalogue) -> None:
    until = NOW + timedelta(days=1)
    state = State(
        presses={"type=film": 2},
        ends=(Ending("press", "type=film", 2, until), Ending("hide", "i3", 0, until, True)),
    )
    (found,) = ending_presses(state, catalogue, EN, CLOCK)
    assert (found.steps, found.label) == (2, "film")
    assert found.value == f"{until.isoformat()} -2 type=film"
