"""What is drawn for a terminal."""

import re
from io import StringIO

import pytest
from rich.console import Console, RenderableType

from teaser import Dataset, Teaser
from teaser.cli.output import (
    describe_change,
    draw_recommendations,
    draw_steps,
)
from teaser.extensions import Remainder


def drawn(what: RenderableType) -> str:
    out = StringIO()
    Console(file=out, width=140, no_color=True).print(what)
    return out.getvalue()


def test_a_list_shows_how_items_moved(model: Teaser) -> None:
    before = model.recommend(["i2"], k=5)
    after = model.recommend(["i2"], {"type=film": 5}, k=5)
    text = drawn(draw_recommendations(after, before=before))
    assert "new" in text
    assert str(after[0].item_id) in text
    assert "new" not in drawn(draw_recommendations(before))


def test_a_change_is_counted(model: Teaser) -> None:
    a, b, c, d = model.recommend(["i2"], k=4)
    assert describe_change([a, b, c], [c, a, d]) == "1 item rose, 1 is new on this list, 1 left it."
    assert describe_change([a, b], [a, b]) == "0 items rose, 0 are new on this list, 0 left it."


def test_steps_end_with_the_sum(model: Teaser) -> None:
    found = model.explain("i4", ["i2"])
    lines = drawn(draw_steps(found.steps(), ("", f"{found.score:+.3f}", ""))).splitlines()
    assert lines[-1].split() == ["score", f"{found.score:+.3f}"]
    (appeal,) = [line for line in lines if "general appeal" in line]
    assert f"{found.general:+.3f}" in appeal
    added = [float(cell) for cell in re.findall(r"([+-]\d\.\d{3}) +[+-]", "\n".join(lines))]
    assert sum(added) == pytest.approx(found.score, abs=0.02)


def test_both_kinds_of_reasons_are_drawn(dataset: Dataset) -> None:
    both = Teaser(l2_weights=5.0, l2_encoder=5.0, remainder=Remainder(l2=20.0)).fit(dataset)
    text = drawn(draw_recommendations(both.recommend(["i1", "i5"], k=3)))
    assert "% viewed Event 1" in text
    assert "film" in text
    found = both.explain("i3", ["i1", "i5"])
    lines = drawn(draw_steps(found.steps(), ("", "", ""))).splitlines()
    for name in ("1", "5"):
        (line,) = [line for line in lines if f"Event {name}" in line]
        assert line.startswith("Viewed")
        assert f"{found.viewed[f'i{name}']:+.3f}" in line
