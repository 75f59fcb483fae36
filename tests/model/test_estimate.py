"""Estimates made before a fit hold when it is made."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from teaser import Dataset, Teaser
from teaser.model.estimate import choose_gram, estimate, memory_of_machine, say_bytes, say_seconds
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
    expected = estimate(X, 300, solver=solver, gram=gram, tol=1e-2, dtype=F32).total_memory
    tracemalloc.start()
    solve(X, D, l2_weights=50, l2_encoder=50, gram=gram, solver=solver, tol=1e-2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= expected <= 2 * peak


def test_the_parts_sum_to_the_total(dataset: Dataset) -> None:
    found = Teaser(gram="dense").estimate(dataset)
    assert found.total_memory == sum(found.memory.values())
    assert found.memory["items x items"] == 4 * dataset.n_items**2
    assert Teaser(gram="dense").memory_estimate(dataset) == found.total_memory


def test_twice_the_precision_takes_more_memory(dataset: Dataset) -> None:
    assert Teaser(dtype="float64").memory_estimate(dataset) > Teaser().memory_estimate(dataset)


def test_a_gram_that_does_not_fit_is_never_chosen() -> None:
    n_items = int((memory_of_machine() / 2) ** 0.5)
    crowded = sp.csr_array(
        (np.ones(4, np.float32), np.array([0, 1, 2, n_items - 1]), np.array([0, 4])),
        shape=(1, n_items),
    )
    assert choose_gram(crowded, 1, F32) == "sparse"


def test_more_work_takes_more_time() -> None:
    small = estimate(generated(500, 400, 0.02), 50, solver="cg", gram="dense", tol=1e-3, dtype=F32)
    large = estimate(
        generated(500, 4000, 0.02), 900, solver="cg", gram="dense", tol=1e-3, dtype=F32
    )
    assert 0 < small.seconds < large.seconds
    tight = estimate(generated(500, 400, 0.02), 50, solver="cg", gram="dense", tol=1e-6, dtype=F32)
    assert tight.iterations > small.iterations


def test_it_is_said_for_people(dataset: Dataset) -> None:
    memory, time = Teaser().estimate(dataset).lines()
    assert "items x tags" in memory
    assert "Gram" in time


@pytest.mark.parametrize(
    ("size", "said"), [(12, "12 B"), (3400, "3 kB"), (2.5e7, "25 MB"), (4.71e9, "4.7 GB")]
)
def test_bytes_are_said_for_people(size: float, said: str) -> None:
    assert say_bytes(size) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "1 s or less"), (42.3, "42 s"), (600, "10 min"), (9000, "2.5 h")]
)
def test_durations_are_said_for_people(seconds: float, said: str) -> None:
    assert say_seconds(seconds) == said
