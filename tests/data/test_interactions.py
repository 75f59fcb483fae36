"""Rows become interactions: ids, positive rows, strengths, times, dislikes; others are named."""

import math
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from teaser import Dataset, Teaser, decayed
from teaser.data.condition import Conditions
from teaser.data.interactions import (
    STRENGTH,
    ReadReport,
    RowReader,
    Strength,
    as_ids,
    as_seconds,
    check_items,
)
from teaser.errors import DataError, ParameterError, TableError


def check_interactions(
    frame: pl.DataFrame,
    *,
    user: str,
    item: str,
    positive: str | None = None,
    strength: Strength | None = None,
) -> tuple[pl.DataFrame, ReadReport]:
    reader = RowReader(user, item, Conditions.coerce(positive), strength)
    reader.check(frame)
    return reader.pairs(frame)


FRAME = pl.DataFrame({"user_id": [1, 2], "item_id": ["a", "b"]})


class TestIds:
    def test_ids_are_integers_or_texts(self) -> None:
        cases: list[tuple[pl.Series, list[object]]] = [
            (pl.Series([1, None, 3]), [1, None, 3]),
            (pl.Series([1, 2], dtype=pl.UInt8), [1, 2]),
            (pl.Series([1, 2**64 - 1], dtype=pl.UInt64), ["1", "18446744073709551615"]),
            (pl.Series([1.0, None, float("nan"), 3.0]), [1, None, None, 3]),
            (pl.Series([float("inf"), 2.0]), [None, 2]),
            (pl.Series([1.5, 2.0]), ["1.5", "2.0"]),
            (pl.Series([Decimal("17.00"), Decimal("18.00")]), [17, 18]),
            (pl.Series(["007", "7", " 7 ", "", "  ", None]), ["007", "7", "7", None, None, None]),
            (pl.Series(["b", None], dtype=pl.Categorical), ["b", None]),
            (pl.Series(["b", None], dtype=pl.Enum(["a", "b"])), ["b", None]),
            (pl.Series([True, False]), ["true", "false"]),
            (pl.Series([date(2024, 2, 29)]), ["2024-02-29"]),
            (pl.Series([None, None]), [None, None]),
        ]
        for column, wanted in cases:
            found = as_ids(column)
            assert found.dtype in (pl.Int64, pl.String)
            assert found.to_list() == wanted

    def test_what_cannot_be_an_id_is_refused(self) -> None:
        columns: list[list[object]] = [
            [[1], [2]],
            [{"a": 1}],
            [b"\xff"],
            [UUID(int=2**127).bytes],
            [timedelta(1)],
        ]
        for cells in columns:
            with pytest.raises(TableError, match="Column 'item' has type"):
                as_ids(pl.Series("item", cells))

    @given(st.lists(st.integers(-(2**63), 2**64 - 1), unique=True))
    def test_whole_numbers_of_any_size_stay_different(self, ids: list[int]) -> None:
        found = as_ids(pl.Series(ids, dtype=pl.Int128))
        assert [int(name) for name in found] == ids


class TestInteractions:
    def test_refused_rows_are_counted_and_the_first_named(self) -> None:
        frame = pl.DataFrame(
            {
                "u": ["a", None, "", "b", "c", "d", "e"],
                "i": [1, 1, 1, None, 1, 1, 1],
                "rating": [5.0, 5.0, 5.0, 5.0, None, float("nan"), float("inf")],
            }
        )
        _, report = check_interactions(frame, user="u", item="i", positive="rating >= 4")
        assert [str(refusal) for refusal in report.refused] == [
            "2 rows refused, u is missing: row 2 (None), row 3 ('')",
            "1 row refused, i is missing: row 4 (None)",
            "3 rows refused, rating is not a number: row 5 (None), row 6 (nan), row 7 (inf)",
        ]

    @given(
        rows=st.lists(
            st.tuples(
                st.none() | st.integers(0, 3) | st.just(float("nan")),
                st.none() | st.sampled_from(["a", "b", " a", "", "c"]),
                st.none() | st.integers(1, 5) | st.sampled_from([float("nan"), float("inf")]),
            ),
            min_size=1,
        ),
        positive=st.none() | st.sampled_from(["rating >= 4", "rating >= 3 and i = 'a'"]),
    )
    def test_every_row_is_accounted_for(
        self, rows: list[tuple[Any, Any, Any]], positive: str | None
    ) -> None:
        schema = {"u": pl.Float64, "i": pl.String, "rating": pl.Float64}
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        good = {
            (user, item.strip())
            for user, item, rating in rows
            if user is not None and user == user and item is not None and item.strip()
            if positive is None or (rating is not None and 3 <= rating <= 5)
            if positive != "rating >= 4" or rating >= 4
            if positive != "rating >= 3 and i = 'a'" or item.strip() == "a"
        }
        if not good:
            with pytest.raises(DataError, match="No positive interaction is left"):
                check_interactions(frame, user="u", item="i", positive=positive)
            return
        pairs, report = check_interactions(frame, user="u", item="i", positive=positive)
        assert set(pairs.rows()) == good
        assert report.interactions == len(good) == pairs.height
        refused = sum(refusal.count for refusal in report.refused)
        assert report.rows == len(rows)
        assert report.rows == (
            report.interactions + report.duplicates + report.not_positive + refused
        )

    @pytest.mark.parametrize("rule", ["rating > 100", "rating > 3 and rating < 2"])
    def test_no_positive_row_is_an_error_that_says_what_was_read(self, rule: str) -> None:
        frame = pl.DataFrame({"u": [1, 2], "i": [1, 2], "rating": [5, 4]})
        with pytest.raises(
            DataError, match=f"by the rule {rule}. 2 rows read.*2 rows not positive"
        ):
            check_interactions(frame, user="u", item="i", positive=rule)


class TestItems:
    def test_the_first_description_stands_and_the_rest_is_refused_by_row(self) -> None:
        frame = pl.DataFrame(
            {"i": [None, "a", "b", " a", "", "b"], "title": ["x", "A", "B", "C", "y", "D"]}
        )
        items, refused = check_items(frame, item="i")
        assert items.rows() == [("a", "A"), ("b", "B")]
        assert [str(refusal) for refusal in refused] == [
            "2 rows refused, i is missing: row 1 (None), row 5 ('')",
            "2 rows refused, the item is described twice, the first row is kept: "
            "row 4 (' a'), row 6 ('b')",
        ]


def test_decimals_with_a_comma_are_told() -> None:
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 2], "rating": ["4,5", "5"]})
    _, report = check_interactions(frame, user="user", item="item", positive="rating >= 4")
    assert str(report.refused[0]) == (
        "1 row refused, rating is not a number (write 4.5, not 4,5): row 1 ('4,5')"
    )


def test_words_for_nothing_among_numbers_are_missing_ids() -> None:
    words = ["NULL", "nan", "N/A", "\\N", "None"]
    assert as_ids(pl.Series(["1", *words, "7"])).to_list() == ["1", *[None] * 5, "7"]
    # Elsewhere they may be names.
    names = pl.Series("who", ["ann", "nan", "na", "nan"])
    assert as_ids(names).to_list() == names.to_list()


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

    @given(st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.timezones()))
    def test_iso_texts_are_read_as_python_does(self, moment: datetime) -> None:
        moment = moment.replace(microsecond=0, tzinfo=timezone(timedelta(hours=moment.hour - 12)))
        assert as_seconds(pl.Series([moment.isoformat()])).to_list() == [moment.timestamp()]

    def test_days_or_months_come_first_in_the_whole_column(self) -> None:
        for cells in (["03/02/2024", "31/12/2023"], ["2/3/2024", "12/31/2023"]):
            found = as_seconds(pl.Series([*cells, "2024-02-03", None, "soon"]))
            assert found[0] == found[2] == datetime(2024, 2, 3, tzinfo=UTC).timestamp()
            assert found[1] == datetime(2023, 12, 31, tzinfo=UTC).timestamp()
            assert found.null_count() == 2

    @pytest.mark.parametrize(
        ("cells", "found"),
        [
            (["soon", "01/02/2024"], r"cannot be told apart, such as row 2 \('01/02/2024'\)"),
            (["31/12/2024", "12/31/2024"], r"row 1 \('31/12/2024'\): both come first"),
        ],
    )
    def test_dates_that_may_be_two_days_are_refused(self, cells: Any, found: str) -> None:
        with pytest.raises(TableError, match=rf"Column 'when' has .*{found}.*year first, such as"):
            as_seconds(pl.Series("when", cells))


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

    def test_numbers_that_are_no_unix_time_are_refused(self) -> None:
        frame = pl.DataFrame({"u": [1, 1], "i": [1, 2], "t": [3, 17]})
        with pytest.raises(DataError, match="newest time in column 't' is 1970-01-01"):
            take(frame, Strength(time="t", half_life=9.0))


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
    assert ReadReport.from_dict(asdict(report)) == report


def test_an_item_counts_half_after_the_half_life() -> None:
    found = decayed({"a": "2026-01-01", "b": "2026-01-31", "c": "2025-12-02"}, half_life=30)
    assert found == {"a": 0.5, "b": 1.0, "c": 0.25}


@pytest.mark.parametrize("when", ["soon", None, float("nan"), object(), [1, 2]])
def test_what_is_no_time_is_named(when: Any) -> None:
    with pytest.raises(ParameterError, match="The time of 'a' must be a date"):
        decayed({"a": when}, half_life=30)


def test_impossible_settings_are_refused() -> None:
    wrong: list[Any] = [0, -1, float("nan"), "30", True]
    for half_life in wrong:
        with pytest.raises(ParameterError, match="half_life must be a finite number above 0"):
            decayed({"a": "2026-01-01"}, half_life=half_life)
    with pytest.raises(ParameterError, match="no time for 'b'"):
        decayed({"a": "2026-01-01"}, half_life=30, strengths={"b": 2.0})
    no_times: Any = ["a"]
    with pytest.raises(ParameterError, match="maps item ids to times"):
        decayed(no_times, half_life=30)


RATINGS = pl.DataFrame(
    {
        "user_id": ["a", "a", "a", "b", "b", "c", "a", "b"],
        "item_id": ["x", "y", "z", "x", "z", "y", "y", "w"],
        "rating": [5, 1, 4, 2, 4, 1, 5, 3],
    }
)
ITEMS = pl.DataFrame(
    {"item_id": ["w", "x", "y", "z"], "town": ["Ghent", "Ghent", "Bruges", "Genk"]}
)


@pytest.fixture
def rated() -> Dataset:
    return Dataset.from_tables(RATINGS, ITEMS, positive="rating >= 4", negative="rating <= 2")


def test_they_are_no_interactions(rated: Dataset) -> None:
    plain = Dataset.from_tables(RATINGS, ITEMS, positive="rating >= 4")
    assert_array_equal(rated.X.toarray(), plain.X.toarray())
    assert_array_equal(rated.item_counts, plain.item_counts)
    assert plain.disliked is None
    assert rated.report == plain.report


def test_a_later_or_earlier_choice_wins(rated: Dataset) -> None:
    # a rated y 1 and 5; b rated x 2; c has no choice and is no user.
    assert rated.disliked is not None
    found = rated.disliked.toarray()
    place = rated.users.index_of("b"), rated.items.index_of("x")
    assert found[place] == STRENGTH
    assert np.count_nonzero(found) == 1
    assert not rated.disliked.data.flags.writeable


def test_a_history_has_them_last_and_a_model_takes_it(rated: Dataset) -> None:
    assert set(rated.history("a")) == {"x", "y", "z"}
    assert isinstance(rated.history("a"), list)
    history = rated.history("b")
    assert history == {"z": 1.0, "x": STRENGTH}
    model = Teaser(l2_weights=1.0, l2_encoder=1.0).fit(rated)
    assert {r.item_id for r in model.recommend(history)} == {"w", "y"}


def test_they_are_saved_and_selected(rated: Dataset, tmp_path: Path) -> None:
    rated.save(tmp_path / "data")
    loaded = Dataset.load(tmp_path / "data")
    assert loaded.disliked is not None
    assert rated.disliked is not None
    assert_array_equal(loaded.disliked.toarray(), rated.disliked.toarray())
    assert loaded.describe()["disliked"] == 1
    some = loaded.at(np.array([rated.users.index_of("b")]))
    assert some.history("b") == rated.history("b")


def test_rules_must_not_overlap() -> None:
    said = "4 rows are positive by rating >= 2 and disliked by rating <= 4, such as row 3"
    with pytest.raises(ParameterError, match=said):
        Dataset.from_tables(RATINGS, ITEMS, positive="rating >= 2", negative="rating <= 4")


DAYS = ["2026-01-31", "2026-01-01", "2026-01-01", "2026-01-01", "2026-01-31", "2026-01-01"]


def test_they_decay_as_interactions_do() -> None:
    rows = pl.DataFrame(
        {
            "user_id": ["a", "a", "a", "b", "b", "b"],
            "item_id": ["x", "y", "z", "x", "y", "y"],
            "rating": [5, 5, 1, 4, 1, 1],
            "day": DAYS,
        }
    )
    rules: dict[str, Any] = {"positive": "rating >= 4", "negative": "rating <= 2", "time": "day"}
    found = Dataset.from_tables(rows, ITEMS, **rules, half_life=30)
    mean = 2 / 3  # of strengths of 1, 0.5 and 0.5
    one = pytest.approx({"x": 1.0 / mean, "y": 0.5 / mean, "z": STRENGTH / 2 / mean})
    assert found.history("a") == one
    # Of two dislikes of y, the later one counts.
    assert found.history("b") == pytest.approx({"x": 0.5 / mean, "y": STRENGTH / mean})
    plain = Dataset.from_tables(rows, ITEMS, **rules)
    assert plain.history("a") == {"y": 1.0, "x": 1.0, "z": STRENGTH}
    assert "from -0.188 to -0.0938 in a history" in " ".join(found.lines())
    # A half-life that leaves nothing of a dislike leaves the dislike out.
    short = Dataset.from_tables(rows, ITEMS, **rules, half_life=0.1)
    assert short.disliked is not None
    assert short.history("a") == ["x"]


def test_they_are_a_part_of_the_mean_strength() -> None:
    rows = pl.DataFrame(
        {"user_id": ["a"] * 3, "item_id": ["x", "y", "z"], "plays": [30, 10, 1], "day": DAYS[:3]}
    )
    rules: dict[str, Any] = {"negative": "plays <= 1", "strength": "plays"}
    found = Dataset.from_tables(rows, ITEMS, **rules)
    assert found.history("a") == {"x": 1.5, "y": 0.5, "z": STRENGTH}
    aged = Dataset.from_tables(rows, ITEMS, **rules, time="day", half_life=30).history("a")
    assert isinstance(aged, dict)
    # (30 + 10 / 2) / (1 + 1 / 2), and half of it after 30 days, in units of the mean
    assert aged["z"] == pytest.approx(STRENGTH * 35 / 1.5 / 2 / 17.5)
