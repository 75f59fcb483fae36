"""Belgian towns and their venues."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

EARTH_RADIUS_KM = 6371.0
Option = TypeVar("Option")


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


@cache
def neighbours(town_index: int, count: int = 4) -> tuple[Town, ...]:
    """Return the ``count`` towns nearest to a town, nearest first."""
    order = np.argsort(DISTANCES_KM[town_index], kind="stable")
    return tuple(TOWNS[int(index)] for index in order if index != town_index)[:count]


@dataclass(frozen=True)
class VenueKind:
    """A kind of venue.

    Attributes
    ----------
    setting : "Indoors", "Outdoors", "In nature", "Indoors and outdoors" or "Under canvas"
    dutch, french : patterns of names; ``{}`` is the town, ``{de}`` "de Namur" or "d'Ath"
    size : shifts how many users an event there attracts
    needs : "water", "sea" or "space" that the town must have; "" for nothing
    often_free : whether events there are more often free of charge
    spots : phrases for titles, which may use ``{water}``
    """

    name: str
    setting: str
    dutch: tuple[str, ...]
    french: tuple[str, ...]
    size: float = 0.0
    needs: str = ""
    often_free: bool = False
    spots: tuple[str, ...] = ()

    @property
    def open_air(self) -> bool:
        """Whether there is no roof at all."""
        return self.setting in ("Outdoors", "In nature")

    def exists_in(self, town: Town) -> bool:
        """Whether a town can have such a venue: no quay without water, no beach inland."""
        has = {
            "": True,
            "water": bool(town.water),
            "sea": town.water == "the sea",
            "space": not town.dense,
        }
        return has[self.needs]


def landmarks(kind: VenueKind, town: Town) -> tuple[str, ...]:
    """Return the names of the well-known venues of this kind in a town, often none."""
    names: tuple[str, ...] = read_table("venues")["landmarks"].get(town.name, {}).get(kind.name, ())
    return names


def name_venue(kind: VenueKind, town: Town, rng: np.random.Generator) -> str:
    """Draw a name for a venue, in the language of the town; well-known venues come first."""
    known = landmarks(kind, town)
    if known:
        return draw_one(known, rng)
    pattern = draw_one(kind.dutch if town.language == "nl" else kind.french, rng)
    if town.quay.endswith(("kaai", "dijk", "rei")):
        pattern = pattern.replace("{quay}kaai", "{quay}")
    local = town.local or town.name
    of_town = f"d'{local}" if local[0] in "AEIOUÉ" else f"de {local}"
    return pattern.format(local, de=of_town, quay=town.quay)


@cache
def read_table(name: str) -> dict[str, Any]:
    """Return the content of a TOML file of this package, arrays as tuples."""
    text = files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    table: dict[str, Any] = _freeze(tomllib.loads(text))
    return table


def draw_one(options: Sequence[Option], rng: np.random.Generator) -> Option:
    """Draw one of the options, each with the same chance."""
    return options[int(rng.integers(len(options)))]


def _freeze(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _freeze(entry) for key, entry in value.items()}
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def _distances(towns: Sequence[Town]) -> NDArray[np.float64]:
    """Return the great-circle distances between all towns, of shape (n_towns, n_towns)."""
    latitude = np.radians([town.latitude for town in towns])
    longitude = np.radians([town.longitude for town in towns])
    across = np.sin((latitude[:, None] - latitude) / 2) ** 2
    along = np.sin((longitude[:, None] - longitude) / 2) ** 2
    haversine = across + np.cos(latitude[:, None]) * np.cos(latitude) * along
    distances: NDArray[np.float64] = 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(haversine))
    return distances


# All towns in the order of the file, the kilometres between them, and the kinds of venue by name.
TOWNS = tuple(
    Town(region=region, **town) for region, rows in read_table("towns").items() for town in rows
)
DISTANCES_KM = _distances(TOWNS)
VENUE_KINDS = {
    name: VenueKind(name=name, **kind) for name, kind in read_table("venues")["kinds"].items()
}
