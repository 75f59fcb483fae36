"""The small model of tests/conftest.py as the site sees it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from app.conftest import OWN, TestClient

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


@pytest.fixture
def at_events(serve: Callable[..., TestClient], events_folder: Path) -> TestClient:
    """A browser on the built-in events, which have dates."""
    client = serve(model=events_folder, time_zone="Europe/Brussels")
    client.headers.update(OWN)
    return client
