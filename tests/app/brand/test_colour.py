"""Colours: every shade of any accent can be read, and one that can is left alone."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import teaser.app.pages
from teaser.app.brand.colour import BLACK, DARK, LIGHT, WHITE, Colour, shades
from teaser.errors import ParameterError

COLOURS = st.builds(Colour, *[st.integers(0, 255)] * 3)


@given(COLOURS)
def test_every_shade_can_be_read(accent: Colour) -> None:
    for scheme in (LIGHT, DARK):
        found = shades(accent, scheme)
        for ground in (*scheme.grounds, found.wash):
            assert found.text.contrast(ground) >= 4.5
        for ground in scheme.grounds:
            assert found.bar.contrast(ground) >= 3
        assert found.on_text.contrast(found.text) >= 4.5
        assert scheme.soft.contrast(found.wash) >= 4.5


def test_a_colour_that_can_be_read_is_left_alone() -> None:
    plum, pink = Colour.parse("#7a1f5c"), Colour.parse("#f0a8d0")
    assert shades(plum, LIGHT).text == plum
    assert shades(pink, DARK).text == pink
    # A darker or lighter shade keeps the hue.
    assert shades(Colour.parse("#ffd000"), LIGHT).text.hue == pytest.approx(48.9, abs=2)


def test_contrast_is_that_of_wcag() -> None:
    assert BLACK.contrast(WHITE) == WHITE.contrast(BLACK) == pytest.approx(21)
    assert WHITE.contrast(WHITE) == 1
    # The grey that WCAG's own examples call the lightest with 4.5 on white.
    assert Colour.parse("#767676").contrast(WHITE) == pytest.approx(4.54, abs=0.01)


def test_colours_are_read_and_written() -> None:
    assert str(Colour.parse(" #0B6f66 ")) == "#0b6f66"
    assert Colour.parse("f80") == Colour(255, 136, 0)
    assert (Colour(255, 0, 0).hue, Colour(128, 128, 128).saturation) == (0, 0)
    for text in ("", "teal", "#12345", "#12345g", "rgb(1,2,3)"):
        with pytest.raises(ParameterError, match="is no colour"):
            Colour.parse(text)


def test_the_fixed_colours_are_those_of_the_style_sheet() -> None:
    folder = Path(teaser.app.pages.__file__).parent
    css = (folder / "static" / "teaser.css").read_text()
    pairs = dict(re.findall(r"--(\w+): light-dark\(([^;]+)\);", css))
    for place, scheme in enumerate((LIGHT, DARK)):
        grounds = {pairs[name].split(", ")[place] for name in ("card", "ground", "raised")}
        assert {str(ground) for ground in scheme.grounds} == grounds
        assert str(scheme.grounds[0]) == pairs["card"].split(", ")[place]
        assert str(scheme.soft) == pairs["soft"].split(", ")[place]
        assert scheme.opposite.contrast(scheme.grounds[-1]) >= 4.5
        assert scheme.opposite_bar.contrast(scheme.grounds[-1]) >= 3
