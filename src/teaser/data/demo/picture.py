"""Draw a flat SVG for an event: a scene for its type, a palette and an emblem for its theme."""

import re
from functools import cache
from pathlib import Path

import numpy as np
from jinja2 import Template

from teaser.data.demo.places import read_table
from teaser.templates import environment


def draw_picture(type_: str, theme: str, rng: np.random.Generator) -> str:
    """Return an SVG image of 320 by 180, titled with the type and the theme."""

    def draws(low: int, high: int, n: int) -> list[int]:
        return [int(rng.integers(low, high)) for _ in range(n)]

    tables = read_table("emblems")
    emblem = tables["emblems"][theme]
    drawn = _template().render(
        type=type_,
        theme=theme,
        draw=lambda low, high: draws(low, high, 1)[0],
        draws=draws,
        random=rng.random,
        emblem=emblem["path"],
        filled=emblem.get("filled", True),
        **tables["palettes"][emblem["palette"]],
    )
    return re.sub(r">\s+<", "><", drawn).strip()


@cache
def _template() -> Template:
    return environment(Path(__file__).parent).get_template("picture.svg")
