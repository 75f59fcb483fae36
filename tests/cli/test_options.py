"""Options that commands share, and steps that end with the sum."""

import re
from io import StringIO
from typing import Any

import pytest
from rich.console import Console, RenderableType

from teaser import Teaser
from teaser.cli import options
from teaser.cli.output import draw_steps
from teaser.data.matrix import Ids
from teaser.errors import ParameterError, UnknownNameError


def named(ids: list[Any], *titles: str | None) -> options.ItemNames:
    return options.ItemNames(Ids(ids), lambda: titles or [None] * len(ids))


def test_ids_are_repeated_or_separated_by_commas() -> None:
    items = named(["a", "b,c", "d"])
    assert options.read_history(items, None) == []
    assert options.read_history(items, ["a", "d, a", "b,c", "e,,d"], "ignore") == [
        "a", "d", "a", "b,c", "e", "d",
    ]  # fmt: skip


def test_items_may_have_strengths() -> None:
    items = named(["a", "b:1", "d"])
    given = ["a:0.5,d", "b:1"]
    assert options.read_history(items, given) == {"a": 0.5, "d": 1.0, "b:1": 1.0}
    assert options.read_history(items, ["a:-0.25", "b:1:2", "d:+.5"]) == {
        "a": -0.25, "b:1": 2.0, "d": 0.5,
    }  # fmt: skip
    assert options.read_history(items, ["a:much", ":2"], "ignore") == ["a:much", ":2"]


def test_items_are_found_by_title_and_an_id_goes_first() -> None:
    items = named([1, 2, 3, 4], "Heat", "Matrix, The: 2", "3", "1")
    assert options.read_history(items, ["heat", "1", " 4"]) == [1, 1, 4]
    assert options.read_history(items, ["MATRIX, the: 2"]) == [2]  # no strength
    assert options.read_history(items, ["Heat,3", "matrix, the: 2:0.5"]) == {1: 1.0, 3: 1.0, 2: 0.5}
    with pytest.raises(UnknownNameError, match=r"'Matrix'.* Closest: Matrix, The: 2 \(2\)"):
        options.read_history(items, ["Matrix"])
    with pytest.raises(UnknownNameError, match=r"Closest: Heat \(1\)"):
        options.read_history(items, ["Haet"])


def test_items_with_the_same_title_are_listed() -> None:
    items = named(["h1", "h2", "x"], "Hamlet", "hamlet", "h2")
    with pytest.raises(ParameterError, match=r"2 items have the title 'HAMLET'.* h1, h2"):
        items.item_id("HAMLET")
    assert items.item_id("h2") == "h2"


def test_presses_are_counted_by_tag() -> None:
    assert options.read_presses(None) == {}
    given = ["a=b", "a=b:+2", "c=d:-3", "e=f:g", "h=i:+j"]
    assert options.read_presses(given) == {"a=b": 3, "c=d": -3, "e=f:g": 1, "h=i:+j": 1}


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
