"""Strengths: rows of a column, of age and of repetition, and how each can be bad."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.data.interactions import ReadReport, Strength, as_seconds, check_interactions
from teaser.errors import DataError, ParameterError, TableError

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC).timestamp()
EAST = timezone(timedelta(hours=2))


def take(frame: pl.DataFrame, rule: Strength) -> tuple[pl.DataFrame, ReadReport]:
    return check_interactions(frame, user="u", item="i", strength=rule)


class TestTimes:
    @pytest.mark.parametrize(
        "cells",
        [
            [datetime(2024, 1, 31, 12)],
            [datetime(2024, 1, 31, 14, tzinfo=EAST)],
            pl.Series([datetime(2024, 1, 31, 12)], dtype=pl.Datetime("ms")),
            [int(NOON)],
            [NOON * 1e3],
            [NOON * 1e6],
            [NOON * 1e9],
            ["2024-01-31T12:00:00"],
            ["2024-01-31 12:00"],
            ["2024/01/31 12:00"],
            ["2024-01-31 12:00:00.000Z"],
            ["2024-01-31T14:00:00+02:00"],
            [" 2024-01-31T06:30:00-0530 "],
            ["2024-01-31 12:00:00 UTC"],
            ["31/01/2024 12:00"],
            ["31.1.2024 12:00:00"],
            ["1/31/2024 12:00 PM"],
            ["01-31-2024 14:00+02:00"],
            ["2024-01-31 12:00 pm UTC"],
            [str(int(NOON))],
            [f"{NOON * 1e3:.0f}"],
            pl.Series(["2024-01-31T12:00:00"], dtype=pl.Categorical),
        ],
    )
    def test_a_time_is_read_however_it_is_written(self, cells: Any) -> None:
        assert as_seconds(pl.Series(cells)).to_list() == [NOON]

    def test_a_day_begins_at_midnight(self) -> None:
        for cell in (date(2024, 1, 31), "2024-01-31"):
            assert as_seconds(pl.Series([cell])).to_list() == [NOON - 43_200]

    @given(st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.timezones()))
    def test_iso_texts_are_read_as_python_does(self, moment: datetime) -> None:
        moment = moment.replace(microsecond=0, tzinfo=timezone(timedelta(hours=moment.hour - 12)))
        assert as_seconds(pl.Series([moment.isoformat()])).to_list() == [moment.timestamp()]

    def test_what_is_no_time_is_null(self) -> None:
        texts = pl.Series(["soon", "2024-02-30", "", None, "nan", "1e30", "2024-01-31T12"])
        assert as_seconds(texts).to_list() == [None] * 7
        numbers = pl.Series([math.nan, math.inf, None, 1e30])
        assert as_seconds(numbers).to_list() == [None] * 4

    def test_days_or_months_come_first_in_the_whole_column(self) -> None:
        for cells in (["03/02/2024", "31/12/2023"], ["2/3/2024", "12/31/2023"]):
            found = as_seconds(pl.Series([*cells, "2024-02-03", None, "soon"]))
            assert found[0] == found[2] == datetime(2024, 2, 3, tzinfo=UTC).timestamp()
            assert found[1] == datetime(2023, 12, 31, tzinfo=UTC).timestamp()
            assert found.null_count() == 2

    def test_the_clock_may_have_two_halves(self) -> None:
        cells = pl.Series([f"2024-01-31 {clock}" for clock in ("12:00 AM", "1:05 am", "11:59 PM")])
        midnight = NOON - 43_200
        assert as_seconds(cells).to_list() == [
            midnight + 60 * minutes for minutes in (0, 65, 23 * 60 + 59)
        ]

    @pytest.mark.parametrize(
        ("cells", "found"),
        [
            (["soon", "01/02/2024"], r"cannot be told apart, such as row 2 \('01/02/2024'\)"),
            (["31/12/2024", "12/31/2024"], r"first in row 1 .* months first in row 2 \('12/31"),
            (["31/31/2024"], r"days first in row 1 .*months first in row 1"),
        ],
    )
    def test_dates_that_may_be_two_days_are_refused(self, cells: Any, found: str) -> None:
        with pytest.raises(TableError, match=rf"Column 'when' has .*{found}.*year first, such as"):
            as_seconds(pl.Series("when", cells))

    def test_other_types_are_refused(self) -> None:
        for cells in ([[1]], [True], [timedelta(1)]):
            with pytest.raises(TableError, match=r"'when' has type .* cannot be read as times"):
                as_seconds(pl.Series("when", cells))


class TestRule:
    def test_without_settings_there_is_none(self) -> None:
        assert Strength.of(None, "once", None, None) is None
        assert Strength.of("w", "once", None, None) == Strength("w")
        assert Strength.of(None, "log", None, None) == Strength(counts="log")

    def test_plain_values_make_it_again(self) -> None:
        days: Any = np.float32(30)
        rule = Strength.of("w", "log", "t", days)
        assert rule is not None
        assert type(rule.half_life) is float
        assert Strength(**rule.at(NOON).settings()) == rule.at(NOON)
        assert rule.columns == ["w", "t"]

    def test_it_says_what_it_does(self) -> None:
        assert str(Strength("w")) == "w; rows of one user and item: the largest of them"
        assert str(Strength(None, "log", "t", 30.0, NOON)) == (
            "1 x 2^(-age / 30 days), age counted from 2024-01-31; rows of one user and item: "
            "log(1 + their sum)"
        )

    def test_settings_are_checked(self) -> None:
        cases: list[Any] = [
            ("w", "mean"), ("", "once"), (None, "once", ""), (None, "once", "t", -1.0),
        ]  # fmt: skip
        for wrong in cases:
            with pytest.raises(ParameterError):
                Strength(*wrong).check()

    def test_a_time_alone_leaves_strengths_at_one(self) -> None:
        rule = Strength.of(None, "once", "t", None)
        assert rule == Strength(time="t")
        assert rule is not None
        assert rule.is_one
        assert not Strength(time="t", counts="log").is_one
        with pytest.raises(ParameterError, match="no effect without a half-life"):
            rule.decays()
        assert Strength(time="t", half_life=3.0).decays().half_life == 3


class TestRows:
    def test_a_bad_strength_or_time_refuses_its_row(self) -> None:
        frame = pl.DataFrame(
            {
                "u": range(7),
                "i": [1] * 7,
                "w": ["1", "-2", "x", None, "inf", "1e39", "3"],
                "t": ["2024-01-31"] * 6 + ["soon"],
            }
        )
        pairs, report = take(frame, Strength("w", time="t", half_life=9.0))
        assert pairs.drop("time").rows() == [(0, 1, 1.0)]
        found = {refusal.reason: refusal.count for refusal in report.refused}
        assert found == {
            "w is not a finite number": 4, "w is negative": 1, "t is not a time": 1,
        }  # fmt: skip
        assert report.rows == report.interactions + sum(found.values())

    @pytest.mark.parametrize(
        "cells", [["2024-01-31", None, " ", "NaN", "soon"], [NOON, None, math.nan, math.nan, 1e30]]
    )
    def test_a_missing_time_is_refused_only_where_ages_count(self, cells: Any) -> None:
        frame = pl.DataFrame({"u": range(5), "i": [1] * 5, "t": cells})
        pairs, report = take(frame, Strength(time="t"))
        assert pairs["time"].is_null().to_list() == [False, True, True, True]
        assert [(r.reason, r.count) for r in report.refused] == [("t is not a time", 1)]
        pairs, report = take(frame, Strength(time="t", half_life=3.0))
        assert pairs.height == 1
        assert report.refused[0].count == 4

    def test_the_latest_time_of_merged_rows_counts_where_one_is_missing(self) -> None:
        frame = pl.DataFrame({"u": [1, 1, 1], "i": [1] * 3, "t": [NOON - 9, None, NOON]})
        assert take(frame, Strength(time="t"))[0]["time"].to_list() == [NOON]

    def test_without_a_single_time_it_says_how_to_write_them(self) -> None:
        frame = pl.DataFrame({"u": [1, 2], "i": [1, 2], "t": ["31 Dec", "1 Jan"], "n": [None, ""]})
        advice = "Write times as dates, year first"
        for rule in (Strength(time="t"), Strength(time="n", half_life=9.0)):
            with pytest.raises(
                DataError, match=rf"2 rows refused, . is not a time: row 1.*{advice}"
            ):
                take(frame, rule)
        with pytest.raises(
            DataError, match=f"No row that counts has a time in column 'n'. {advice}"
        ):
            take(frame, Strength(time="n"))

    def test_booleans_and_decimals_are_numbers(self) -> None:
        frame = pl.DataFrame({"u": [1, 2], "i": [1, 1], "w": [True, False]})
        pairs, report = take(frame, Strength("w"))
        assert pairs["strength"].to_list() == [1.0]
        assert report.zero_strength == 1
        exact = frame.with_columns(w=pl.Series(["0.5", "2.25"]).cast(pl.Decimal(10, 2)))
        assert take(exact, Strength("w"))[0]["strength"].to_list() == [0.5, 2.25]

    def test_a_column_without_numbers_is_refused(self) -> None:
        frame = pl.DataFrame({"u": [1], "i": [1], "w": ["often"], "d": [date(2024, 1, 1)]})
        for column in ("w", "d"):
            with pytest.raises(
                TableError, match=f"Strengths must be numbers, and column '{column}'"
            ):
                take(frame, Strength(column))

    def test_numbers_that_are_no_unix_time_are_refused(self) -> None:
        frame = pl.DataFrame({"u": [1, 1], "i": [1, 2], "t": [3, 17]})
        with pytest.raises(DataError, match="newest time in column 't' is 1970-01-01"):
            take(frame, Strength(time="t", half_life=9.0))

    def test_ages_are_counted_from_the_newest_row_that_counts(self) -> None:
        frame = pl.DataFrame(
            {
                "u": [1, 2, None, 3],
                "i": [1, 1, 1, 1],
                "rating": [5, 5, 5, 1],
                "t": [date(2024, 1, 1), date(2024, 1, 11), date(2025, 1, 1), date(2026, 1, 1)],
            }
        )
        rule = Strength(time="t", half_life=5.0)
        pairs, report = check_interactions(
            frame, user="u", item="i", positive="rating > 2", strength=rule
        )
        assert pairs["strength"].to_list() == pytest.approx([0.25, 1.0])
        assert "age counted from 2024-01-11" in report.strength

    def test_a_row_too_old_for_single_precision_is_zero(self) -> None:
        days = [date(2000, 1, 1), date(2024, 1, 1)]
        frame = pl.DataFrame({"u": [1, 2], "i": [1, 1], "t": days})
        for half_life in (1.0, 5e-324):
            pairs, report = take(frame, Strength(time="t", half_life=half_life))
            assert pairs.drop("time").rows() == [(2, 1, 1.0)]
            assert report.zero_strength == 1

    def test_all_zero_is_an_error_that_says_so(self) -> None:
        frame = pl.DataFrame({"u": [1], "i": [1], "w": [0]})
        with pytest.raises(DataError, match="1 row of strength zero left out"):
            take(frame, Strength("w"))


@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 3), st.integers(0, 3), st.floats(-1, 9, width=32), st.integers(0, 90)
        ),
        min_size=1,
        max_size=30,
    ),
    counts=st.sampled_from(["once", "log"]),
)
def test_pairs_are_those_of_a_loop_over_rows(
    rows: list[tuple[int, int, float, int]], counts: str
) -> None:
    usable = [row for row in rows if row[2] > 0]
    frame = pl.DataFrame(rows, schema=["u", "i", "w", "days"], orient="row")
    frame = frame.with_columns(t=date(2024, 1, 1) + pl.duration(days="days"))
    rule = Strength("w", counts, "t", 20.0)
    if not usable:
        with pytest.raises(DataError):
            take(frame, rule)
        return
    newest = max(row[3] for row in rows if row[2] >= 0)
    strengths: dict[tuple[int, int], list[float]] = {}
    for user, item, strength, days in usable:
        decayed = strength * 2 ** (-(newest - days) / 20)
        strengths.setdefault((user, item), []).append(decayed)
    merge: Any = max if counts == "once" else lambda values: math.log(1 + sum(values))
    wanted = {pair: merge(values) for pair, values in strengths.items()}
    pairs, report = take(frame, rule)
    found = {(u, i): value for u, i, value, _ in pairs.rows()}
    # Strengths are stored in single precision; the smallest may round to zero.
    assert found == pytest.approx({p: v for p, v in wanted.items() if p in found}, rel=1e-6)
    assert all(wanted[pair] < 1e-40 for pair in set(wanted) - set(found))
    refused = sum(refusal.count for refusal in report.refused)
    assert report.rows == (report.interactions + report.duplicates + report.zero_strength + refused)
    assert ReadReport.from_dict(report.as_dict()) == report
