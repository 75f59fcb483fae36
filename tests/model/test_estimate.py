"""Estimates made before a fit hold when it is made."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from teaser import Dataset, Teaser
from teaser.errors import ResourceError
from teaser.files import memory_of_machine
from teaser.model.estimate import FitSize, check_memory, choose_gram, estimate
from teaser.model.gram import SparseGram
from teaser.model.solve import solve

F32 = np.dtype("float32")


def generated(n_users: int, n_items: int, density: float) -> sp.csr_array:
    X = sp.random_array(
        (n_users, n_items), density=density, format="csr", rng=np.random.default_rng(0)
    )
    X.data[:] = 1
    return X


@pytest.mark.parametrize(("gram", "solver"), [("dense", "cg"), ("sparse", "cg"), ("dense", "admm")])
def test_the_memory_of_a_fit_is_foreseen(gram: str, solver: str) -> None:
    X = generated(2000, 2500, 0.01)
    D = sp.random_array((2500, 300), density=0.02, format="csr", rng=np.random.default_rng(1))
    expected = estimate(X, gram, FitSize(300, F32, solver), tol=1e-2).total_memory
    solve(X[:20], D, l2_weights=50, l2_encoder=50, gram=gram, tol=0.5)  # compiles the loops
    tracemalloc.start()
    solve(X, D, l2_weights=50, l2_encoder=50, gram=gram, solver=solver, tol=1e-2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.75 * peak <= expected <= 1.33 * peak


def test_a_gram_that_does_not_fit_is_never_chosen() -> None:
    n_items = int((memory_of_machine() / 2) ** 0.5)
    crowded = sp.csr_array(
        (np.ones(4, np.float32), np.array([0, 1, 2, n_items - 1]), np.array([0, 4])),
        shape=(1, n_items),
    )
    assert choose_gram(crowded, 1, F32) == "sparse"


@pytest.mark.parametrize(
    ("gram", "solver", "said"),
    [
        ("dense", "cg", r"with a dense Gram needs .* GB \(.*items x items.*gram='sparse' \("),
        ("dense", "admm", r"Use solver='cg' and gram='sparse' \("),
        ("sparse", "cg", r"with a sparse Gram needs .* fewer tags or a larger machine"),
    ],
)
def test_what_cannot_fit_is_refused_with_numbers_and_a_way_out(
    gram: str, solver: str, said: str
) -> None:
    n_items = int((memory_of_machine() / 3) ** 0.5)
    X = sp.csr_array((1, n_items), dtype=np.float32)
    n_tags = 10 if gram == "dense" else n_items
    with pytest.raises(ResourceError, match=said):
        check_memory(X, gram, FitSize(n_tags, F32, solver))
    check_memory(X, "sparse", FitSize(10, F32))


@pytest.mark.parametrize("gram", ["dense", "auto"])
def test_a_fit_is_refused_before_anything_is_allocated(gram: str) -> None:
    n_items = 4 * int((memory_of_machine() / 4) ** 0.5)
    X = sp.csr_array((2, n_items), dtype=np.float32)
    D = sp.csr_array((n_items, 10 if gram == "dense" else n_items), dtype=np.float32)
    tracemalloc.start()
    with pytest.raises(ResourceError, match="larger machine"):
        solve(X, D, l2_weights=1, l2_encoder=1, gram=gram)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


def test_memory_that_runs_out_in_the_middle_is_told(dataset: Dataset) -> None:
    class Full(SparseGram):
        def apply(self, matrix: Any) -> Any:
            raise MemoryError("Unable to allocate 9 GiB")

    gram = Full(dataset.X, np.dtype("float32"))
    with pytest.raises(ResourceError, match=r"fit ran out of memory \(Unable .*gram='sparse'"):
        Teaser(gram=gram).fit(dataset)
