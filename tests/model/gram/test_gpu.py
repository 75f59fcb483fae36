"""The GPU gives what the CPU gives; where there is none, that is said."""

import gc
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose, assert_array_equal
from on_gpu import is_available, needs_gpu
from oracles import random_problem

import teaser
from teaser import Dataset, Teaser
from teaser.errors import ParameterError, ResourceError
from teaser.extensions import DiscoveredTags, LearnedDecoder, Remainder, SparseEncoder, Weights
from teaser.model.extensions import remainder
from teaser.model.extensions.remainder import Neighbours, fit_neighbours
from teaser.model.extensions.sparse import as_dense
from teaser.model.gram import gpu as device
from teaser.model.gram.blocks import sparse_like
from teaser.model.gram.operator import DenseGram
from teaser.model.solver.conjugate_gradients import conjugate_gradients
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.solution import Limits
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
        ({"device": "cuda", "solver": "admm"}, "conjugate gradients alone"),
        ({"device": "cuda", "gram": np.eye(3)}, "Gram of its own"),
    ],
)
def test_contradictions_are_refused_before_any_work(
    dataset: Dataset, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(ParameterError, match=said):
        Teaser(**settings).fit(dataset)


def test_the_device_is_not_part_of_the_saved_model(model: Teaser, tmp_path: Any) -> None:
    moved = Teaser(l2_weights=5.0)
    moved.__dict__.update(model.__dict__, device="cuda")
    moved.save(tmp_path / "m")
    assert teaser.load(tmp_path / "m").device == "cpu"


@needs_gpu
@pytest.mark.parametrize("gram", ["dense", "sparse"])
@pytest.mark.parametrize("seed", range(3))
def test_the_encoder_is_that_of_the_cpu(seed: int, gram: str) -> None:
    X, D = random_problem(seed)
    settings: dict[str, Any] = {"l2_weights": 2.0, "l2_encoder": 3.0, "gram": gram}
    for dtype, tol, within in (("float64", 1e-10, 1e-8), ("float32", 1e-5, 1e-4)):
        here = teaser.solve(X, D, tol=tol, dtype=dtype, **settings)
        there = teaser.solve(X, D, tol=tol, dtype=dtype, device="cuda", **settings)
        assert isinstance(there.encoder, np.ndarray)
        assert_allclose(there.encoder, here.encoder, atol=within)
        assert there.converged


@needs_gpu
def test_counts_are_exact_beyond_half_precision() -> None:
    """Two items that all of 5,000 people chose; 16-bit floats skip numbers above 2,048."""
    rng = np.random.default_rng(0)
    X = (rng.random((5000, 300)) < 0.1).astype(np.float32)
    X[:, :2] = 1
    found = device.DeviceGram.from_interactions(sp.csr_array(X), np.dtype("float32"))
    assert_array_equal(device.to_host(found.G), X.T @ X)
    weights = sp.csr_array(X * 0.5)
    found = device.DeviceGram.from_interactions(weights, np.dtype("float32"))
    assert_allclose(device.to_host(found.G), X.T @ X / 4, rtol=1e-5)


@needs_gpu
@pytest.mark.parametrize("gram", ["dense", "sparse"])
@pytest.mark.parametrize("content_weight", [0.0, 2.5])
def test_a_model_fitted_there_is_the_model_fitted_here(
    wide: Dataset, gram: str, content_weight: float
) -> None:
    settings: dict[str, Any] = {"tol": 1e-5, "gram": gram, "content_weight": content_weight}
    here = Teaser(**settings).fit(wide)
    there = Teaser(**settings, device="cuda").fit(wide)
    assert_allclose(there.encoder_, here.encoder_, atol=1e-4)
    warm = Teaser(**settings, device="cuda").fit(wide, start=there)
    assert warm.iterations_ <= 1


@needs_gpu
@pytest.mark.parametrize("gram", ["dense", "sparse"])
def test_weights_and_a_sparse_encoder_found_there_are_those_found_here(
    wide: Dataset, gram: str
) -> None:
    settings: dict[str, Any] = {"tol": 1e-7, "gram": gram, "dtype": "float64"}
    settings |= {"decoder": LearnedDecoder(), "sparse": SparseEncoder(density=0.3)}
    here = Teaser(**settings).fit(wide)
    there = Teaser(**settings, device="cuda").fit(wide)
    assert_allclose(there.decoder_.data, here.decoder_.data, atol=1e-5)
    assert_allclose(there.encoder_.toarray(), here.encoder_.toarray(), atol=1e-4)
    assert_allclose(there.score_batch(wide.X[:200]), here.score_batch(wide.X[:200]), atol=1e-4)


WEIGHTS = Weights(user_power=0.5, ridge_power=0.7, item_power=0.4, popularity_scale=2.0)


@needs_gpu
@pytest.mark.parametrize("gram", ["dense", "sparse"])
def test_weighted_encoders_are_those_of_the_cpu(gram: str) -> None:
    X, D = random_problem(1)
    X = X * np.random.default_rng(1).uniform(0.2, 2.0, X.shape)
    settings: dict[str, Any] = {"l2_weights": 2.0, "l2_encoder": 3.0, "gram": gram}
    settings |= {"user_power": 0.5, "ridge_power": 0.8, "item_power": 0.6, "dtype": "float64"}
    here = teaser.solve(X, D, tol=1e-10, **settings)
    there = teaser.solve(X, D, tol=1e-10, device="cuda", **settings)
    assert_allclose(there.encoder, here.encoder, atol=1e-8)


@needs_gpu
@pytest.mark.parametrize("gram", ["dense", "sparse"])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"content_weight": 2.0},
        {"decoder": LearnedDecoder()},
        {"sparse": SparseEncoder(density=0.3)},
        {"remainder": Remainder(l2=30.0, neighbours=20)},
        {"remainder": Remainder(l2=30.0, neighbours=20, rounds=2)},
        {
            "decoder": LearnedDecoder(),
            "sparse": SparseEncoder(density=0.3),
            "remainder": Remainder(l2=30.0, neighbours=20, rounds=2),
        },
    ],
    ids=str,
)
def test_weights_and_all_extensions_found_there_are_those_found_here(
    wide: Dataset, gram: str, how: dict[str, Any]
) -> None:
    strengths = np.random.default_rng(0).uniform(0.3, 2.0, wide.X.nnz).astype(np.float32)
    X = sp.csr_array((strengths, wide.X.indices, wide.X.indptr), shape=wide.X.shape)
    data = replace(wide, X=X)
    settings: dict[str, Any] = {"tol": 1e-9, "gram": gram, "dtype": "float64", "weights": WEIGHTS}
    here = Teaser(**settings, **how).fit(data)
    there = Teaser(**settings, **how, device="cuda").fit(data)
    assert_allclose(there.decoder_.toarray(), here.decoder_.toarray(), atol=1e-5)
    assert_allclose(as_dense(there.encoder_), as_dense(here.encoder_), atol=1e-5)
    if "remainder" in how:
        assert sp.issparse(there.remainder_)
        assert_allclose(there.remainder_.toarray(), here.remainder_.toarray(), atol=1e-5)


@needs_gpu
def test_a_weighted_full_remainder_and_user_features_are_those_of_the_cpu(wide: Dataset) -> None:
    settings: dict[str, Any] = {"tol": 1e-9, "dtype": "float64", "weights": WEIGHTS}
    full: dict[str, Any] = {"remainder": Remainder(l2=300.0, neighbours=None)}
    here = Teaser(**settings, **full).fit(wide)
    there = Teaser(**settings, **full, device="cuda").fit(wide)
    assert_allclose(there.encoder_, here.encoder_, atol=1e-7)
    assert_allclose(there.remainder_, here.remainder_, atol=1e-7)
    interactions, items = small_tables(n_users=2500, n_items=300)
    names = interactions["user_id"].unique(maintain_order=True)
    users = pl.DataFrame({"user_id": names, "camp": [f"c{k % 3}" for k in range(len(names))]})
    known = Dataset.from_tables(interactions, items, rules=RULES, users=users)
    here = Teaser(**settings, decoder=LearnedDecoder()).fit(known)
    there = Teaser(**settings, decoder=LearnedDecoder(), device="cuda").fit(known)
    assert here.user_rows_ is not None
    assert there.user_rows_ is not None
    assert_allclose(there.user_rows_.encoder, here.user_rows_.encoder, atol=1e-6)
    assert_allclose(there.user_rows_.alone, here.user_rows_.alone, atol=1e-6)


@needs_gpu
def test_discovered_tags_found_there_are_those_found_here(wide: Dataset) -> None:
    options = DiscoveredTags(grains=(20, 5), factors=16)
    settings: dict[str, Any] = {"dtype": "float64", "tol": 1e-9, "discovered": options}
    here = Teaser(**settings).fit(wide)
    there = Teaser(**settings, device="cuda").fit(wide)
    assert there.tags_ == here.tags_
    assert_allclose(there.decoder_.toarray(), here.decoder_.toarray(), atol=1e-6)
    assert_allclose(there.encoder_, here.encoder_, atol=1e-5)
    again = Teaser(**settings, device="cuda").fit(wide, start=there)
    assert set(again.tags_) == set(there.tags_)


@needs_gpu
def test_scores_of_batches_are_those_of_the_cpu(wide: Dataset) -> None:
    model = Teaser(tol=1e-4, device="cuda").fit(wide)
    here = Teaser(tol=1e-4)
    here.__dict__.update(model.__dict__, device="cpu")
    presses = [{"town=Ghent": 3}] * 200
    assert_allclose(
        model.score_batch(wide.X[:200], presses), here.score_batch(wide.X[:200], presses), atol=1e-4
    )
    model.add_items({"new": ["town=Ghent"]})
    rows = sp.csr_array(np.eye(len(model.items_))[:100])
    assert model.score_batch(rows).shape == (100, len(wide.items) + 1)


@needs_gpu
@pytest.mark.parametrize("content_weight", [0.0, 2.5])
def test_a_remainder_found_there_is_that_of_the_cpu(wide: Dataset, content_weight: float) -> None:
    settings: dict[str, Any] = {
        "remainder": Remainder(neighbours=None, l2=300.0),
        "content_weight": content_weight,
    }
    for dtype, tol, within in (("float64", 1e-10, 1e-8), ("float32", 1e-5, 1e-4)):
        here = Teaser(**settings, tol=tol, dtype=dtype).fit(wide)
        there = Teaser(**settings, tol=tol, dtype=dtype, device="cuda").fit(wide)
        assert isinstance(there.remainder_, np.ndarray)
        assert there.remainder_.dtype == dtype
        assert_allclose(there.encoder_, here.encoder_, atol=within)
        assert_allclose(there.remainder_, here.remainder_, atol=within)
        assert_array_equal(np.diag(there.remainder_), 0)


@needs_gpu
@pytest.mark.parametrize("gram", ["dense", "sparse"])
@pytest.mark.parametrize("content_weight", [0.0, 2.5])
def test_neighbours_found_there_are_those_of_the_cpu(
    wide: Dataset, gram: str, content_weight: float
) -> None:
    model = Teaser(gram=gram, content_weight=content_weight, dtype="float64", tol=1e-8)
    equation = EncoderEquation(model.prepare(wide), 5.0, 50.0)
    E = conjugate_gradients(equation, Limits(tol=1e-10, max_iter=200)).encoder
    D = sp.csr_array(equation.system.D)
    options = Remainder(l2=20.0, neighbours=15)
    model.device = "cuda"
    there = model.prepare(wide).gram
    for encoder in (E, sp.csr_array(np.where(np.abs(E) > np.median(np.abs(E)), E, 0))):
        how: dict[str, Any] = {"l1": 5.0, "options": options}
        here = fit_neighbours(equation.system.gram, encoder, D, **how)
        found = fit_neighbours(there, encoder, D, **how)
        assert_array_equal(found.indices, here.indices)
        assert_allclose(found.toarray(), here.toarray(), atol=1e-8)
    system = model.prepare(wide)
    on_gpu, on_cpu = (
        Neighbours.build(one.gram, 15, penalty=np.full(wide.n_items, 5.0))
        for one in (system, equation.system)
    )
    rights = (
        device.to_host(
            system.rotate_back(on_gpu.right_hand_side(system, on_gpu.remainder(E, D, 20.0)))
        ),
        equation.system.rotate_back(
            on_cpu.right_hand_side(equation.system, on_cpu.remainder(E, D, 20.0))
        ),
    )
    assert_allclose(*rights, atol=1e-8 * np.abs(rights[1]).max())


@needs_gpu
def test_what_is_prepared_there_is_shared_and_left_alone(wide: Dataset) -> None:
    first = Teaser(remainder=Remainder(neighbours=None, l2=300.0), tol=1e-5, device="cuda")
    system: Any = first.prepare(wide)
    kept = device.to_host(system.inverse)
    first.fit(wide, system=system)
    assert_array_equal(device.to_host(system.inverse), kept)
    again = Teaser(remainder=Remainder(neighbours=None, l2=300.0), tol=1e-5, device="cuda").fit(
        wide, system=system
    )
    assert_allclose(again.remainder_, first.remainder_, atol=1e-6)


@needs_gpu
@pytest.mark.parametrize("share", [1.0, 0.9])
def test_scores_with_a_remainder_are_those_of_the_cpu(wide: Dataset, share: float) -> None:
    model = Teaser(remainder=Remainder(neighbours=None, l2=300.0, share=share), device="cuda").fit(
        wide
    )
    here = Teaser(remainder=Remainder(neighbours=None, l2=300.0))
    here.__dict__.update(model.__dict__, device="cpu")
    presses = [{"town=Ghent": 3}] * 200
    assert_allclose(
        model.score_batch(wide.X[:200], presses), here.score_batch(wide.X[:200], presses), atol=1e-4
    )
    model.add_items({"new": ["town=Ghent"]})
    rows = sp.csr_array(np.eye(len(model.items_))[:100])
    assert model.score_batch(rows).shape == (100, len(wide.items) + 1)


@needs_gpu
def test_a_remainder_that_does_not_fit_on_the_gpu_is_refused(
    wide: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remainder, "free_memory", lambda: 10**4)
    with pytest.raises(ResourceError, match=r"for 3 items x items arrays .* this GPU has 10 kB"):
        Teaser(remainder=Remainder(neighbours=None, l2=5.0), device="cuda").fit(wide)


@needs_gpu
def test_what_does_not_fit_on_the_gpu_is_refused_with_the_numbers(
    wide: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "free_memory", lambda: 10**4)
    with pytest.raises(ResourceError, match=r"B on the GPU, which has .* device='cpu'"):
        Teaser(device="cuda").fit(wide)


@needs_gpu
@pytest.mark.parametrize("gram", ["dense", "sparse"])
def test_a_gpu_that_runs_out_of_memory_in_mid_fit_ends_with_the_numbers(
    wide: Dataset, gram: str
) -> None:
    """All of CuPy's memory is taken after the first iteration."""
    xp = device.cupy()
    pool, taken = xp.get_default_memory_pool(), list[Any]()

    def take(iteration: int, residual: float) -> None:
        pool.free_all_blocks()
        pool.set_limit(size=pool.total_bytes() + 2**20)
        size = 2**20
        while size >= 512:
            try:
                taken.append(xp.empty(size, np.int8))
            except MemoryError:
                size //= 2

    X, D = random_problem(0)
    arrays: dict[str, Any] = {"l2_weights": 2.0, "l2_encoder": 3.0, "gram": gram}
    gc.collect()
    before = pool.used_bytes()
    said = r"The fit ran out of the memory of the GPU \(.* more needed, .* or device='cpu'\."
    try:
        with pytest.raises(ResourceError, match=said) as caught:
            Teaser(device="cuda", gram=gram, tol=1e-6).fit(wide, callback=take)
        assert taken
        assert isinstance(caught.value.__cause__, MemoryError)
        # While the error is held, nothing of the fit is left there.
        assert pool.used_bytes() - sum(block.nbytes for block in taken) == before
        with pytest.raises(ResourceError, match=r"the GPU, which has .* free|of the GPU"):
            Teaser(device="cuda", gram=gram).fit(wide)
        with pytest.raises(ResourceError, match=r"the GPU, which has .* free|solver ran out"):
            teaser.solve(X, D, device="cuda", **arrays)
    finally:
        taken.clear()
        pool.set_limit(size=0)
    assert Teaser(device="cuda", gram=gram).fit(wide).converged_


@needs_gpu
def test_an_error_of_another_kind_stays_what_it_is(wide: Dataset) -> None:
    def fail(iteration: int, residual: float) -> None:
        device.cupy().linalg.cholesky(device.cupy().zeros(3))

    with pytest.raises(np.linalg.LinAlgError):
        Teaser(device="cuda").fit(wide, callback=fail)


@needs_gpu
def test_large_arrays_come_whole_and_are_found_where_they_came_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device, "_BUFFER", 1000)
    xp = device.cupy()
    gc.collect()
    before = xp.get_default_memory_pool().used_bytes()
    for shape in ((50, 50), (3, 1001), (1, 251)):
        there = xp.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        here = device.bring(there)
        assert_array_equal(here, np.arange(np.prod(shape)).reshape(shape))
        assert device.placed(here).data.ptr == there.data.ptr
        assert device.placed(here[:1]).shape == (1, shape[1])
        for other in (here[:, 1:], here[1:], here.copy(), here[:, ::2]):
            assert_array_equal(device.to_host(device.placed(other)), other)
            assert device.placed(other).data.ptr != there.data.ptr or not other.size
        del there, here, other
        assert xp.get_default_memory_pool().used_bytes() == before


@needs_gpu
def test_a_gram_on_the_gpu_multiplies_as_one_in_memory() -> None:
    rng = np.random.default_rng(1)
    X = sp.csr_array((rng.random((400, 60)) < 0.1).astype(np.float32))
    M = rng.standard_normal((60, 700)).astype(np.float32)
    plain = DenseGram.from_interactions(X, np.dtype("float32"))
    xp = device.cupy()
    for kind in (
        device.DeviceGram.from_interactions(X, np.dtype("float32")),
        device.DeviceSparseGram(X, np.dtype("float32")),
    ):
        assert_allclose(
            device.to_host(kind.apply(xp.asarray(M))), plain.apply(M), rtol=1e-4, atol=1e-3
        )
        few = sp.csr_array(np.where(M > 1.5, M, 0))
        there = kind.apply(sparse_like(few, kind.diagonal()))
        assert_allclose(device.to_host(there), plain.apply(few), rtol=1e-4, atol=1e-3)
        assert_allclose(device.to_host(kind.diagonal()), plain.diagonal())


@needs_gpu
@pytest.mark.parametrize("options", [{}, {"discovered": DiscoveredTags(grains=(10,), factors=16)}])
def test_lists_of_all_users_are_those_of_the_processor(wide: Dataset, options: Any) -> None:
    for extra in (None, Remainder(neighbours=20)):
        model = Teaser(remainder=extra, **options).fit(wide)
        found = model.recommend_all(wide, k=10, device="cuda")
        assert_same_lists(found, model.recommend_all(wide, k=10), rtol=1e-3)
