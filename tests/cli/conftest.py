"""What the tests of the commands share: folders made by the command line."""

from pathlib import Path

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
