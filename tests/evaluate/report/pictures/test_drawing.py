"""Pictures take the colours of the page, and leave matplotlib's settings alone."""

import subprocess
import sys
import xml.etree.ElementTree as ET

import matplotlib as mpl
import pytest

from teaser.errors import MissingPackageError
from teaser.evaluate.report.pictures.drawing import (
    INK,
    PALETTE,
    SERIES,
    Picture,
    legend_below,
    line_style,
    new_figure,
    picture,
    simplify,
    style,
    variables,
)


def drawn(name: str = "one", alt: str = 'More & "less" <b>\\1') -> Picture:
    with style(name):
        figure = new_figure()
        axes = figure.subplots()
        lines = [axes.plot([0, 1], [k, 1], color=SERIES[k], label=f"line {k}")[0] for k in range(8)]
        axes.text(0, 0, "words & <words>", color=INK)
        simplify(axes)
        legend_below(figure, lines, columns=4)
        return picture(figure, name=name, title="T", caption="C", alt=alt)


def test_colours_are_variables_of_the_page() -> None:
    svg = drawn().svg
    for name in ("ink", "soft", "line", *(f"series-{k}" for k in range(8))):
        assert f"var(--{name})" in svg
    assert not [colour for colour in (INK, *SERIES) if colour in svg]
    for name in PALETTE:
        assert variables().count(f"--{name}:") == 2


def test_one_element_with_words_for_those_who_cannot_see_it() -> None:
    found = drawn()
    root = ET.fromstring(found.svg)  # noqa: S314
    assert root.tag.endswith("svg")
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'More & "less" <b>\\1'
    assert "width" not in root.attrib
    assert "viewBox" in root.attrib
    assert "words & <words>" in [e.text for e in root.iter() if e.tag.endswith("text")]
    assert "<metadata" not in found.svg
    assert "<style" not in found.svg


def test_names_of_two_pictures_do_not_collide() -> None:
    ids = []
    for name in ("one", "two"):
        root = ET.fromstring(drawn(name).svg)  # noqa: S314
        ids.append({e.get("id") for e in root.iter() if e.get("id")})
        svg = drawn(name).svg
        assert all(f"url(#{name}-" in part for part in svg.split("clip-path=")[1:])
    assert ids[0]
    assert not ids[0] & ids[1]


def test_a_file_brings_its_colours_along() -> None:
    text = drawn().standalone()
    ET.fromstring(text)  # noqa: S314
    assert variables() in text


def test_the_same_drawing_twice_is_the_same_text() -> None:
    assert drawn().svg == drawn().svg


def test_settings_come_back() -> None:
    before = dict(mpl.rcParams)
    drawn()
    assert dict(mpl.rcParams) == before


def brightness(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [0, 1])
def test_colours_stand_out_from_the_ground(dark: int) -> None:
    ground = brightness(PALETTE["ground"][dark])
    for name, pair in PALETTE.items():
        if name not in ("ground", "line"):
            low, high = sorted((ground, brightness(pair[dark])))
            need = 4.5 if name in ("ink", "soft") else 3
            assert (high + 0.05) / (low + 0.05) >= need, name


def test_no_window_system_is_asked_for() -> None:
    code = (
        "import sys, teaser.evaluate.report\n"
        "assert 'matplotlib' not in sys.modules\n"
        "from teaser.evaluate.report.pictures.drawing import new_figure, style\n"
        "with style('x'): new_figure().subplots()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"recommender\[evaluate\]"), style("x"):
        pass


def test_kinds_of_models_keep_colours_of_their_own() -> None:
    kinds = ("Teaser", "Product", "WMFS", "EASE", "EDLAE", "ItemKNN", "WMF", "Popularity")
    colours = {line_style(kind)[0] for kind in kinds}
    assert colours == set(SERIES)
    assert line_style("Unheard")[0] in SERIES
    # That of EASE, dashed otherwise.
    assert line_style("NeighbourEASE")[0] == line_style("EASE")[0]
    assert line_style("NeighbourEASE") != line_style("EASE")
