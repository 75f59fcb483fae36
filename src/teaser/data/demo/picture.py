"""Draw a flat SVG for an event: a scene for its type, a palette and an emblem for its theme."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from teaser.data.demo.places import read_table

WIDTH, HEIGHT = 320, 180
# Scenes that would read wrongly in a mirror: a play button, lines of writing.
_ONE_WAY = ("Film", "Course", "Lecture")


def draw_picture(type_: str, theme: str, rng: np.random.Generator) -> str:
    """An SVG image of 320 by 180, titled with the type and the theme."""
    emblem = emblems()[theme]
    palette = emblem.palette
    x, y = int(rng.integers(252, 276)), int(rng.integers(46, 62))
    paint = (
        f'fill="{palette.dark}" fill-rule="evenodd"'
        if emblem.filled
        else f'fill="none" stroke="{palette.dark}" stroke-width="2" stroke-linecap="round"'
    )
    scene = SCENES[type_](palette, rng)
    if type_ not in _ONE_WAY and rng.random() < 0.5:
        x = WIDTH - x
        scene = f'<g transform="translate({WIDTH} 0) scale(-1 1)">{scene}</g>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>{type_}: {theme}</title>"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{palette.ground}"/>'
        f"{scene}"
        f'<circle cx="{x}" cy="{y}" r="33" fill="{palette.accent}"/>'
        f'<path transform="translate({x - 20} {y - 20}) scale(1.67)" {paint} d="{emblem.path}"/>'
        "</svg>"
    )


def _rect(x: float, y: float, width: float, height: float, fill: str, radius: float = 0) -> str:
    corner = f' rx="{radius:g}"' if radius else ""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}"{corner}/>'
    )


def _path(data: str, fill: str) -> str:
    return f'<path d="{data}" fill="{fill}"/>'


def _line(data: str, stroke: str, width: float) -> str:
    return (
        f'<path d="{data}" fill="none" stroke="{stroke}" stroke-width="{width:g}"'
        ' stroke-linecap="round"/>'
    )


def _dot(x: float, y: float, radius: float, fill: str) -> str:
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}"/>'


def _hills(rng: np.random.Generator, fill: str, height: int = 132) -> str:
    a, b, c = (int(value) for value in rng.integers(-22, 23, size=3))
    return _path(
        f"M0 {height + a}Q80 {height - 40 + b} 160 {height + c}T320 {height - a}V180H0z", fill
    )


@dataclass(frozen=True)
class Palette:
    """Four flat colours: ground, dark, light and accent."""

    ground: str
    dark: str
    light: str
    accent: str


def _concert(colours: Palette, rng: np.random.Generator) -> str:
    bars = "".join(
        f"M{22 + 18 * k} {150 - h}V{150 + h // 4}"
        for k, h in enumerate(int(v) for v in rng.integers(8, 84, size=10))
    )
    return _rect(0, 150, 320, 30, colours.dark) + _line(bars, colours.light, 9)


def _festival(colours: Palette, rng: np.random.Generator) -> str:
    dip = int(rng.integers(38, 58))
    flags = "".join(f"M{12 + 28 * k} {14 + dip * k * (7 - k) // 14}h18l-9 20z" for k in range(8))
    left, right = (int(v) for v in rng.integers(-14, 15, size=2))
    tents = (
        f"M{20 + left} 166L{78 + left} 84L{136 + left} 166z"
        f"M{132 + right} 166L{180 + right} 106L{228 + right} 166z"
    )
    return (
        _path(flags, colours.accent)
        + _hills(rng, colours.dark, 158)
        + _path(tents, colours.light)
        + _path(f"M{66 + left} 166l12-40 12 40z", colours.ground)
    )


def _exhibition(colours: Palette, rng: np.random.Generator) -> str:
    parts = [_rect(0, 148, 320, 32, colours.dark)]
    for k in range(3):
        height = int(rng.integers(62, 96))
        x, y = 22 + 66 * k, 84 - height // 2
        tone = int(rng.integers(18, height - 18))
        parts.append(_rect(x, y, 54, height, colours.light))
        parts.append(_rect(x + 6, y + 6, 42, height - 12, colours.ground))
        parts.append(_path(f"M{x + 6} {y + tone}l21-9 21 12V{y + height - 6}h-42z", colours.dark))
    return "".join(parts)


def _theatre(colours: Palette, rng: np.random.Generator) -> str:
    open_left, open_right = (int(v) for v in rng.integers(62, 92, size=2))
    folds = "".join(f"M{k * open_left // 4} 0V146" for k in (1, 2, 3)) + "".join(
        f"M{320 - k * open_right // 5} 0V146" for k in (1, 2, 3)
    )
    return (
        _path("M140 0L76 150H232L180 0z", colours.light)
        + _path(f"M0 0H{open_left}Q{open_left} 110 {open_left - 34} 150H0z", colours.dark)
        + _path(
            f"M320 0H{320 - open_right}Q{320 - open_right} 110 {350 - open_right} 150H320z",
            colours.dark,
        )
        + _line(folds, colours.ground, 3)
        + _rect(0, 148, 320, 32, colours.dark)
    )


def _dance(colours: Palette, rng: np.random.Generator) -> str:
    a, b, c = (int(v) for v in rng.integers(-22, 23, size=3))
    return (
        _line(
            f"M-10 {120 + a}C70 {10 + b} 120 {200 + c} 200 {100 + a}S300 {150 + b} 340 90",
            colours.dark,
            26,
        )
        + _line(
            f"M-10 {70 + b}C60 {190 + a} 130 {-10 + c} 190 {120 + b}S290 {170 + c} 340 140",
            colours.light,
            9,
        )
        + _dot(96 + a, 52 + b // 2, 9, colours.accent)
        + _dot(150 + c, 84 + a // 2, 9, colours.light)
    )


def _comedy(colours: Palette, rng: np.random.Generator) -> str:
    shift = int(rng.integers(0, 40))
    bricks = "".join(
        f"M{x - shift + 20 * (row % 2)} {row * 30 + 8}h28"
        for row in range(6)
        for x in range(0, 360, 44)
    )
    x = int(rng.integers(96, 124))
    return (
        _line(bricks, colours.dark, 3)
        + _path(f"M{x - 14} 0L{x - 84} 180H{x + 84}L{x + 14} 0z", colours.accent)
        + _line(f"M{x} 80V168M{x - 26} 170H{x + 26}", colours.dark, 6)
        + _rect(x - 13, 36, 26, 46, colours.dark, 13)
        + _line(f"M{x - 13} 56h26", colours.light, 3)
    )


def _film(colours: Palette, rng: np.random.Generator) -> str:
    slide = int(rng.integers(0, 18))
    holes = "".join(
        f"M{x + slide} 14h10v10h-10zM{x + slide} 156h10v10h-10z" for x in range(-8, 330, 24)
    )
    tilt = int(rng.integers(-12, 13))
    return (
        _rect(0, 6, 320, 26, colours.dark)
        + _rect(0, 148, 320, 26, colours.dark)
        + _path(holes, colours.light)
        + _rect(28, 46, 164, 88, colours.light, 4)
        + _path(f"M92 {66 + tilt // 4}l46 {24 + tilt // 3}-46 24z", colours.ground)
    )


def _workshop(colours: Palette, rng: np.random.Generator) -> str:
    parts = [_rect(0, 142, 320, 38, colours.dark)]
    for k, height in enumerate(int(v) for v in rng.integers(48, 104, size=4)):
        x, top = 36 + 30 * k, 142 - height
        parts.append(_rect(x, top, 16, height, (colours.light, colours.accent)[k % 2]))
        parts.append(_path(f"M{x} {top}l8-18 8 18z", colours.dark))
    x = int(rng.integers(168, 184))
    parts.append(_path(f"M{x} 104h56v38h-56z", colours.light))
    parts.append(_line(f"M{x + 56} 114h10v16h-10", colours.light, 6))
    return "".join(parts)


def _course(colours: Palette, rng: np.random.Generator) -> str:
    lines = "".join(
        f"M{40 + dx} {66 + 18 * k}h{width}"
        for dx in (0, 92)
        for k, width in enumerate(int(v) for v in rng.integers(24, 62, size=4))
    )
    return (
        _rect(0, 156, 320, 24, colours.dark)
        + _path("M24 44Q70 28 116 46V150Q70 134 24 150z", colours.light)
        + _path("M208 44Q162 28 116 46V150Q162 134 208 150z", colours.light)
        + _line(lines, colours.dark, 4)
        + _line("M116 46V150", colours.ground, 4)
    )


def _tour(colours: Palette, rng: np.random.Generator) -> str:
    parts = []
    for k, height in enumerate(int(v) for v in rng.integers(52, 100, size=5)):
        x, top = 8 + 44 * k, 166 - height
        gable = f"M{x} 166V{top}h8v-10h8v-10h12v10h8v10h8V166z"
        parts.append(_path(gable, (colours.light, colours.dark)[k % 2]))
        parts.append(_rect(x + 12, top + 14, 7, 12, colours.accent))
        parts.append(_rect(x + 25, top + 14, 7, 12, colours.accent))
    return "".join(parts) + _rect(0, 164, 320, 16, colours.dark)


def _lecture(colours: Palette, rng: np.random.Generator) -> str:
    lines = "".join(
        f"M48 {52 + 18 * k}h{width}" for k, width in enumerate(rng.integers(50, 118, size=4))
    )
    heads = "".join(
        _dot(18 + 36 * k + int(dx), 176, 17, colours.dark)
        for k, dx in enumerate(rng.integers(-5, 6, size=9))
    )
    return (
        _path("M28 26H192V128H96l-26 24v-24H28z", colours.light)
        + _line(lines, colours.ground, 5)
        + heads
    )


def _market(colours: Palette, rng: np.random.Generator) -> str:
    parts = [_rect(0, 152, 320, 28, colours.dark)]
    for k, top in enumerate(int(v) for v in rng.integers(54, 82, size=2)):
        x = 14 + 108 * k
        parts.append(_rect(x + 6, top, 4, 152 - top, colours.dark))
        parts.append(_rect(x + 86, top, 4, 152 - top, colours.dark))
        for stripe in range(6):
            fill = (colours.light, colours.accent)[stripe % 2]
            left = x + 16 * stripe
            parts.append(_path(f"M{left} {top}h16v26a8 8 0 0 1-16 0z", fill))
        parts.append(_rect(x + 4, 124, 88, 28, colours.light))
    return "".join(parts)


def _walk(colours: Palette, rng: np.random.Generator) -> str:
    bend = int(rng.integers(-30, 31))
    trees = "".join(
        f"M{x + int(dx)} {126 + int(dy)}l13-38 13 38z"
        for x, dx, dy in zip(
            (26, 62, 178), rng.integers(-9, 10, 3), rng.integers(-10, 11, 3), strict=True
        )
    )
    return (
        _hills(rng, colours.light, 112)
        + _path(trees, colours.dark)
        + _hills(rng, colours.dark, 140)
        + f'<path d="M84 184Q{150 + bend} 160 {126 + bend} 136T214 116" fill="none"'
        f' stroke="{colours.accent}" stroke-width="5" stroke-dasharray="11 9"/>'
    )


def _sport(colours: Palette, rng: np.random.Generator) -> str:
    lift = int(rng.integers(-16, 17))
    lanes = "".join(
        f"M-10 {92 + 26 * k + lift}Q150 {42 + 26 * k - lift} 330 {122 + 26 * k}" for k in range(4)
    )
    x = int(rng.integers(30, 62))
    checks = "".join(
        f"M{x + 12 * column} {18 + 12 * row}h12v12h-12z"
        for row in range(4)
        for column in range(6)
        if (row + column) % 2
    )
    return (
        _path(f"M-10 {92 + lift}Q150 {42 - lift} 330 122V190H-10z", colours.dark)
        + _line(lanes, colours.light, 3)
        + _rect(x, 18, 72, 48, colours.light)
        + _path(checks, colours.dark)
        + _line(f"M{x} 16V122", colours.light, 5)
    )


def _family(colours: Palette, rng: np.random.Generator) -> str:
    parts = [_hills(rng, colours.dark, 150)]
    for k, (x, y) in enumerate(
        zip(rng.integers(-10, 11, 3), rng.integers(-16, 17, 3), strict=True)
    ):
        left, top = 52 + 48 * k + int(x), 62 + 12 * (k % 2) + int(y)
        parts.append(_line(f"M{left} {top + 24}Q{left - 12} {top + 60} 112 154", colours.light, 2))
        fill = (colours.accent, colours.light, colours.accent)[k]
        parts.append(f'<ellipse cx="{left}" cy="{top}" rx="20" ry="25" fill="{fill}"/>')
    return "".join(parts)


def _food(colours: Palette, rng: np.random.Generator) -> str:
    x = int(rng.integers(98, 112))
    turn = int(rng.integers(-16, 17))
    return (
        _rect(0, 0, 320, 180, colours.dark)
        + _path("M0 0H320V26H0zM0 154H320V180H0z", colours.ground)
        + _dot(x, 90, 58, colours.light)
        + _dot(x, 90, 40, colours.ground)
        + _path(
            f"M{x - 30} {94 + turn // 2}Q{x} {52 + turn} {x + 30} {90 - turn // 2}"
            f"Q{x} {128 + turn} {x - 30} {94 + turn // 2}z",
            colours.accent,
        )
        + _line(f"M{x - 78} 40v100M{x - 86} 40v22h16v-22", colours.light, 5)
        + _line(f"M{x + 76} 40v100M{x + 76} 40q14 20 0 48", colours.light, 5)
    )


SCENES: dict[str, Callable[[Palette, np.random.Generator], str]] = {
    "Concert": _concert,
    "Festival": _festival,
    "Exhibition": _exhibition,
    "Theatre": _theatre,
    "Dance": _dance,
    "Comedy": _comedy,
    "Film": _film,
    "Workshop": _workshop,
    "Course": _course,
    "Guided tour": _tour,
    "Lecture": _lecture,
    "Market": _market,
    "Walk": _walk,
    "Sport": _sport,
    "Family day": _family,
    "Food and drink": _food,
}


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
