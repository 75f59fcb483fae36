"""Data that several tests share."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

import teaser
from teaser import Category, Dataset, ListOf, Teaser

# Times are never asserted: a busy machine must not fail a property.
settings.register_profile("teaser", deadline=None)
settings.load_profile("teaser")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets, where there is one."""
    folder = Path(os.environ.get("TEASER_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the public data sets are not on this machine: there is no {folder}")
    return folder


def small_tables(
    seed: int = 0, n_users: int = 300, n_items: int = 40
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two camps of people: one goes to concerts in Ghent, the other to films in Liège."""
    rng = np.random.default_rng(seed)
    camp = np.arange(n_items) % 2
    items = pl.DataFrame(
        {
            "item_id": [f"i{i}" for i in range(n_items)],
            "title": [f"Event {i}" for i in range(n_items)],
            "type": np.where(camp == 0, "concert", "film"),
            "town": [("Ghent", "Liège", "Deinze")[c if i % 7 else 2] for i, c in enumerate(camp)],
            "labels": [
                ("|".join(["free", "late"][: 1 + i % 2])) if i % 3 else None for i in range(n_items)
            ],
        }
    )
    taste = rng.integers(0, 2, n_users)
    weights = np.where(camp[None, :] == taste[:, None], 8.0, 1.0) / (1 + np.arange(n_items)) ** 0.5
    noise = np.log(weights) + rng.gumbel(size=weights.shape)
    lengths = rng.integers(2, 10, n_users)
    rows = [
        (f"u{u}", f"i{i}", int(rng.integers(3, 6)))
        for u in range(n_users)
        for i in np.argsort(-noise[u])[: lengths[u]]
    ]
    interactions = pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row")
    return interactions, items


RULES = (Category("type"), Category("town"), ListOf("labels"))


@pytest.fixture(scope="session")
def tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    return small_tables()


@pytest.fixture(scope="session")
def dataset(tables: tuple[pl.DataFrame, pl.DataFrame]) -> Dataset:
    return Dataset.from_tables(*tables, rules=RULES)


@pytest.fixture(scope="session")
def model(dataset: Dataset) -> Teaser:
    """A fitted model; tests that change a model make their own."""
    return teaser.Teaser(l2_weights=5.0, l2_encoder=5.0, tol=1e-5).fit(dataset)
