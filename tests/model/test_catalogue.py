"""The catalogue of a model with tags: kept, read back, extended."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import RULES, small_tables
from numpy.testing import assert_array_equal

from teaser import Category, Dataset, Teaser, artifact
from teaser.errors import ArtifactError, ParameterError, RuleError
from teaser.model import load
from teaser.model.catalogue import decoder, popularity
from teaser.profile import POPULARITY


def test_the_decoder_is_tags_and_popularity(dataset: Dataset) -> None:
    counts = dataset.X.toarray().sum(axis=0, dtype=np.float64)
    found = popularity(dataset)
    assert_array_equal(found, counts / counts.max())
    D = decoder(dataset.S, found)
    assert D.dtype == np.float64
    assert_array_equal(D.toarray()[:, :-1], dataset.S.toarray())
    assert_array_equal(D.toarray()[:, -1], found)


def test_a_feature_may_not_be_named_popularity() -> None:
    interactions, items = small_tables()
    items = items.with_columns(pl.lit("x").alias("popularity"))
    data = Dataset.from_tables(interactions, items, rules=(*RULES, Category("popularity")))
    with pytest.raises(RuleError, match="'popularity', which the model adds itself"):
        Teaser().fit(data)


def test_titles_and_new_items_follow_the_metadata(dataset: Dataset) -> None:
    model = Teaser().fit(dataset)
    assert model.title(7) == "Event 7"
    new = pl.DataFrame({"item_id": ["n"], "title": ["Fresh"], "town": ["Ghent"]})
    new = new.with_columns(type=pl.lit("film"), labels=pl.lit("free|late"))
    assert model.add_items(new) is model
    assert model.title(40) == "Fresh"
    assert model.popularity_[40] == 0.0
    assert model.decoder_.shape == (41, len(dataset.tags) + 1)
    assert model.tags_[-1] == POPULARITY
    assert dataset.n_items == 40


def test_a_failed_addition_changes_nothing(dataset: Dataset) -> None:
    model = Teaser().fit(dataset)
    with pytest.raises(ParameterError, match="needs a list of tags"):
        model.add_items({"n": "town=Ghent"})
    assert len(model.items_) == model.decoder_.shape[0] == len(model.table_) == 40


@pytest.mark.parametrize(
    ("name", "cut", "said"),
    [("popularity", 39, "do not fit together"), ("decoder.indptr", 40, "is not whole")],
)
def test_parts_of_different_sizes_are_refused(
    model: Teaser, tmp_path: Path, name: str, cut: int, said: str
) -> None:
    model.save(tmp_path / "m")
    content = artifact.read(tmp_path / "m")
    arrays = {**content.arrays, name: content.arrays[name][:cut]}
    artifact.write(
        tmp_path / "m", kind=content.kind, settings=content.settings, arrays=arrays,
        tables=content.tables,
    )  # fmt: skip
    with pytest.raises(ArtifactError, match=said):
        load(tmp_path / "m")


def test_a_table_of_other_items_is_refused(model: Teaser, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    content = artifact.read(tmp_path / "m")
    tables = {**content.tables, "items": content.tables["items"][:30]}
    artifact.write(
        tmp_path / "m", kind=content.kind, settings=content.settings, arrays=content.arrays,
        tables=tables,
    )  # fmt: skip
    with pytest.raises(ArtifactError, match="of different sizes"):
        load(tmp_path / "m")
