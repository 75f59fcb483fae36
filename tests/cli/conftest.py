"""What the tests of the commands share: folders made by the command line."""

from pathlib import Path

import polars as pl
import pytest
from commands import said
from conftest import small_tables

RULES = """
[roles]
title = "title"
[[tags]]
kind = "category"
column = "type"
[[tags]]
kind = "category"
column = "town"
"""
USER_RULES = '[[tags]]\nkind = "category"\ncolumn = "camp"\n'
PENALTIES = ("--l2-weights", 5, "--l2-encoder", 5)


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables, a data set and a model."""
    folder = tmp_path_factory.mktemp("shop")
    interactions, items = small_tables()
    interactions.write_csv(folder / "ratings.csv")
    items.write_parquet(folder / "items.parquet")
    (folder / "rules.toml").write_text(RULES)
    said(
        "prepare", folder / "ratings.csv", folder / "items.parquet", "--out", folder / "data",
        "--positive", "rating >= 4", "--rules", folder / "rules.toml",
    )  # fmt: skip
    said("fit", folder / "data", "--out", folder / "model", *PENALTIES)
    return folder


@pytest.fixture(scope="session")
def both(shop: Path) -> Path:
    """A model with a remainder, of the shop's data set."""
    options = ("--remainder-l2", 20, "--remainder-neighbours", 0, "--remainder-share", 0.95)
    said("fit", shop / "data", "--out", shop / "both", *PENALTIES, *options)
    return shop / "both"


@pytest.fixture(scope="session")
def club(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a table of user features."""
    folder = tmp_path_factory.mktemp("club")
    interactions, items = small_tables()
    interactions.write_csv(folder / "visits.csv")
    items.write_csv(folder / "items.csv")
    films = interactions.filter(pl.col("item_id").str.slice(1).cast(pl.Int64) % 2 == 1)
    counts = films.group_by("user_id").len()
    users = interactions.select("user_id").unique(maintain_order=True)
    users = users.join(counts, on="user_id", how="left", maintain_order="left")
    users = users.with_columns(
        camp=pl.when(pl.col("len") > 3).then(pl.lit("cinema")).otherwise(pl.lit("music")),
        town=pl.when(pl.col("len") > 1).then(pl.lit("Ghent")).otherwise(pl.lit("Liège")),
    )
    users.select("user_id", "camp", "town").write_csv(folder / "users.csv")
    (folder / "user_rules.toml").write_text(USER_RULES)
    said(
        "prepare", folder / "visits.csv", folder / "items.csv", "--out", folder / "data",
        "--users", folder / "users.csv", "--user-rules", folder / "user_rules.toml",
    )  # fmt: skip
    said("fit", folder / "data", "--out", folder / "model", *PENALTIES)
    return folder
