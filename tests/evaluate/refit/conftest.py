"""A small model in a folder of its own, and visitors who viewed items."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from teaser import Dataset, Teaser
from teaser.app.people.learning import View, Visits
from teaser.evaluate.refit.site_interactions import SiteInteractions, gather

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def folder(model: Teaser, tmp_path: Path) -> Path:
    place = tmp_path / "model"
    model.save(place)
    return place


@pytest.fixture
def viewed(dataset: Dataset) -> Callable[..., SiteInteractions]:
    """Make visitors of the lists of items that each viewed."""

    def make(lists: Iterable[Iterable[str]], **presses: int) -> SiteInteractions:
        texts = {f"type={name}": steps for name, steps in presses.items()}
        visits = (Visits(tuple(View(i, 1.0, MOMENT) for i in each), texts) for each in lists)
        return gather(visits, dataset.items)

    return make
