"""The RecTools model reads RecTools data sets, and recommends what our models recommend."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from bridges.conftest import page_block
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal
from rectools import Columns
from rectools.dataset import Dataset
from rectools.exceptions import NotFittedError
from rectools.metrics import MAP, Recall
from rectools.model_selection import LastNSplitter, cross_validate
from rectools.models import PopularModel, load_model, model_from_config

import teaser
from teaser.bridges.rectools import TeaserModel, TeaserModelConfig, read_dataset, tag_feature
from teaser.errors import DataError, TableError
from teaser.steer import similar

PAIRS = pd.DataFrame(
    {
        "user_id": ["u", "u", "v"],
        "item_id": ["a", "b", "b"],
        "weight": [1.0, 2.5, 1.0],
        "datetime": "2024-05-01",
    }
)


def read(features: pd.DataFrame | None = None, **how: Any) -> teaser.Dataset:
    options = how.pop("options", {})
    data = Dataset.construct(PAIRS, item_features_df=features, **how)
    return read_dataset(data, TeaserModelConfig(**options))


def test_weights_are_strengths_unless_left_out() -> None:
    # Strengths have a mean of 1.
    wanted = np.array([[1.0, 2.5], [0.0, 1.0]]) / 1.5
    np.testing.assert_allclose(read().X.toarray(), wanted, rtol=1e-6)
    assert read(options={"strength": None}).X.toarray().tolist() == [[1.0, 1.0], [0.0, 1.0]]
    assert list(read().users) == ["u", "v"]
    assert read().tags == ()


def test_every_category_is_a_tag() -> None:
    features = pd.DataFrame(
        {
            "id": ["a", "a", "b", "c", "b"],
            "feature": ["genre", "genre", "genre", "genre", "a=b"],
            "value": ["noir", "slow", "noir", "western", 3],
        }
    )
    found = read(features, cat_item_features=["genre", "a=b"])
    assert list(found.items) == ["a", "b", "c"]  # c was never chosen
    carriers = {
        str(tag): [found.items[i] for i in np.flatnonzero(found.S.toarray()[:, j])]
        for j, tag in enumerate(found.tags)
    }
    assert carriers == {
        "genre=noir": ["a", "b"],
        "genre=slow": ["a"],
        "genre=western": ["c"],
        "a b=3": ["b"],
    }
    assert tag_feature("a=b") == "a b"
    rules = [teaser.ListOf("genre", min_items=2)]
    own = read(features, cat_item_features=["genre", "a=b"], options={"rules": rules})
    assert [str(tag) for tag in own.tags] == ["genre=noir"]


def test_direct_and_dense_features_are_numbers() -> None:
    minutes = pd.DataFrame({"id": ["a", "b"], "feature": "minutes", "value": [90.0, 120.0]})
    dense = pd.DataFrame({"id": ["a", "b"], "minutes": [90.0, 120.0]})
    for found in (read(minutes), read(dense, make_dense_item_features=True)):
        assert found.table["minutes"].to_list() == [90.0, 120.0]
        assert {tag.feature for tag in found.tags} == {"minutes"}


def test_categories_of_users_become_user_tags_if_asked() -> None:
    users = pd.DataFrame({"id": ["v", "w"], "feature": "town", "value": ["Ghent", "Liège"]})
    how: dict[str, Any] = {"user_features_df": users, "cat_user_features": ["town"]}
    assert read(**how).user_features is None
    found = read(**how, options={"user_features": True})
    assert found.Q is not None
    assert [str(tag) for tag in found.user_tags] == ["town=Ghent"]
    assert found.Q.toarray().tolist() == [[0.0], [1.0]]


def test_ids_that_cannot_be_told_apart_are_refused() -> None:
    features = pd.DataFrame({"id": [" a", "b"], "feature": "genre", "value": "noir"})
    with pytest.raises(DataError, match=r"RecTools has 3 items, of which 2.*described twice"):
        read(features, cat_item_features=["genre"])


PENALTIES: dict[str, Any] = {"l2_weights": 5.0, "l2_encoder": 5.0}
# As RecTools' ids: users of interactions, a user with features alone, and a stranger.
HOT, WARM, COLD = [3, 7, 20], 900, 901


def interactions(ratings: pl.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            Columns.User: ratings["user_id"].to_numpy(),
            Columns.Item: ratings["item_id"].to_numpy(),
            Columns.Weight: ratings["rating"].to_numpy(),
            Columns.Datetime: pd.to_datetime(ratings["timestamp"].to_numpy(), unit="s"),
        }
    )


@pytest.fixture(scope="module")
def data(ratings: pl.DataFrame, films: pl.DataFrame) -> Dataset:
    long = films.explode("genres")
    genres = pd.DataFrame(
        {"id": long["item_id"].to_numpy(), "value": long["genres"].to_list(), "feature": "genre"}
    )
    tastes = pd.DataFrame(
        {"id": [*range(160), WARM], "feature": "taste", "value": [u % 4 for u in range(160)] + [2]}
    )
    return Dataset.construct(
        interactions(ratings),
        item_features_df=genres,
        cat_item_features=["genre"],
        user_features_df=tastes,
        cat_user_features=["taste"],
    )


@pytest.fixture(scope="module")
def model(data: Dataset) -> TeaserModel:
    found = TeaserModel(**PENALTIES)
    found.fit(data)
    return found


def lists(model: TeaserModel, data: Dataset) -> pd.DataFrame:
    k = data.item_id_map.size
    users = model.recommend(data.user_id_map.external_ids, data, k, filter_viewed=False)
    items = model.recommend_to_items(data.item_id_map.external_ids, data, k, filter_itself=False)
    return pd.concat([users, items])


def test_a_second_fit_starts_clean(model: TeaserModel, data: Dataset) -> None:
    again = deepcopy(model).fit(data)
    assert_frame_equal(lists(again, data), lists(model, data))


def test_a_saved_model_answers_the_same(model: TeaserModel, data: Dataset, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    for loaded in (load_model(tmp_path / "model"), TeaserModel.loads(model.dumps())):
        assert type(loaded) is TeaserModel
        assert_frame_equal(lists(loaded, data), lists(model, data))
        assert loaded.get_config() == model.get_config()
        assert repr(loaded.model_) == repr(model.model_)


@pytest.mark.parametrize("simple_types", [False, True])
def test_a_model_is_made_again_of_its_configuration(data: Dataset, simple_types: bool) -> None:
    first = TeaserModel.from_config(
        {
            **PENALTIES,
            "remainder": {"l2": 20.0},
            "discovered": {"grains": [10, 5]},
            "rules": {"tags": [{"kind": "list", "column": "genre", "min_items": 3}]},
            "verbose": 1,
        }
    )
    config = first.get_config(simple_types=simple_types)
    second = TeaserModel.from_config(config)
    assert second.get_config(simple_types=simple_types) == config
    named = model_from_config(config)
    assert isinstance(named, TeaserModel)
    ours = [each.fit(data).recommend(HOT, data, 5, True) for each in (first, second, named)]
    assert_frame_equal(ours[0], ours[1])
    assert_frame_equal(ours[0], ours[2])
    parameters = named.model_.parameters()
    assert (parameters["remainder"].l2, parameters["discovered"].grains) == (20.0, (10, 5))


def test_an_unfitted_model_says_so(data: Dataset) -> None:
    with pytest.raises(NotFittedError):
        TeaserModel().recommend(HOT, data, 5, True)


def test_lists_are_those_of_the_library(model: TeaserModel, data: Dataset) -> None:
    same = teaser.Teaser(**PENALTIES).fit(read_dataset(data, TeaserModelConfig()))
    found = model.recommend(HOT, data, 10, filter_viewed=True)
    assert found[Columns.Rank].tolist() == [*range(1, 11)] * 3
    for user in HOT:
        rows = data.get_raw_interactions().query("user_id == @user")
        history = dict(zip(rows["item_id"], rows["weight"], strict=True))
        own = found[found[Columns.User] == user]
        wanted = same.recommend(history, k=10)
        assert own[Columns.Item].tolist() == [r.item_id for r in wanted]
        assert_allclose(own[Columns.Score], [r.score for r in wanted], rtol=1e-5)
        assert model.model_.explain(wanted[0].item_id, history).reasons


def test_viewed_items_are_left_out_on_request(model: TeaserModel, data: Dataset) -> None:
    viewed = data.get_raw_interactions().query("user_id == 7")["item_id"]
    with_them = model.recommend([7], data, 120, filter_viewed=False)
    without = model.recommend([7], data, 120, filter_viewed=True)
    assert len(with_them) == 120
    assert set(with_them["item_id"]) - set(without["item_id"]) == set(viewed)


def test_only_wanted_items_are_recommended(model: TeaserModel, data: Dataset) -> None:
    some = [1000, 1119, 1030, 1031]
    found = model.recommend(HOT, data, 10, False, items_to_recommend=[*some, 5])
    assert found.groupby(Columns.User)[Columns.Item].apply(set).tolist() == [set(some)] * 3
    alike = model.recommend_to_items([1000], data, 10, items_to_recommend=some)
    assert set(alike[Columns.Item]) <= set(some) - {1000}


def test_rules_for_reading_hold_for_histories_too(data: Dataset) -> None:
    liked = TeaserModel(positive="weight >= 4", strength=None, **PENALTIES).fit(data)
    rows = data.get_raw_interactions().query("user_id == 7")
    wanted = liked.model_.recommend(rows.query("weight >= 4")["item_id"].tolist(), k=120)
    found = liked.recommend([7], data, 120, filter_viewed=True)
    shown = set(found[Columns.Item])
    assert not shown & set(rows["item_id"])  # a film that was not liked is viewed all the same
    ours = [r.item_id for r in wanted if r.item_id in shown]
    assert found[Columns.Item].tolist() == ours
    aged = TeaserModel(half_life=30, time=Columns.Datetime, **PENALTIES).fit(data)
    assert len(aged.recommend(HOT, data, 5, True)) == 15


def test_users_without_interactions_get_lists(data: Dataset, model: TeaserModel) -> None:
    found = model.recommend([WARM, COLD], data, 4, filter_viewed=True)
    general = [r.item_id for r in model.model_.recommend([], k=4)]
    assert found[Columns.Item].tolist() == general * 2
    told = TeaserModel(user_features=True, **PENALTIES).fit(data)
    assert {str(tag) for tag in told.model_.user_tags_} == {f"taste={n}" for n in range(4)}
    known = told.recommend([WARM], data, 4, filter_viewed=True)
    wanted = told.model_.recommend([], k=4, about=["taste=2"])
    assert known[Columns.Item].tolist() == [r.item_id for r in wanted]
    assert known[Columns.Item].tolist() != general


def test_similar_items_are_those_of_the_library(model: TeaserModel, data: Dataset) -> None:
    found = model.recommend_to_items([1000, 1119], data, 5)
    for item in (1000, 1119):  # the second was never chosen
        own = found[found[Columns.TargetItem] == item]
        wanted = similar(model.model_, item, k=5)
        assert own[Columns.Item].tolist() == [s.item_id for s in wanted]
        assert_allclose(own[Columns.Score], [s.similarity for s in wanted], rtol=1e-6)


def test_items_that_the_model_does_not_know_are_passed_over(
    model: TeaserModel, ratings: pl.DataFrame
) -> None:
    table = interactions(ratings.filter(pl.col("user_id") < 30))
    new = pd.DataFrame({"user_id": [3], "item_id": [5], "weight": 1.0, "datetime": "2020-01-01"})
    later = Dataset.construct(pd.concat([new, table]))
    found = model.recommend(HOT, later, 5, filter_viewed=True)
    assert set(found[Columns.Item]) <= set(table["item_id"])
    assert model.recommend_to_items([5], later, 5).empty


def test_it_is_compared_like_any_other(data: Dataset) -> None:
    found = cross_validate(
        dataset=data,
        splitter=LastNSplitter(2, filter_cold_users=False),
        metrics={"map": MAP(k=10), "recall": Recall(k=10)},
        models={"ours": TeaserModel(**PENALTIES), "popular": PopularModel()},
        k=10,
        filter_viewed=True,
    )
    scores = {one["model"]: one["map"] for one in found["metrics"]}
    assert scores["ours"] > scores["popular"]


def test_bad_input_is_said(data: Dataset) -> None:
    with pytest.raises(TableError, match="stars"):
        TeaserModel(positive="stars >= 4").fit(data)
    assert np.isfinite(lists(TeaserModel(**PENALTIES).fit(data), data)["score"]).all()


@pytest.mark.usefixtures("movielens")
def test_the_page_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(page_block("rectools"), "bridges.md", "exec"), {})  # noqa: S102
    told = capsys.readouterr().out
    assert "TeaserModel" in told
    assert "target_item_id" in told
