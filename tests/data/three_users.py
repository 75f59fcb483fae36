"""Tables of three users and four items, their data set, and what two equal data sets share."""

from typing import Any

import numpy as np
import polars as pl
from numpy.testing import assert_array_equal
from polars.testing import assert_frame_equal

from teaser.data.dataset import Dataset
from teaser.data.rules import ListOf, Year

INTERACTIONS = pl.DataFrame(
    {
        "user_id": ["ann", "bob", "ann", "ann", "cy", None],
        "item_id": ["a", "b", "b", "a", "z", "a"],
        "rating": [5, 4, 2, 5, 4, 5],
    }
)
ITEMS = pl.DataFrame(
    {
        "item_id": ["a", "b", "c", "a"],
        "title": ["Alpha", "Beta", "Gamma", "Again"],
        "genre": ["jazz|rock", "jazz", None, "folk"],
        "year": [1990, 2000, 2010, 2020],
    }
)
RULES = (ListOf("genre"), Year("year", width=10))


def three_users() -> Dataset:
    """Return the data set of the tables."""
    return Dataset.from_tables(INTERACTIONS, ITEMS, rules=RULES, positive="rating >= 3")


def chosen(dataset: Dataset) -> set[tuple[Any, Any]]:
    """Return who chose what, by name."""
    return {(dataset.users[u], dataset.items[i]) for u, i in zip(*dataset.X.nonzero(), strict=True)}


def assert_same(first: Dataset, second: Dataset) -> None:
    for name in ("X", "S"):
        a, b = getattr(first, name), getattr(second, name)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.toarray(), b.toarray())
    assert first.users == second.users
    assert first.items == second.items
    assert_frame_equal(first.table, second.table)
    for name in ("tags", "rules", "report", "tag_report", "items_without_metadata"):
        assert getattr(first, name) == getattr(second, name), name
    assert first.items_refused == second.items_refused
    assert_array_equal(first.times, second.times)
    assert first.lines() == second.lines()
