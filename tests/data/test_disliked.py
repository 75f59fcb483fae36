"""What users disliked, beside what they chose."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from teaser import Dataset, Teaser
from teaser.data.condition import Conditions
from teaser.data.interactions import STRENGTH, Strength, disliked_matrix
from teaser.errors import DataError, ParameterError, TableError

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


def test_without_a_rule_for_positive_rows_all_others_count() -> None:
    found = Dataset.from_tables(RATINGS, ITEMS, negative="rating <= 2")
    assert found.history("b") == {"w": 1.0, "z": 1.0, "x": STRENGTH}
    assert found.report.not_positive == 3


def test_a_history_has_them_last_and_a_model_takes_it(rated: Dataset) -> None:
    assert set(rated.history("a")) == {"x", "y", "z"}
    assert isinstance(rated.history("a"), list)
    history = rated.history("b")
    assert history == {"z": 1.0, "x": STRENGTH}
    model = Teaser(l2_weights=1.0, l2_encoder=1.0).fit(rated)
    assert {r.item_id for r in model.recommend(history)} == {"w", "y"}


def test_the_fit_does_not_use_them(rated: Dataset) -> None:
    how: dict[str, Any] = {"l2_weights": 1.0, "l2_encoder": 1.0}
    with_, without = (Teaser(**how).fit(d) for d in (rated, replace(rated, disliked=None)))
    assert_array_equal(with_.encoder_, without.encoder_)


def test_they_are_saved_and_selected(rated: Dataset, tmp_path: Path) -> None:
    rated.save(tmp_path / "data")
    loaded = Dataset.load(tmp_path / "data")
    assert loaded.disliked is not None
    assert rated.disliked is not None
    assert_array_equal(loaded.disliked.toarray(), rated.disliked.toarray())
    assert loaded.describe()["disliked"] == 1
    some = loaded.at(np.array([rated.users.index_of("b")]))
    assert some.history("b") == rated.history("b")


def test_the_report_tells_what_they_are_for(rated: Dataset) -> None:
    said = (
        "1 disliked item of 1 user: each has a strength of -0.125 in a history, and none in the fit"
    )
    assert said in rated.lines()


def test_rules_must_not_overlap() -> None:
    said = "4 rows are positive by rating >= 2 and disliked by rating <= 4, such as row 3"
    with pytest.raises(ParameterError, match=said):
        Dataset.from_tables(RATINGS, ITEMS, positive="rating >= 2", negative="rating <= 4")


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(TableError, match="stars"):
        Dataset.from_tables(RATINGS, ITEMS, negative="stars <= 2")


def test_they_must_fit_the_interactions(rated: Dataset) -> None:
    assert rated.disliked is not None
    with pytest.raises(DataError, match="disliked items are 1 x 4, and the interactions 2 x 4"):
        replace(rated, disliked=rated.disliked[:1])
    for bad in (0.25, -np.inf, np.nan):
        with pytest.raises(DataError, match="finite numbers below 0"):
            replace(rated, disliked=sp.csr_array(np.full((2, 4), bad)))


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
    assert found.history("a") == {"x": 1.0, "y": 0.5, "z": STRENGTH / 2}
    # Of two dislikes of y, the later one counts.
    assert found.history("b") == {"x": 0.5, "y": STRENGTH}
    plain = Dataset.from_tables(rows, ITEMS, **rules)
    assert plain.history("a") == {"y": 1.0, "x": 1.0, "z": STRENGTH}
    assert "from -0.125 to -0.0625 in a history" in " ".join(found.lines())
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
    assert found.history("a") == {"x": 30.0, "y": 10.0, "z": 20 * STRENGTH}
    aged = Dataset.from_tables(rows, ITEMS, **rules, time="day", half_life=30).history("a")
    assert isinstance(aged, dict)
    # (30 + 10 / 2) / (1 + 1 / 2), and half of it after 30 days
    assert aged["z"] == pytest.approx(STRENGTH * 35 / 1.5 / 2)


def test_a_dislike_without_a_time_is_left_out() -> None:
    rows = pl.DataFrame(
        {"user_id": ["a"] * 3, "item_id": ["x", "y", "z"], "rating": [5, 1, 1],
         "day": ["2026-01-31", None, "2026-01-31"]}
    )  # fmt: skip
    found = Dataset.from_tables(rows, ITEMS, negative="rating <= 2", time="day", half_life=30)
    assert found.history("a") == {"x": 1.0, "z": STRENGTH}


def test_one_that_is_newer_than_every_choice_counts_as_the_newest() -> None:
    rows = pl.DataFrame(
        {"user_id": ["a"] * 2, "item_id": ["x", "y"], "rating": [5, 1],
         "day": ["2020-01-01", "2022-01-01"]}
    )  # fmt: skip
    for half_life in (30, 0.01):
        found = Dataset.from_tables(
            rows, ITEMS, negative="rating <= 2", time="day", half_life=half_life
        )
        assert found.history("a") == {"x": 1.0, "y": STRENGTH}


def test_histories_without_a_choice_have_dislikes_too() -> None:
    rows = pl.DataFrame({"u": [0], "i": [1], "rating": [1], "day": ["2022-01-01"]})
    pairs = pl.DataFrame(schema={"user": pl.Int64, "item": pl.Int64, "strength": pl.Float32,
                                 "time": pl.Float64})  # fmt: skip
    ids = pl.Series([0, 1])
    found, note = disliked_matrix(
        rows, pairs, Conditions.parse("rating <= 2"), user="u", item="i", users=ids, items=ids,
        strength=Strength(time="day", half_life=30.0),
    )  # fmt: skip
    assert found is not None
    assert found.toarray().tolist() == [[0, STRENGTH], [0, 0]]
    assert note is None


def test_those_of_users_without_a_choice_are_told(rated: Dataset) -> None:
    assert (
        "1 disliked item left out, of 1 user who chose nothing, or of items that nobody chose and "
        "no table describes"
    ) in rated.lines()
    known = Dataset.from_tables(RATINGS.filter(pl.col("user_id") != "c"), negative="rating <= 2")
    assert not any("left out, of" in line for line in known.lines())
