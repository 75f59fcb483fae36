"""Histories summed by an encoder, and where a sum comes from."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from teaser import Dataset, Teaser
from teaser.extensions import Remainder, SparseEncoder
from teaser.model.encoder import EncoderModel


def test_teaser_is_one(model: Teaser) -> None:
    assert isinstance(model, EncoderModel)


def test_raw_scores_are_rows_summed_in_double_precision(model: Teaser, dataset: Dataset) -> None:
    rows = dataset.X[:6]
    found = model.encode(rows)
    assert found.dtype == np.float64
    assert_allclose(found, rows.toarray() @ model.encoder_.astype(np.float64), rtol=1e-12)


@pytest.mark.parametrize("sparse", [None, SparseEncoder(density=0.4)])
def test_the_mean_profile_is_that_of_all_training_users(dataset: Dataset, sparse: Any) -> None:
    model = Teaser(sparse=sparse).fit(dataset)
    wanted = model.encode(dataset.X).mean(axis=0)
    assert_allclose(model.mean_raw(dataset, np.zeros((1, 8))), wanted, rtol=1e-9, atol=1e-15)


def test_scores_are_affinities_of_the_tags_summed(model: Teaser) -> None:
    a = np.random.default_rng(0).standard_normal((3, len(model.tags_)))
    assert_allclose(model.decode(a), a @ model.decoder_.toarray().T, rtol=1e-12)


def test_without_a_remainder_views_add_nothing(model: Teaser, dataset: Dataset) -> None:
    assert_array_equal(model.decode_viewed(dataset.X[:4]), np.zeros((4, 40)))


def test_with_one_they_add_its_rows(dataset: Dataset) -> None:
    both = Teaser(remainder=Remainder(neighbours=None, l2=20.0)).fit(dataset)
    found = both.decode_viewed(dataset.X[:4])
    wanted = dataset.X[:4].toarray() @ np.asarray(both.remainder_, dtype=np.float64)
    assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_origins_of_an_item_that_came_later_are_zero(dataset: Dataset) -> None:
    model = Teaser().fit(dataset)
    model.add_items({"new": ["town=Ghent"]})
    origins = model.origins("town=Ghent", ["i1", "new"])
    assert origins["new"] == 0.0
    place = [str(t) for t in model.tags_].index("town=Ghent")
    rows = sp.csr_array(np.eye(41)[[1]])
    values = model.tag_table_.apply_basis(model.encode(rows))
    assert origins["i1"] == pytest.approx(values[0, place])
