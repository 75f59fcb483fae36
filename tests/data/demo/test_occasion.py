"""When an event takes place, where and at what price."""

from datetime import date, timedelta

import polars as pl

from teaser.data.demo.event import PRICE_BANDS, event_types, offers, possible_days


def test_day_agrees_with_the_dates(items: pl.DataFrame) -> None:
    for row in items.select("date", "end_date", "day").iter_rows(named=True):
        start, end = row["date"], row["end_date"]
        assert date(2026, 1, 1) <= start <= end <= date(2026, 12, 31)
        if end > start:
            assert row["day"] == "multiple days"
        else:
            assert row["day"] == ("weekend" if start.isoweekday() > 5 else "weekday")


def test_dates_fill_the_year(items: pl.DataFrame) -> None:
    months = items.group_by(pl.col("date").dt.month()).len()
    assert months.height == 12
    assert min(months["len"]) > 80


def test_price_agrees_with_its_band(items: pl.DataFrame) -> None:
    limits = dict(
        zip(PRICE_BANDS, [(0, 0), (0.5, 9.99), (10, 19.99), (20, 40), (40.5, 500)], strict=True)
    )
    for price, band in items.select("price", "price_band").iter_rows():
        low, high = limits[band]
        assert low <= price <= high, (price, band)
        assert price * 2 == int(price * 2)


def test_stage_and_screen_stay_inside_in_winter(items: pl.DataFrame) -> None:
    outside = items.filter(
        pl.col("setting").is_in(["Outdoors", "In nature"]),
        pl.col("type").is_in(["Concert", "Festival", "Film", "Dance", "Food and drink"]),
    )
    assert outside.height > 100
    assert outside["date"].dt.month().is_between(5, 9).all()


def test_nobody_swims_outside_in_winter(items: pl.DataFrame) -> None:
    swims = items.filter(theme="Swimming")
    outside = swims.filter(pl.col("setting") != "Indoors")
    assert 0 < outside.height < swims.height
    assert outside["date"].dt.month().is_between(6, 8).all()


def test_christmas_markets_end_before_christmas(items: pl.DataFrame) -> None:
    assert max(items.filter(theme="Christmas")["end_date"]) < date(2026, 12, 25)


def test_schoolchildren_come_when_there_is_no_school(items: pl.DataFrame) -> None:
    pupils = items.filter(
        pl.col("audience").is_in(["Children", "Families"]), pl.col("day") == "weekday"
    )
    assert pupils.height > 10
    assert set(pupils["date"].dt.weekday()) == {3}


def test_a_concert_in_the_lunch_hour_is_cheap(items: pl.DataFrame) -> None:
    lunch = items.filter(pl.col("labels").str.contains("lunch hour"))
    assert lunch.height > 0
    assert (lunch["price"] <= 12).all()


def test_every_offer_finds_a_day_from_any_start() -> None:
    needs = {
        (act.months or offer.months, length)
        for offer in offers()
        for act in offer.acts
        for length in event_types()[offer.type].lengths
    }
    for start in (date(2027, 3, 1) + timedelta(n) for n in range(0, 366, 15)):
        for months, length in needs:
            for weekdays in ((2,), (3,), (5,), (4, 5), (0, 1, 2, 3, 4)):
                days = possible_days(start, months or (5, 6, 7, 8, 9), weekdays, length)
                assert days, (start, months, weekdays, length)
                assert {day.weekday() for day in days} <= set(weekdays)
                assert start <= days[0] <= days[-1] < start + timedelta(days=365)


def test_a_day_that_leaves_room_to_end_within_the_year_comes_first() -> None:
    start = date(2027, 3, 1)
    days = possible_days(start, tuple(range(1, 13)), (4, 5), 30)
    assert days[-1] + timedelta(days=29) <= date(2028, 2, 28)
    late = possible_days(start, (1, 2), (4, 5), 93)
    assert {day.month for day in late} == {1, 2}


def test_nothing_starts_on_holidays() -> None:
    days = possible_days(date(2026, 6, 1), (1, 12), tuple(range(7)), 1)
    closed = {date(2026, 12, 24), date(2026, 12, 25), date(2026, 12, 31), date(2027, 1, 1)}
    assert len(days) == 62 - len(closed)
    assert not closed & set(days)
