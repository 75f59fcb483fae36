"""The lists of all users: batches, users, tables of histories, files, partitions, refusals."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from teaser import Category, Dataset, Teaser
from teaser.errors import ParameterError, ResourceError, UnknownNameError
from teaser.extensions import Remainder
from teaser.model import all_lists, gpu
from teaser.model._arrays import n_cores
from teaser.model.baselines.popularity import Popularity
from teaser.model.scores import top_k_rows
from teaser.testing import RULES, assert_same_lists, example_dataset, example_tables, user_histories

COLUMNS = ["user_id", "rank", "item_id", "score", "match"]


@pytest.fixture(scope="module")
def data() -> Dataset:
    return example_dataset()


def test_the_size_of_a_batch_changes_nothing(model: Teaser, data: Dataset) -> None:
    whole = model.recommend_all(data, k=5)
    assert whole.columns == COLUMNS
    for size in (1, 7, 299):
        found = model.recommend_all(data, k=5, batch_size=size)
        assert_frame_equal(found, whole, rel_tol=1e-9)


def test_one_file_holds_what_the_frame_does(model: Teaser, data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "lists.parquet"
    for reasons in (False, True):
        lazy = model.recommend_all(data, k=5, out=path, batch_size=7, reasons=reasons)
        assert isinstance(lazy, pl.LazyFrame)
        frame = model.recommend_all(data, k=5, batch_size=7, reasons=reasons)
        assert_frame_equal(pl.read_parquet(path), frame)
        assert_frame_equal(lazy.collect(), frame)
    assert [p.name for p in tmp_path.iterdir()] == ["lists.parquet"]


def test_some_users_in_the_order_asked(model: Teaser, data: Dataset) -> None:
    whole = model.recommend_all(data, k=3)
    some = model.recommend_all(data, k=3, users=["u9", "u2"])
    assert some["user_id"].to_list() == ["u9"] * 3 + ["u2"] * 3
    assert_frame_equal(some[:3], whole.filter(whole["user_id"] == "u9"), rel_tol=1e-9)
    with pytest.raises(UnknownNameError, match=r"'nobody'.*User ids are texts, such as 'u\d+'"):
        model.recommend_all(data, users=["u9", "nobody"])
    found = model.recommend_all(data, k=3, users=["nobody", "u9"], unknown="ignore")
    assert found["user_id"].unique().to_list() == ["u9"]


def test_items_are_found_by_their_ids(model: Teaser, caplog: pytest.LogCaptureFixture) -> None:
    other = example_dataset(seed=4, n_users=50, n_items=45)
    with pytest.raises(UnknownNameError):
        model.recommend_all(other)
    with caplog.at_level(logging.WARNING, "teaser"):
        found = model.recommend_all(other, k=4, unknown="ignore")
    assert "5 unknown names" in caplog.text
    histories = [[i for i in own if i in model.items_] for own in user_histories(other)]
    wanted = model.recommend_batch(histories, k=4).to_frame(other.users[:])
    assert_same_lists(found, wanted)


def test_partitions_are_listed_one_by_one(model: Teaser, tmp_path: Path) -> None:
    interactions, items = example_tables()
    own = interactions.with_columns(part=pl.col("user_id").str.slice(1).cast(pl.Int64) % 3)
    for part in range(3):
        rows = own.filter(own["part"] == part).drop("part")
        rows.write_parquet(tmp_path / f"{part}.parquet")
    parted = Dataset.from_partitions(tmp_path, items, rules=RULES)
    found = model.recommend_all(parted, k=4, reasons=True).sort("user_id", "rank")
    whole = model.recommend_all(example_dataset(), k=4, reasons=True).sort("user_id", "rank")
    assert_same_lists(found, whole)
    some = model.recommend_all(parted, k=4, users=["u3", "u4"])
    assert sorted(some["user_id"].unique()) == ["u3", "u4"]


def test_user_features_count_where_the_model_knows_them() -> None:
    interactions, items = example_tables()
    users = interactions.select("user_id").unique(maintain_order=True)
    users = users.with_columns(camp=pl.Series(["a", "b"] * 150))
    rules = (Category("camp"),)
    data = Dataset.from_tables(interactions, items, rules=RULES, users=users, user_rules=rules)
    model = Teaser(l2_weights=1.0, l2_encoder=1.0, user_features=True).fit(data)
    some = data.at(np.arange(30))
    about = [[f"camp={'ab'[i % 2]}"] for i in range(30)]
    wanted = model.recommend_batch(user_histories(some), k=4, about=about).to_frame(some.users[:])
    assert_same_lists(model.recommend_all(some, k=4), wanted)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"k": 0}, "k must be"),
        ({"batch_size": 0}, "batch_size"),
        ({"device": "gpu"}, "'cpu' or 'cuda'"),
        ({"out": "lists.csv"}, "parquet"),
        ({"out": "nowhere/lists.parquet"}, "no folder"),
        ({"where": {"twon": 1}}, "'twon'"),
    ],
)
def test_what_cannot_be_done_is_said(model: Teaser, data: Dataset, options: Any, told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        model.recommend_all(data, **options)


def test_only_a_data_set_has_users(model: Teaser, data: Dataset) -> None:
    with pytest.raises(ParameterError, match=r"of a Dataset, .* found csr_array"):
        model.recommend_all(cast(Any, data.X))
    with pytest.raises(ParameterError, match="recommend_batch"):
        model.recommend_all(cast(Any, [["i1"]]))


def test_a_gpu_that_is_not_there_is_said(model: Teaser, data: Dataset) -> None:
    with pytest.raises(ParameterError, match=r"^Popularity lists on processors"):
        Popularity().fit(data).recommend_all(data, device="cuda")
    try:
        gpu.cupy()
    except ResourceError:
        with pytest.raises(ResourceError, match="device='cpu'"):
            model.recommend_all(data, device="cuda")
    assert model.device == "cpu"


def test_a_frame_that_does_not_fit_is_refused_before_the_work(
    model: Teaser, data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_lists, "available_memory", lambda: 100_000)
    with pytest.raises(ResourceError, match=r"300 users are 6,000 rows.*100 kB.*out="):
        model.recommend_all(data)
    # A list has no more items than there are.
    with pytest.raises(ResourceError, match="12,000 rows"):
        model.recommend_all(data, k=10**9)
    out = model.recommend_all(data, k=10**9, out=tmp_path / "lists.parquet")
    assert out.select(pl.len()).collect().item() == 300 * 40 - data.X.nnz
    assert model.recommend_all(data, k=4).height == 1200


def test_an_error_while_writing_leaves_the_earlier_file(data: Dataset, tmp_path: Path) -> None:
    class Broken(Popularity, abstract=True):
        def score_batch(self, X: Any) -> Any:
            if X.shape[0] < 128:
                raise ParameterError("the last batch")
            return super().score_batch(X)

    model, path = Broken().fit(data), tmp_path / "lists.parquet"
    path.write_text("earlier")
    with pytest.raises(ParameterError, match="the last batch"):
        model.recommend_all(data, out=path, batch_size=128)
    assert [each.name for each in tmp_path.iterdir()] == ["lists.parquet"]
    assert path.read_text() == "earlier"


def test_threads_change_nothing(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    options: Any = {"remainder": Remainder(l2=20.0, neighbours=8)}
    model = Teaser(l2_weights=1.0, l2_encoder=1.0, **options).fit(data)
    plain = model.recommend_all(data, k=6, reasons=True, batch_size=300)
    monkeypatch.setattr(all_lists, "n_cores", lambda: 3)
    found = model.recommend_all(data, k=6, reasons=True, batch_size=40)
    assert_same_lists(found, plain)
    assert found["user_id"].to_list() == plain["user_id"].to_list()


def test_users_of_another_data_set_are_refused(model: Teaser) -> None:
    interactions, items = example_tables()
    other = interactions.with_columns(pl.col("item_id") + "x")
    data = Dataset.from_tables(other, items.with_columns(pl.col("item_id") + "x"), rules=RULES)
    for unknown in ("raise", "ignore"):
        with pytest.raises(ParameterError, match="does not know 40 of the 40 items"):
            model.recommend_all(data, unknown=cast(Any, unknown))


@pytest.fixture(scope="module")
def wanted(model: Teaser, data: Dataset) -> pl.DataFrame:
    return model.recommend_all(data, k=4).sort("user_id", "rank")


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


def test_one_user_is_a_list_of_one(model: Teaser, data: Dataset) -> None:
    with pytest.raises(ParameterError, match=r"list of user ids, found 'u1'.*\['u1'\]"):
        model.recommend_all(data, users="u1")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_has_no_score_is_not_listed(dtype: str) -> None:
    scores = np.array([[-np.inf, 1.0, -np.inf, -3.0], [-np.inf] * 4], dtype=dtype)
    found = top_k_rows(scores, 3, exclude=None, tie=np.zeros(4))
    assert found.tolist() == [[1, 3, -1], [-1, -1, -1]]


def test_a_folder_and_a_stream_take_no_file(model: Teaser, tmp_path: Path) -> None:
    (tmp_path / "folder.parquet").mkdir()
    for out, told in ((tmp_path / "folder.parquet", "is a folder"), (5, "found out='5'")):
        with pytest.raises(ParameterError, match=told):
            model.recommend_all([("a", ["i1"])], out=cast(Any, out))
    stream: Any = model.recommend_stream
    with pytest.raises(ParameterError, match="no option 'out'"):
        stream([("a", ["i1"])], out="lists.parquet")


@pytest.fixture(scope="module")
def table(data: Dataset) -> pl.DataFrame:
    """One row an item, sorted by user."""
    entries = data.X.tocoo()
    users, items = pl.Series(data.users[:]), pl.Series(data.items[:])
    frame = pl.DataFrame(
        {"user_id": users.gather(entries.row), "item_id": items.gather(entries.col)}
    )
    return frame.sort("user_id", maintain_order=True)


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
    monkeypatch.setattr(all_lists, "_USERS", rows)
    found = model.recommend_all(some, k=4, batch_size=size)
    own = wanted.filter(pl.col("user_id").is_in(some["user_id"].unique().implode()))
    assert_same_lists(found, own)


def test_lists_in_a_table_are_histories(
    model: Teaser, table: pl.DataFrame, wanted: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    nested = table.group_by("user_id", maintain_order=True).agg("item_id")
    monkeypatch.setattr(all_lists, "_USERS", 70)
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
        monkeypatch.setattr(all_lists, "_USERS", size)
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
