"""A palette and a small emblem for every theme."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Palette:
    """Four flat colours: ground, dark, light and accent."""

    ground: str
    dark: str
    light: str
    accent: str


_TEAL = Palette("#0b7a75", "#07524e", "#d6ecea", "#f4bf4f")
_RUST = Palette("#b3530b", "#7d3906", "#fde4d3", "#f6c667")
_INDIGO = Palette("#37508a", "#24365f", "#e3e9f7", "#f2a65a")
_SAND = Palette("#e6d3ac", "#8a6a36", "#fffaf0", "#f0a94e")
_PLUM = Palette("#6b3d6e", "#472849", "#f3e3f2", "#f4bf4f")
_FOREST = Palette("#3c6e47", "#264a2f", "#e2f0df", "#f2a65a")
_BRICK = Palette("#9c3d3d", "#6b2626", "#fbe3df", "#f4c56a")
_NIGHT = Palette("#1f2a44", "#121a2e", "#dfe6f5", "#f4bf4f")
_SEA = Palette("#2a7fa5", "#1a5673", "#dff1f8", "#f7d070")
_OCHRE = Palette("#c98a1b", "#8f5f0c", "#fff1d0", "#f9dd9a")
_SLATE = Palette("#56636f", "#38424b", "#eceff1", "#f2a65a")
_ROSE = Palette("#bd5d76", "#863b50", "#fde8ee", "#f6cf74")


@dataclass(frozen=True)
class Emblem:
    """A path in a box of 24 by 24, filled (holes by the even-odd rule) or drawn as a line."""

    palette: Palette
    path: str
    filled: bool = True


EMBLEMS: dict[str, Emblem] = {
    "Jazz": Emblem(_TEAL, "M14 3h5M16 3c0 7 1 17-5 17s-6-8-2-7M14 9h4M14 13h4", False),
    "Classical": Emblem(
        _INDIGO, "M12 21V3c4 3 3 6 0 8s-5 4-4 7 6 2 6-1-3-4-4-2M12 21c-1 2-4 2-4 0", False
    ),
    "Rock": Emblem(_BRICK, "M13 2L5 14h5l-1 8 9-13h-6z"),
    "Folk": Emblem(
        _FOREST, "M4 5v14M20 5v14M4 8l4 2 4-2 4 2 4-2M4 16l4-2 4 2 4-2 4 2M8 10v4M16 10v4", False
    ),
    "Electronic": Emblem(_NIGHT, "M2 12c3-12 6-12 10 0s7 12 10 0", False),
    "Brass": Emblem(_OCHRE, "M2 10h12l6-5v14l-6-5h-1v3H7v-3H2zM9 14v1h2v-1z"),
    "Choir": Emblem(
        _PLUM,
        "M7 8a3 3 0 1 0 .1 0zM17 8a3 3 0 1 0 .1 0zM12 2a3 3 0 1 0 .1 0z"
        "M3 21c0-8 8-8 8 0zM13 21c0-8 8-8 8 0z",
    ),
    "Circus": Emblem(_RUST, "M12 1l6 2-5 2v2l9 6v9h-6l-4-7-4 7H2v-9l9-6V1z"),
    "Literature": Emblem(
        _SLATE, "M12 6C9 4 6 4 3 5v13c3-1 6-1 9 1 3-2 6-2 9-1V5c-3-1-6-1-9 1v13", False
    ),
    "Painting": Emblem(
        _SAND,
        "M12 3a9 9 0 1 0 0 18c3 0 1-3 3-4s6 0 6-5-4-9-9-9zM7 8a1.500 1.500 0 1 0 .1 0z"
        "M12 5.500a1.500 1.500 0 1 0 .1 0zM17 8a1.500 1.500 0 1 0 .1 0z",
    ),
    "Photography": Emblem(_SLATE, "M3 7h5l2-3h4l2 3h5v13H3zM12 9a4 4 0 1 0 .1 0z"),
    "Design": Emblem(_ROSE, "M8 3v18M8 13h9v8M8 7h3", False),
    "History": Emblem(_SAND, "M3 4h18M3 20h18M7 5v14M12 5v14M17 5v14", False),
    "Comics": Emblem(_SEA, "M3 4h18v12h-9l-5 5v-5H3zM7 9h2v2H7zM11 9h2v2h-2zM15 9h2v2h-2z"),
    "Drama": Emblem(
        _BRICK, "M4 4h16v7c0 6-4 9-8 10-4-1-8-4-8-10zM7 9h3v2H7zM14 9h3v2h-3zM8 14c2 3 6 3 8 0z"
    ),
    "Puppetry": Emblem(
        _ROSE, "M4 4h16M12 2v11M5 4v10M19 4v10M9 16a3 3 0 1 0 6 0 3 3 0 1 0-6 0", False
    ),
    "Musical": Emblem(
        _PLUM, "M12 2l3 7 7 .5-5.500 5 2 7.500-6.500-4-6.500 4 2-7.500-5.500-5 7-.5z"
    ),
    "Contemporary dance": Emblem(
        _NIGHT, "M14 3a2 2 0 1 0 .1 0M4 11l8-2 8-4M12 9l2 6-5 6M14 15l6 4", False
    ),
    "Ballet": Emblem(
        _ROSE, "M12 2a2 2 0 1 0 .1 0M5 4l7 5 7-5M12 9v4M4 13c5 4 11 4 16 0zM12 16v6", False
    ),
    "Social dance": Emblem(
        _RUST, "M7 4a2 2 0 1 0 .1 0M17 4a2 2 0 1 0 .1 0M7 10l5 4 5-4M7 10v11M17 10v6l3 5", False
    ),
    "Stand-up": Emblem(
        _OCHRE,
        "M9 2h6v10a3 3 0 0 1-6 0zM5 11h2c0 7 10 7 10 0h2c0 5-3 7-6 7v4h-2v-4c-3 0-6-2-6-7z",
    ),
    "Improvisation": Emblem(
        _TEAL, "M4 4h16v16H4zM7 7h3v3H7zM14 14h3v3h-3zM14 7h3v3h-3zM7 14h3v3H7z"
    ),
    "Film classics": Emblem(
        _NIGHT,
        "M12 2a10 10 0 1 0 .1 0zM12 4.500a2.500 2.500 0 1 0 .1 0zM12 14.500a2.500 2.500 0 1 0 .1 0z"
        "M7 9.500a2.500 2.500 0 1 0 .1 0zM17 9.500a2.500 2.500 0 1 0 .1 0z",
    ),
    "Documentary": Emblem(_SLATE, "M2 12c5-8 15-8 20 0-5 8-15 8-20 0zM12 9a3 3 0 1 0 .1 0", False),
    "Animation": Emblem(_SEA, "M3 21l1-6L15 4l5 5L9 20zM15 7l2 2-8 8-2-2z"),
    "Ceramics": Emblem(_RUST, "M8 3h8l-1 4c5 3 5 10 1 14H8c-4-4-4-11 1-14z"),
    "Textiles": Emblem(
        _INDIGO, "M12 3a9 9 0 1 0 .1 0M5 8c5 1 9 5 10 12M9 4c5 2 8 6 10 12M4 13c3 1 5 4 6 8", False
    ),
    "Cooking": Emblem(_RUST, "M2 10h20v3h-2v7H4v-7H2zM8 3h2v5H8zM14 3h2v5h-2z"),
    "Technology": Emblem(
        _TEAL,
        "M7 7h10v10H7zM10 3v4M14 3v4M10 17v4M14 17v4M3 10h4M3 14h4M17 10h4M17 14h4",
        False,
    ),
    "Language": Emblem(
        _INDIGO, "M3 20L9 4l6 16M5 14h8M14 7h8M18 4v3c0 5-2 8-4 10M16 10l6 7", False
    ),
    "Wellbeing": Emblem(
        _TEAL,
        "M12 4c4 5 4 10 0 15-4-5-4-10 0-15zM2 9c6 0 8 4 8 10-5 0-8-4-8-10z"
        "M22 9c-6 0-8 4-8 10 5 0 8-4 8-10z",
    ),
    "Gardening": Emblem(
        _FOREST, "M12 22V10M12 14c0-5-4-7-9-7 0 5 4 7 9 7M12 10c0-4 3-7 9-7 0 5-4 7-9 7", False
    ),
    "Architecture": Emblem(_SAND, "M3 21V11a9 9 0 0 1 18 0v10h-5V12a4 4 0 0 0-8 0v9z"),
    "Industrial heritage": Emblem(_BRICK, "M3 21V10l6 4v-4l6 4V3h5v18zM6 17v2h3v-2zM12 17v2h3v-2z"),
    "Beer": Emblem(_OCHRE, "M5 4h11v4h4v9h-4v4H5zM16 10v5h2v-5zM8 9h1.500v9H8zM12 9h1.500v9H12z"),
    "Science": Emblem(
        _SEA,
        "M2 12a10 4 0 1 0 20 0 10 4 0 1 0-20 0M12 2a4 10 0 1 0 .1 0M11 12h2",
        False,
    ),
    "Nature": Emblem(_FOREST, "M3 21C2 9 9 3 21 3c0 12-6 17-14 15l9-9-11 10z"),
    "Second-hand": Emblem(_SLATE, "M3 3h9l10 10-9 9L3 12zM6 6h3v3H6z"),
    "Christmas": Emblem(_BRICK, "M12 1l6 8h-3l5 8h-6v5h-4v-5H4l5-8H6z"),
    "Farm produce": Emblem(
        _FOREST,
        "M12 8c4-4 9-1 9 5s-5 10-9 8c-4 2-9-2-9-8s5-9 9-5zM12 7c0-3 2-5 5-5 0 3-2 5-5 5z",
    ),
    "Running": Emblem(_INDIGO, "M2 7l5 3 4-4 4 7 7 2v4H2zM2 20h20v1H2z"),
    "Cycling": Emblem(
        _SEA,
        "M5 12a4 4 0 1 0 .1 0M19 12a4 4 0 1 0 .1 0M5 16l4-8h7l3 8M9 8l4 8 3-8M7 6h4M16 8l-1-4h3",
        False,
    ),
    "Swimming": Emblem(
        _SEA,
        "M2 15c3-3 5-3 7 0s4 3 7 0 4-3 6 0M2 20c3-3 5-3 7 0s4 3 7 0 4-3 6 0M6 11l6-4 5 4"
        "M19 5a2 2 0 1 0 .1 0",
        False,
    ),
    "Chocolate": Emblem(_PLUM, "M4 3h7v8H4zM13 3h7v8h-7zM4 13h7v8H4zM13 13h7v8h-7z"),
    "Street food": Emblem(_OCHRE, "M5 10h14l-3 12H8zM7 3h2v6H7zM11 1h2v8h-2zM15 4h2v5h-2z"),
}
