"""Lists of tables and iterators of histories are those of the data set; memory stays bounded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from teaser import Dataset, Teaser
from teaser.errors import ParameterError, UnknownItemError
from teaser.model.gram.blocks import n_cores
from teaser.model.lists import people
from teaser.model.lists.people import PairPeople, TablePeople, find_people
from teaser.model.lists.selection import Placed
from teaser.testing import assert_same_lists, example_dataset, user_histories


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
    monkeypatch.setattr(people, "_ROWS", rows)
    batches = list(find_people(some, model, Placed()).batches(size))
    assert max(len(batch.users) for batch in batches) <= max(size, 1)
    assert (
        pl.concat([batch.users for batch in batches]).to_list()
        == some["user_id"].unique(maintain_order=True).to_list()
    )
    found = model.recommend_all(some, k=4, batch_size=size)
    own = wanted.filter(pl.col("user_id").is_in(some["user_id"].unique().implode()))
    assert_same_lists(found, own)


def test_lists_in_a_table_are_histories(
    model: Teaser, table: pl.DataFrame, wanted: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    nested = table.group_by("user_id", maintain_order=True).agg("item_id")
    monkeypatch.setattr(people, "_LISTS", 70)
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


def test_pairs_are_read_once_and_some_at_a_time(
    model: Teaser, data: Dataset, wanted: pl.DataFrame, tmp_path: Path
) -> None:
    histories = dict(zip(data.users[:], user_histories(data), strict=True))
    held: list[int] = []
    done = 0

    def pairs() -> Iterator[tuple[Any, Any]]:
        for n, pair in enumerate(sorted(histories.items())):
            held.append(n - done)
            yield pair

    frames = []
    for frame in model.recommend_stream(pairs(), k=4, batch_size=10):
        frames.append(frame)
        done += frame["user_id"].n_unique()
    assert_same_lists(pl.concat(frames), wanted)
    # Threads have a batch each, and one more waits.
    assert len(held) == 300
    assert max(held) < 10 * (min(n_cores(), 8) + 2)
    known = model.recommend_all(sorted(histories.items()), k=4)
    assert_frame_equal(known, pl.concat(frames), rel_tol=1e-9)


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
    with pytest.raises(UnknownItemError, match="'nope'"):
        model.recommend_all(table)
    found = model.recommend_all(table, k=3, unknown="ignore")
    assert "1 unknown name" in caplog.text
    assert_same_lists(found, model.recommend_all([(1, ["i1"]), (2, ["i2"])], k=3))
    with pytest.raises(UnknownItemError, match="7"):
        model.recommend_all(pl.DataFrame({"user_id": [1], "item_id": [7]}))


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (pl.DataFrame({"user": [1], "item_id": ["i1"]}), r"Missing: user_id.*Found: user, item_id"),
        (pl.DataFrame({"user_id": [2, 1], "item_id": ["i1", "i2"]}), r"sorted.*found 1 after 2"),
        (pl.DataFrame({"user_id": [2, None], "item_id": ["i1", "i2"]}), "no user_id"),
        (
            pl.DataFrame({"user_id": [2], "item_id": ["i1"], "strength": [float("nan")]}),
            "not a finite number",
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


def test_rows_are_sorted_across_pieces(model: Teaser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "_ROWS", 1)
    table = pl.DataFrame({"user_id": ["b", "b", "a"], "item_id": ["i1", "i2", "i3"]})
    with pytest.raises(ParameterError, match=r"found 'a' after 'b'"):
        model.recommend_all(table)


def test_users_are_chosen_of_a_data_set_alone(model: Teaser, table: pl.DataFrame) -> None:
    with pytest.raises(ParameterError, match=r"users= with a DataFrame"):
        model.recommend_all(table, users=["u1"])


def test_nobody_has_no_lists(model: Teaser) -> None:
    nobody = pl.DataFrame(schema={"user_id": pl.String, "item_id": pl.String})
    assert model.recommend_all(nobody).height == 0
    assert model.recommend_all([]).height == 0
    assert isinstance(find_people([], model, Placed()), PairPeople)
    assert isinstance(find_people(nobody, model, Placed()), TablePeople)
