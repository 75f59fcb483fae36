"""Parts of a model that are saved together."""

import numpy as np
import polars as pl

from teaser.model.tables import Packed


def test_two_packed_parts_are_joined_by_name() -> None:
    items = pl.DataFrame({"item_id": ["a"]})
    both = Packed({"title": None}, {"x": np.ones(2)}) | Packed({"fit": {}}, {}, {"items": items})
    assert both.settings == {"title": None, "fit": {}}
    assert list(both.arrays) == ["x"]
    assert both.tables == {"items": items}


def test_the_later_part_wins() -> None:
    assert (Packed({"a": 1}) | Packed({"a": 2})).settings == {"a": 2}
