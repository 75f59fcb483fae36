"""Saved items without ids of their own and data sets without numbers are refused."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import RULES
from forgery import forge_file
from safetensors.numpy import save_file

import teaser
from teaser import Dataset, Teaser, artifact
from teaser.baselines import EASE
from teaser.errors import ArtifactError
from teaser.extensions import DiscoveredTags, Remainder


@pytest.fixture(scope="module")
def saved(tables: tuple[pl.DataFrame, pl.DataFrame], tmp_path_factory: Any) -> dict[str, Path]:
    """Folders of a data set and of two models."""
    rows, items = tables
    users = rows.select(pl.col("user_id").unique(maintain_order=True))
    users = users.with_columns(age=pl.int_range(pl.len()) % 3)
    data = Dataset.from_tables(rows, items, user="user_id", rules=RULES, users=users)
    made: dict[str, Any] = {
        "data": data,
        "full": Teaser(l2_weights=5.0, l2_encoder=5.0, remainder=Remainder(l2=10.0)).fit(data),
        "ease": EASE(l2=5.0).fit(data),
    }
    folder = tmp_path_factory.mktemp("saved")
    for name, each in made.items():
        each.save(folder / name)
    return {name: folder / name for name in made}


@pytest.fixture
def forged(saved: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    def copied(name: str) -> Path:
        shutil.rmtree(tmp_path / "forged", ignore_errors=True)
        shutil.copytree(saved[name], tmp_path / "forged")
        return tmp_path / "forged"

    return copied


def read(folder: Path, name: str) -> None:
    """Load what a folder holds."""
    Dataset.load(folder) if name == "data" else teaser.load(folder)


def test_strengths_that_are_not_finite_are_refused(forged: Callable[[str], Path]) -> None:
    folder = forged("data")
    arrays = {name: np.array(a) for name, a in artifact.read(folder).arrays.items()}
    # Values that are all 1 are not saved.
    arrays["X.data"] = np.full(arrays["X.indices"].size, -np.inf, np.float32)
    forge_file(folder, "arrays", lambda path: save_file(arrays, path))
    with pytest.raises(ArtifactError, match=r"'X\.data' has numbers that are not finite"):
        read(folder, "data")


@pytest.mark.parametrize("name", ["full", "ease", "data"])
@pytest.mark.parametrize(
    "change",
    [
        lambda ids: ids.scatter(3, None),
        lambda ids: ids.scatter(3, ids[2]),
        lambda ids: pl.Series(ids.name, range(len(ids))) + 0.5,
    ],
)
def test_ids_that_name_no_item_are_refused(
    name: str, change: Any, forged: Callable[[str], Path]
) -> None:
    folder = forged(name)
    items = artifact.read(folder).tables["items"]
    wrong = items.with_columns(change(items.to_series(0)))
    forge_file(folder, "items", wrong.write_parquet)
    with pytest.raises(ArtifactError, match="ids of its items must be different"):
        read(folder, name)


def test_a_file_of_names_that_is_gone_is_no_damage(
    tables: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> None:
    names = tmp_path / "names.toml"
    names.write_text("drop = []\n")
    found = DiscoveredTags(grains=(10,), factors=8, names=str(names))
    data = Dataset.from_tables(*tables, user="user_id", rules=RULES)
    Teaser(l2_weights=5.0, l2_encoder=5.0, discovered=found).fit(data).save(tmp_path / "m")
    names.unlink()
    assert len(teaser.load(tmp_path / "m").items_) == 40
