"""What is drawn for a terminal."""

import re
from io import StringIO

import pytest
from rich.console import Console, RenderableType

from teaser import Teaser
from teaser.cli.output import (
    draw_steps,
)


def drawn(what: RenderableType) -> str:
    out = StringIO()
    Console(file=out, width=140, no_color=True).print(what)
    return out.getvalue()


def test_steps_end_with_the_sum(model: Teaser) -> None:
    found = model.explain("i4", ["i2"])
    lines = drawn(draw_steps(found.steps(), ("", f"{found.score:+.3f}", ""))).splitlines()
    assert lines[-1].split() == ["score", f"{found.score:+.3f}"]
    (appeal,) = [line for line in lines if "general appeal" in line]
    assert f"{found.general:+.3f}" in appeal
    added = [float(cell) for cell in re.findall(r"([+-]\d\.\d{3}) +[+-]", "\n".join(lines))]
    assert sum(added) == pytest.approx(found.score, abs=0.02)
