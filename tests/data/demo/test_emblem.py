"""Emblems: one for every theme, in proper colours."""

import re
from dataclasses import astuple

from teaser.data.demo.event import offers
from teaser.data.demo.picture import emblems


def test_every_theme_has_an_emblem_and_no_other_has() -> None:
    assert set(emblems()) == {offer.theme for offer in offers()}


def test_colours_and_paths_are_valid_svg() -> None:
    for theme, emblem in emblems().items():
        colours = astuple(emblem.palette)
        assert len(set(colours)) == 4, theme
        assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours), theme
        assert re.fullmatch(r"M[MLHVCSQTAZmlhvcsqtaz0-9 .\-]+", emblem.path), theme
