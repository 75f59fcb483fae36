"""Films of MovieLens 1M for the tests of models, where the public data sets are at hand."""

from pathlib import Path

import numpy as np
import pytest

from teaser import Dataset
from teaser.data.sources.folder import read_source
from teaser.data.split import Split, split
from teaser.evaluate.study.data import with_common_tags


@pytest.fixture(scope="session")
def films(shared_data: Path) -> Dataset:
    """All of MovieLens 1M that users liked."""
    return read_source("ml-1m", shared_data / "ml-1m").dataset()


@pytest.fixture(scope="session")
def few_films(films: Dataset) -> Split:
    """The first 1,500 users and the coarse tags, 300 of the users to test on."""
    rows = np.arange(1_500)
    few = with_common_tags(films.at(rows), 12)
    return split(few, n_validation=0, n_test=300, rng=0)
