"""Each row of interactions and items is taken, merged or refused by name."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

from teaser.data.interactions import Strength, as_ids, check_interactions, check_items, doubtful_ids
from teaser.errors import DataError, ParameterError, TableError

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
            (pl.Series([b"abc", None]), ["abc", None]),
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

    def test_decimals_too_large_to_be_exact_are_refused(self) -> None:
        for number in (2.0**53, -(2.0**60), 1e300):
            with pytest.raises(TableError, match="Column 'item' has ids as decimals"):
                as_ids(pl.Series("item", [1.0, number, None]))

    @given(st.lists(st.integers(-(2**63), 2**64 - 1), unique=True))
    def test_whole_numbers_of_any_size_stay_different(self, ids: list[int]) -> None:
        found = as_ids(pl.Series(ids, dtype=pl.Int128))
        assert [int(name) for name in found] == ids


class TestInteractions:
    def test_pairs_come_in_order_of_appearance(self) -> None:
        frame = pl.DataFrame({"u": ["b", "a", "b", "b"], "i": [2, 1, 1, 2]})
        pairs, report = check_interactions(frame, user="u", item="i")
        assert pairs.rows() == [("b", 2), ("a", 1), ("b", 1)]
        assert (report.users, report.items, report.duplicates) == (2, 2, 1)

    def test_a_pair_counts_when_any_of_its_rows_is_positive(self) -> None:
        frame = pl.DataFrame({"u": [1, 1], "i": [1, 1], "rating": [1, 5]})
        pairs, report = check_interactions(frame, user="u", item="i", positive="rating >= 4")
        assert pairs.rows() == [(1, 1)]
        assert (report.not_positive, report.duplicates) == (1, 0)

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

    def test_long_cells_are_named_in_short(self) -> None:
        frame = pl.DataFrame({"u": [1, 1], "i": [1, 2], "rating": ["5", "x" * 10_000]})
        _, report = check_interactions(frame, user="u", item="i", positive="rating >= 4")
        assert len(str(report.refused[0])) < 200

    def test_the_report_reads_as_sentences(self) -> None:
        frame = pl.DataFrame({"u": [1, 1, 1, None], "i": [1, 1, 2, 2], "rating": [5, 5, 1, 5]})
        _, report = check_interactions(frame, user="u", item="i", positive="rating >= 4")
        assert report.lines() == [
            "4 rows read: 1 interaction of 1 user with 1 item",
            "1 row not positive, 1 duplicate merged",
            "1 row refused, u is missing: row 4 (None)",
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

    def test_only_missing_ids_is_an_error_that_says_so(self) -> None:
        with pytest.raises(DataError, match=r"left\. .*2 rows refused, u is missing: row 1"):
            check_interactions(pl.DataFrame({"u": [None, None], "i": [1, 2]}), user="u", item="i")

    def test_a_rule_of_another_type_is_refused(self) -> None:
        wrong: Any = 4
        with pytest.raises(ParameterError, match="must be a text such as"):
            check_interactions(FRAME, user="user_id", item="item_id", positive=wrong)

    def test_users_and_items_are_two_columns(self) -> None:
        with pytest.raises(ParameterError, match="cannot both be in column 'user_id'"):
            check_interactions(FRAME, user="user_id", item="user_id")

    def test_a_missing_column_is_named_with_the_closest(self) -> None:
        with pytest.raises(
            TableError, match=r"'userid', needed for the interactions.*Closest: user_id"
        ):
            check_interactions(FRAME, user="userid", item="item_id")


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

    def test_nothing_is_refused_of_clean_items(self) -> None:
        frame = pl.DataFrame({"i": [2, 1], "title": ["x", None]})
        items, refused = check_items(frame, item="i")
        assert_frame_equal(items, frame)
        assert refused == ()

    def test_no_item_left_is_an_error(self) -> None:
        with pytest.raises(DataError, match="No item is left: 2 rows refused, i is missing"):
            check_items(pl.DataFrame({"i": ["", None]}), item="i")

    def test_the_given_frame_is_not_changed(self) -> None:
        frame = pl.DataFrame({"i": [" a", "b"]})
        check_items(frame, item="i")
        assert_series_equal(frame["i"], pl.Series("i", [" a", "b"]))


def test_bytes_are_no_ids() -> None:
    # Those of a UUID may be read as text, and two of them as the same.
    for cells in ([UUID(int=65).bytes, UUID(int=32).bytes], [b"\xff"]):
        with pytest.raises(TableError, match=r"Binary, which cannot be an id.*\.astype\(str\)"):
            as_ids(pl.Series("u", cells))


def test_decimals_with_a_comma_are_told() -> None:
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 2], "rating": ["4,5", "5"]})
    _, report = check_interactions(frame, user="user", item="item", positive="rating >= 4")
    assert str(report.refused[0]) == (
        "1 row refused, rating is not a number (write 4.5, not 4,5): row 1 ('4,5')"
    )


def test_a_missing_column_says_what_it_is_for() -> None:
    frame = pl.DataFrame({"user": [1], "item": [1]})
    for rule, what in ((Strength(time="t"), "time"), (Strength("w"), "strength")):
        with pytest.raises(TableError, match=f"needed for the {what} of interactions, is missing"):
            check_interactions(frame, user="user", item="item", strength=rule)


def test_words_for_nothing_among_numbers_are_missing_ids() -> None:
    words = ["NULL", "nan", "N/A", "\\N", "None"]
    assert as_ids(pl.Series(["1", *words, "7"])).to_list() == ["1", *[None] * 5, "7"]
    # Elsewhere they may be names.
    names = pl.Series("who", ["ann", "nan", "na", "nan"])
    assert as_ids(names).to_list() == names.to_list()
    said = doubtful_ids(names, "x.csv")
    assert said is not None
    assert said.startswith("warning: 3 rows of x.csv with 'nan', 'na' in column 'who', taken as an")
    for column in (pl.Series(["ann", "bob"]), pl.Series([1, 2]), pl.Series(["1", "NULL"])):
        assert doubtful_ids(column, "x.csv") is None
