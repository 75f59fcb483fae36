"""What a model must visibly learn from the generated events, and the demonstration."""

from datetime import date
from pathlib import Path

import numpy as np
import pytest
from commands import refused, said

from teaser import Dataset, Tag, Teaser, load
from teaser.data import demo


@pytest.fixture(scope="module")
def catalogue() -> Dataset:
    return demo.dataset(start=date(2026, 1, 1))


@pytest.fixture(scope="module")
def fitted(catalogue: Dataset) -> Teaser:
    return Teaser().fit(catalogue)


def mean_town_affinities(model: Teaser) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Towns, their distances in km, and the mean raw affinity of events in one with the others."""
    places = model.table_.group_by("town").first().sort("town")
    towns = places["town"].to_list()
    latitude, longitude = (np.radians(places[c].to_numpy()) for c in ("latitude", "longitude"))
    x = np.cos(latitude.mean()) * longitude
    km = 6371 * np.hypot(x[:, None] - x[None, :], latitude[:, None] - latitude[None, :])
    columns = [model.tags_.index(Tag("town", town)) for town in towns]
    where = model.table_["town"].to_numpy()
    mean = np.stack([model.encoder_[where == town][:, columns].mean(axis=0) for town in towns])
    return towns, km, mean


def test_who_likes_an_event_in_one_town_gains_affinity_with_neighbouring_towns(
    fitted: Teaser,
) -> None:
    towns, km, mean = mean_town_affinities(fitted)
    nearer = 0
    for row in range(len(towns)):
        order = np.argsort(km[row])[1:]
        nearer += mean[row, order[:5]].mean() > mean[row, order[-30:]].mean()
    assert nearer >= 0.9 * len(towns)
    ghent = towns.index("Ghent")
    assert mean[ghent, towns.index("Deinze")] > mean[ghent, towns.index("Liège")]
    assert mean[ghent, towns.index("Deinze")] > 0


def test_the_demonstration_shows_profile_list_and_presses(tmp_path: Path) -> None:
    text = said("demo", "--out", tmp_path / "m")
    for part in ("What the model learned", "What it recommends", "Three presses of +", "goes from"):
        assert part in text
    assert load(tmp_path / "m").recommend([], k=1)


def test_a_demonstration_on_the_site_refuses_a_folder(tmp_path: Path) -> None:
    text = refused("demo", "--port", "0", "--out", tmp_path / "m")
    assert "--out does not go with a demo with --port" in text
    assert not (tmp_path / "m").exists()
