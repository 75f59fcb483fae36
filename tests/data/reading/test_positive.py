"""The rule for positive rows: what it takes, and what it refuses."""

from datetime import date, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.data.condition import Positive
from teaser.errors import ParameterError, TableError


class TestPositiveRule:
    FRAME = pl.DataFrame(
        {
            "rating": [1.0, 4.0, 5.0],
            "stars": ["1", " 4", "5"],
            "action": ["like", "rock and roll", "like "],
            "seen": [True, False, True],
            "day": [date(2024, 1, 1), date(2024, 6, 1), date(2024, 12, 31)],
            "at": [datetime(2024, 1, 1, 8), datetime(2024, 6, 1), datetime(2024, 12, 31)],
            "my rating": [1, 2, 3],
            "a>b": [1, 2, 3],
            "colour": pl.Series(["red", "blue", "red"], dtype=pl.Categorical),
        }
    )

    def rows(self, rule: str) -> list[int]:
        positive, unclear = Positive.parse(rule).split(self.FRAME)
        assert not any(mask.any() for _, mask, _ in unclear)
        return [row for row, taken in enumerate(positive, 1) if taken]

    def test_rules_take_the_rows_they_say(self) -> None:
        cases = {
            "rating >= 4": [2, 3],
            "rating>=4": [2, 3],
            "  rating\n>= 4e0  ": [2, 3],
            "rating > 4": [3],
            "rating < 4": [1],
            "rating <= 4": [1, 2],
            "rating = 4": [2],
            "rating == 4": [2],
            "rating != 4": [1, 3],
            "rating >= '4'": [2, 3],
            "rating > -1": [1, 2, 3],
            "stars >= 4": [2, 3],
            "action = like": [1, 3],
            "action = 'like'": [1, 3],
            'action != "like"': [2],
            "action = 'rock and roll'": [2],
            "seen = true": [1, 3],
            "seen = False": [2],
            "seen = 1": [1, 3],
            "day >= 2024-06-01": [2, 3],
            "at < '2024-01-01 09:00'": [1],
            "my rating >= 2": [2, 3],
            "`my rating` >= 2": [2, 3],
            "'a>b' >= 2": [2, 3],
            "colour = red": [1, 3],
            "rating >= 4 and action = like": [3],
            "rating >= 4 AND rating < 5": [2],
            "action = 'rock and roll' and rating >= 4": [2],
            "rating > 1 and my rating < 3 and seen = false": [2],
        }
        assert {rule: self.rows(rule) for rule in cases} == cases

    def test_a_rule_that_cannot_be_read_is_refused(self) -> None:
        for rule in (
            "",
            " ",
            "rating",
            "rating >=",
            ">= 4",
            "rating => 4",
            "rating >< 4",
            "rating >= 4 and",
            "and rating >=",
            "rating >= 4 or seen = true",
            "rating >= 4 rating < 5",
            "rating >= 4, seen = true",
            "action = rock and roll",
            "action = 'like",
            "1 < rating < 5",
        ):
            with pytest.raises(ParameterError, match=r"Cannot read .* in the rule"):
                Positive.parse(rule)

    def test_numbers_that_nothing_compares_with_are_refused(self) -> None:
        for value in ("nan", "inf", "-inf"):
            with pytest.raises(ParameterError, match="cannot be compared with"):
                Positive.parse(f"rating >= {value}")

    def test_an_unknown_sign_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="'~'"):
            Positive((("rating", "~", 4.0),))

    def test_values_of_another_kind_are_refused(self) -> None:
        for rule in (
            "rating >= four",
            "rating >= 4,5",
            "colour >= four",
            "seen = maybe",
            "day >= 2024",
            "day <= yesterday",
        ):
            with pytest.raises(ParameterError, match="cannot be compared with"):
                self.rows(rule)

    def test_cells_that_cannot_be_compared_are_refused(self) -> None:
        columns: list[list[object]] = [[[1]], [{"a": 1}], [b"\xff"], [timedelta(1)]]
        for cells in columns:
            with pytest.raises(ParameterError, match="Column 'x' has type"):
                Positive.parse("x = y").split(pl.DataFrame({"x": cells}))

    def test_a_rule_is_a_text_or_none(self) -> None:
        wrong: list[Any] = [4, ["rating >= 4"], True]
        for rule in wrong:
            with pytest.raises(ParameterError, match="positive must be a rule such as"):
                Positive.of(rule)
        assert Positive.of(None) is None
        assert Positive.of("a > 1") == Positive.of(Positive.parse("a > 1")) == Positive.parse("a>1")

    def test_a_missing_column_is_named_with_the_closest(self) -> None:
        with pytest.raises(TableError, match=r"'ratng', needed for the rule .* Closest: rating"):
            self.rows("ratng >= 4")

    def test_a_rule_reads_as_it_was_written(self) -> None:
        rule = "rating >= 4.5 and action = 'like'"
        assert str(Positive.parse(rule)) == rule

    @given(
        st.lists(
            st.tuples(
                st.text("abc _", min_size=1).map(str.strip).filter(bool),
                st.sampled_from([">=", "<=", "!=", "==", "=", ">", "<"]),
                st.floats(-1e6, 1e6).map(lambda number: float(f"{number:g}"))
                | st.text("abc <=", max_size=5),
            ),
            min_size=1,
            max_size=3,
        ).map(tuple)
    )
    def test_a_written_rule_reads_back(
        self, terms: tuple[tuple[str, str, float | str], ...]
    ) -> None:
        assert Positive.parse(str(Positive(terms))) == Positive(terms)
