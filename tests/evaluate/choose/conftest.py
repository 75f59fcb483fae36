"""Data for the tests of the fit that chooses."""

import pytest

from teaser import Dataset
from teaser.testing import example_dataset


@pytest.fixture(scope="module")
def many() -> Dataset:
    """Enough people to hold some out."""
    return example_dataset(n_users=500)
