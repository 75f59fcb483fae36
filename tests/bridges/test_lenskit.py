"""The LensKit component passes LensKit's own tests of scorers, and says what our models say."""

import pickle
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from bridges.conftest import page_block
from lenskit import batch
from lenskit.data import Dataset, DatasetBuilder, ItemList, RecQuery
from lenskit.metrics import NDCG, RunAnalysis
from lenskit.pipeline import topn_pipeline
from lenskit.splitting import SampleFrac, crossfold_users
from lenskit.testing import BasicComponentTests, ScorerTests, set_env_var
from lenskit.training import TrainingOptions
from numpy.testing import assert_allclose, assert_array_equal

import teaser
from teaser.bridges.lenskit import TeaserConfig, TeaserScorer, read_dataset
from teaser.data.interactions import STRENGTH
from teaser.errors import DataError, TableError

PENALTIES: dict[str, Any] = {"l2_weights": 5.0, "l2_encoder": 5.0}


@pytest.fixture(scope="session")
def ml_ratings(ratings: pl.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({name: ratings[name].to_numpy() for name in ratings.columns})


@pytest.fixture(scope="session")
def ml_100k(ml_ratings: pd.DataFrame) -> pd.DataFrame:
    return ml_ratings


def build(ml_ratings: pd.DataFrame, films: pl.DataFrame) -> DatasetBuilder:
    made = DatasetBuilder()
    made.add_entities("item", films["item_id"].to_numpy())
    made.add_interactions(
        "rating", ml_ratings, entities=["user", "item"], missing="insert", default=True
    )
    ids = films["item_id"].to_numpy()
    made.add_scalar_attribute("item", "title", ids, films["title"].to_list())
    made.add_scalar_attribute("item", "minutes", ids, films["minutes"].to_numpy())
    made.add_list_attribute("item", "genres", ids, films["genres"].to_list())
    made.add_vector_attribute("item", "embedding", ids, np.ones((len(ids), 3), np.float32))
    return made


@pytest.fixture(scope="session")
def ml_ds(ml_ratings: pd.DataFrame, films: pl.DataFrame) -> Dataset:
    """Under the name that LensKit's tests ask for."""
    return build(ml_ratings, films).build()


@pytest.fixture(scope="session", autouse=True)
def one_process() -> Iterator[None]:
    """LensKit's own tests would start processes, which takes longest of all."""
    with set_env_var("LK_NUM_PROCS", "1"):
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture(scope="module")
def scorer(ml_ds: Dataset) -> TeaserScorer:
    found = TeaserScorer(**PENALTIES)
    assert not found.is_trained()
    found.train(ml_ds, TrainingOptions())
    assert found.is_trained()
    return found


# LensKit's tests warn of LensKit's own changes.
@pytest.mark.filterwarnings("ignore")
class TestOurScorer(BasicComponentTests, ScorerTests):
    component = TeaserScorer
    config = TeaserConfig(**PENALTIES)
    configs: ClassVar[list[dict[str, Any]]] = [
        {"recipe": "discovered", "positive": "rating >= 4"},
        {"l2_weights": 5, "remainder": {"l2": 20.0}, "discovered": {"grains": [10, 5]}},
        {"rules": {"tags": [{"kind": "list", "column": "genres"}]}},
    ]
    can_score = "known"
    expected_ndcg = 0.1
    test_batch_prediction_accuracy = None  # it is for models that predict ratings


def test_a_configuration_is_what_was_given() -> None:
    assert TeaserScorer().dump_config() == {}
    assert TeaserScorer(l2_encoder=3).dump_config() == {"l2_encoder": 3.0}
    fields = TeaserConfig.model_fields
    assert set(teaser.Teaser().parameters()) <= set(fields)
    assert fields["l2_weights"].default == teaser.Teaser().l2_weights
    with pytest.raises(ValueError, match="Extra inputs"):
        TeaserScorer(l2_wieghts=3)
    with pytest.raises(ValueError, match=r"no option 'l3'.*Closest: l2"):
        TeaserScorer(remainder={"l3": 1.0})
    with pytest.raises(ValueError, match=r"no rules file nowhere\.toml"):
        TeaserScorer(rules="nowhere.toml")


def test_attributes_of_items_become_tags(ml_ds: Dataset, scorer: TeaserScorer) -> None:
    found = read_dataset(ml_ds, TeaserConfig())
    assert list(found.items) == ml_ds.items.ids().tolist()
    assert {tag.feature for tag in found.tags} == {"genres", "minutes"}
    assert found.rules.roles["title"] == "title"
    assert "embedding" not in found.table.columns
    own = read_dataset(ml_ds, TeaserConfig(rules=[teaser.ListOf("genres")]))
    assert {str(tag) for tag in own.tags} == {
        f"genres={genre}" for genre in ("comedy", "crime", "drama", "western")
    }
    assert scorer.model_.title(3) == "Film 3"


def test_scores_are_those_of_the_library(ml_ds: Dataset, scorer: TeaserScorer) -> None:
    same = teaser.Teaser(**PENALTIES).fit(read_dataset(ml_ds, TeaserConfig()))
    history = ml_ds.user_row(7)
    items = ItemList.from_vocabulary(ml_ds.items)
    found = scorer(RecQuery(user_id=7, history_items=history), items).scores()
    row = np.zeros((1, len(ml_ds.items)))
    row[0, history.numbers()] = 1
    # LensKit holds scores in single precision.
    assert_allclose(found, same.score_batch(row)[0], rtol=1e-6, atol=1e-6)
    nobody = scorer(RecQuery(), items).scores()
    assert_allclose(nobody, same.score_batch(np.zeros_like(row))[0], rtol=1e-6)
    assert np.isnan(scorer(RecQuery(), ItemList([1000, 5])).scores()[1])


def test_histories_are_read_by_the_rules_of_the_training(ml_ds: Dataset) -> None:
    liked = TeaserScorer(positive="rating >= 4", **PENALTIES)
    liked.train(ml_ds)
    rows = (ml_ds.user_row(user) for user in ml_ds.users.ids().tolist())
    history = next(row for row in rows if len(set(row.field("rating"))) == 2)
    ratings = history.field("rating")
    row = liked.history(RecQuery(history_items=history))
    assert_array_equal(np.sort(history.numbers()[ratings >= 4]), row.indices)
    assert 0 < row.nnz < len(history)
    # A list without ratings is taken as it is.
    assert liked.history(RecQuery(history_items=ItemList(history.ids()))).nnz == len(history)
    disliked = TeaserScorer(positive="rating >= 4", negative="rating <= 2", **PENALTIES)
    disliked.train(ml_ds)
    assert set(disliked.history(RecQuery(history_items=history)).data) == {1.0, STRENGTH}
    found = disliked(RecQuery(history_items=history), ItemList.from_vocabulary(ml_ds.items))
    assert np.isfinite(found.scores()).all()
    strong = TeaserScorer(strength="rating", **PENALTIES)
    strong.train(ml_ds)
    assert set(strong.history(RecQuery(history_items=history)).data) == {2.0, 5.0}
    aged = TeaserScorer(time="timestamp", half_life=30, **PENALTIES)
    aged.train(ml_ds)
    strengths = aged.history(RecQuery(history_items=history)).data
    assert strengths.max() == 1.0
    assert len(set(strengths.tolist())) == len(history)


def test_reasons_are_within_reach(ml_ds: Dataset, scorer: TeaserScorer) -> None:
    history = ml_ds.user_row(7).ids().tolist()
    pipeline = topn_pipeline(scorer, n=5)
    pipeline.train(ml_ds, TrainingOptions(retrain=False))
    best = pipeline.run("recommender", query=7)
    ours = scorer.model_.recommend(history, k=5)
    assert [r.item_id for r in ours] == best.ids().tolist()
    assert scorer.model_.explain(ours[0].item_id, history).reasons


def test_it_is_measured_like_any_other(ml_ds: Dataset, rng: np.random.Generator) -> None:
    fold = next(iter(crossfold_users(ml_ds, 4, SampleFrac(0.3), rng=rng)))
    means = {}
    for name, scorer in {"ours": TeaserScorer(**PENALTIES), "chosen": TeaserScorer()}.items():
        pipeline = topn_pipeline(scorer, n=20)
        pipeline.train(fold.train, TrainingOptions(rng=3))
        run = RunAnalysis()
        run.add_metric(NDCG())
        lists = batch.recommend(pipeline, fold.test, n_jobs=1)
        means[name] = run.measure(lists, fold.test).list_summary().loc["NDCG", "mean"]
    # Chance is near 0.05 here.
    assert all(mean > 0.12 for mean in means.values()), means


def test_attributes_of_users_are_learned_from_if_asked(
    ml_ds: Dataset, ml_ratings: pd.DataFrame, films: pl.DataFrame
) -> None:
    made, users = build(ml_ratings, films), ml_ds.users.ids()
    taste = [f"kind {user % 4}" for user in users.tolist()]
    made.add_scalar_attribute("user", "taste", users, taste)
    data = made.build()
    plain = TeaserScorer(**PENALTIES)
    plain.train(data)
    assert plain.model_.user_tags_ == ()
    asked = TeaserScorer(user_features=True, **PENALTIES)
    asked.train(data)
    assert {str(tag) for tag in asked.model_.user_tags_} == {f"taste=kind {n}" for n in range(4)}
    again = pickle.loads(pickle.dumps(asked))
    items = ItemList.from_vocabulary(ml_ds.items)
    one, other, nobody = (
        again(RecQuery(user_id=user), items).scores() for user in (4, 5, "who is this")
    )
    assert not np.allclose(one, other)
    assert not np.allclose(one, nobody)


def test_bad_input_is_said(ml_ds: Dataset) -> None:
    with pytest.raises(TableError, match="stars"):
        TeaserScorer(positive="stars >= 4").train(ml_ds)
    made = DatasetBuilder()
    made.add_entities("item", [" a", "a", "b"])
    pairs = pd.DataFrame({"user_id": [1, 2], "item_id": ["b", "a"]})
    made.add_interactions("click", pairs, entities=["user", "item"], missing="insert")
    with pytest.raises(DataError, match="LensKit has 3 items, of which 2"):
        TeaserScorer().train(made.build())


@pytest.mark.usefixtures("movielens")
def test_the_page_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(page_block("lenskit"), "bridges.md", "exec"), {})  # noqa: S102
    told = capsys.readouterr().out
    assert "TeaserScorer {'NDCG" in told
    assert "% because of " in told
