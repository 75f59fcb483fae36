"""Conditions as text: what is read, what is compared, what is refused."""

from datetime import date, datetime

import polars as pl
import pytest

from teaser.errors import ParameterError
from teaser.model.lists.condition import Condition

TABLE = pl.DataFrame(
    {
        "year": [1990, 2001, None],
        "day": [date(2024, 1, 1), date(2024, 12, 31), None],
        "at": [datetime(2024, 1, 1, 8), datetime(2024, 1, 1, 20), None],
        "zoned": pl.Series(
            [datetime(2024, 1, 1, 8), datetime(2024, 1, 1, 20), None]
        ).dt.replace_time_zone("Europe/Brussels"),
        "written": ["2024-01-01", "2024-12-31", None],
        "name": ["a", "b", "c"],
    }
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("players=2", ("players", "=", ("2",))),
        (" my town == 'Ghent = Gand' ", ("my town", "=", ("Ghent = Gand",))),
        ("year >= 1990", ("year", ">=", ("1990",))),
        ("town != Ghent", ("town", "!=", ("Ghent",))),
        ("town in Ghent, Bruges,", ("town", "=", ("Ghent", "Bruges"))),
        ("admin=in", ("admin", "=", ("in",))),
        ("town in \"Ghent\", 'Bruges'", ("town", "=", ("Ghent", "Bruges"))),
        ('title in "Sense, and more",Emma', ("title", "=", ("Sense, and more", "Emma"))),
        ("title=Tom and Jerry", ("title", "=", ("Tom and Jerry",))),
        ("title='Now and x=3'", ("title", "=", ("Now and x=3",))),
        ('price=">5"', ("price", "=", (">5",))),
    ],
)
def test_conditions_are_read(text: str, wanted: tuple[object, ...]) -> None:
    found = Condition.parse(text)
    assert (found.name, found.sign, found.values) == wanted


@pytest.mark.parametrize("text", ["", "players", "=2", "year >=", "in a"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="column=value"):
        Condition.parse(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("year>=2001", [False, True, False]),
        ("year<2001", [True, False, False]),
        ("day > 2024-01-01", [False, True, False]),
        ("at <= 2024-01-01T08:00", [True, False, False]),
        ("written < 2024-06-01", [True, False, False]),
        ("at > 2024-01-01T08:00+00:00", [False, True, False]),
        ("zoned >= 2024-01-01", [True, True, False]),
        ("zoned >= 2024-01-01T20:00", [False, True, False]),
        ("zoned > 2024-01-01T07:00+00:00", [False, True, False]),
        ("zoned < 2024-01-01T07:30+00:00", [True, False, False]),
    ],
)
def test_numbers_and_dates_are_compared_by_order(text: str, wanted: list[bool]) -> None:
    assert Condition.parse(text).compare(TABLE).to_list() == wanted


@pytest.mark.parametrize("text", ["year > old", "name > b", "day > tomorrow", "name > 3"])
def test_what_has_no_order_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="by order"):
        Condition.parse(text).compare(TABLE)


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(ParameterError, match=r"'yaer'.*Closest: year"):
        Condition.parse("yaer > 3").compare(TABLE)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("players=>2", r"Write players>=2, .*: players='>2'"),
        ("players =< 2", "Write players<=2"),
        ("town<>Ghent", "Write town!=Ghent"),
    ],
)
def test_a_sign_the_wrong_way_round_is_said(text: str, told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        Condition.parse(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a>=4 and b=1", r"found two in .*\['a>=4', 'b=1'\].*repeat --where"),
        ("a in x,y & b>1", r"\['a in x,y', 'b>1'\]"),
        ("a=1 OR a=2", "'column in value,value'"),
        ("a=1 || b=2", "'column in value,value'"),
    ],
)
def test_two_conditions_in_a_text_are_refused(text: str, told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        Condition.parse(text)
