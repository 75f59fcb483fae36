"""Saved models and data sets that somebody forged are refused with a sentence, or work."""

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
from teaser.baselines import EASE, ItemKNN
from teaser.errors import ArtifactError
from teaser.extensions import DiscoveredTags, LearnedDecoder, Remainder, SparseEncoder
from teaser.model.baselines.wmf import WMFS


@pytest.fixture(scope="module")
def saved(tables: tuple[pl.DataFrame, pl.DataFrame], tmp_path_factory: Any) -> dict[str, Path]:
    """Folders of a data set and of models of several kinds, with all that a model can hold."""
    rows, items = tables
    users = rows.select(pl.col("user_id").unique(maintain_order=True))
    users = users.with_columns(age=pl.int_range(pl.len()) % 3)
    data = Dataset.from_tables(rows, items, user="user_id", rules=RULES, users=users)
    found = DiscoveredTags(grains=(10,), factors=8)
    options: dict[str, Any] = {"l2_weights": 5.0, "l2_encoder": 5.0}
    sparse: dict[str, Any] = {"sparse": SparseEncoder(), "decoder": LearnedDecoder()}
    made: dict[str, Any] = {
        "data": data,
        "full": Teaser(
            **options, remainder=Remainder(l2=10.0), discovered=found, user_features=True
        ).fit(data),
        "sparse": Teaser(**options, **sparse).fit(data),
        "ease": EASE(l2=5.0).fit(data),
        "knn": ItemKNN().fit(data),
        "wmfs": WMFS().fit(data),
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


def forge_arrays(folder: Path, **changes: Any) -> None:
    arrays = {name: np.array(a) for name, a in artifact.read(folder).arrays.items()} | changes
    forge_file(folder, "arrays", lambda path: save_file(arrays, path))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        *(("full", a) for a in ("encoder", "popularity", "remainder.data", "basis.q")),
        *(
            ("full", a)
            for a in ("basis.share", "decoder.data", "user_features.alone", "groups.data")
        ),
        ("sparse", "encoder.data"),
        ("ease", "weights"),
        ("knn", "similarity.data"),
        ("data", "X.data"),
    ],
)
def test_numbers_that_are_not_finite_are_refused(
    name: str, array: str, forged: Callable[[str], Path]
) -> None:
    folder = forged(name)
    content = artifact.read(folder)
    # Values that are all 1 are not saved.
    indices = content.arrays.get(array.replace(".data", ".indices"), np.zeros(0))
    numbers = np.array(content.arrays.get(array, np.ones(indices.size, np.float32)))
    numbers.reshape(-1)[-1] = np.nan if name == "full" else -np.inf
    forge_arrays(folder, **{array: numbers})
    with pytest.raises(ArtifactError, match=f"'{array}' has numbers that are not finite"):
        read(folder, name)


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
