"""What every model must do; each model's test inherits it and says how to make one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import teaser
from teaser import Dataset
from teaser.errors import NotFittedError, ParameterError, UnknownItemError


class ModelContract:
    """Subclasses define `make()`, which returns a model that is not fitted."""

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

    def test_fitting_leaves_its_input_alone(self, dataset: Dataset) -> None:
        before = dataset.X.copy(), dataset.S.copy()
        self.make().fit(dataset)
        assert (before[0] != dataset.X).nnz == 0
        assert (before[1] != dataset.S).nnz == 0

    def test_an_unfitted_model_says_so(self) -> None:
        for question in ("score_batch", "recommend", "profile"):
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
        assert loaded.parameters() == fitted.parameters()

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
            assert_allclose(scores[u, places], [r.score for r in found], rtol=1e-12)

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
