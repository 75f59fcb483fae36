"""A fit that chooses: what it tries and on whom, what it keeps, and where it cannot choose."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from choose_data import record_of
from conftest import RULES, small_tables

import teaser
from teaser import Dataset, Teaser
from teaser.data.partitions import write_partitions
from teaser.evaluate.plan import make_plan
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.recipe import RECIPES, choose
from teaser.evaluate.search import shown_parameters
from teaser.extensions import DiscoveredTags, Remainder, Weights
from teaser.model.baselines.popularity import Popularity

PARTS = {"general", "declared", "discovered", "popularity", "viewed"}


@pytest.fixture(scope="module")
def chosen(many: Dataset) -> tuple[Teaser, list[tuple[str, float]]]:
    told: list[tuple[str, float]] = []
    return teaser.fit(many, callback=lambda *said: told.append(said)), told


def test_every_recipe_is_tried_beside_popularity_and_ease(chosen: Any) -> None:
    record = record_of(chosen[0])
    assert [t.name for t in record.table()] == ["Popularity", "EASE", *RECIPES]
    assert record.n_users == 50
    for trial in record.tried:
        assert trial.reason is None
        assert 0 < trial.ndcg <= 1
        assert trial.share == pytest.approx(trial.ndcg / record.best("EASE").ndcg)
        assert trial.seconds > 0
        if trial.name in RECIPES:
            assert set(trial.parts) == PARTS
            assert sum(trial.parts.values()) == pytest.approx(1.0)
    assert record.best("neighbours").parts["viewed"] > 0
    assert record.best("discovered").parts["discovered"] > 0
    assert record.best("paper").parts["discovered"] == 0


def test_the_model_is_the_chosen_one_fitted_to_everybody(chosen: Any, many: Dataset) -> None:
    model = chosen[0]
    record = record_of(model)
    best = record.best(record.chosen)
    assert shown_parameters(model) == best.parameters
    assert (model.tol, model.gram, model.rng) == (1e-3, "auto", 0)
    assert record.chosen == choose(record.tried).name
    assert record.why.endswith("within 2 % of the best.")
    counts = many.item_counts / many.item_counts.max()
    np.testing.assert_allclose(model.popularity_, counts)


def test_it_says_what_it_is_doing(chosen: Any) -> None:
    told = chosen[1]
    assert told[0] == ("trying Popularity", 0.0)
    assert any(said.startswith("trying neighbours (l2_weights") for said, _ in told)
    assert "to all users: iteration" in told[-2][0]
    assert told[-1] == ("done", 1.0)
    shares = [share for _, share in told]
    assert shares == sorted(shares)


def test_trials_are_measured_on_people_who_were_held_out(chosen: Any, many: Dataset) -> None:
    plan = make_plan(many)
    assert plan.split is not None
    training, fold = plan.split.training, plan.split.validation
    assert training.n_users + fold.n_users == many.n_users
    assert not set(training.users) & set(fold.users)
    record = record_of(chosen[0])
    for name, model in (("Popularity", Popularity()), ("paper", Teaser(tol=1e-2))):
        found = evaluate(model.fit(training), fold, metrics=["ndcg@100"])
        assert record.best(name).ndcg == pytest.approx(found.summary()["ndcg@100"].mean, abs=1e-6)


def test_the_same_seed_chooses_the_same(chosen: Any, many: Dataset) -> None:
    again = teaser.fit(many)
    assert [replace(t, seconds=0.0) for t in record_of(again).tried] == [
        replace(t, seconds=0.0) for t in record_of(chosen[0]).tried
    ]
    np.testing.assert_array_equal(again.encoder_, chosen[0].encoder_)
    drawn = teaser.fit(many, rng=np.random.default_rng(3), recipe="weighted")
    assert record_of(drawn).n_users == 50


def test_the_record_is_saved_with_the_model(chosen: Any, tmp_path: Path) -> None:
    model = chosen[0]
    model.save(tmp_path / "m")
    again = teaser.load(tmp_path / "m", Teaser)
    assert again.recipe_ == model.recipe_
    assert again.describe()["recipe"]["chosen"] == record_of(model).chosen
    assert again.dataset_path_ is None


def test_a_plain_fit_has_no_recipe(many: Dataset, tmp_path: Path) -> None:
    model = teaser.fit(many, recipe="paper")
    assert model.recipe_ is not None
    model.fit(many)  # a second fit starts clean
    assert model.recipe_ is None
    model.save(tmp_path / "m")
    assert teaser.load(tmp_path / "m").recipe_ is None


def test_the_papers_recipe_is_the_papers_model(many: Dataset) -> None:
    model = teaser.fit(many, recipe="paper")
    np.testing.assert_array_equal(model.encoder_, Teaser().fit(many).encoder_)
    assert record_of(model).tried == ()
    assert "nothing was tried" in record_of(model).why


def test_one_recipe_chooses_its_penalties_alone(many: Dataset) -> None:
    exact: dict[str, Any] = {"tol": 1e-8, "dtype": "float64"}
    model = teaser.fit(many, recipe="weighted", **exact)
    assert {t.name for t in record_of(model).tried} == {"Popularity", "EASE", "weighted"}
    assert record_of(model).chosen == "weighted"
    alone = Teaser(**{**model.parameters(), "gram": "auto"}).fit(many)
    np.testing.assert_allclose(model.encoder_, alone.encoder_, atol=1e-7)


def test_given_penalties_are_a_plain_fit(many: Dataset) -> None:
    model = teaser.fit(many, l2_weights=5.0, sparse=teaser.extensions.SparseEncoder(density=0.5))
    plain = Teaser(l2_weights=5.0, sparse=teaser.extensions.SparseEncoder(density=0.5)).fit(many)
    assert (model.encoder_ != plain.encoder_).nnz == 0
    assert record_of(model).chosen == "as given"
    named = teaser.fit(many, recipe="discovered", l2_encoder=9.0)
    assert (named.weights, named.l2_encoder) == (Weights(popularity_scale=0.5), 9.0)
    assert named.discovered == DiscoveredTags()


def test_given_options_are_in_every_trial(many: Dataset) -> None:
    own = Remainder(l2=11.0, neighbours=5)
    model = teaser.fit(many, remainder=own, dtype="float64", discovered=DiscoveredTags(grains=(9,)))
    tried = [t for t in record_of(model).tried if t.name in RECIPES and t.reason is None]
    for trial in tried:
        assert trial.parameters["remainder"]["l2"] == 11.0
        assert trial.parameters["dtype"] == "float64"
        assert trial.parameters["discovered"]["grains"] == [9]
    assert (model.remainder, model.dtype) == (own, "float64")
    # With these options, three recipes are one.
    left = {t.name: t.reason for t in record_of(model).tried if t.reason}
    assert set(left) == {"discovered", "neighbours"}
    assert all("the same as another" in str(reason) for reason in left.values())


def test_extensions_go_with_every_recipe(many: Dataset) -> None:
    own: dict[str, Any] = {
        "sparse": teaser.extensions.SparseEncoder(density=0.5),
        "decoder": teaser.extensions.LearnedDecoder(rounds=1),
    }
    model = teaser.fit(many, **own)
    assert all(t.reason is None for t in record_of(model).tried)
    assert (model.sparse, model.decoder) == (own["sparse"], own["decoder"])
    assert sp.issparse(model.encoder_)


def test_too_few_people_take_the_stated_default(dataset: Dataset) -> None:
    model = teaser.fit(dataset, tol=1e-4)
    assert record_of(model).chosen == "discovered"
    assert "too few to choose by (200 are needed)" in record_of(model).why
    assert (model.weights, model.tol) == (RECIPES["discovered"]["weights"], 1e-4)
    assert model.groups_ is not None
    asked = teaser.fit(dataset, recipe="weighted")
    assert "weighted was asked for" in record_of(asked).why
    assert asked.weights == Weights(popularity_scale=0.5)


def test_partitions_take_the_stated_default(tmp_path: Path) -> None:
    interactions, items = small_tables()
    write_partitions(interactions, tmp_path / "parts", user="user_id", item="item_id", parts=2)
    data = Dataset.from_partitions(tmp_path / "parts", items, rules=RULES)
    model = teaser.fit(data)
    assert record_of(model).chosen == "discovered"
    assert "partitions" in record_of(model).why
    assert model.groups_ is not None
    assert record_of(teaser.fit(data, recipe="weighted")).chosen == "weighted"


def test_without_declared_tags_the_data_speak(many: Dataset) -> None:
    bare = replace(many, S=sp.csr_array((many.n_items, 0), dtype=np.float32), tags=())
    model = teaser.fit(bare)
    left = {t.name: t.reason for t in record_of(model).tried if t.reason}
    assert left == dict.fromkeys(("paper", "weighted"), "the data set has no declared tags")
    assert record_of(model).why.startswith("Discovered tags reach ")
    assert record_of(model).chosen in ("discovered", "neighbours")


def test_groups_keep_their_names(many: Dataset) -> None:
    first = teaser.fit(many, recipe="discovered")
    fewer = many.at(np.arange(10, many.n_users))
    assert first.groups_ is not None
    old = {group.tag for group in first.groups_.found}
    for how in ({"start": first}, {"previous": first.groups_}):
        again = teaser.fit(fewer, recipe="discovered", rng=5, **how)
        assert again.groups_ is not None
        kept = old & {group.tag for group in again.groups_.found}
        assert len(kept) >= 0.8 * len(old)
    cold = teaser.fit(fewer, recipe="discovered", rng=5)
    assert cold.groups_ is not None
    assert {g.tag for g in cold.groups_.found} != old


def test_user_features_are_evaluated_too(tables: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    interactions, items = small_tables(n_users=500)
    names = interactions["user_id"].unique(maintain_order=True)
    users = pl.DataFrame({"user_id": names, "camp": ["a", "b"] * (len(names) // 2)})
    data = Dataset.from_tables(
        interactions, items, rules=RULES, users=users, user_rules=[teaser.Category("camp")]
    )
    model = teaser.fit(data, recipe="weighted")
    assert len(model.user_tags_) == 2
    assert record_of(model).best("weighted").ndcg > 0
