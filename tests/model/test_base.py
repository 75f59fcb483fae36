"""Kinds that register themselves, and models of one's own that are saved and loaded."""

from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import teaser
from teaser import Dataset, Teaser, artifact
from teaser.baselines import EASE, Product
from teaser.errors import ArtifactError
from teaser.model import KINDS, base, load
from teaser.model.base import Model
from teaser.model.scores import top_k
from teaser.model.tables import check_dataset
from teaser.model.tagged import TaggedModel
from teaser.testing import ModelContract


class Trending(Model):
    """A model of one's own: popularity to a power, as a user of the library would write it."""

    learned_arrays = ("scores",)

    def __init__(self, *, power: float = 0.5) -> None:
        self.power = power

    def fit(self, dataset: Dataset) -> Self:
        check_dataset(dataset)
        self.keep_items(dataset)
        self.scores_ = self.popularity_**self.power
        return self

    def score_batch(self, X: Any) -> np.ndarray:
        rows = self.check_histories(X)
        return np.tile(self.scores_, (rows.shape[0], 1))


class TestTrending(ModelContract):
    def make(self) -> Trending:
        return Trending(power=0.7)


def test_the_kinds_are_those_that_can_be_fitted() -> None:
    known = {
        "EASE", "EDLAE", "ItemKNN", "NeighbourEASE", "Popularity", "Product", "Teaser", "Trending",
        "WMF",
    }  # fmt: skip
    assert known <= set(KINDS)
    assert not {"Model", "TaggedModel"} & set(KINDS)
    writable: Any = KINDS
    with pytest.raises(TypeError):
        writable["EASE"] = Teaser


def test_ones_own_model_may_be_part_of_a_product(dataset: Dataset, tmp_path: Path) -> None:
    product = Product(Teaser(), Trending()).fit(dataset)
    product.save(tmp_path / "m")
    loaded = teaser.load(tmp_path / "m", Product)
    assert isinstance(loaded.parts[1], Trending)
    assert loaded.recommend(["i3"]) == product.recommend(["i3"])


def test_an_unknown_kind_is_refused_with_the_module_to_import(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Trending().fit(dataset).save(tmp_path / "own")
    Product(Teaser(), Trending()).fit(dataset).save(tmp_path / "product")
    monkeypatch.delitem(base._kinds, "Trending")
    for folder in ("own", "product"):
        with pytest.raises(ArtifactError, match=f"Trending.*import the module {__name__}"):
            load(tmp_path / folder)
    dataset.save(tmp_path / "data")
    with pytest.raises(ArtifactError, match="not a model"):
        load(tmp_path / "data")


def test_the_kind_that_is_needed_can_be_named(dataset: Dataset, tmp_path: Path) -> None:
    EASE().fit(dataset).save(tmp_path / "m")
    any_model: Any = Model
    assert type(load(tmp_path / "m", any_model)) is EASE
    with_tags: Any = TaggedModel
    with pytest.raises(ArtifactError, match="EASE, and TaggedModel is needed"):
        load(tmp_path / "m", with_tags)


def test_a_folder_of_parts_that_do_not_fit_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    EASE().fit(dataset).save(tmp_path / "m")
    content = artifact.read(tmp_path / "m")
    for settings in ({"title": None}, {**content.settings, "parameters": {"depth": 3}}):
        artifact.write(
            tmp_path / "m", kind="EASE", settings=settings, arrays=content.arrays,
            tables=content.tables,
        )  # fmt: skip
        with pytest.raises(ArtifactError, match="a whole EASE"):
            load(tmp_path / "m")


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(1, 35), st.data())
def test_the_best_k_are_those_of_a_full_sort(
    scores: list[int], k: int, data: st.DataObject
) -> None:
    n = len(scores)
    tie = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    out = data.draw(st.sets(st.integers(0, n - 1)))
    found = top_k(
        np.array(scores, float), k, exclude=np.array(sorted(out), int), tie=np.array(tie, float)
    )
    wanted = sorted(set(range(n)) - out, key=lambda i: (-scores[i], -tie[i], i))[:k]
    assert found.tolist() == wanted
