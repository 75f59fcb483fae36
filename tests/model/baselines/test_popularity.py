"""Popularity: the contract, and counts that no person changes."""

import numpy as np
from numpy.testing import assert_array_equal

from teaser import Dataset
from teaser.baselines import Popularity
from teaser.testing import ModelContract


class TestPopularity(ModelContract):
    def make(self) -> Popularity:
        return Popularity()


def test_everybody_gets_the_counts_over_the_highest(dataset: Dataset) -> None:
    scores = Popularity().fit(dataset).score_batch(dataset.X[:3])
    counts = np.asarray(dataset.X.toarray().astype(float).sum(axis=0))
    for row in scores:
        assert_array_equal(row, counts / counts.max())
