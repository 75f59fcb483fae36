"""Lists of tables of histories are those of the data set, read in any pieces."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from teaser import Dataset, Teaser
from teaser.errors import ParameterError, UnknownNameError
from teaser.model import all_lists as history_table
from teaser.testing import assert_same_lists, example_dataset


@pytest.fixture(scope="module")
def data() -> Dataset:
    return example_dataset()


@pytest.fixture(scope="module")
def table(data: Dataset) -> pl.DataFrame:
    """One row an item, sorted by user."""
    entries = data.X.tocoo()
    users, items = pl.Series(data.users[:]), pl.Series(data.items[:])
    frame = pl.DataFrame(
        {"user_id": users.gather(entries.row), "item_id": items.gather(entries.col)}
    )
    return frame.sort("user_id", maintain_order=True)


@pytest.fixture(scope="module")
def wanted(model: Teaser, data: Dataset) -> pl.DataFrame:
    return model.recommend_all(data, k=4).sort("user_id", "rank")


@pytest.mark.parametrize("rows", [1, 7, 50, 10_000])
@pytest.mark.parametrize("size", [1, 3, 64])
def test_a_table_is_listed_in_any_pieces(
    model: Teaser,
    table: pl.DataFrame,
    wanted: pl.DataFrame,
    rows: int,
    size: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some = table.filter(pl.col("user_id").is_in(table["user_id"].unique().sort()[:40].implode()))
    monkeypatch.setattr(history_table, "_USERS", rows)
    found = model.recommend_all(some, k=4, batch_size=size)
    own = wanted.filter(pl.col("user_id").is_in(some["user_id"].unique().implode()))
    assert_same_lists(found, own)


def test_lists_in_a_table_are_histories(
    model: Teaser, table: pl.DataFrame, wanted: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    nested = table.group_by("user_id", maintain_order=True).agg("item_id")
    monkeypatch.setattr(history_table, "_USERS", 70)
    for given in (nested, nested.lazy()):
        assert_same_lists(model.recommend_all(given, k=4, batch_size=33), wanted)
    strengths = nested.with_columns(
        strength=pl.col("item_id").map_elements(lambda row: [1.0] * len(row), pl.List(pl.Float64))
    )
    assert_same_lists(model.recommend_all(strengths, k=4, batch_size=33), wanted)


def test_files_are_read_piece_by_piece(
    model: Teaser, table: pl.DataFrame, wanted: pl.DataFrame, tmp_path: Path
) -> None:
    half = table["user_id"].unique().sort()[150]
    table.filter(pl.col("user_id") < half).write_parquet(tmp_path / "0.parquet", row_group_size=100)
    table.filter(pl.col("user_id") >= half).write_parquet(tmp_path / "1.parquet")
    assert_same_lists(model.recommend_all(tmp_path, k=4), wanted)
    found = model.recommend_all(str(tmp_path / "0.parquet"), k=4, out=tmp_path / "lists.parquet")
    assert_same_lists(found.collect(), wanted.filter(pl.col("user_id") < half))


def test_rows_of_a_user_may_lie_apart(model: Teaser) -> None:
    table = pl.DataFrame({"user_id": ["b", "a", "b"], "item_id": ["i1", "i2", "i3"]})
    wanted = model.recommend_all([("b", ["i1", "i3"]), ("a", ["i2"])], k=3)
    assert_same_lists(model.recommend_all(table, k=3), wanted)


def test_strengths_and_twice_the_same_item(model: Teaser) -> None:
    rows = [("a", "i1", 1.0), ("a", "i1", 0.5), ("a", "i2", -1.0), ("b", "i3", 0.0)]
    table = pl.DataFrame(rows, schema=["user_id", "item_id", "strength"], orient="row")
    found = model.recommend_all(table, k=5)
    pairs = [("a", {"i1": 0.5, "i2": -1.0}), ("b", [])]
    assert_same_lists(found, model.recommend_all(pairs, k=5))
    assert found["user_id"].to_list() == ["a"] * 5 + ["b"] * 5


def test_unknown_items_are_refused_or_counted(
    model: Teaser, caplog: pytest.LogCaptureFixture
) -> None:
    table = pl.DataFrame({"user_id": [1, 1, 2], "item_id": ["i1", "nope", "i2"]})
    with pytest.raises(UnknownNameError, match="'nope'"):
        model.recommend_all(table)
    found = model.recommend_all(table, k=3, unknown="ignore")
    assert "1 unknown name" in caplog.text
    assert_same_lists(found, model.recommend_all([(1, ["i1"]), (2, ["i2"])], k=3))
    with pytest.raises(UnknownNameError, match="7"):
        model.recommend_all(pl.DataFrame({"user_id": [1], "item_id": [7]}))


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (pl.DataFrame({"user": [1], "item_id": ["i1"]}), r"Missing: user_id.*Found: user, item_id"),
        (pl.DataFrame({"user_id": [2, None], "item_id": ["i1", "i2"]}), "without a user_id"),
        (
            pl.DataFrame({"user_id": [2], "item_id": ["i1"], "strength": [float("nan")]}),
            "must be a finite number",
        ),
        (
            pl.DataFrame({"user_id": [2], "item_id": ["i1"], "strength": ["much"]}),
            "cannot be read",
        ),
        (
            pl.DataFrame({"user_id": [2], "item_id": [["i1", "i2"]], "strength": [[1.0]]}),
            "User 2 .* has 2 items and 1 strengths",
        ),
        ("nowhere.parquet", "'nowhere.parquet'"),
        (Path("/"), "Dataset.load"),
        ([("a", ["i1"], 3)], "pairs of a user id"),
        ([("a", ["i1"]), (3, ["i1"])], "all of one type"),
        (7, "found int"),
        (np.eye(3), "found ndarray"),
    ],
)
def test_what_has_no_people_is_said(model: Teaser, source: Any, told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        model.recommend_all(source)


@pytest.mark.parametrize(
    "kind", [pl.Int8, pl.UInt32, pl.UInt64, pl.String, pl.Categorical, pl.Enum(["30", "7", "9"])]
)
def test_users_have_ids_of_any_type(
    model: Teaser, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {"user_id": [7, 7, 9, 30], "item_id": ["i1", "i5", "i2", "i3"]}
    ids = pl.col("user_id").cast(pl.String).cast(kind)
    table = pl.DataFrame(rows).with_columns(ids).sort("user_id", maintain_order=True)
    want = model.recommend_all([(7, ["i1", "i5"]), (9, ["i2"]), (30, ["i3"])], k=4)
    for size in (1, 100):
        monkeypatch.setattr(history_table, "_USERS", size)
        found = model.recommend_all(table, k=4)
        assert found["user_id"].dtype == kind
        found = found.with_columns(pl.col("user_id").cast(pl.String).cast(pl.Int64))
        assert_frame_equal(found.sort("user_id", "rank"), want)


def test_arrays_are_lists_and_no_items_are_none(model: Teaser) -> None:
    pairs = pl.DataFrame({"user_id": ["b", "a"], "item_id": [["i1", "i2"], ["i2", "i3"]]})
    arrays = pairs.cast({"item_id": pl.Array(pl.String, 2)})
    assert_frame_equal(model.recommend_all(arrays, k=4), model.recommend_all(pairs, k=4))
    none = pl.DataFrame({"user_id": ["a", "b"], "item_id": [None, None]})
    assert_frame_equal(
        model.recommend_all(none, k=4), model.recommend_all([("a", []), ("b", [])], k=4)
    )


def test_users_are_chosen_of_a_data_set_alone(model: Teaser, table: pl.DataFrame) -> None:
    with pytest.raises(ParameterError, match=r"users= with a DataFrame"):
        model.recommend_all(table, users=["u1"])


def test_nobody_has_no_lists(model: Teaser) -> None:
    nobody = pl.DataFrame(schema={"user_id": pl.String, "item_id": pl.String})
    assert model.recommend_all(nobody).height == 0
    assert model.recommend_all([]).height == 0


def test_files_that_are_none_are_said(model: Teaser, tmp_path: Path) -> None:
    path = tmp_path / "histories.parquet"
    for text in (b"", b"no parquet", b"no parquet" * 100):
        path.write_bytes(text)
        with pytest.raises(ParameterError, match="cannot be read"):
            model.recommend_all(path)
    whole = pl.DataFrame({"user_id": range(5000), "item_id": ["i1"] * 5000})
    whole.write_parquet(path, row_group_size=500)
    damaged = bytearray(path.read_bytes())
    damaged[100:2000] = b"x" * 1900
    path.write_bytes(bytes(damaged))
    with pytest.raises(ParameterError, match="cannot be read"):
        model.recommend_all(path)
