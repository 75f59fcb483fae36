"""Ratings, times and amounts that stand unused are pointed out, with the option for them."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from teaser.data.columns import IdColumns, unused_notes
from teaser.data.condition import Conditions
from teaser.data.interactions import Strength
from teaser.data.reading import Table

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC).timestamp()
IDS = IdColumns("user", "item", "item", "user")


def notes(columns: dict[str, Any], ids: IdColumns = IDS, **options: Any) -> list[str]:
    n = len(next(iter(columns.values())))
    frame = pl.DataFrame({"user": range(n), "item": 1} | columns)
    rules: dict[str, Any] = {"positive": None, "negative": None, "strength": None}
    return unused_notes(Table(frame, "r.csv"), ids, **rules | options)


class TestRatings:
    @pytest.mark.parametrize(
        ("cells", "rule"),
        [
            ([1, 2, 3, 4, 5], "rating >= 4"),
            ([0.5, 3.5, 5.0], "rating >= 4"),
            (list(range(1, 11)), "rating >= 7"),
            (list(range(11)), "rating >= 7"),
            ([-1, 5, 10, None], "rating >= 7"),
            ([-1, 0, 1], "rating >= 1"),
            ([0.0, 0.3, 1.0], "rating >= 0.67"),
            ([1.0, 2.0, 3.0, float("nan")], "rating >= 3"),
        ],
    )
    def test_the_upper_third_is_proposed(self, cells: Any, rule: str) -> None:
        (said,) = notes({"rating": cells})
        assert said.endswith(f'give --positive "{rule}" (positive={rule!r})')
        assert Conditions.of(rule) is not None

    def test_the_share_of_rows_is_told(self) -> None:
        (said,) = notes({"Book-Rating": [1, 2, 10, 10]})
        assert said.startswith(
            "warning: column 'Book-Rating' of r.csv goes from 1 to 10, and every"
        )
        assert "here 50% of the rows" in said

    @pytest.mark.parametrize(
        ("name", "cells"),
        [
            ("rank", [1, 2, 3]), ("rating", ["a", "b", "c"]), ("rating", [1, 1, 1]),
            ("rating", [0, 1, 1]), ("score", list(range(500))), ("accessed", [1, 1, 1]),
        ],
    )  # fmt: skip
    def test_other_columns_are_no_ratings(self, name: str, cells: Any) -> None:
        assert notes({name: cells}) == []

    def test_ids_are_no_ratings(self) -> None:
        assert notes({"stars": [1, 2, 3]}, IdColumns("user", "stars", "stars", "user")) == []

    def test_a_rule_or_a_strength_answers_it(self) -> None:
        rule = Conditions.parse("action = 'like'")
        columns = {"rating": [1, 2, 3], "action": ["like"] * 3}
        assert notes(columns, positive=rule) == notes(columns, negative=rule) == []
        assert notes(columns, strength=Strength("rating")) == []
        assert len(notes(columns, strength=Strength(counts="log"))) == 1


class TestTimes:
    @pytest.mark.parametrize(
        ("name", "cells"),
        [
            ("timestamp", [NOON, NOON + 1]),
            ("unixReviewTime", [NOON * 1000, None]),
            ("date", ["2024-01-31", "2024-01-31T08:00:00"]),
            ("date", ["31/01/2024", "31/01/2024 08:00"]),
            ("created-time", [date(2024, 1, 31)] * 2),
            ("my_last_updated", [int(NOON), int(NOON) - 1]),
            ("added", [NOON * 1000, NOON * 1000]),
            ("Seen", [date(2024, 1, 31)] * 2),
            ("tstamp", ["2024-01-31 12:00:00", "2024-01-31 12:00:00"]),
        ],
    )
    def test_the_option_is_named(self, name: str, cells: Any) -> None:
        (said,) = notes({name: cells})
        assert "has times, such as 2024-01-31." in said
        assert said.endswith(f"give --time {name} (time={name!r})")

    @pytest.mark.parametrize(
        ("name", "cells"),
        [
            ("time", [30, 45]), ("day", ["Monday", "Sunday"]), ("order_id", [NOON, NOON]),
            ("when", [[1], [2]]), ("time", [timedelta(1), timedelta(2)]), ("ts", [None, None]),
            ("isbn", ["0553280368", "1853260086"]), ("steam", [76561197970982479] * 2),
            ("phone", [NOON, 5 * NOON]), ("x", [True, False]), ("empty", [None, None]),
        ],
    )  # fmt: skip
    def test_other_columns_have_no_times(self, name: str, cells: Any) -> None:
        assert notes({name: cells}) == []

    def test_a_name_goes_before_values(self) -> None:
        (said,) = notes({"added": [NOON] * 2, "date of play": [NOON] * 2})
        assert said.endswith("--time 'date of play' (time='date of play')")

    def test_a_time_that_is_used_is_not_told(self) -> None:
        columns = {"date": [NOON, NOON], "added": [NOON, NOON]}
        assert notes(columns, strength=Strength(time="date")) == []


class TestAmounts:
    @pytest.mark.parametrize(
        "name",
        ["weight", "plays", "play_count", "playCount", "listens", "hours", "playtime_forever"],
    )
    def test_the_options_are_named(self, name: str) -> None:
        (said,) = notes({name: [1.0, 352_698.0, 13.5]})
        assert said == (
            f"column {name!r} of r.csv goes from 1 to 352,698, and every row counts alike. To let "
            f"larger ones count more, give --strength {name} --counts log (strength={name!r}, "
            "counts='log')"
        )

    @pytest.mark.parametrize(
        ("name", "cells"),
        [
            ("weight", [1, 1, 1]), ("plays", [-1, 2, 3]), ("count", ["a", "b", "c"]),
            ("height", [1, 2, 3]), ("plays", [None, None, None]),
        ],
    )  # fmt: skip
    def test_other_columns_are_no_amounts(self, name: str, cells: Any) -> None:
        assert notes({name: cells}) == []

    def test_what_is_used_is_not_told(self) -> None:
        columns = {"plays": [1, 2, 3], "hours": [1, 2, 3]}
        assert notes(columns, strength=Strength("plays")) == []
        (said,) = notes(columns, positive=Conditions.parse("plays > 1"))
        assert "--strength hours" in said

    def test_all_that_stands_unused_is_told(self) -> None:
        columns = {"plays": [1, 2, 3], "rating": [1, 2, 3], "when": [NOON] * 3}
        said = " ".join(notes(columns))
        assert [option in said for option in ("--positive", "--time", "--strength")] == [True] * 3
