"""A palette and a small emblem for every theme."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from teaser.data.events.material import read_table


@dataclass(frozen=True)
class Palette:
    """Four flat colours: ground, dark, light and accent."""

    ground: str
    dark: str
    light: str
    accent: str


@dataclass(frozen=True)
class Emblem:
    """A path in a box of 24 by 24, filled (holes by the even-odd rule) or drawn as a line."""

    palette: Palette
    path: str
    filled: bool = True


@cache
def emblems() -> dict[str, Emblem]:
    """Return the emblems of ``emblems.toml`` by theme."""
    table = read_table("emblems")
    palettes = {name: Palette(**colours) for name, colours in table["palettes"].items()}
    return {
        theme: Emblem(**{**entry, "palette": palettes[entry["palette"]]})
        for theme, entry in table["emblems"].items()
    }
