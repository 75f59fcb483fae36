"""A fit that chooses: what each recipe tries, the choice, what is refused, what is kept."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables

import teaser
from teaser import Dataset, Teaser
from teaser.data.partitions import write_partitions
from teaser.errors import ParameterError, ResourceError, SolverError
from teaser.evaluate import Recipe, Trial
from teaser.evaluate import choose as module
from teaser.evaluate.choose import (
    RECIPES,
    choose,
    climb,
    explain_choice,
    make_plan,
    run_plan,
    shown_parameters,
)
from teaser.evaluate.protocol import evaluate
from teaser.extensions import DiscoveredTags, Remainder, Weights
from teaser.model import estimate as cost
from teaser.model.baselines.popularity import Popularity
from teaser.testing import example_dataset


def record_of(model: Teaser) -> Any:
    assert model.recipe_ is not None
    return model.recipe_


@pytest.fixture(scope="module")
def many() -> Dataset:
    """Enough people to hold some out."""
    return example_dataset(n_users=500)


TRIED = (
    Trial("Popularity", ndcg=0.1, share=0.2),
    Trial("EASE", ndcg=0.5, share=1.0),
    Trial("paper", {"l2_weights": 200.0}, 0.24, 0.48, {"general": 0.7, "declared": 0.3}, 1.0),
    Trial("weighted", ndcg=0.23, share=0.46),
    Trial("discovered", {"l2_encoder": 300.0}, 0.44, 0.88),
    Trial("discovered", {"l2_encoder": 3000.0}, 0.465, 0.93),
    Trial("neighbours", reason="it needs 80.0 GB, and this machine has 16.0 GB"),
)


@pytest.mark.parametrize("peak", range(5))
@pytest.mark.parametrize("first", range(5))
def test_a_climb_finds_the_peak_and_goes_no_further(first: int, peak: int) -> None:
    tried: list[int] = []

    def height(value: int) -> float:
        tried.append(value)
        return -abs(value - peak)

    assert climb(range(5), first, height) == peak
    assert len(tried) == len(set(tried))
    assert min(tried) >= min(first, peak) - 1
    assert max(tried) <= max(first, peak) + 1


def test_the_most_readable_within_two_percent_is_chosen() -> None:
    assert choose(TRIED).parameters == {"l2_encoder": 3000.0}
    near = (*TRIED, Trial("neighbours", ndcg=0.474))  # 0.465 is 1.9 % below
    assert choose(near).name == "discovered"
    far = (*TRIED, Trial("neighbours", ndcg=0.476))  # 2.3 %
    assert choose(far).name == "neighbours"
    assert choose((*TRIED, Trial("paper", ndcg=0.456))).name == "paper"


def test_the_most_readable_near_the_best_is_chosen_and_of_equals_the_simpler() -> None:
    def tried(**readable: float) -> list[Trial]:
        return [Trial(n, ndcg=0.5, truth={"readability": r}) for n, r in readable.items()]

    assert choose(tried(paper=2.0, weighted=1.9, neighbours=2.4)).name == "neighbours"
    assert choose(tried(paper=2.5, neighbours=2.4)).name == "paper"
    assert choose(tried(weighted=2.041, neighbours=2.044)).name == "weighted"
    far = Trial("discovered", ndcg=0.4, truth={"readability": 9.0})
    assert choose([*tried(paper=2.0, weighted=1.0), far]).name == "paper"
    # Of a recipe the most accurate trial counts.
    less = Trial("neighbours", ndcg=0.495, truth={"readability": 9.0})
    assert choose([*tried(paper=2.0, neighbours=1.0), less]).name == "paper"


def test_the_reason_tells_how_far_tags_reach() -> None:
    said = explain_choice(Recipe(TRIED, "discovered", ""))
    assert said.startswith(
        "Declared tags alone reach 48 % of EASE here; discovered tags bring it to 93 %. "
    )
    assert "Discovered is the most readable within 2 % of the best." in said
    worse = (*TRIED[:4], Trial("discovered", ndcg=0.2, share=0.4))
    assert "; with discovered tags it is 40 %." in explain_choice(Recipe(worse, "paper", ""))
    alone = Recipe(TRIED[:2] + TRIED[4:6], "discovered", "", yardstick="NeighbourEASE")
    assert explain_choice(alone).startswith("Discovered tags reach 93 % of NeighbourEASE here.")


def test_the_reason_tells_what_content_and_powers_brought() -> None:
    def tried(ndcg: float, content: float = 0.0, power: float = 0.0) -> Trial:
        own: dict[str, Any] = {"weights": {"user_power": 0.5}}
        own |= {"content": {"weight": content}} if content else {}
        own["weights"] |= {"history_power": power} if power else {}
        return Trial("discovered", own, ndcg, ndcg)

    base = tried(0.40)
    said = explain_choice(Recipe((base, tried(0.42, 1.0), tried(0.41, 10.0)), "discovered", ""))
    assert "Content of 1 brings +5.0 % to discovered." in said
    assert "power" not in said
    said = explain_choice(
        Recipe((base, tried(0.39, 0.1), tried(0.404, 0.0, 0.1)), "discovered", "")
    )
    assert "Content does not help discovered here." in said
    assert "A history power of 0.1 brings +1.0 % to discovered." in said


def test_what_does_not_fit_is_known_before_any_work(
    many: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    need = {name: Teaser(**own).estimate(many).total_memory for name, own in RECIPES.items()}
    assert need["weighted"] < need["discovered"] < need["neighbours"]
    limit = (need["weighted"] + need["discovered"]) // 2
    monkeypatch.setattr(cost, "memory_of_machine", lambda: limit)
    plan = make_plan(many)
    assert set(plan.parameters) == {"paper", "weighted"}
    assert all("this machine has" in why for why in plan.left_out.values())
    model = run_plan(plan)
    assert record_of(model).best("neighbours").reason == plan.left_out["neighbours"]
    monkeypatch.setattr(cost, "memory_of_machine", lambda: 100)
    with pytest.raises(ResourceError, match=r"paper: it needs .* this machine has 100 B"):
        make_plan(many)


def test_bad_input_is_refused_at_once(many: Dataset, dataset: Dataset) -> None:
    for given, said in (
        ({"recipe": "paprika"}, "'paprika'"),
        ({"l2_weight": 5.0}, "no parameter 'l2_weight'.*l2_weights"),
        ({"weights": Weights(user_power=3.0)}, "user_power"),
        ({"rng": -1}, "rng"),
        ({"gram": np.eye(many.n_items)}, "gram"),
    ):
        with pytest.raises(ParameterError, match=said):
            teaser.fit(many, **given)
    with pytest.raises(ParameterError, match="rng"):
        teaser.fit(dataset, rng=-1)


def test_a_recipe_that_fails_is_left_out_with_its_reason(
    many: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = Teaser.fit

    def broken(self: Teaser, *given: Any, **named: Any) -> Any:
        if self.remainder is not None:
            raise SolverError("No solution here.")
        return fit(self, *given, **named)

    monkeypatch.setattr(Teaser, "fit", broken)
    model = teaser.fit(many)
    assert record_of(model).best("neighbours").reason == "No solution here."
    assert record_of(model).chosen in ("paper", "weighted", "discovered")
    with pytest.raises(ResourceError, match=r"No recipe could be fitted.*No solution here"):
        teaser.fit(many, recipe="neighbours")


def test_large_catalogues_are_compared_with_ease_on_neighbours(
    many: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EASE_ITEMS", many.n_items - 1)
    record = record_of(teaser.fit(many, recipe="weighted"))
    assert record.yardstick == "NeighbourEASE"
    assert record.best("NeighbourEASE").share == 1.0
    assert "of NeighbourEASE here" in record.why


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
    assert "is the most readable within 2 % of the best: " in record.why
    assert best.truth["n_people"] == record.n_users
    told = f"and is chosen x{best.truth['known']:.2f} as often as by others."
    assert record.why.endswith(told)
    assert best.readability == pytest.approx(
        best.truth["with_reason"] * best.truth["agreement"] * best.truth["known"]
    )
    counts = many.item_counts / many.item_counts.max()
    np.testing.assert_allclose(model.popularity_, counts)


def test_content_is_tried_on_one_recipe_and_kept(chosen: Any) -> None:
    record = record_of(chosen[0])

    def content(trial: Any) -> float:
        return float((trial.parameters.get("content") or {"weight": 0.0})["weight"])

    tried = [t for t in record.tried if t.name == "discovered"]
    assert {content(t) for t in tried} >= {0.0, 0.1}
    first = [t for t in tried if t.parameters["l2_encoder"] == 3000.0]
    best = content(max(first, key=lambda t: t.ndcg))
    assert {content(t) for t in record.tried if t.name == "neighbours"} == {best}
    assert {content(t) for t in record.tried if t.name in ("paper", "weighted")} == {0.0}
    assert "Content " in record.why


def test_powers_are_tried_on_what_would_be_chosen(many: Dataset) -> None:
    model = teaser.fit(many, recipe="weighted")
    assert {t.name for t in record_of(model).tried} == {"Popularity", "EASE", "weighted"}
    tried = [t for t in record_of(model).tried if t.name == "weighted"]
    powers = [t.parameters["weights"].get("history_power", 0.0) for t in tried]
    assert 0.1 in powers
    assert "istory power " in record_of(model).why
    best = max(tried, key=lambda t: t.ndcg)
    assert model.weights is not None
    assert model.weights.history_power == best.parameters["weights"].get("history_power", 0.0)
    given = teaser.fit(many, recipe="weighted", weights=Weights(), content=None)
    assert "power" not in record_of(given).why
    assert "ontent" not in record_of(given).why


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


def test_the_papers_recipe_is_the_papers_model(many: Dataset) -> None:
    model = teaser.fit(many, recipe="paper")
    np.testing.assert_array_equal(model.encoder_, Teaser().fit(many).encoder_)
    assert record_of(model).tried == ()
    assert "Nothing was tried" in record_of(model).why


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


def test_too_few_people_take_the_stated_default(dataset: Dataset) -> None:
    model = teaser.fit(dataset, tol=1e-4)
    assert record_of(model).chosen == "discovered"
    assert "Too few users to compare recipes; using 'discovered'." in record_of(model).why
    assert (model.weights, model.tol) == (RECIPES["discovered"]["weights"], 1e-4)
    assert model.groups_ is not None
    asked = teaser.fit(dataset, recipe="weighted")
    assert "using 'weighted'" in record_of(asked).why
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
