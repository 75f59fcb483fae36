"""The schema of what decides here."""

import copy

import pytest

from teaser import Teaser
from teaser.app.api.schema.transparency import Impacts, Sources, Transparency
from teaser.app.serving.catalogue import Catalogue


def test_it_is_made_of_the_model_and_the_settings(model: Teaser) -> None:
    told = model.transparency_
    assert told is not None
    found = Transparency.of(Catalogue(model, {"town=Ghent": 0.2}), learns=True)
    assert found.impacts == Impacts.of(told)
    assert found.sources == Sources.of(told.sources)
    assert found.boosts == {"town=Ghent": 0.2}
    assert found.learns_from_views
    assert sum(part.share for part in Impacts.of(told).shares) == pytest.approx(1)


def test_without_figures_the_rest_is_told(model: Teaser) -> None:
    old = copy.copy(model)
    old.transparency_ = None
    found = Transparency.of(Catalogue(old), learns=False)
    assert (found.impacts, found.sources, found.version, found.date) == (None, None, None, None)
