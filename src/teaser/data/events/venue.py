"""Venues: their kinds, which towns have them, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from teaser.data.events.material import draw_one, read_table
from teaser.data.events.town import Town


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
        has = {"": True, "water": bool(town.water), "sea": town.has_beach, "space": not town.dense}
        return has[self.needs]


@cache
def venue_kinds() -> dict[str, VenueKind]:
    """Return all kinds of venue of ``venues.toml`` by name."""
    kinds = read_table("venues")["kinds"]
    return {name: VenueKind(name=name, **kind) for name, kind in kinds.items()}


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
    local = town.local_name
    of_town = f"d'{local}" if local[0] in "AEIOUÉ" else f"de {local}"
    return pattern.format(local, de=of_town, quay=town.quay)
