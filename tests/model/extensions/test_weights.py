"""Weights of a Teaser: their options, and the minimum of the objective by brute force."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from conftest import RULES, small_tables
from numpy.testing import assert_allclose, assert_array_equal
from oracles import WeightedProblem

from teaser import Dataset, Teaser, load
from teaser.errors import ParameterError
from teaser.explain import Reason
from teaser.extensions import (
    Content,
    DiscoveredTags,
    LearnedDecoder,
    Remainder,
    SparseEncoder,
    Weights,
)
from teaser.model._arrays import as_dense
from teaser.profile import POPULARITY
from teaser.recommend import Recommendation
from teaser.testing import TaggedModelContract

ALL = Weights(user_power=0.5, ridge_power=0.8, item_power=0.6, popularity_scale=3.0)
EXACT: dict[str, Any] = {"l2_weights": 3.0, "l2_encoder": 4.0, "tol": 1e-12, "dtype": "float64"}


@pytest.fixture(scope="module")
def few(dataset: Dataset) -> Dataset:
    return dataset.at(np.arange(60))


def tag_reasons(entry: Recommendation) -> list[Reason]:
    return [reason for reason in entry.reasons if isinstance(reason, Reason)]


def problem(data: Dataset, D: Any, weights: Weights, **more: Any) -> WeightedProblem:
    return WeightedProblem(
        data.X.toarray().astype(float), D, 3.0, 4.0, user_power=weights.user_power,
        ridge_power=weights.ridge_power, item_power=weights.item_power, **more,
    )  # fmt: skip


@pytest.mark.parametrize("weights", [Weights(), ALL, Weights(user_power=1.5, item_power=2.0)])
@pytest.mark.parametrize("gram", ["dense", "sparse"])
def test_a_model_is_the_minimum_of_the_objective(few: Dataset, weights: Weights, gram: str) -> None:
    model = Teaser(weights=weights, gram=gram, **EXACT).fit(few)
    scale = weights.popularity_scale
    D = np.column_stack([few.S.toarray(), scale * model.popularity_])
    assert_allclose(model.tag_table_.learned_decoder.toarray(), D)
    assert_allclose(model.encoder_, problem(few, D, weights).encoder(), atol=1e-8)
    assert model.popularity_.max() == 1.0


def test_a_larger_scale_of_popularity_leaves_more_to_it(dataset: Dataset) -> None:
    shares = []
    for scale in (0.2, 1.0, 5.0):
        model = Teaser(weights=Weights(popularity_scale=scale), l2_encoder=50.0).fit(dataset)
        mass = np.abs(model.tag_table_.learned_decoder).sum(axis=0)
        parts = np.abs(model.encode(dataset.X)) * mass
        shares.append(float((parts[:, -1] / parts.sum(axis=1)).mean()))
    assert shares == sorted(shares)
    assert shares[2] > 1.2 * shares[0]


@pytest.mark.parametrize("name", ["user_power", "ridge_power", "item_power", "popularity_scale"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), "1", None, True])
def test_options_that_make_no_sense_are_refused_before_any_work(
    dataset: Dataset, name: str, value: Any
) -> None:
    for work in ("fit", "prepare", "estimate"):
        with pytest.raises(ParameterError, match=rf"weights\.{name}.*found {value!r}"):
            getattr(Teaser(weights=Weights(**{name: value})), work)(dataset)


def test_powers_above_two_and_a_scale_of_nothing_are_refused(dataset: Dataset) -> None:
    for weights in (Weights(item_power=2.1), Weights(popularity_scale=0.0)):
        with pytest.raises(ParameterError, match="weights"):
            Teaser(weights=weights).fit(dataset)
    with pytest.raises(ParameterError, match=r"weights must be a Weights object.*Weights\(\)"):
        Teaser(weights=cast(Any, {"user_power": 1.0})).fit(dataset)


class TestHistoryPower(TaggedModelContract):
    """Rare items of a history say more, popular items score less; all sums stay exact."""

    POWER = Weights(user_power=0.2, ridge_power=0.5, history_power=0.3)

    def make(self) -> Teaser:
        remainder = Remainder(l2=5.0, neighbours=4)
        return Teaser(
            l2_weights=5.0, l2_encoder=5.0, tol=1e-4, weights=self.POWER, remainder=remainder
        )

    @pytest.mark.parametrize(
        "how",
        [
            {},
            {"remainder": Remainder(l2=5.0, neighbours=4)},
            {"remainder": Remainder(l2=5.0, neighbours=None)},
            {"decoder": LearnedDecoder(), "sparse": SparseEncoder(density=0.4)},
            {"discovered": DiscoveredTags(grains=(5,), factors=4), "content": Content()},
        ],
        ids=str,
    )
    def test_weights_of_pairs_are_those_of_the_fit_times_powers_of_counts(
        self, dataset: Dataset, how: dict[str, Any]
    ) -> None:
        def pairs(model: Any) -> Any:
            W = as_dense(model.encoder_) @ model.tag_table_.learned_decoder.toarray().T
            return W if model.remainder_ is None else W + as_dense(model.remainder_)

        plain = replace(self.POWER, history_power=0.0)
        before = pairs(Teaser(weights=plain, **EXACT, **how).fit(dataset))
        model = Teaser(weights=self.POWER, **EXACT, **how).fit(dataset)
        n = np.maximum(dataset.item_counts, 1).astype(float)
        assert_allclose(pairs(model), n[:, None] ** 0.3 * before * n**-0.3, atol=1e-10)
        # What is shown sums to these: general appeal, tags and viewed items.
        for item in ("i2", "i9"):
            said = model.explain(item, ["i1", "i5"])
            total = sum(said.contributions.values()) + sum(said.viewed.values())
            assert total == pytest.approx(said.score, rel=1e-9)

    def test_a_tag_matters_more_only_where_that_was_learned(self, dataset: Dataset) -> None:
        strong = replace(self.POWER, history_power=1.0)
        model = Teaser(weights=strong, **EXACT).fit(dataset)
        assert (model.tag_table_.learned_decoder.data > 1.3).any()
        found = model.recommend(["i1", "i5"], k=len(dataset.items))
        assert found
        assert not any(reason.matters_more for r in found for reason in tag_reasons(r))
        learned = Teaser(weights=strong, decoder=LearnedDecoder(l2=0.5), **EXACT).fit(dataset)
        weights = learned.tag_table_.plain_decoder[:, : dataset.n_tags]
        for r in learned.recommend(["i1", "i5"], k=len(dataset.items)):
            row = weights[[dataset.items.index_of(r.item_id)]].toarray().ravel()
            for reason in (each for each in tag_reasons(r) if each.tag != POPULARITY):
                own = [row[dataset.tags.index(tag)] for tag in reason.tags]
                assert reason.matters_more == (np.mean(own) >= 1.25)

    def test_files_starts_and_new_items_keep_it(self, dataset: Dataset, tmp_path: Path) -> None:
        model = Teaser(weights=self.POWER, **EXACT).fit(dataset)
        model.save(tmp_path / "m")
        again = load(tmp_path / "m", Teaser)
        assert again.weights == self.POWER
        assert_array_equal(again.tag_table_.item_scale, model.tag_table_.item_scale)
        assert Teaser(weights=self.POWER, **EXACT).fit(dataset, start=again).iterations_ <= 1
        scale = model.tag_table_.item_scale
        assert scale is not None
        again.add_items({"new": ["town=Ghent"]})
        added = again.tag_table_.learned_decoder[[-1]]
        assert added.data[0] == pytest.approx(np.median(scale))
        assert again.tag_table_.item_scale is not None
        assert again.explain("new", ["i1"]).score == pytest.approx(
            again.score_batch(again.item_table_.rows([[again.items_.index_of("i1")]]))[0, -1]
        )

    def test_people_are_known_by_features_as_before(self) -> None:
        interactions, items = small_tables(3, n_users=50, n_items=14)
        names = interactions["user_id"].unique(maintain_order=True)
        users = pl.DataFrame({"user_id": names, "camp": ["a", "b"] * (len(names) // 2)})
        data = Dataset.from_tables(interactions, items, rules=RULES, users=users)
        plain = Teaser(weights=replace(self.POWER, history_power=0.0), **EXACT).fit(data)
        model = Teaser(weights=self.POWER, **EXACT).fit(data)
        n = np.maximum(data.item_counts, 1) / data.item_counts.mean()
        assert model.user_rows_ is not None
        assert plain.user_rows_ is not None
        D, before = (m.tag_table_.learned_decoder.toarray() for m in (model, plain))
        assert_allclose(
            model.user_rows_.alone @ D.T, plain.user_rows_.alone @ before.T * n**-0.3, atol=1e-10
        )
        assert_allclose(model.user_rows_.encoder, plain.user_rows_.encoder, atol=1e-10)
