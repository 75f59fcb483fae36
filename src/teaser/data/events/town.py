"""Belgian towns: position, population, language and the phrases that name them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from teaser.data.events.material import read_table

EARTH_RADIUS_KM = 6371.0


@dataclass(frozen=True)
class Town:
    """A town.

    Attributes
    ----------
    name, local : the English name, and the name on the signs where it differs
    language : "nl", "fr" or "both"
    population : in thousands
    spots : phrases that place an event in this town
    water, quay : the river, canal or sea, and its name in the local language; "" for none
    dense : whether there is no room for woods, lakes and farms
    """

    name: str
    region: str
    language: str
    latitude: float
    longitude: float
    population: float
    spots: tuple[str, ...]
    local: str = ""
    water: str = ""
    quay: str = ""
    dense: bool = False

    @property
    def local_name(self) -> str:
        """The name in the language of the town."""
        return self.local or self.name

    @property
    def has_beach(self) -> bool:
        """Whether the town lies on the North Sea."""
        return self.water == "the sea"


@cache
def towns() -> tuple[Town, ...]:
    """Return all towns of ``towns.toml``, in the order of the file."""
    regions = read_table("towns").items()
    return tuple(Town(region=region, **town) for region, rows in regions for town in rows)


@cache
def distances_km() -> NDArray[np.float64]:
    """Return the great-circle distances between all towns, of shape (n_towns, n_towns)."""
    latitude = np.radians([town.latitude for town in towns()])
    longitude = np.radians([town.longitude for town in towns()])
    across = np.sin((latitude[:, None] - latitude) / 2) ** 2
    along = np.sin((longitude[:, None] - longitude) / 2) ** 2
    haversine = across + np.cos(latitude[:, None]) * np.cos(latitude) * along
    distances: NDArray[np.float64] = 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(haversine))
    distances.flags.writeable = False
    return distances


@cache
def neighbours(town_index: int, count: int = 4) -> tuple[Town, ...]:
    """Return the ``count`` towns nearest to a town, nearest first."""
    order = np.argsort(distances_km()[town_index], kind="stable")
    return tuple(towns()[int(index)] for index in order if index != town_index)[:count]
