"""Strengths, times and histories of a data set."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from data.three_users import INTERACTIONS, ITEMS, RULES, assert_same, three_users
from hypothesis import given
from hypothesis import strategies as st

from teaser import Teaser
from teaser.data.dataset import Dataset
from teaser.errors import (
    DataError,
    ParameterError,
    TableError,
    UnknownUserError,
)


@pytest.fixture
def dataset() -> Dataset:
    return three_users()


class TestStrengths:
    ROWS = pl.DataFrame(
        {
            "user_id": ["ann", "ann", "bob", "ann", "cy", "cy"],
            "item_id": ["a", "a", "a", "b", "c", "b"],
            "plays": [2.0, 3.0, 5.0, 1.0, 0.0, -1.0],
            "day": [
                "2024-01-11",
                "2024-01-01",
                "2023-12-22",
                "2024-01-11",
                "2024-01-11",
                "2024-01-11",
            ],
        }
    )

    def entries(self, **options: Any) -> dict[tuple[Any, Any], float]:
        X = (found := Dataset.from_tables(self.ROWS, ITEMS, rules=RULES, **options)).X.tocoo()
        assert X.dtype == np.float32
        places = zip(X.row.tolist(), X.col.tolist(), X.data.tolist(), strict=True)
        return {(found.users[u], found.items[i]): value for u, i, value in places}

    def test_a_column_is_merged_by_its_largest_value(self) -> None:
        wanted = {("ann", "a"): 3, ("bob", "a"): 5, ("ann", "b"): 1}
        assert self.entries(strength="plays") == wanted

    def test_counts_are_logarithms_of_rows_or_of_the_sum(self) -> None:
        one, two = np.log(2), np.log(3)
        wanted = {("ann", "a"): two, ("bob", "a"): one, ("ann", "b"): one}
        wanted |= {("cy", "c"): one, ("cy", "b"): one}
        assert self.entries(counts="log") == pytest.approx(wanted)
        wanted = {("ann", "a"): np.log(6), ("bob", "a"): np.log(6), ("ann", "b"): one}
        assert self.entries(strength="plays", counts="log") == pytest.approx(wanted)

    def test_rows_decay_before_they_are_merged(self) -> None:
        # Ages of 0, 10, 20 and 0 days: factors of 1, 1/2, 1/4 and 1.
        found = self.entries(time="day", half_life=10)
        assert found == pytest.approx(
            {("ann", "a"): 1, ("bob", "a"): 0.25, ("ann", "b"): 1, ("cy", "c"): 1, ("cy", "b"): 1}
        )
        found = self.entries(strength="plays", counts="log", time="day", half_life=10)
        assert found == pytest.approx(
            {("ann", "a"): np.log(4.5), ("bob", "a"): np.log(2.25), ("ann", "b"): np.log(2)}
        )

    def test_what_is_left_out_is_told(self) -> None:
        found = Dataset.from_tables(self.ROWS, ITEMS, rules=RULES, strength="plays")
        lines = found.report.lines()
        assert "1 row of strength zero left out" in lines
        assert "1 row refused, plays is negative: row 6 (-1.0)" in lines
        assert found.report.duplicates == 1

    def test_only_rows_that_count_are_looked_at(self) -> None:
        found = Dataset.from_tables(
            self.ROWS, ITEMS, rules=RULES, strength="plays", positive="plays > 0"
        )
        assert (found.report.refused, found.report.zero_strength) == ((), 0)
        assert found.report.not_positive == 2

    def test_item_counts_count_users(self) -> None:
        found = Dataset.from_tables(self.ROWS, ITEMS, rules=RULES, strength="plays")
        assert found.item_counts.tolist() == [2, 1, 0]

    def test_they_are_saved_and_loaded(self, tmp_path: Path) -> None:
        found = Dataset.from_tables(
            self.ROWS, ITEMS, rules=RULES, strength="plays", time="day", half_life=9
        )
        found.save(tmp_path / "d")
        assert_same(Dataset.load(tmp_path / "d"), found)

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            ({"half_life": 9}, "half-life of 9 days needs the time"),
            (
                {"half_life": 0, "time": "day"},
                "half_life must be a number of days above 0, found 0",
            ),
            ({"half_life": np.inf, "time": "day"}, "half_life must be"),
            ({"half_life": True, "time": "day"}, "half_life must be"),
            ({"half_life": "9", "time": "day"}, "half_life must be"),
            ({"counts": "sum"}, "counts must be 'once' or 'log', found 'sum'"),
            ({"strength": 3}, "strength must be the name of a column, found 3"),
        ],
    )
    def test_settings_are_checked_before_anything_is_read(
        self, options: dict[str, Any], problem: str
    ) -> None:
        for make in (Dataset.from_tables, Dataset.from_partitions):
            with pytest.raises(ParameterError, match=problem):
                make("nowhere.csv", "nowhere.csv", **options)

    def test_columns_that_cannot_be_read(self) -> None:
        for column, problem in (
            ("stars", "Column 'stars', needed for the strength of interactions"),
            ("user_id", "Strengths must be numbers.*'user_id'.*'ann'"),
        ):
            with pytest.raises(TableError, match=problem):
                Dataset.from_tables(self.ROWS, ITEMS, rules=RULES, strength=column)


class TestTimes:
    ROWS = pl.DataFrame(
        {
            "user_id": ["ann", "bob", "ann", "ann", "cy", "cy"],
            "item_id": ["b", "a", "a", "b", "c", "a"],
            "when": ["2024-01-03", "2024-01-01", "2024-01-02", "2024-01-09", "2024-02-01", "soon"],
            "plays": [1.0, 2.0, 1.0, 0.0, 1.0, 1.0],
        }
    )

    def dataset(self, **options: Any) -> Dataset:
        return Dataset.from_tables(self.ROWS, ITEMS, rules=RULES, time="when", **options)

    @staticmethod
    def days(dataset: Dataset) -> dict[tuple[Any, Any], float]:
        """Return who chose what on which day of 2024, from the entries as they are stored."""
        assert dataset.times is not None
        of = np.repeat(np.arange(dataset.n_users), np.diff(dataset.X.indptr))
        first = datetime(2024, 1, 1, tzinfo=UTC).timestamp()
        return {
            (dataset.users[u], dataset.items[i]): (t - first) / 86_400
            for u, i, t in zip(of, dataset.X.indices, dataset.times, strict=True)
        }

    def test_they_are_the_latest_of_merged_rows_in_the_order_of_x(self) -> None:
        found = self.dataset()
        assert found.X.has_sorted_indices
        assert self.days(found) == {
            ("ann", "a"): 1, ("ann", "b"): 8, ("bob", "a"): 0, ("cy", "c"): 31,
        }  # fmt: skip
        assert found.times is not None
        assert not found.times.flags.writeable
        assert (found.X.data == 1).all()
        assert found.report.strength == ""
        assert "1 row refused, when is not a time: row 6 ('soon')" in found.lines()
        assert "times from 2024-01-01 to 2024-02-01" in found.lines()

    def test_a_choice_without_a_time_is_kept(self, tmp_path: Path) -> None:
        rows = {"user_id": ["ann"] * 3, "item_id": ["a", "b", "c"]}
        found = Dataset.from_tables(rows | {"when": ["2024-01-02", "", "2024-01-01"]}, time="when")
        assert found.history("ann") == ["b", "c", "a"]
        assert any("1 interaction has no time" in line for line in found.lines())
        found.save(tmp_path / "d")
        again = Dataset.load(tmp_path / "d")
        assert again.history("ann") == ["b", "c", "a"]
        assert again.lines() == found.lines()

    def test_a_row_of_strength_zero_gives_no_time(self) -> None:
        found = self.dataset(strength="plays", half_life=9)
        assert self.days(found)["ann", "b"] == 2

    def test_there_are_none_without_a_column(self, dataset: Dataset) -> None:
        assert dataset.times is None
        assert not any("times" in line for line in dataset.lines())

    def test_some_users_keep_theirs(self) -> None:
        found = self.dataset()
        some = found.at(np.array([2, 0]))
        assert self.days(some) == {("cy", "c"): 31, ("ann", "a"): 1, ("ann", "b"): 8}
        nobody = found.at(np.array([], dtype=int))
        assert nobody.times is not None
        assert len(nobody.times) == 0

    def test_they_are_saved_and_loaded(self, tmp_path: Path) -> None:
        found = self.dataset()
        found.save(tmp_path / "d")
        assert_same(Dataset.load(tmp_path / "d"), found)

    def test_numbers_that_are_no_times(self) -> None:
        with pytest.raises(DataError, match="newest time in column 'rating' is 1970-01-01"):
            Dataset.from_tables(INTERACTIONS, ITEMS, rules=RULES, time="rating")

    def test_partitions_keep_none(self) -> None:
        with pytest.raises(ParameterError, match=r"partitions are not kept.*--half-life 30"):
            Dataset.from_partitions("nowhere", time="when")

    def test_as_many_as_interactions_are_needed(self) -> None:
        found = self.dataset()
        with pytest.raises(DataError, match="There are 4 interactions and 1 times"):
            replace(found, times=np.zeros(1))

    @given(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 99)), min_size=1)
    )
    def test_they_agree_with_a_loop(self, rows: list[tuple[int, int, int]]) -> None:
        users, items, days = zip(*rows, strict=True)
        when = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=d) for d in days]
        frame = pl.DataFrame({"user_id": users, "item_id": items, "when": when})
        latest: dict[tuple[int, int], int] = {}
        for user, item, day in rows:
            latest[user, item] = max(day, latest.get((user, item), 0))
        assert self.days(Dataset.from_tables(frame, time="when")) == latest


class TestHistory:
    def test_items_are_in_order_of_time(self) -> None:
        rows = TestTimes.ROWS.with_columns(when=pl.Series(range(1_700_000_006, 1_700_000_000, -1)))
        found = Dataset.from_tables(rows, ITEMS, rules=RULES, time="when")
        assert found.history("ann") == ["a", "b"]
        assert found.history("cy") == ["a", "c"]

    def test_items_are_in_their_order_without_time(self) -> None:
        found = Dataset.from_tables(TestTimes.ROWS, ITEMS, rules=RULES)
        assert found.history("cy") == ["a", "c"]

    def test_strengths_come_with_their_items(self) -> None:
        found = Dataset.from_tables(TestTimes.ROWS, ITEMS, rules=RULES, strength="plays")
        assert found.history("bob") == {"a": 2.0}
        assert found.history("ann") == ["a", "b"]

    def test_a_model_takes_it(self) -> None:
        found = Dataset.from_tables(TestTimes.ROWS, ITEMS, rules=RULES, strength="plays")
        model = Teaser().fit(found)
        assert [r.item_id for r in model.recommend(found.history("bob"), k=2)]

    def test_a_number_is_found_by_its_text(self) -> None:
        rows = pl.DataFrame({"user_id": [17, 18], "item_id": [1, 2]})
        assert Dataset.from_tables(rows).history("17") == [1]

    def test_an_unknown_user(self) -> None:
        found = Dataset.from_tables(TestTimes.ROWS, ITEMS, rules=RULES)
        with pytest.raises(
            UnknownUserError, match=r"Unknown user 'annn'; the data set has 3 users. Closest: ann"
        ):
            found.history("annn")
        with pytest.raises(
            UnknownUserError, match=r"3 users\. User ids are texts, such as 'ann'\.$"
        ):
            found.history(17)
        rows = pl.DataFrame({"user_id": [17, 18], "item_id": [1, 1]})
        with pytest.raises(
            UnknownUserError, match=r"2 users\. User ids are whole numbers, such as 17\.$"
        ):
            Dataset.from_tables(rows).history("nobody")

    def test_partitions_know_no_users(self, tmp_path: Path) -> None:
        TestTimes.ROWS.write_parquet(tmp_path / "a.parquet")
        with pytest.raises(DataError, match=r"in partitions.*from_tables"):
            Dataset.from_partitions(tmp_path).history("ann")
