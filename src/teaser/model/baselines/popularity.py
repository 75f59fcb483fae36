"""Popularity: everybody is recommended what most people chose."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.model.baselines.base import PlainModel, check_dataset


class Popularity(PlainModel):
    """The yardstick without a person in it: an item's score is its count / the highest count."""

    _learnt = ()

    def fit(self, dataset: Dataset) -> Self:
        """Count how often each item was chosen."""
        check_dataset(dataset)
        self._take_catalogue(dataset)
        return self

    def score_batch(self, X: Any) -> NDArray[Any]:
        """Return the popularity of every item, once for every row of histories."""
        rows = self._histories(X)
        return np.tile(self.popularity_, (rows.shape[0], 1))

    def _check_whole(self) -> None:
        if not np.isfinite(self.popularity_).all():
            raise ValueError("its counts are not finite")
