"""Kinds that register themselves, and models of one's own that are saved and loaded."""

import json
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from numpy.testing import assert_allclose

import teaser
from teaser import Dataset, Teaser, artifact
from teaser.baselines import EASE, Product
from teaser.errors import ArtifactError, ParameterError
from teaser.model import KINDS, base, load
from teaser.model.base import Model
from teaser.model.checks import check_dataset
from teaser.model.tagged import TaggedModel
from teaser.testing import ModelContract

SAVED = Path(__file__).parents[1] / "saved"


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
    assert not {"Model", "TaggedModel", "EncoderModel"} & set(KINDS)
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


def test_two_classes_of_one_name_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"named EASE.*ease\.EASE"):
        type("EASE", (Trending,), {})
    assert KINDS["EASE"] is EASE


def test_a_class_that_is_defined_again_in_its_place_replaces_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(base._kinds, "Cell", Trending)
    monkeypatch.delitem(base._kinds, "Cell")
    first, second = (type("Cell", (Trending,), {}) for _ in range(2))
    assert first is not second
    assert KINDS["Cell"] is second


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


@pytest.mark.parametrize("name", sorted(p.name for p in SAVED.iterdir() if p.is_dir()))
def test_folders_that_earlier_versions_saved_still_answer(name: str, tmp_path: Path) -> None:
    if name.startswith("dataset"):
        data = Dataset.load(SAVED / name)
        data.save(tmp_path / "again")
        for each in (data, Dataset.load(tmp_path / "again")):
            assert (each.n_users, each.n_items, each.user_tags != ()) == (80, 30, "users" in name)
        settings = artifact.read(tmp_path / "again").settings
        assert ("people" in settings, "user_features" in settings) == (False, "users" in name)
        return
    wanted = json.loads((SAVED / "recommendations.json").read_text())[name]
    loaded = load(SAVED / name)
    loaded.save(tmp_path / "again")
    settings = artifact.read(tmp_path / "again").settings
    assert ("learnt" in settings, "n_learned" in settings) == (False, name == "wmfs")
    for model in (loaded, load(tmp_path / "again")):
        how: dict[str, Any] = {"about": ["age=old"]} if name == "user-features" else {}
        found = model.recommend(["i1", "i5", "i6"], k=5, **how)
        assert [r.item_id for r in found] == [item_id for item_id, _, _ in wanted]
        assert_allclose(
            [(r.score, r.match) for r in found], [each[1:] for each in wanted], rtol=1e-5
        )
