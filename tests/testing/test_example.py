"""The small data set."""

import numpy as np
from numpy.testing import assert_array_equal

from teaser import Dataset
from teaser.testing import RULES, example_dataset, example_tables


def test_the_example_is_the_same_each_time() -> None:
    first, again = example_tables(), example_tables()
    assert all(a.equals(b) for a, b in zip(first, again, strict=True))
    data = example_dataset()
    assert (data.n_users, data.n_items) == (300, 40)
    assert example_dataset() is data
    assert_array_equal(Dataset.from_tables(*first).X.toarray(), data.X.toarray())


def test_the_example_has_two_groups() -> None:
    interactions, items = example_tables()
    assert items["type"].value_counts()["count"].to_list() == [20, 20]
    assert interactions.columns == ["user_id", "item_id", "rating"]
    assert {rule.column for rule in RULES} == {"type", "town", "labels"}
    counts = example_dataset().item_counts
    assert int(np.argmax(counts)) < 5
