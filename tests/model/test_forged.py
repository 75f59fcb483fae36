"""Saved models and data sets that somebody forged are refused with a sentence, or work."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import RULES
from forgery import FORGERIES, forge_file, sign
from safetensors.numpy import save_file

import teaser
from teaser import Dataset, Teaser, artifact
from teaser.baselines import EASE, ItemKNN
from teaser.errors import ArtifactError, TeaserError
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


def read_and_use(folder: Path, name: str) -> None:
    """Load what a folder holds, and ask it what people ask."""
    if name == "data":
        data = Dataset.load(folder)
        data.describe()
        data._repr_html_()
        return
    model = teaser.load(folder)
    history = list(model.items_[:2])
    listed = model.recommend(history, k=3)
    assert np.isfinite([each.score for each in listed]).all()
    model.describe()
    model._repr_html_()
    if hasattr(model, "profile"):
        model.profile(history).top(3)
        model.explain(history[0], history)
        assert all(reason.sentence() for each in listed for reason in each.reasons)
    if getattr(model, "groups_", None):
        model.groups_.to_toml()


@pytest.mark.parametrize("name", ["data", "full", "sparse", "ease", "knn", "wmfs"])
def test_a_forged_folder_is_refused_or_works(name: str, forged: Callable[[str], Path]) -> None:
    read_and_use(forged(name), name)
    refusals = []
    for seed in range(18):
        rng = np.random.default_rng([seed, len(name)])
        folder = forged(name)
        done = FORGERIES[seed % 3](folder, rng)
        try:
            read_and_use(folder, name)
        except TeaserError as error:
            refusals.append(str(error))
        except BaseException as error:
            error.add_note(f"{name}, {seed}: {done}")
            raise
    assert len(refusals) > 6
    assert all(told.endswith(".") for told in refusals)


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
        read_and_use(folder, name)


@pytest.mark.parametrize("name", ["full", "ease", "data"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda ids: ids.scatter(3, None), "1 of the ids of its items are missing"),
        (lambda ids: ids.scatter(3, ids[2]), "'i2' of its items is there more than once"),
        (lambda ids: pl.Series(ids.name, range(len(ids))) + 0.5, "found Float64"),
        (lambda ids: pl.Series(ids.name, [["i"]] * len(ids)), "found List"),
    ],
)
def test_ids_that_name_no_item_are_refused(
    name: str, change: Any, said: str, forged: Callable[[str], Path]
) -> None:
    folder = forged(name)
    items = artifact.read(folder).tables["items"]
    wrong = items.with_columns(change(items.to_series(0)))
    forge_file(folder, "items", wrong.write_parquet)
    with pytest.raises(ArtifactError, match=said):
        read_and_use(folder, name)


def test_a_kind_that_is_a_list_is_refused(forged: Callable[[str], Path]) -> None:
    folder = forged("full")
    sign(folder, {**artifact.read_manifest(folder), "kind": ["Teaser"]})
    with pytest.raises(ArtifactError, match="its kind cannot be"):
        teaser.load(folder)


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
