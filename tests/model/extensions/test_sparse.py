"""A sparse encoder: the entries chosen, their values against brute force, and how it is served."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from oracles import exact_encoder, objective, random_problem

import teaser
from teaser import Dataset, Teaser
from teaser.artifact import read
from teaser.data.matrix import pack
from teaser.data.split import Split
from teaser.errors import ParameterError
from teaser.evaluate import evaluate
from teaser.extensions import SparseEncoder
from teaser.model.extensions.sparse import saliency, support
from teaser.model.gram import DenseGram
from teaser.model.solve import EncoderEquation, System

Array = Any
L1, L2 = 3.0, 2.0


def build(gram: Any, D: Array) -> EncoderEquation:
    system = System.build(gram, sp.csr_array(D), rank=5, rng=np.random.default_rng(0))
    return EncoderEquation(system, L1, L2)


def test_an_entry_is_worth_what_leaving_it_out_alone_costs() -> None:
    X, D = random_problem(2)
    E = exact_encoder(X.T @ X, D, L1, L2)
    found = saliency(build(DenseGram(X.T @ X), D), E)
    least = objective(X, D, L1, L2, E)
    for place in [(0, 0), (3, 4), (7, 2), (13, 6)]:
        without = E.copy()
        without[place] = 0.0
        assert found[place] == pytest.approx(objective(X, D, L1, L2, without) - least, abs=1e-9)


@pytest.fixture(scope="module")
def thin(dataset: Dataset) -> Teaser:
    return Teaser(l2_weights=5.0, l2_encoder=5.0, sparse=SparseEncoder(density=0.25)).fit(dataset)


def test_a_model_is_sparse_and_works_as_its_dense_copy(thin: Teaser) -> None:
    assert sp.issparse(thin.encoder_)
    assert thin.encoder_.dtype == np.float32
    n_items, n_tags = thin.encoder_.shape
    assert thin.encoder_.nnz == int(0.25 * n_items * n_tags)
    copy = Teaser()
    copy.__dict__.update(thin.__dict__, encoder_=thin.encoder_.toarray())
    history = ["i2", "i6", "i9"]
    assert_allclose(thin.profile(history).values, copy.profile(history).values, atol=1e-12)
    for tag in thin.tags_:
        assert thin.origins(tag, history) == pytest.approx(copy.origins(tag, history), abs=1e-12)
    eye = sp.eye_array(n_items, format="csr")
    assert_allclose(thin.score_batch(eye), copy.score_batch(eye), atol=1e-12)


def test_new_items_and_a_warm_start_work_with_a_sparse_encoder(
    dataset: Dataset, thin: Teaser
) -> None:
    again = Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset, start=thin)
    cold = Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset)
    assert_allclose(again.encoder_, cold.encoder_, atol=0.01)
    model = Teaser(l2_weights=5.0, l2_encoder=5.0, sparse=SparseEncoder(density=0.25)).fit(
        dataset, start=cold
    )
    model.add_items({"new": ["town=Ghent"]})
    assert model.origins("town=Ghent", ["new", "i2"])["new"] == 0.0
    assert "new" in {r.item_id for r in model.recommend(["i2", "new"], exclude_history=False, k=99)}


def test_the_file_holds_the_entries_kept_and_they_stay_on_disk(
    thin: Teaser, dataset: Dataset, tmp_path: Path
) -> None:
    thin.save(tmp_path / "thin")
    same = teaser.load(tmp_path / "thin", Teaser)
    assert sp.issparse(same.encoder_)
    assert_array_equal(same.encoder_.toarray(), thin.encoder_.toarray())
    assert same.sparse == SparseEncoder(density=0.25)
    assert not same.encoder_.data.flags.writeable
    assert not same.encoder_.indices.flags.writeable
    assert [r.item_id for r in same.recommend(["i2"])] == [
        r.item_id for r in thin.recommend(["i2"])
    ]
    assert "encoder" not in read(tmp_path / "thin").arrays
    stored = sum(a.nbytes for a in pack("encoder", thin.encoder_).values())
    n_items, n_tags = thin.encoder_.shape
    assert stored == 8 * thin.encoder_.nnz + 4 * (n_items + 1)
    assert stored < 4 * n_items * n_tags


def test_a_share_that_makes_no_sense_is_refused_before_any_work(dataset: Dataset) -> None:
    wrong: list[Any] = [0, -0.1, 1.5, float("nan"), True, "5%"]
    for density in wrong:
        model = Teaser(sparse=SparseEncoder(density=density))
        for attempt in (model.estimate, model.fit):
            with pytest.raises(ParameterError, match=r"sparse\.density"):
                attempt(dataset)


def test_a_twentieth_of_the_entries_says_nearly_all(few_films: Split) -> None:
    dense = Teaser().fit(few_films.training)
    thin = Teaser(sparse=SparseEncoder(density=0.05)).fit(few_films.training)
    cut = copy.copy(dense)
    equation = EncoderEquation(dense.prepare(few_films.training).system, 200.0, 500.0)
    kept = support(saliency(equation, dense.encoder_), 0.05)
    cut.encoder_ = dense.encoder_ * kept.toarray()
    whole, again, once = (
        evaluate(model, few_films.test, metrics=["ndcg@100"]).summary()["ndcg@100"].mean
        for model in (dense, thin, cut)
    )
    assert again > 0.97 * whole
    assert once < again
