"""G of interactions, and of what is given: how it is held, and what is refused."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from oracles import random_problem

import teaser
from teaser import Dataset
from teaser.errors import ParameterError
from teaser.model.gram.build import build_gram, dense_gram
from teaser.model.gram.cost import FitSize
from teaser.model.gram.operator import DenseGram, SparseGram

X, D = random_problem(0)
GOOD: dict[str, Any] = {"l2_weights": 2.0, "l2_encoder": 3.0}


def test_the_choice_follows_the_data() -> None:
    rng = np.random.default_rng(0)
    crowded = sp.csr_array((rng.random((2000, 60)) < 0.5).astype(float))
    tags = 300
    empty = sp.random_array((3000, 8000), density=1e-4, format="csr", rng=rng)
    kind = np.dtype("float32")
    assert isinstance(build_gram(crowded, "auto", FitSize(tags, kind)), DenseGram)
    assert isinstance(build_gram(empty, "auto", FitSize(tags, kind)), SparseGram)


def test_duplicate_entries_of_a_narrow_type_are_added_without_wrapping() -> None:
    many = np.zeros(300, dtype=int)
    twice = sp.coo_array((np.ones(300, np.int8), (many, many)), shape=(2, 2))
    found = build_gram(sp.csr_array(twice.astype(float)), "dense", FitSize(1, np.dtype("float64")))
    assert found.diagonal()[0] == 300**2
    plain = teaser.solve(twice, np.eye(2), **GOOD)
    assert np.isfinite(plain.encoder).all()


@pytest.mark.parametrize(
    "gram",
    [
        X.T @ X,
        sp.csr_array(X.T @ X),
        (X.T @ X).astype(np.int32),
        DenseGram((X.T @ X).astype(np.float32)),
    ],
)
def test_a_precomputed_gram_is_used(gram: Any) -> None:
    nothing = np.zeros_like(X)
    found = teaser.solve(nothing, D, gram=gram, **GOOD)
    assert_allclose(found.encoder, teaser.solve(X, D, **GOOD).encoder, atol=1e-5)


@pytest.mark.parametrize(
    ("gram", "said"),
    [
        (np.eye(3), "of 3 items and X of 14"),
        (np.ones((14, 3)), "must be items x items"),
        (np.full((14, 14), np.nan), "not finite"),
        (np.triu(np.ones((14, 14))), "not symmetric"),
        ((200 * np.eye(14)).astype(np.uint8).view(np.int8), "too narrow"),
    ],
)
def test_a_broken_gram_is_refused(gram: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        teaser.solve(X, D, gram=gram, **GOOD)


def test_a_counted_gram_may_be_overwritten(dataset: Dataset) -> None:
    X = dataset.X.toarray().astype(float)
    for gram in ("auto", X.T @ X):
        G = dense_gram(dataset.X, gram, "float64")
        assert_array_equal(G, X.T @ X)
        assert G.flags.writeable
        assert G.flags.c_contiguous
        assert G is not gram
