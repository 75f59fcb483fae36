"""Towns: where they lie and which are near each other."""

import numpy as np
import polars as pl
import pytest

from teaser.data.demo.places import distances_km, neighbours, towns


def test_town_region_and_coordinates_agree(items: pl.DataFrame) -> None:
    places = items.select("town", "region", "latitude", "longitude").unique()
    expected = {(t.name, t.region, t.latitude, t.longitude) for t in towns()}
    assert set(places.rows()) <= expected
    assert places.height >= 95


def test_towns_lie_in_belgium_and_apart() -> None:
    assert len({town.name for town in towns()}) == len(towns())
    assert len({town.region for town in towns()}) == 11
    for town in towns():
        assert 49.49 < town.latitude < 51.51, town
        assert 2.54 < town.longitude < 6.41, town
    apart = distances_km()[~np.eye(len(towns()), dtype=bool)]
    assert apart.min() > 0.5


@pytest.mark.parametrize(
    ("one", "other", "km"),
    [("Ghent", "Deinze", 15), ("Ghent", "Liège", 138), ("Ostend", "Arlon", 270)],
)
def test_distances_are_those_on_the_map(one: str, other: str, km: float) -> None:
    names = [town.name for town in towns()]
    assert distances_km()[names.index(one), names.index(other)] == pytest.approx(km, rel=0.06)


def test_neighbours_are_the_nearest() -> None:
    names = [town.name for town in towns()]
    assert "Deinze" in {town.name for town in neighbours(names.index("Ghent"))}
    assert "Herstal" in {town.name for town in neighbours(names.index("Liège"))}


def test_events_follow_population(items: pl.DataFrame) -> None:
    counts = dict(items.group_by("town").len().iter_rows())
    drawn = [counts.get(town.name, 0) for town in towns()]
    assert np.corrcoef(drawn, [town.population for town in towns()])[0, 1] > 0.9
