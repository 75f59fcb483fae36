"""The small model of tests/conftest.py as the site sees it."""

import pytest

from teaser import Teaser
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.state import State


@pytest.fixture(scope="session")
def catalogue(model: Teaser) -> Catalogue:
    """The catalogue of the small model."""
    return Catalogue(model)


def personal_of(catalogue: Catalogue, *history: str, **presses: int) -> PersonalModel:
    """Return the model with a history and presses on types."""
    named = {f"type={name}": steps for name, steps in presses.items()}
    return PersonalModel(catalogue, State(history=history, presses=named))
