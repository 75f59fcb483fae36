"""Catalogues of a named size, made up so that tags matter to what people choose."""

import numpy as np
import polars as pl

from teaser import Dataset, ListOf, Rules


def generated(
    *, n_users: int, n_items: int, n_tags: int, n_interactions: int, seed: int = 0
) -> Dataset:
    """Return a data set of about the given size; every item has about ten tags.

    People like a few tags more than others; items and tags are popular in the long-tailed way of
    real catalogues.
    """
    rng = np.random.default_rng(seed)
    tag_weight = 1.0 / np.arange(1, n_tags + 1) ** 0.7
    tags_of_item = rng.choice(n_tags, size=(n_items, 10), p=tag_weight / tag_weight.sum())
    tags_of_item[:n_tags, 0] = np.arange(n_tags)[:n_items]
    item_weight = 1.0 / np.arange(1, n_items + 1) ** 0.8
    camp_of_item = tags_of_item[:, 1] % 50
    lengths = 2 + rng.geometric(1 / max(1.0, n_interactions / n_users - 2), n_users)
    users, items = [], []
    for camp in range(50):
        people = np.arange(camp, n_users, 50)
        weight = item_weight * np.where(camp_of_item == camp, 20.0, 1.0)
        users.append(np.repeat(people, lengths[people]))
        items.append(rng.choice(n_items, size=int(lengths[people].sum()), p=weight / weight.sum()))
    interactions = pl.DataFrame(
        {"user_id": np.concatenate(users), "item_id": np.concatenate(items)}
    )
    table = pl.DataFrame(
        {
            "item_id": np.arange(n_items),
            "title": [f"Item {i}" for i in range(n_items)],
            "tag": [[f"t{j}" for j in row] for row in tags_of_item.tolist()],
        }
    )
    return Dataset.from_tables(
        interactions, table, rules=Rules((ListOf("tag"),), {"title": "title"})
    )
