"""What every model must do; each model's test inherits it and says how to make one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose, assert_array_equal

import teaser
from teaser import Dataset, Steering, artifact
from teaser.errors import (
    ArtifactError,
    NotFittedError,
    ParameterError,
    UnknownItemError,
    UnknownTagError,
)
from teaser.profile import POPULARITY


class ModelContract:
    """Subclasses define `make()`, which returns a model that is not fitted."""

    questions: tuple[str, ...] = ("score_batch", "recommend")
    # How near the scores of a batch must be to those of one person: as the type of the model has
    # it, where a batch is one product of matrices.
    rtol = 1e-12

    def make(self) -> Any:
        raise NotImplementedError

    @pytest.fixture
    def fitted(self, dataset: Dataset) -> Any:
        return self.make().fit(dataset)

    def test_it_returns_itself_from_fit(self, dataset: Dataset) -> None:
        model = self.make()
        assert model.fit(dataset) is model

    def test_it_stores_its_parameters_unchanged(self) -> None:
        model = self.make()
        again = type(model)(**model.parameters())
        assert again.parameters() == model.parameters()

    def test_a_second_fit_starts_clean(self, dataset: Dataset) -> None:
        model = self.make().fit(dataset)
        first = model.score_batch(dataset.X)
        assert_array_equal(model.fit(dataset).score_batch(dataset.X), first)

    def test_a_second_fit_forgets_the_first(self, dataset: Dataset) -> None:
        other = Dataset.from_tables(*small_tables(seed=9, n_users=120, n_items=24), rules=RULES)
        model = self.make().fit(other).fit(dataset)
        assert model.items_ == dataset.items
        wanted = self.make().fit(dataset).score_batch(dataset.X)
        assert_array_equal(model.score_batch(dataset.X), wanted)

    @pytest.mark.parametrize("thing", [None, 5, "data", np.eye(3)])
    def test_only_a_data_set_can_be_learned_from(self, thing: Any) -> None:
        with pytest.raises(ParameterError, match="fitted to a Dataset, found a"):
            self.make().fit(thing)

    def test_a_failed_fit_leaves_the_earlier_one(self, fitted: Any, dataset: Dataset) -> None:
        before = fitted.recommend(["i1", "i4"])
        with pytest.raises(ParameterError):
            fitted.fit(None)
        assert fitted.recommend(["i1", "i4"]) == before

    def test_fitting_leaves_its_input_alone(self, dataset: Dataset) -> None:
        before = dataset.X.copy(), dataset.S.copy()
        self.make().fit(dataset)
        assert (before[0] != dataset.X).nnz == 0
        assert (before[1] != dataset.S).nnz == 0

    def test_an_unfitted_model_says_so(self) -> None:
        for question in self.questions:
            with pytest.raises(NotFittedError, match="not fitted"):
                getattr(self.make(), question)(["i0"])
        with pytest.raises(NotFittedError, match="not fitted"):
            self.make().save("anywhere")

    def test_saved_and_loaded_it_answers_to_the_bit(
        self, fitted: Any, dataset: Dataset, tmp_path: Path
    ) -> None:
        fitted.save(tmp_path / "model")
        loaded = teaser.load(tmp_path / "model")
        assert_array_equal(loaded.score_batch(dataset.X), fitted.score_batch(dataset.X))
        assert loaded.recommend(["i1", "i4"]) == fitted.recommend(["i1", "i4"])
        assert repr(loaded) == repr(fitted)

    def test_a_batch_equals_its_single_people(self, fitted: Any, dataset: Dataset) -> None:
        rows = dataset.X[:5]
        histories = [
            [dataset.items[i] for i in rows.indices[rows.indptr[u] : rows.indptr[u + 1]]]
            for u in range(5)
        ]
        single = [fitted.recommend(history, k=7) for history in histories]
        assert fitted.recommend_batch(histories, k=7) == single
        scores = fitted.score_batch(rows)
        for u, found in enumerate(single):
            places = [dataset.items.index_of(r.item_id) for r in found]
            assert_allclose(scores[u, places], [r.score for r in found], rtol=self.rtol)

    def test_dense_and_sparse_histories_score_alike(self, fitted: Any, dataset: Dataset) -> None:
        rows = dataset.X[:4]
        assert_array_equal(
            fitted.score_batch(rows.toarray()), fitted.score_batch(sp.coo_array(rows))
        )

    def test_the_history_is_left_out_unless_asked_for(self, fitted: Any, dataset: Dataset) -> None:
        history = ["i0", "i2", "i4"]
        everything = fitted.recommend(history, k=1000)
        assert {r.item_id for r in everything} == set(dataset.items) - set(history)
        with_it = fitted.recommend(history, k=1000, exclude_history=False)
        assert {r.item_id for r in with_it} == set(dataset.items)

    def test_lists_are_as_long_as_asked_and_fall(self, fitted: Any) -> None:
        found = fitted.recommend(["i0"], k=6)
        assert len(found) == 6
        scores = [r.score for r in found]
        assert scores == sorted(scores, reverse=True)

    @pytest.mark.parametrize("k", [0, -1, 2.5, True, "5"])
    def test_a_senseless_length_is_refused(self, fitted: Any, k: Any) -> None:
        with pytest.raises(ParameterError, match="k must be"):
            fitted.recommend(["i0"], k=k)

    def test_an_unknown_item_is_named_with_the_closest(self, fitted: Any) -> None:
        with pytest.raises(UnknownItemError, match=r"'i99x'.*Closest: i"):
            fitted.recommend(["i0", "i99x"])

    def test_histories_of_another_shape_are_refused(self, fitted: Any) -> None:
        with pytest.raises(ParameterError, match="3 columns"):
            fitted.score_batch(np.ones((2, 3)))

    @pytest.mark.parametrize("bad", [2.0, -1.0, np.nan, np.inf])
    def test_histories_hold_only_zero_and_one(
        self, fitted: Any, dataset: Dataset, bad: float
    ) -> None:
        X = np.zeros((1, dataset.n_items))
        X[0, 0] = bad
        with pytest.raises(ParameterError, match="0 and 1"):
            fitted.score_batch(X)

    def test_scoring_leaves_histories_alone(self, fitted: Any, dataset: Dataset) -> None:
        rows = dataset.X[:4].copy()
        before = rows.toarray()
        fitted.score_batch(rows)
        assert_array_equal(rows.toarray(), before)

    def test_a_person_without_history_is_scored(self, fitted: Any, dataset: Dataset) -> None:
        scores = fitted.score_batch(np.zeros((1, dataset.n_items)))
        assert scores.shape == (1, dataset.n_items)
        assert np.isfinite(scores).all()
        order = np.lexsort((np.arange(dataset.n_items), -dataset.item_counts))
        wanted = [dataset.items[i] for i in order[:5]]
        assert [r.item_id for r in fitted.recommend([], k=5)] == wanted

    def test_only_allowed_items_are_recommended(self, fitted: Any, dataset: Dataset) -> None:
        allowed = np.arange(dataset.n_items) % 3 == 1
        found = fitted.recommend(["i1", "i5"], k=100, allowed=allowed)
        every = fitted.recommend(["i1", "i5"], k=100)
        assert found == [r for r in every if int(str(r.item_id)[1:]) % 3 == 1]
        assert len(found) > 5

    def test_the_match_falls_from_at_most_one(self, fitted: Any) -> None:
        matches = [r.match for r in fitted.recommend(["i1", "i5"], k=12, exclude_history=False)]
        assert matches == sorted(matches, reverse=True)
        assert matches[0] == pytest.approx(1.0)
        assert matches[-1] >= 0.0

    def test_a_text_is_no_history(self, fitted: Any) -> None:
        with pytest.raises(ParameterError, match="a list of item ids, found 'i0'"):
            fitted.recommend("i0")

    def test_it_describes_itself_in_plain_values(self, fitted: Any, dataset: Dataset) -> None:
        said = json.loads(json.dumps(fitted.describe()))
        assert said["kind"] == type(fitted).__name__
        assert said["items"] == dataset.n_items

    def test_titles_come_from_the_metadata(self, fitted: Any) -> None:
        for r in fitted.recommend(["i1"], k=3):
            assert r.title == f"Event {str(r.item_id)[1:]}"

    def test_the_kind_that_is_needed_can_be_named(self, fitted: Any, tmp_path: Path) -> None:
        fitted.save(tmp_path / "model")
        assert type(teaser.load(tmp_path / "model", type(fitted))) is type(fitted)

    def test_a_file_without_its_arrays_is_refused(self, fitted: Any, tmp_path: Path) -> None:
        fitted.save(tmp_path / "model")
        content = artifact.read(tmp_path / "model")
        artifact.write(
            tmp_path / "model", kind=content.kind, settings=content.settings,
            arrays={"other": np.zeros(3)}, tables=content.tables,
        )  # fmt: skip
        with pytest.raises(ArtifactError, match=r"does not hold a whole|is not whole"):
            teaser.load(tmp_path / "model")


class AspectContract(ModelContract):
    """What a model with tags must do besides: profile, presses, reasons."""

    questions = ("score_batch", "recommend", "profile", "affinity_batch")

    def test_presses_of_a_batch_are_those_of_its_people(
        self, fitted: Any, dataset: Dataset
    ) -> None:
        presses = [{"town=Ghent": 3}, None, {"type=film": -2}]
        rows = dataset.X[:3]
        histories = [
            [dataset.items[i] for i in rows.indices[rows.indptr[u] : rows.indptr[u + 1]]]
            for u in range(3)
        ]
        single = [fitted.recommend(h, p, k=7) for h, p in zip(histories, presses, strict=True)]
        assert fitted.recommend_batch(histories, presses, k=7) == single
        scores = fitted.score_batch(rows, presses)
        for u, found in enumerate(single):
            places = [dataset.items.index_of(r.item_id) for r in found]
            assert_allclose(scores[u, places], [r.score for r in found], rtol=self.rtol)

    def test_a_press_moves_one_affinity_by_a_step(self, fitted: Any) -> None:
        before = fitted.profile(["i1", "i5"]).affinities
        after = fitted.profile(["i1", "i5"], {"labels=free": 1}).affinities
        moved = {str(tag) for tag in before if before[tag] != after[tag]}
        assert moved == {"labels=free"}
        (tag,) = (tag for tag in before if str(tag) == "labels=free")
        assert after[tag] - before[tag] == pytest.approx(0.2)

    def test_a_press_never_lowers_an_item_that_carries_the_tag(
        self, fitted: Any, dataset: Dataset
    ) -> None:
        rows = dataset.X[:20]
        tag = [str(t) for t in dataset.tags].index("town=Ghent")
        carries = dataset.S.toarray()[:, tag] > 0
        before = fitted.score_batch(rows)
        after = fitted.score_batch(rows, [{"town=Ghent": 2}] * 20)
        assert (after[:, carries] >= before[:, carries]).all()
        assert (after[:, carries] > before[:, carries]).any()
        assert_allclose(after[:, ~carries], before[:, ~carries], rtol=1e-9, atol=1e-12)

    def test_steering_reaches_scores_and_lists(self, fitted: Any, dataset: Dataset) -> None:
        paper = Steering(scale="paper")
        X = np.zeros((1, dataset.n_items))
        X[0, [1, 5]] = 1
        scores = fitted.score_batch(X, steering=paper)[0]
        assert not np.allclose(scores, fitted.score_batch(X)[0])
        for r in fitted.recommend(["i1", "i5"], steering=paper, k=3):
            assert scores[int(str(r.item_id)[1:])] == pytest.approx(r.score)
            assert fitted.explain(r.item_id, ["i1", "i5"], steering=paper).score == r.score

    def test_contributions_sum_to_what_the_reasons_cover(self, fitted: Any) -> None:
        for item in ("i2", "i9", "i20"):
            said = fitted.explain(item, ["i1", "i5"], {"town=Ghent": 1})
            covered = said.cover.explained if hasattr(said, "cover") else said.score
            assert sum(said.contributions.values()) == pytest.approx(covered, rel=1e-9)
            assert sum(abs(r.share) for r in said.reasons) == pytest.approx(1.0)

    def test_every_recommendation_has_reasons_of_its_own_tags(
        self, fitted: Any, dataset: Dataset
    ) -> None:
        tags = (*dataset.tags, POPULARITY)
        D = fitted.decoder_.toarray()
        for r in fitted.recommend(["i1", "i5"], k=5):
            row = D[dataset.items.index_of(r.item_id)]
            assert r.reasons
            assert all(row[tags.index(reason.tag)] > 0 for reason in r.reasons)

    def test_impacts_sum_to_one(self, fitted: Any) -> None:
        assert sum(fitted.profile(["i1", "i5"]).impacts.values()) == pytest.approx(1.0)

    def test_origins_sum_to_the_raw_score(self, fitted: Any, dataset: Dataset) -> None:
        history = ["i2", "i5", "i7"]
        X = np.zeros((1, dataset.n_items))
        X[0, [2, 5, 7]] = 1
        raw = fitted.encode(sp.csr_array(X))[0]
        for place in (0, 3, len(raw) - 1):
            origins = fitted.origins(fitted.tags_[place], history)
            assert list(origins) == history
            assert sum(origins.values()) == pytest.approx(raw[place], rel=1e-9)

    def test_an_unknown_tag_is_named_with_the_closest(self, fitted: Any) -> None:
        with pytest.raises(UnknownTagError, match="Closest: town=Ghent"):
            fitted.profile(["i1"], {"town=Gent": 1})
