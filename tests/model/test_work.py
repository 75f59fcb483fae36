"""How much work a fit is: products, columns, iterations and bytes, on a busy machine too."""

import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from teaser import Category, Dataset, ListOf, Teaser
from teaser.data.sources.folder import read_source
from teaser.model.gram.operator import RANK, DenseGram, Gram, SparseGram
from teaser.model.solver.conjugate_gradients import conjugate_gradients
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.preconditioner import Preconditioner
from teaser.model.solver.solution import Limits, Solution
from teaser.model.solver.system import System

F32 = np.dtype("float32")
Array = np.ndarray[Any, np.dtype[Any]]


class CountingGram:
    """A Gram that notes how many columns each product had."""

    def __init__(self, gram: Gram) -> None:
        self.gram, self.n_items, self.dtype = gram, gram.n_items, gram.dtype
        self.dense: list[int] = []
        self.sparse: list[int] = []

    def apply(self, matrix: Any) -> Array:
        (self.sparse if sp.issparse(matrix) else self.dense).append(int(matrix.shape[1]))
        return self.gram.apply(matrix)

    def diagonal(self) -> Array:
        return self.gram.diagonal()


class CountingPairGram(CountingGram):
    """The same for a Gram that takes pairs."""

    def __init__(self, gram: SparseGram) -> None:
        super().__init__(gram)
        self.pairs: list[int] = []
        self._pair = gram.apply_pair

    def apply_pair(self, F: Array, DV: Array, eta: Array, beta: Array) -> tuple[Array, Array]:
        self.pairs.append(F.shape[1])
        return self._pair(F, DV, eta, beta)


def problem(n_items: int = 1200, n_tags: int = 150) -> tuple[sp.csr_array, sp.csr_array]:
    rng = np.random.default_rng(0)
    X = sp.random_array((2000, n_items), density=0.01, format="csr", rng=rng, dtype=np.float32)
    X.data[:] = 1
    D = sp.random_array((n_items, n_tags), density=0.04, format="csr", rng=rng, dtype=np.float32)
    return X, D


def solve(system: System, l1: float, *, tol: float) -> Solution:
    return conjugate_gradients(EncoderEquation(system, l1, 20.0), Limits(tol=tol, max_iter=50))


START = [RANK + 10] * 5  # the subspace iteration for the preconditioner


def test_an_iteration_is_one_reading_of_sparse_interactions() -> None:
    X, D = problem()
    gram = CountingPairGram(SparseGram(X, F32))
    system = System.build(gram, D, rng=np.random.default_rng(0))
    assert gram.dense == START
    found = solve(system, 20.0, tol=1e-3)
    assert found.iterations <= 10
    assert gram.dense == [*START, 150]
    assert gram.pairs == [150] * found.iterations
    assert gram.sparse == []


def test_an_iteration_is_one_dense_and_one_sparse_product_with_a_dense_gram() -> None:
    X, D = problem()
    gram = CountingGram(DenseGram.from_interactions(X, F32))
    system = System.build(gram, D, rng=np.random.default_rng(0))
    found = solve(system, 20.0, tol=1e-3)
    assert gram.dense == START + [150] * found.iterations
    assert gram.sparse == [150] * (1 + found.iterations)


def test_a_grid_of_penalties_prepares_once() -> None:
    X, D = problem()
    gram = CountingPairGram(SparseGram(X, F32))
    system = System.build(gram, D, rng=np.random.default_rng(0))
    for l1 in (10.0, 20.0, 40.0):
        solve(system, l1, tol=1e-2)
    assert gram.dense == [*START, 150, 150, 150]


def peak_of(work: Any) -> int:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return int(peak)


def test_the_steps_of_an_iteration_allocate_their_result_and_little_else() -> None:
    X, D = problem(6000, 400)
    system = System.build(SparseGram(X, F32), D, rng=np.random.default_rng(0))
    array = 6000 * 400 * 4
    pre = Preconditioner.build(system, l1=20.0, l2=20.0)
    R = system.right_hand_side()
    step = EncoderEquation(system, 20.0, 20.0)
    assert peak_of(lambda: step.operator(R)) < 2.2 * array
    # The low rank is multiplied in chunks, here of the whole.
    assert peak_of(lambda: pre.apply(R)) < 2.7 * array
    assert peak_of(system.right_hand_side) < 1.9 * array
    whole = peak_of(lambda: solve(system, 20.0, tol=1e-2))
    # Of 16 MB at most in larger problems, such a chunk is one more array here.
    assert whole < 7 * array


@pytest.fixture(scope="module")
def movies(shared_data: Path) -> Dataset:
    source = read_source("ml-1m", shared_data / "ml-1m")
    return Dataset.from_tables(
        source.interactions, source.items, user=source.user, item=source.item,
        rules=(ListOf("genres", separator="|"), Category("year")), positive=source.positive,
    )  # fmt: skip


def test_real_data_take_few_iterations(movies: Dataset) -> None:
    model = Teaser(tol=1e-3).fit(movies)
    assert model.iterations_ <= 9


def test_a_refit_after_a_hundredth_new_takes_a_third_of_the_iterations(movies: Dataset) -> None:
    """The interactions of yesterday are all but a hundredth, drawn at random, of today's."""
    rng = np.random.default_rng(0)
    X = sp.coo_array(movies.X)
    is_old = rng.random(X.nnz) > 0.01
    places = (X.coords[0][is_old], X.coords[1][is_old])
    before = sp.csr_array((X.data[is_old], places), shape=X.shape)
    yesterday = Teaser().fit(replace(movies, X=before))
    cold = Teaser().fit(movies)
    gram = DenseGram.from_interactions(before, F32)
    gram.update(before, movies.X)
    warm = Teaser(gram=gram).fit(movies, start=yesterday)
    assert warm.converged_
    assert 1 <= warm.iterations_ <= cold.iterations_ / 3
    people = movies.X[:200]
    old, new, wanted = (
        people @ model.encoder_ @ model.tag_table_.learned_decoder.T
        for model in (yesterday, warm, cold)
    )
    assert np.linalg.norm(new - wanted) < 0.5 * np.linalg.norm(old - wanted)
