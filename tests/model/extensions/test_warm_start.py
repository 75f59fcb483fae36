"""An encoder in the order of another data set."""

import numpy as np
from numpy.testing import assert_array_equal

from teaser import Tag
from teaser.model.extensions.user_features import match_encoder

A, B, C = (Tag("f", name) for name in "abc")
E = np.arange(6.0).reshape(3, 2)


def test_rows_and_columns_are_matched_by_name() -> None:
    found = match_encoder(
        E, items=["x", "y", "z"], tags=[A, B], new_items=["z", "n", "x"], new_tags=[C, B, A]
    )
    assert_array_equal(found, [[0, 5, 4], [0, 0, 0], [0, 1, 0]])
    assert_array_equal(E, np.arange(6.0).reshape(3, 2))


def test_what_is_the_same_is_not_copied() -> None:
    names, tags = ["x", "y", "z"], [A, B]
    assert match_encoder(E, items=names, tags=tags, new_items=names, new_tags=tags) is E


def test_what_has_nothing_in_common_begins_at_zero() -> None:
    found = match_encoder(E, items=["x", "y", "z"], tags=[A, B], new_items=["n"], new_tags=[C])
    assert_array_equal(found, [[0]])
