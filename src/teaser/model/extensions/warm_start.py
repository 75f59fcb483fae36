"""A warm start: the encoder of an earlier model in the order of another data set."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.data.matrix import ItemId
from teaser.data.tags import Tag

Array = NDArray[Any]


def match_encoder(
    encoder: Array,
    *,
    items: Sequence[ItemId],
    tags: Sequence[Tag],
    new_items: Sequence[ItemId],
    new_tags: Sequence[Tag],
) -> Array:
    """Return an encoder with the rows and columns of other items and tags, zero for what is new.

    Parameters
    ----------
    encoder
        Items x tags; returned as it is where nothing changes.
    items, tags
        The names of its rows and columns.
    """
    rows = {item_id: place for place, item_id in enumerate(items)}
    columns = {tag: place for place, tag in enumerate(tags)}
    from_rows = np.array([rows.get(item_id, -1) for item_id in new_items], dtype=np.int64)
    from_columns = np.array([columns.get(tag, -1) for tag in new_tags], dtype=np.int64)
    same = (np.arange(len(rows)), np.arange(len(columns)))
    if np.array_equal(from_rows, same[0]) and np.array_equal(from_columns, same[1]):
        return encoder
    # A place of -1 reads the last row or column, which is set to zero after.
    out = encoder[np.ix_(from_rows, from_columns)]
    out[from_rows < 0] = 0
    out[:, from_columns < 0] = 0
    return out
