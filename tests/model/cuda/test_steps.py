"""Each step is what numpy computes, and what the solver does on a processor."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from on_gpu import needs_gpu
from oracles import random_problem

from teaser.model.cuda import steps
from teaser.model.cuda.launch import xp
from teaser.model.gram.gpu import DeviceGram
from teaser.model.gram.operator import DenseGram
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.solve import as_matrix, prepare

KINDS = pytest.mark.parametrize(("kind", "within"), [("float32", 1e-5), ("float64", 1e-13)])


def random(*shape: int, kind: str, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


@needs_gpu
@KINDS
@pytest.mark.parametrize("shape", [(1, 1), (37, 700)])
def test_steps_are_those_of_numpy(kind: str, within: float, shape: tuple[int, int]) -> None:
    P, AP, F, R, Z = (random(*shape, kind=kind, seed=seed) for seed in range(5))
    L, taken = (random(shape[0], kind=kind, seed=seed) for seed in (6, 7))
    eta = random(shape[1], kind=kind, seed=8)
    there = {name: xp().asarray(A) for name, A in (("P", P), ("F", F), ("R", R))}
    move, squares = np.dtype(kind).type(0.3), ((R - np.dtype(kind).type(0.3) * AP) ** 2).sum()
    found = steps.descend(move, there["P"], xp().asarray(AP), there["F"], there["R"])
    assert_allclose(found, squares, rtol=100 * within)
    assert_allclose(xp().asnumpy(there["F"]), F + move * P, atol=within)
    assert_allclose(xp().asnumpy(there["R"]), R - move * AP, atol=within)
    steps.turn(there["P"], move, xp().asarray(Z))
    assert_allclose(xp().asnumpy(there["P"]), move * P + Z, atol=within)
    out = xp().asarray(R)
    right = R + (np.outer(L, eta) + 0.7) * F - taken[:, None] * P
    F, DV, eta, L, taken = (xp().asarray(A) for A in (F, P, eta, L, taken))
    steps.finish(out, F, DV, eta, L, 0.7, taken)
    assert_allclose(xp().asnumpy(out), right, atol=10 * within)


@needs_gpu
@KINDS
def test_operator_and_preconditioner_are_those_of_the_processor(kind: str, within: float) -> None:
    for seed in range(3):
        given = random_problem(seed)
        X, D = (as_matrix(M, "M", np.dtype(kind)) for M in given)
        grams = (
            DenseGram.from_interactions(X, np.dtype(kind)),
            DeviceGram.from_interactions(X, np.dtype(kind)),
        )
        here, there = (
            EncoderEquation(prepare(gram, D, solver="cg", rng=0), 2.0, 3.0) for gram in grams
        )
        assert steps.in_rows(there.system.DV, there.system.U)
        E = random(*D.shape, kind=kind)
        results = []
        for equation in (here, there):
            F = equation.unknowns(E)
            results.append(
                [
                    equation.encoder(array)
                    for array in (equation.operator(F), equation.preconditioner()(F))
                ]
            )
        for right, found in zip(*results, strict=True):
            scale = np.abs(right).max()
            assert_allclose(xp().asnumpy(found), right, atol=20 * within * scale)


@needs_gpu
def test_only_matrices_in_c_order_are_taken() -> None:
    A = xp().zeros((4, 6))
    assert steps.in_rows(A, A)
    assert not steps.in_rows(A, A.T)
    assert not steps.in_rows(A, A.astype(np.float32))
    assert not steps.in_rows(A[0])


def test_arrays_of_main_memory_are_not_taken() -> None:
    assert not steps.in_rows(np.zeros((3, 2)))
