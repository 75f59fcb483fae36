"""D V that is computed where it is read: as the array would be, and in every kind of fit."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from oracles import random_problem

from teaser import Dataset, Teaser
from teaser.extensions import Remainder, Weights
from teaser.model.gram import operator
from teaser.model.gram.operator import DenseGram, SparseGram
from teaser.model.solver import rotated_decoder
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.preconditioner import Preconditioner
from teaser.model.solver.rotated_decoder import RotatedDecoder, rotated
from teaser.model.solver.system import System

F32 = np.dtype("float32")


@pytest.fixture(params=["compiled", "scipy"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled loops for products of any size, or none."""
    least = 0 if request.param == "compiled" else 2**62
    monkeypatch.setattr(operator, "_WORTH_LOADING", least)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute D V where it is read, whatever its size."""
    monkeypatch.setattr(rotated_decoder, "COMPUTED_FROM", 0)


@pytest.mark.usefixtures("loops")
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_it_is_read_as_an_array(kind: str) -> None:
    rng = np.random.default_rng(0)
    D = sp.random_array((90, 40), density=0.2, format="csr", rng=rng, dtype=np.dtype(kind))
    V = rng.standard_normal((40, 40)).astype(kind)
    found, wanted = RotatedDecoder(D, V), D.toarray() @ V
    assert (found.shape, len(found), found.dtype, found.size) == ((90, 40), 90, V.dtype, 3600)

    def check(some: Any, those: Any) -> None:
        assert_allclose(some, those, rtol=1e-4, atol=1e-5)

    for rows in (slice(0, 0), slice(3, 70), slice(64, 200), slice(None), slice(None, None, 3)):
        check(found[rows], wanted[rows])
        check(found[rows, 8:21], wanted[rows, 8:21])
        assert found[rows].dtype == V.dtype
        assert found[rows].flags.c_contiguous
    check(np.asarray(found), wanted)
    assert np.asarray(found, dtype=np.float64).dtype == np.float64
    check(2 * np.ones((90, 1)) * found, 2 * wanted)


def test_only_what_is_large_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    X, D = random_problem(3)
    sparse = sp.csr_array(D)
    V, n_bytes = np.eye(D.shape[1]), D.size * 8
    grams = SparseGram(sp.csr_array(X), np.dtype(float)), DenseGram(X.T @ X)
    for size, kinds in ((n_bytes + 1, (False, False)), (n_bytes, (True, False))):
        monkeypatch.setattr(rotated_decoder, "COMPUTED_FROM", size)
        found = [rotated(sparse, V, gram) for gram in grams]
        assert tuple(isinstance(DV, RotatedDecoder) for DV in found) == kinds
        for DV in found:
            assert_allclose(np.asarray(DV), D)


@pytest.mark.usefixtures("loops")
@pytest.mark.parametrize("is_rounded", [False, True])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_operator_and_preconditioner_are_the_same(
    monkeypatch: pytest.MonkeyPatch, is_rounded: bool, is_weighted: bool
) -> None:
    X, D = random_problem(5, awkward=False)
    gram = SparseGram(sp.csr_array(X), F32)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(D)) if is_weighted else None
    F = np.random.default_rng(2).standard_normal(D.shape).astype(F32)

    def results() -> list[Any]:
        D32, rng = sp.csr_array(D.astype(F32)), np.random.default_rng(0)
        system = System.build(gram, D32, rank=4, rng=rng, column_weight=weights)
        equation = EncoderEquation(system, 2.0, 3.0, is_rounded=is_rounded)
        pre = Preconditioner.build(system, l1=2.0, l2=3.0)
        return [system.DV, equation.right_hand_side(), equation.operator(F), pre.apply(F)]

    held = results()
    monkeypatch.setattr(rotated_decoder, "COMPUTED_FROM", 0)
    found = results()
    assert isinstance(held[0], np.ndarray)
    assert isinstance(found[0], RotatedDecoder)
    for one, other in zip(held, found, strict=True):
        other = np.asarray(other)
        assert_allclose(other, one, rtol=1e-4, atol=1e-5 * float(np.abs(one).max()))


@pytest.mark.parametrize(
    "options",
    [
        {"tol": "settled"},
        {"tol": 1e-3},
        {"tol": 1e-8, "dtype": "float64"},
        {"tol": 1e-3, "weights": Weights()},
        {"tol": 1e-3, "remainder": Remainder(neighbours=20)},
    ],
    ids=str,
)
def test_fits_are_the_same(
    dataset: Dataset, request: pytest.FixtureRequest, options: dict[str, Any]
) -> None:
    held = Teaser(gram="sparse", **options).fit(dataset)
    request.getfixturevalue("computed")
    found = Teaser(gram="sparse", **options).fit(dataset)
    within = 1e-4 * float(np.abs(held.encoder_).max())
    assert_allclose(found.encoder_, held.encoder_, rtol=1e-3, atol=within)
