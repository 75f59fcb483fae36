"""A small data set of 40 events, for tests and first steps."""

from functools import lru_cache

import numpy as np
import polars as pl

from teaser.data.dataset import Dataset
from teaser.data.rules import Category, ListOf

RULES = (Category("type"), Category("town"), ListOf("labels"))


def example_tables(
    seed: int = 0, n_users: int = 300, n_items: int = 40
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return interactions and items of two groups: concerts in Ghent and films in Liège.

    Events are named i0, i1, ...; a user chooses mostly events of one group.
    """
    rng = np.random.default_rng(seed)
    group = np.arange(n_items) % 2
    items = pl.DataFrame(
        {
            "item_id": [f"i{i}" for i in range(n_items)],
            "title": [f"Event {i}" for i in range(n_items)],
            "type": np.where(group == 0, "concert", "film"),
            "town": [("Ghent", "Liège", "Deinze")[g if i % 7 else 2] for i, g in enumerate(group)],
            "labels": [
                ("|".join(["free", "late"][: 1 + i % 2])) if i % 3 else None for i in range(n_items)
            ],
        }
    )
    taste = rng.integers(0, 2, n_users)
    weights = np.where(group[None, :] == taste[:, None], 8.0, 1.0) / (1 + np.arange(n_items)) ** 0.5
    noise = np.log(weights) + rng.gumbel(size=weights.shape)
    lengths = rng.integers(2, 10, n_users)
    rows = [
        (f"u{u}", f"i{i}", int(rng.integers(3, 6)))
        for u in range(n_users)
        for i in np.argsort(-noise[u])[: lengths[u]]
    ]
    interactions = pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row")
    return interactions, items


@lru_cache(maxsize=4)
def example_dataset(seed: int = 0, n_users: int = 300, n_items: int = 40) -> Dataset:
    """Return the data set of `example_tables`, with the tags of `RULES`."""
    return Dataset.from_tables(*example_tables(seed, n_users, n_items), rules=RULES)
