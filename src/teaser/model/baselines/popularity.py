"""Popularity: everyone is recommended the items that most users chose."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.model.base import Model
from teaser.model.tables import check_dataset


class Popularity(Model):
    """The same list for everyone: an item's score is its count / the highest count."""

    def fit(self, dataset: Dataset) -> Self:
        """Count how often each item was chosen."""
        check_dataset(dataset)
        self.keep_items(dataset)
        return self

    def score_batch(self, X: Any) -> NDArray[Any]:
        """Return the popularity of every item, once for every row of histories."""
        rows = self.check_histories(X)
        return np.tile(self.popularity_, (rows.shape[0], 1))
