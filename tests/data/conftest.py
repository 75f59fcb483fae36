"""Data that the tests of the data share."""

import polars as pl
import pytest
from conftest import RULES, small_tables

from teaser import Category, Dataset


@pytest.fixture
def known() -> Dataset:
    interactions, items = small_tables()
    users = pl.DataFrame(
        {"user_id": [f"u{i}" for i in range(310)], "camp": [f"c{i % 3}" for i in range(310)]}
    )
    return Dataset.from_tables(
        interactions, items, rules=RULES, users=users, user_rules=[Category("camp")]
    )
