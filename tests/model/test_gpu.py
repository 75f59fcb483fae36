"""A GPU gives what the processor gives; where there is none, the error says so.

The solver, the Gram and the scores there are the array code that runs here too: test_gram.py and
the scorer below check it in main memory.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose
from on_gpu import is_available, needs_gpu

from teaser import Dataset, Teaser
from teaser.errors import ParameterError, ResourceError
from teaser.extensions import (
    Content,
    DiscoveredTags,
    LearnedDecoder,
    Remainder,
    SparseEncoder,
    Weights,
)
from teaser.model import gpu
from teaser.model._arrays import as_dense
from teaser.testing import assert_same_lists


@pytest.fixture(scope="module")
def wide() -> Dataset:
    return Dataset.from_tables(*small_tables(n_users=2500, n_items=300), rules=RULES)


@pytest.mark.skipif(is_available(), reason="this machine has a GPU")
def test_without_a_gpu_the_error_says_what_to_do(dataset: Dataset) -> None:
    with pytest.raises(ResourceError, match=r"device='cuda' needs .*device='cpu'"):
        Teaser(device="cuda").fit(dataset)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"device": "gpu"}, "'cpu' or 'cuda', found 'gpu'"),
        ({"device": "cuda", "solver": "admm"}, "needs solver='cg'"),
        ({"device": "cuda", "gram": np.eye(3)}, "needs .* gram='auto'"),
    ],
)
def test_contradictions_are_refused_before_any_work(
    dataset: Dataset, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(ParameterError, match=said):
        Teaser(**settings).fit(dataset)


@pytest.mark.parametrize("how", [{}, {"sparse": SparseEncoder(density=0.3)}], ids=str)
def test_the_scorer_of_a_gpu_gives_the_scores_of_the_model(
    wide: Dataset, how: dict[str, Any]
) -> None:
    """With NumPy in the place of CuPy."""
    model = Teaser(remainder=Remainder(l2=30.0, neighbours=20), dtype="float64", **how).fit(wide)
    scorer = gpu.DeviceScorer(model.encoder_, model.decoder_, model.remainder_, like=np.zeros(1))
    rows = wide.X[:40]
    assert_allclose(scorer.encode(rows), model.encode(rows), atol=1e-9)
    A = np.random.default_rng(0).standard_normal((5, model.decoder_.shape[1]))
    assert_allclose(scorer.decode(A), model.decode(A), atol=1e-9)
    assert_allclose(scorer.decode_viewed(rows), model.decode_viewed(rows), atol=1e-9)


@needs_gpu
@pytest.mark.parametrize("gram", ["dense", "sparse"])
@pytest.mark.parametrize(
    "how",
    [
        {"content": Content(weight=2.0)},
        {
            "decoder": LearnedDecoder(),
            "sparse": SparseEncoder(density=0.3),
            "remainder": Remainder(l2=30.0, neighbours=20),
        },
    ],
    ids=str,
)
def test_weights_and_all_extensions_found_there_are_those_found_here(
    wide: Dataset, gram: str, how: dict[str, Any]
) -> None:
    strengths = np.random.default_rng(0).uniform(0.3, 2.0, wide.X.nnz).astype(np.float32)
    X = sp.csr_array((strengths, wide.X.indices, wide.X.indptr), shape=wide.X.shape)
    data, weights = replace(wide, X=X), Weights(user_power=0.5, ridge_power=0.7, item_power=0.3)
    settings: dict[str, Any] = {"tol": 1e-9, "gram": gram, "dtype": "float64", "weights": weights}
    here = Teaser(**settings, **how).fit(data)
    there = Teaser(**settings, **how, device="cuda").fit(data)
    assert_allclose(there.decoder_.toarray(), here.decoder_.toarray(), atol=1e-5)
    assert_allclose(as_dense(there.encoder_), as_dense(here.encoder_), atol=1e-5)
    if "remainder" in how:
        assert_allclose(as_dense(there.remainder_), as_dense(here.remainder_), atol=1e-5)


@needs_gpu
@pytest.mark.parametrize("options", [{}, {"discovered": DiscoveredTags(grains=(10,), factors=16)}])
def test_lists_of_all_users_are_those_of_the_processor(wide: Dataset, options: Any) -> None:
    for extra in (None, Remainder(neighbours=20), Remainder(neighbours=None, l2=30.0)):
        model = Teaser(remainder=extra, **options).fit(wide)
        found = model.recommend_all(wide, k=10, device="cuda")
        assert_same_lists(found, model.recommend_all(wide, k=10), rtol=1e-3)


@needs_gpu
def test_what_does_not_fit_on_the_gpu_is_refused_with_the_numbers(
    wide: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "free_memory", lambda: 10**4)
    with pytest.raises(ResourceError, match=r"B on the GPU, which has .* device='cpu'"):
        Teaser(device="cuda").fit(wide)
