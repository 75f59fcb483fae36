"""WMF and WMF-S: the contract, ridge regressions by brute force, and what `implicit` says."""

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import teaser
from teaser import Dataset, Tag
from teaser.baselines import WMF, WMFS
from teaser.errors import MissingPackageError, ParameterError, RuleError
from teaser.model.baselines.wmf import fold_in, ridge_inverse
from teaser.testing import ModelContract, TaggedModelContract


class TestWMF(ModelContract):
    rtol = 1e-9

    def make(self) -> WMF:
        return WMF(factors=6, l2=2.0, alpha=4.0, max_iter=5)

    def test_a_user_without_history_is_scored(self, fitted: Any) -> None:
        assert not fitted.score_batch(np.zeros((1, 40))).any()
        super().test_a_user_without_history_is_scored(fitted)


class TestWMFS(TaggedModelContract):
    def make(self) -> WMFS:
        return WMFS(l2=2.0, alpha=5.0)


def ridge(Y: np.ndarray, x: np.ndarray, l2: float, alpha: float) -> np.ndarray:
    """Weighted least squares over all items, one row an item."""
    root = np.sqrt(1 + alpha * x)
    left = np.vstack([root[:, None] * Y, np.sqrt(l2) * np.eye(Y.shape[1])])
    right = np.concatenate([root * x, np.zeros(Y.shape[1])])
    return np.asarray(np.linalg.lstsq(left, right, rcond=None)[0])


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize(("l2", "alpha"), [(2.0, 5.0), (0.1, 40.0), (300.0, 0.5)])
def test_users_are_folded_in_by_their_ridge_regression(
    sparse: bool, l2: float, alpha: float
) -> None:
    rng = np.random.default_rng(0)
    Y = (rng.random((30, 9)) < 0.3) * rng.random((30, 9))
    # Histories of no items, of fewer than there are factors, of as many, and of more.
    X = np.zeros((5, 30))
    for row, length in enumerate((0, 1, 5, 9, 22)):
        X[row, rng.choice(30, length, replace=False)] = 1
    # The last again with strengths, and a shorter one.
    X = np.vstack([X, X[[2, 4]] * rng.uniform(0.1, 3.0, 30)])
    given = sp.csr_array(Y) if sparse else Y
    found = fold_in(sp.csr_array(X), given, ridge_inverse(given, l2), alpha)
    wanted = [ridge(Y, x, l2, alpha) for x in X]
    assert_allclose(found, wanted, atol=1e-9)
    assert not found[0].any()


def test_tag_scores_fit_the_history_best(dataset: Dataset) -> None:
    model = WMFS(l2=3.0, alpha=8.0).fit(dataset)
    D = model.tag_table_.learned_decoder.toarray()
    X = dataset.X[:25].toarray().astype(float)
    assert_allclose(model.encode(dataset.X[:25]), [ridge(D, x, 3.0, 8.0) for x in X], atol=1e-8)


def test_new_items_are_recommendable_and_say_nothing(dataset: Dataset, tmp_path: Path) -> None:
    model = WMFS(l2=2.0, alpha=5.0).fit(dataset)
    before = model.profile(["i2", "i6"]).values
    model.add_items({"n1": ["type=concert", Tag("town", "Ghent")]})
    assert_array_equal(model.profile(["i2", "i6"]).values, before)
    assert "n1" in {r.item_id for r in model.recommend(["i2", "i6"], k=100)}
    assert not any(model.profile(["n1"]).affinities.values())
    assert model.origins("town=Ghent", ["i2", "n1"])["n1"] == 0.0
    model.save(tmp_path / "m")
    loaded = teaser.load(tmp_path / "m")
    assert loaded.recommend(["i2", "n1"], k=99) == model.recommend(["i2", "n1"], k=99)


def test_parameters_are_checked_at_fit_and_not_before(dataset: Dataset) -> None:
    both: list[dict[str, Any]] = [{"l2": 0}, {"alpha": -1.0}, {"alpha": "much"}, {"l2": np.nan}]
    own: list[dict[str, Any]] = [{"factors": 0}, {"max_iter": 2.5}, {"rng": "seed"}]
    kinds: dict[Any, list[dict[str, Any]]] = {WMF: both + own, WMFS: both}
    for kind, wrong in kinds.items():
        for bad in wrong:
            with pytest.raises(ParameterError, match=next(iter(bad))):
                kind(**bad).fit(dataset)


def test_a_feature_named_popularity_is_refused(tables: Any) -> None:
    clash = Dataset.from_tables(*tables, rules=[teaser.Category("town", feature="popularity")])
    with pytest.raises(RuleError, match="another feature name"):
        WMFS().fit(clash)


def test_users_are_folded_in_as_implicit_does(dataset: Dataset) -> None:
    als = importlib.import_module("implicit.cpu.als")
    threads = importlib.import_module("threadpoolctl")
    model = WMF(factors=6, l2=2.0, alpha=4.0, max_iter=5).fit(dataset)
    with threads.threadpool_limits(1, "blas"):
        theirs = als.AlternatingLeastSquares(factors=6, regularization=2.0, alpha=5.0)
        theirs.item_factors = model.factors_.astype(np.float32)
        wanted = theirs.recalculate_user(np.arange(30), sp.csr_matrix(dataset.X[:30]))
    found = fold_in(dataset.X[:30], model.factors_, model.inverse_, 4.0)
    assert_allclose(found, wanted, atol=1e-5)


def test_the_seed_decides(dataset: Dataset) -> None:
    factors = [WMF(factors=4, max_iter=2, rng=seed).fit(dataset).factors_ for seed in (1, 1, 2)]
    assert_array_equal(factors[0], factors[1])
    assert not np.allclose(factors[0], factors[2])


def test_a_missing_package_is_named_with_its_extra(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fitted = WMF(factors=4, max_iter=2).fit(dataset)
    fitted.save(tmp_path / "m")

    monkeypatch.setitem(sys.modules, "implicit.cpu.als", None)
    with pytest.raises(MissingPackageError, match=r"WMF needs implicit.*recommender\[evaluate\]"):
        WMF().fit(dataset)
    # What was learned answers without it.
    assert teaser.load(tmp_path / "m").recommend(["i1"]) == fitted.recommend(["i1"])
