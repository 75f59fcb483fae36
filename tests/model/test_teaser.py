"""The model: the contract, what it learns, content, new items, shared fits, and its file."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from oracles import content_of, exact_encoder

import teaser
from teaser import Category, Dataset, Tag, Teaser
from teaser.data.split import split
from teaser.errors import NotFittedError, ParameterError, UnknownNameError
from teaser.evaluate.protocol import evaluate
from teaser.extensions import Content, Weights
from teaser.model.baselines.ease import EASE, RDLAE
from teaser.model.baselines.edlae import EDLAE
from teaser.model.baselines.neighbour_ease import NeighbourEASE
from teaser.model.extensions.remainder import Remainder
from teaser.model.gram import DenseGram
from teaser.model.shared_fit import SharedFits
from teaser.model.solve import Tolerance
from teaser.profile import GENERAL, POPULARITY
from teaser.testing import TaggedModelContract, example_dataset


class TestTeaser(TaggedModelContract):
    def make(self) -> Teaser:
        return Teaser(l2_weights=5.0, l2_encoder=5.0, tol=1e-4)


def gram_of(dataset: Dataset) -> Any:
    X = dataset.X.toarray().astype(float)
    return X.T @ X


def test_it_learns_the_exact_encoder_of_tags_and_popularity(dataset: Dataset) -> None:
    model = Teaser(l2_weights=5, l2_encoder=5, tol=1e-9, dtype="float64").fit(dataset)
    counts = np.asarray(dataset.X.sum(axis=0)).ravel()
    D = np.column_stack([dataset.S.toarray(), counts / counts.max()])
    assert_allclose(model.tag_table_.learned_decoder.toarray(), D, rtol=1e-6)
    assert_allclose(model.encoder_, exact_encoder(gram_of(dataset), D, 5, 5), atol=1e-7)
    assert model.tags_ == (*dataset.tags, POPULARITY, GENERAL)


def test_people_of_a_camp_are_recommended_the_events_of_their_camp(model: Teaser) -> None:
    concerts = model.recommend(["i2", "i6", "i8"], k=5)
    films = model.recommend(["i1", "i3", "i5"], k=5)
    even = [int(str(r.item_id)[1:]) % 2 == 0 for r in concerts]
    odd = [int(str(r.item_id)[1:]) % 2 == 1 for r in films]
    assert sum(even) >= 4
    assert sum(odd) >= 4


@pytest.mark.parametrize("how", ["dense", "sparse", "array", "operator"])
def test_content_adds_cosines_of_tags_however_the_gram_is_held(dataset: Dataset, how: str) -> None:
    G = gram_of(dataset)
    gram = {"array": G, "operator": DenseGram(G)}.get(how, how)
    model = Teaser(
        l2_weights=5,
        l2_encoder=5,
        content=Content(weight=3.0),
        gram=gram,
        tol=1e-9,
        dtype="float64",
    ).fit(dataset)
    T = content_of(dataset.S.toarray())
    content = 3.0 * G.diagonal().mean() * T @ T.T
    wanted = exact_encoder(G + content, model.tag_table_.learned_decoder.toarray(), 5, 5)
    assert_allclose(model.encoder_, wanted, atol=1e-6)


@pytest.mark.parametrize(
    "bad", [{"l2_weights": 0}, {"l2_encoder": -1}, {"content": Content(weight=-0.1)}, {"tol": 0}]
)
def test_parameters_are_checked_at_fit_and_not_before(
    dataset: Dataset, bad: dict[str, Any]
) -> None:
    model = Teaser(**bad)
    with pytest.raises(ParameterError, match=next(iter(bad))):
        model.fit(dataset)
    with pytest.raises(ParameterError, match=next(iter(bad))):
        model.estimate(dataset)


class TestAddItems:
    @pytest.fixture
    def fresh(self, dataset: Dataset) -> Teaser:
        return Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset)

    new = pl.DataFrame(
        {"item_id": ["n1", "n2"], "title": ["Newcomer", None], "type": ["concert", "opera"],
         "town": ["Ghent", "Mons"], "labels": ["free|late", None]}
    )  # fmt: skip

    def test_they_are_recommendable_at_once_and_nothing_else_changes(self, fresh: Teaser) -> None:
        before = {r.item_id: r.score for r in fresh.recommend(["i2"], k=100)}
        assert fresh.add_items(self.new) is fresh
        after = {r.item_id: r for r in fresh.recommend(["i2"], k=100)}
        assert set(after) == set(before) | {"n1", "n2"}
        for name, score in before.items():
            assert after[name].score == score
        tags = {"type=concert", "town=Ghent", "labels=free", "labels=late"}
        found = {str(t) for t in fresh.explain("n1", ["i2"]).tags}
        assert found - {str(POPULARITY)} == tags
        assert after["n1"].title == "Newcomer"

    def test_the_score_is_the_sum_of_its_tags(self, fresh: Teaser) -> None:
        fresh.add_items(self.new)
        a = fresh.profile(["i2"]).affinities
        wanted = sum(
            a[Tag.parse(t)] for t in ("type=concert", "town=Ghent", "labels=free", "labels=late")
        )
        wanted += a[POPULARITY] * fresh.decoder_[[-2]].toarray()[0, fresh.tag_table_.popularity]
        said = fresh.explain("n1", ["i2"])
        assert said.score - said.general == pytest.approx(wanted, rel=1e-9)
        # General appeal follows from the tags: D_i q / omega.
        assert said.general != 0

    def test_a_mapping_to_tags_does_the_same(self, fresh: Teaser, dataset: Dataset) -> None:
        fresh.add_items(
            {"n1": ["type=concert", Tag("town", "Ghent"), "labels=free", "labels=late"]}
        )
        other = Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset).add_items(self.new)
        assert fresh.explain("n1", ["i2"]).score == other.explain("n1", ["i2"]).score

    def test_a_new_item_in_a_history_counts_and_says_nothing(self, fresh: Teaser) -> None:
        fresh.add_items(self.new)
        alone = fresh.profile(["n1"])
        assert alone.certainty == fresh.profile(["i1"]).certainty
        assert not any(alone.affinities.values())
        assert fresh.origins("town=Ghent", ["n1"]) == {"n1": 0.0}
        assert fresh.recommend(["n1"], k=1)[0].item_id == fresh.recommend([], k=1)[0].item_id

    def test_they_survive_saving(self, fresh: Teaser, tmp_path: Path) -> None:
        fresh.add_items(self.new).save(tmp_path / "m")
        assert teaser.load(tmp_path / "m").recommend(["i2"], k=99) == fresh.recommend(["i2"], k=99)

    def test_items_that_are_there_already_are_refused_and_nothing_is_added(
        self, fresh: Teaser
    ) -> None:
        with pytest.raises(teaser.TeaserError, match=r"already: \['i3'\]"):
            fresh.add_items({"n9": ["type=concert"], "i3": ["type=concert"]})
        assert "n9" not in fresh.items_

    def test_an_unknown_tag_is_refused(self, fresh: Teaser) -> None:
        with pytest.raises(UnknownNameError, match="Closest: type=concert"):
            fresh.add_items({"n1": ["type=concertt"]})
        with pytest.raises(ParameterError, match="Popularity is counted"):
            fresh.add_items({"n1": [POPULARITY]})


class TestNewIds:
    @pytest.fixture
    def numbered(self, tables: tuple[pl.DataFrame, pl.DataFrame]) -> Teaser:
        def number(frame: pl.DataFrame) -> pl.DataFrame:
            return frame.with_columns(pl.col("item_id").str.slice(1).cast(pl.Int64))

        interactions, items = map(number, tables)
        return Teaser().fit(Dataset.from_tables(interactions, items, rules=[Category("type")]))

    def test_they_are_kept_in_the_catalogues_kind(self, numbered: Teaser, tmp_path: Path) -> None:
        numbered.add_items({"3001": ["type=film"], np.int64(3002): ["type=film"]})
        numbered.save(tmp_path / "m")
        loaded = teaser.load(tmp_path / "m")
        assert loaded.items_[-2:] == numbered.items_[-2:] == (3001, 3002)
        assert all(type(i) is int for i in numbered.items_)

    @pytest.mark.parametrize("bad", ["abc", None, 1.5, True])
    def test_ids_of_another_kind_are_refused(self, numbered: Teaser, bad: Any) -> None:
        with pytest.raises(teaser.TeaserError, match="Item ids here are whole numbers, found"):
            numbered.add_items({bad: ["type=film"]})
        if isinstance(bad, str):
            with pytest.raises(teaser.TeaserError, match="whole numbers"):
                numbered.add_items(pl.DataFrame({"item_id": [bad], "type": ["film"]}))

    def test_the_same_id_twice_is_refused(self, numbered: Teaser) -> None:
        with pytest.raises(teaser.TeaserError, match="named twice"):
            numbered.add_items({3005: ["type=film"], "3005": ["type=film"]})


class TestFailedFits:
    def test_a_first_one_leaves_nothing(self, dataset: Dataset) -> None:
        model = Teaser(gram=np.eye(3))
        with pytest.raises(ParameterError):
            model.fit(dataset)
        with pytest.raises(NotFittedError):
            model.recommend(["i1"])

    def test_a_second_one_leaves_the_first(self, dataset: Dataset) -> None:
        model = Teaser().fit(dataset)
        before = model.recommend(["i1"])
        model.gram = np.eye(3)
        with pytest.raises(ParameterError):
            model.fit(dataset)
        assert model.recommend(["i1"]) == before


@pytest.mark.parametrize(
    "extension",
    [
        {},
        {"weights": teaser.extensions.Weights()},
        {"decoder": teaser.extensions.LearnedDecoder(rounds=2)},
        {"sparse": teaser.extensions.SparseEncoder(density=0.3)},
        {"remainder": teaser.extensions.Remainder(neighbours=3)},
        {"remainder": teaser.extensions.Remainder(neighbours=None)},
    ],
    ids=lambda extension: "-".join(extension) or "plain",
)
def test_every_fit_can_stop_when_its_scores_are_settled(
    dataset: Dataset, extension: dict[str, Any], tmp_path: Path
) -> None:
    exact = Teaser(dtype="float64", tol=1e-9, **extension).fit(dataset)
    found = Teaser(dtype="float64", tol="settled", **extension).fit(dataset)
    assert found.converged_
    assert found.iterations_ < exact.iterations_
    wanted, scores = (
        dataset.X @ (model.encoder_ @ model.tag_table_.learned_decoder.T.toarray())
        for model in (exact, found)
    )
    # A sparse encoder may keep other entries, which say about the same.
    most = 0.05 if "sparse" in extension else 0.02
    assert np.linalg.norm(scores - wanted) < most * np.linalg.norm(wanted)
    found.save(tmp_path / "m")
    assert teaser.load(tmp_path / "m").parameters()["tol"] == "settled"
    # From the encoder of this fit there is nothing left to do, but where steps alternate.
    if not extension:
        assert Teaser(dtype="float64", tol="settled").fit(dataset, start=found).iterations_ == 0


def test_films_converge_within_eight_iterations_and_settled_ones_have_the_same_ndcg(
    films: Dataset,
) -> None:
    assert 2_300 <= films.n_tags <= 2_700
    fold = split(films, n_validation=500, n_test=0, rng=3)
    prepared = Teaser().prepare(fold.training)
    means = []
    tols: tuple[Tolerance, ...] = ("settled", 1e-3)
    for tol in tols:
        model = Teaser(tol=tol).fit(fold.training, prepared=prepared)
        assert model.converged_
        assert model.iterations_ <= 8
        found = evaluate(model, fold.validation, metrics=["ndcg@100"])
        means.append(found.values["ndcg@100"].mean())
    assert means[0] == pytest.approx(means[1], rel=2e-3)


def test_a_system_of_another_data_set_is_refused(dataset: Dataset, model: Teaser) -> None:
    other = example_dataset(seed=9, n_users=120, n_items=24)
    with pytest.raises(ParameterError, match="Prepare it from this data set"):
        Teaser().fit(dataset, prepared=Teaser().prepare(other))


def test_a_start_is_matched_by_the_names_of_items_and_tags(tables: Any) -> None:
    """The earlier catalogue lacked an item, and had its rows and so its tags in another order."""
    interactions, items = tables
    rules = (Category("type"), Category("town"))
    now = Dataset.from_tables(interactions, items, rules=rules)
    gone = now.items[0]
    before = Dataset.from_tables(
        interactions.filter(pl.col("item_id") != gone),
        items.filter(pl.col("item_id") != gone).reverse(),
        rules=rules,
    )
    settings: dict[str, Any] = {"tol": 1e-8, "dtype": "float64"}
    start = Teaser(**settings).fit(before)
    cold = Teaser(**settings).fit(now)
    warm = Teaser(**settings).fit(now, start=start)
    assert_allclose(warm.encoder_, cold.encoder_, atol=1e-6)
    same = Teaser(**settings).fit(now, start=cold)
    assert same.iterations_ == 0
    assert list(before.items) != list(now.items)[1:]


def test_only_a_fitted_teaser_can_be_a_start(dataset: Dataset) -> None:
    with pytest.raises(NotFittedError):
        Teaser().fit(dataset, start=Teaser())
    with pytest.raises(ParameterError, match="must be a fitted Teaser"):
        Teaser().fit(dataset, start=cast(Any, np.ones(3)))


EXACT: dict[str, Any] = {"tol": 1e-8, "dtype": "float64"}


@pytest.mark.parametrize("weights", [None, Weights(user_power=0.5, ridge_power=0.5)])
def test_a_shared_fit_is_the_fit_alone(dataset: Dataset, weights: Weights | None) -> None:
    """Whatever came before: other penalties, other kinds of models, another Gram."""
    fits = SharedFits(dataset)
    full = [Remainder(neighbours=None, l2=k) for k in (20.0, 15.0, 40.0)]
    for remainder, l1 in ((None, 5.0), (full[0], 5.0), (full[1], 10.0), (full[2], 5.0)):
        for l2 in (5.0, 50.0):
            named: dict[str, Any] = {"l2_weights": l1, "l2_encoder": l2, "remainder": remainder}
            found = fits.fit(Teaser(weights=weights, **named, **EXACT))
            alone = Teaser(weights=weights, **named, **EXACT).fit(dataset)
            assert isinstance(found, Teaser)
            assert_allclose(found.encoder_, alone.encoder_, atol=1e-5)
            if remainder is not None:
                assert_allclose(found.remainder_, alone.remainder_, atol=1e-5)
    for model in (EASE, EDLAE):
        shared = fits.fit(model(l2=5.0, weights=weights)).score_batch(dataset.X)
        alone_scores = model(l2=5.0, weights=weights).fit(dataset).score_batch(dataset.X)
        assert_allclose(shared, alone_scores, atol=1e-5)


@pytest.mark.parametrize("kind", [EASE, RDLAE, NeighbourEASE])
def test_powers_of_histories_and_content_are_those_of_fits_alone(
    dataset: Dataset, kind: Any
) -> None:
    fits = SharedFits(dataset)
    for content in (None, Content(weight=0.5)):
        for l2 in (5.0, 20.0):
            for power in (0.2, 0.0, 0.4):
                how = {"l2": l2, "content": content, "dtype": "float64"}
                weights = Weights(user_power=0.5, history_power=power)
                alone = kind(weights=weights, **how).fit(dataset)
                shared = fits.fit(kind(weights=weights, **how))
                assert shared.parameters()["weights"] == weights
                for X in (dataset.X, dataset.X[:5]):
                    assert_allclose(shared.score_batch(X), alone.score_batch(X), atol=1e-10)
    with pytest.raises(ParameterError, match="history_power"):
        fits.fit(kind(weights=Weights(history_power=9.0)))
