"""One grammar of conditions: what is read, which rows pass, what is refused."""

from datetime import date, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.data.condition import Condition, Conditions
from teaser.errors import ParameterError

FRAME = pl.DataFrame(
    {
        "rating": [1.0, 4.0, 5.0],
        "stars": ["1", " 4", "5"],
        "action": ["like", "rock and roll", "like "],
        "seen": [True, False, True],
        "day": [date(2024, 1, 1), date(2024, 6, 1), date(2024, 12, 31)],
        "at": [datetime(2024, 1, 1, 8), datetime(2024, 6, 1), datetime(2024, 12, 31)],
        "zoned": pl.Series(
            [datetime(2024, 1, 1, 8), datetime(2024, 6, 1, 20), datetime(2024, 12, 31)]
        ).dt.replace_time_zone("Europe/Brussels"),
        "written": ["2024-01-01", "2024-06-01", "2024-12-31"],
        "my rating": [1, 2, 3],
        "a>b": [1, 2, 3],
        "colour": pl.Series(["red", "blue", "red"], dtype=pl.Categorical),
        "lists": [["a", "b"], [], None],
    }
)


def rows(text: str) -> list[int]:
    """Return the numbers of the rows that pass, from 1."""
    found, unclear = Conditions.parse(text).split(FRAME)
    assert text.startswith("lists") or not any(mask.any() for _, mask, _ in unclear)
    return [row for row, passed in enumerate(found, 1) if passed]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("players=2", ("players", "=", ("2",))),
        (" my town == 'Ghent = Gand' ", ("my town", "=", ("Ghent = Gand",))),
        ("town != Ghent", ("town", "!=", ("Ghent",))),
        ("town in Ghent, Bruges,", ("town", "=", ("Ghent", "Bruges"))),
        ("admin=in", ("admin", "=", ("in",))),
        ("made in = Belgium", ("made in", "=", ("Belgium",))),
        ("town in \"Ghent\", 'Bruges'", ("town", "=", ("Ghent", "Bruges"))),
        ('title in "Sense, and more",Emma', ("title", "=", ("Sense, and more", "Emma"))),
        ("title=Tom and Jerry", ("title", "=", ("Tom and Jerry",))),
        ("title='Now and x=3'", ("title", "=", ("Now and x=3",))),
        ('price=">5"', ("price", "=", (">5",))),
        ("link = https://example.org/?a=b", ("link", "=", ("https://example.org/?a=b",))),
    ],
)
def test_one_condition_is_read(text: str, wanted: tuple[Any, ...]) -> None:
    assert Conditions.parse(text).terms == (Condition(*wanted),)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("rating>=4", [2, 3]),
        ("  rating\n>= 4e0  ", [2, 3]),
        ("rating < 4", [1]),
        ("rating = 4", [2]),
        ("rating != 4", [1, 3]),
        ("rating <> 4", [1, 3]),
        ("rating=>4", [2, 3]),
        ("rating in 4, 5", [2, 3]),
        ("rating >= '4'", [2, 3]),
        ("rating > -1", [1, 2, 3]),
        ("stars >= 4", [2, 3]),
        ("stars = 4", [2]),
        ("action = like", [1, 3]),
        ("action = rock and roll", [2]),
        ("seen = true", [1, 3]),
        ("seen = no", [2]),
        ("day >= 2024-06-01", [2, 3]),
        ("at < '2024-01-01 09:00'", [1]),
        ("at = 2024-01-01", [1]),
        ("at <= 2024-01-01T08:00+00:00", [1]),
        ("zoned >= 2024-06-01", [2, 3]),
        ("zoned > 2024-06-01T18:30+00:00", [3]),
        ("written < 2024-06-01", [1]),
        ("my rating >= 2", [2, 3]),
        ("`my rating` >= 2", [2, 3]),
        ("'a>b' >= 2", [2, 3]),
        ("colour = red", [1, 3]),
        ("lists = a", [1]),
        ("rating >= 4 and action = like", [3]),
        ("rating >= 4 AND rating < 5", [2]),
        ("rating >= 4 & rating < 5", [2]),
        ("action = 'rock and roll' and rating >= 4", [2]),
        ("rating > 1 and my rating < 3 and seen = false", [2]),
    ],
)
def test_rows_pass_as_the_text_says(text: str, wanted: list[int]) -> None:
    assert rows(text) == wanted


@pytest.mark.parametrize(
    "text", ["", " ", "rating", "rating >=", ">= 4", "in a", "and rating >=", "action = 'like"]
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match=r"Cannot read .*column=value"):
        Conditions.parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a=1 OR a=2", "column in value, value"),
        ("a=1 || b=2", "column in value, value"),
    ],
)
def test_the_error_says_what_to_write(text: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Conditions.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        *("rating >= four", "rating >= 4,5", "rating >= nan", "rating >= inf", "colour >= four"),
        *("rating >= 4 and", "rating >= 4 rating < 5", "1 < rating < 5", "rating >< 4"),
        *("seen = maybe", "day >= 2024", "day <= yesterday", "action > 3"),
    ],
)
def test_values_of_another_kind_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="cannot be compared with"):
        rows(text)


def test_rows_that_cannot_be_decided_are_named() -> None:
    frame = pl.DataFrame({"a": ["4", "4,5", None], "b": [None, 1.0, float("nan")]})
    found, unclear = Conditions.parse("a > 3 and b != 2").split(frame)
    assert [(reason, mask.to_list()) for reason, mask, _ in unclear] == [
        ("a is not a number (write 4.5, not 4,5)", [False, True, True]),
        ("b is not a number", [True, False, True]),
    ]
    assert found.to_list() == [True, False, False]


def test_a_rule_is_a_text_or_none() -> None:
    wrong: list[Any] = [4, ["rating >= 4"], True]
    for rule in wrong:
        with pytest.raises(ParameterError, match="must be a text such as"):
            Conditions.coerce(rule)
    assert Conditions.coerce(None) is None
    assert Conditions.coerce("a > 1") == Conditions.coerce(Conditions.parse("a>1"))


@given(
    st.lists(
        st.builds(
            Condition,
            st.text("abc _", min_size=1).map(str.strip).filter(bool),
            st.sampled_from([">=", "<=", "!=", "=", ">", "<"]),
            st.floats(-1e6, 1e6).map(lambda number: (f"{number:g}",)),
        )
        | st.builds(
            Condition,
            st.just("a and b = c"),
            st.just("="),
            st.lists(st.text("abc <=,'&", min_size=1), min_size=1, max_size=3).map(tuple),
        ),
        min_size=1,
        max_size=3,
    ).map(tuple)
)
def test_what_is_written_reads_back(terms: tuple[Condition, ...]) -> None:
    assert Conditions.parse(str(Conditions(terms))) == Conditions(terms)
