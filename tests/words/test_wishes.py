"""Wishes and periods have one text form; contradictions are found; wishes lead to a list."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from words.catalogues import TODAY, event_model, film_model

from teaser.errors import ParameterError, UnknownNameError
from teaser.steer.variation import start_presses
from teaser.words.wishes import (
    LASTS,
    MAX_BOUND,
    MOST_WISHES,
    NAMES,
    Period,
    Reading,
    Wish,
    find_contradictions,
    recommend_for,
)


@pytest.mark.parametrize(
    "text",
    [
        "", "press", "press +2", "press 0 theme=Jazz", "press +6 theme=Jazz", "press +2 Jazz",
        "press two theme=Jazz", "press +2 =Jazz", "press +2 theme=", "only", "only Jazz",
        "at_most price", "at_most 20", "at_most price cheap", "at_most price inf",
        "at_most price nan", "when", "when someday", "when ..", "when 2026-02-30..",
        "when 2026-11-22..2026-11-20", "like", "like  ", "variety", "variety 2", "variety -0.1",
        "Press +2 theme=Jazz", "more jazz", "hide type=Workshop",
    ],
)  # fmt: skip
def test_what_is_no_wish_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ParameterError, match=r"\w.*\.$"):
        Wish.parse(text)


def test_an_error_repeats_only_the_beginning_of_a_long_text() -> None:
    with pytest.raises(ParameterError, match="is not a wish") as caught:
        Wish.parse("x" * 10_000)
    assert len(str(caught.value)) < 500


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
tags = st.builds("{}={}".format, words.filter(lambda w: "=" not in w), words)
ends = st.sampled_from(["", " for today", " for week", " for always"])
numbers = st.floats(-MAX_BOUND, MAX_BOUND)
lasting = st.sampled_from(LASTS)
wishes = st.one_of(
    st.builds(
        Wish,
        st.just("press"),
        st.builds(str.__add__, tags, ends),
        st.integers(1, 3) | st.integers(-3, -1),
        lasts=lasting,
    ),
    st.builds(Wish, st.sampled_from(["only", "without"]), st.builds(str.__add__, tags, ends)),
    st.builds(Wish, st.just("never"), st.builds(str.__add__, tags, ends), lasts=lasting),
    st.builds(Wish, st.sampled_from(["at_most", "at_least"]), words, number=numbers),
    st.builds(Wish, st.just("when"), st.sampled_from(sorted(NAMES))),
    st.builds(Wish, st.just("like"), words),
    st.builds(Wish, st.just("variety"), number=st.floats(0, 1)),
)


@given(wishes)
def test_the_text_form_gives_every_wish_back(wish: Wish) -> None:
    assert Wish.parse(str(wish)) == wish


MONDAY = date(2026, 11, 16)
days = st.dates(date(1900, 1, 1), date(2200, 1, 1))


@given(days, st.sampled_from(sorted(NAMES)))
def test_named_periods_are_never_past_and_never_empty(today: date, name: str) -> None:
    first, last = Period(name).days(today)
    assert first is not None
    assert last is not None
    assert today <= first <= last <= today + timedelta(days=62)
    if "weekend" in name:
        assert {first.weekday(), last.weekday()} <= {5, 6}
    if name.startswith("next_w"):
        assert (first - timedelta(days=7)).isocalendar()[:2] == today.isocalendar()[:2]


@given(days | st.none(), days | st.none())
def test_fixed_days_are_read_as_written(first: date | None, last: date | None) -> None:
    text = f"{first or ''}..{last or ''}"
    if (first is None and last is None) or (first and last and last < first):
        with pytest.raises(ParameterError):
            Period.parse(text)
    else:
        period = Period.parse(text)
        assert str(period) == text
        assert period.days(MONDAY) == (first, last)


@pytest.mark.parametrize(
    "text", ["", "..", "Weekend", "2026-13-01..", "2026-02-30", "20261105", "1..2", "2026-12-05.."
             "2026-12-04", "२०२६-12-05", "2026-12-052026-12-06"],
)  # fmt: skip
def test_what_is_no_period_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="is no period"):
        Period.parse(text)


@pytest.mark.parametrize(
    "pair",
    [
        ("press +2 theme=Jazz", "without theme=Jazz"),
        ("press +2 theme=Jazz", "press -2 theme=Jazz"),
        ("press +2 theme=Jazz", "never theme=Jazz for today"),
        ("only theme=Jazz", "without theme=Jazz"),
        ("only theme=Jazz", "press -1 theme=Jazz"),
        ("at_most price 10", "at_least price 20"),
        ("variety 0.6", "variety 0"),
        ("when today", "when tomorrow"),
        ("when weekend", "when ..2026-11-20"),
        ("when 2026-12-01..", "when month"),
    ],
)
def test_wishes_that_cannot_both_hold(pair: tuple[str, str]) -> None:
    one, other = map(Wish.parse, pair)
    assert find_contradictions([one, other], today=TODAY) == ((one, other),)
    assert find_contradictions([other, one], today=TODAY) == ((other, one),)


@pytest.mark.parametrize(
    "pair",
    [
        ("press +2 theme=Jazz", "without theme=Folk"),
        ("press +2 theme=Jazz", "press +1 theme=Jazz"),
        ("press +2 theme=Jazz", "only theme=Jazz"),
        ("without theme=Jazz", "never theme=Jazz"),
        ("press -1 theme=Jazz", "without theme=Jazz"),
        ("only town=Ghent", "only town=Bruges"),
        ("at_most price 20", "at_least price 10"),
        ("at_most price 10", "at_least rating 20"),
        ("at_most price 10", "at_most price 20"),
        ("when weekend", "when week"),
        ("when 2026-11-01..", "when month"),
        ("like e1", "like e2"),
    ],
)
def test_wishes_that_go_together(pair: tuple[str, str]) -> None:
    assert find_contradictions(map(Wish.parse, pair), today=TODAY) == ()


def test_a_reading_holds_each_wish_once_and_says_whether_all_was_understood() -> None:
    jazz, ghent = Wish("press", "theme=Jazz", 2), Wish("only", "town=Ghent")
    assert Reading.from_wishes([jazz, ghent, jazz]).wishes == (jazz, ghent)
    assert Reading.from_wishes([jazz]).understood
    assert not Reading.from_wishes([jazz], ["dragons"]).understood
    assert not Reading.from_wishes([]).understood
    assert not Reading.from_wishes([jazz, Wish("without", "theme=Jazz")]).understood


def test_no_more_than_twenty_wishes_stay_and_the_rest_is_named() -> None:
    single = [Wish("only", f"theme=T{i}", words=f"t{i}") for i in range(MOST_WISHES - 2)]
    group = [Wish("only", f"price=P{i}", words="cheaper") for i in range(4)]
    reading = Reading.from_wishes([*single, *group, Wish("variety", number=0.6)], ["dragons"])
    assert reading.wishes == tuple(single)
    assert reading.unknown == ("dragons", "cheaper", "variety 0.6")
    assert len(Reading.from_wishes([*single, *group[:2]]).wishes) == MOST_WISHES


def ids(*wishes: str, k: int = 20, model_of: str = "events") -> list[object]:
    model = event_model() if model_of == "events" else film_model()
    found = recommend_for(model, map(Wish.parse, wishes), k=k, today=TODAY)
    return [each.item_id for each in found]


def test_without_wishes_it_is_the_plain_list() -> None:
    plain = [each.item_id for each in event_model().recommend((), k=20)]
    assert ids() == plain


def test_presses_and_starts_are_presses() -> None:
    model = event_model()
    expected = model.recommend((), {"theme=Jazz": 3}, k=20)
    assert ids("press +3 theme=Jazz") == [each.item_id for each in expected]
    start = model.recommend((), start_presses(model, "e0004"), k=20)
    assert ids("like e0004") == [each.item_id for each in start]


def test_filters_let_pass_what_they_say() -> None:
    table = event_model().table_
    rows = {row["item_id"]: row for row in table.iter_rows(named=True)}
    found = ids(
        "only town=Ghent", "only town=Bruges", "without type=Concert", "never type=Workshop",
        "at_most price 20", "at_least price 5", "when 2026-11-16..2027-03-01",
    )  # fmt: skip
    assert found
    for item_id in found:
        row = rows[item_id]
        assert row["town"] in ("Ghent", "Bruges")
        assert row["type"] not in ("Concert", "Workshop")
        assert 5 <= row["price"] <= 20
        assert date(2026, 11, 16) <= row["date"] <= date(2027, 3, 1)


def test_variety_mixes_the_list() -> None:
    assert ids("variety 0") == ids()
    assert ids("variety 0.6") != ids()


@pytest.mark.parametrize(
    ("wishes", "error"),
    [
        (["press +1 theme=Jazz", "without theme=Jazz"], ParameterError),
        (["only theme=Opera"], UnknownNameError),
        (["like e9999"], UnknownNameError),
        (["at_most runtime 20"], UnknownNameError),
    ],
)
def test_what_cannot_be_is_refused(wishes: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        ids(*wishes)


def test_items_without_dates_have_no_days() -> None:
    with pytest.raises(ParameterError, match="no dates"):
        ids("when today", model_of="films")
