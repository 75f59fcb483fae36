"""Pictures: safe small SVGs that show type and theme."""

from xml.etree import ElementTree

import numpy as np
import polars as pl

from teaser.data.demo.event import event_types
from teaser.data.demo.picture import SCENES, emblems

SVG = "{http://www.w3.org/2000/svg}"


def _parse(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)  # noqa: S314 - our own drawing


def test_every_picture_is_safe_small_svg(items: pl.DataFrame) -> None:
    assert max(items["picture"].str.len_bytes()) < 2048
    assert not items["picture"].str.contains(r"(?i)script|href|style|url\(|\son\w+=").any()
    for picture in items["picture"]:
        root = _parse(picture)
        assert root.tag == f"{SVG}svg"
        assert root.get("viewBox") == "0 0 320 180"
        assert root.get("role") == "img"


def test_title_names_type_and_theme(items: pl.DataFrame) -> None:
    for row in items.iter_rows(named=True):
        title = _parse(row["picture"]).findtext(f"{SVG}title")
        assert title == f"{row['type']}: {row['theme']}"


def test_every_type_and_theme_is_drawn_apart() -> None:
    assert set(SCENES) == set(event_types())
    assert len({emblem.path for emblem in emblems().values()}) == len(emblems())
    palette = emblems()["Jazz"].palette
    scenes = {scene(palette, np.random.default_rng(0)) for scene in SCENES.values()}
    assert len(scenes) == len(SCENES)


def test_picture_shows_the_emblem_and_colours_of_its_theme(items: pl.DataFrame) -> None:
    for theme, picture in items.select("theme", "picture").iter_rows():
        assert f'd="{emblems()[theme].path}"' in picture
        assert f'fill="{emblems()[theme].palette.ground}"' in picture


def test_events_of_one_kind_differ_a_little(items: pl.DataFrame) -> None:
    alike = items.filter(type="Concert", theme="Jazz")["picture"]
    assert alike.n_unique() > 0.95 * len(alike)
