"""The tags of items: decoder, look-ups, and what may be learned from."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import RULES, small_tables
from numpy.testing import assert_allclose, assert_array_equal

from teaser import Category, Dataset, Teaser
from teaser.errors import ParameterError, RuleError
from teaser.model.item_table import popularity
from teaser.model.tag_table import TagTable, check_tagged, decoder
from teaser.profile import POPULARITY


def test_the_decoder_is_tags_and_popularity(dataset: Dataset) -> None:
    D = decoder(dataset.S, np.linspace(0, 1, 40))
    assert D.dtype == np.float64
    assert_array_equal(D.toarray()[:, :-1], dataset.S.toarray())
    assert_array_equal(D.toarray()[:, -1], np.linspace(0, 1, 40))
    table = TagTable.from_dataset(dataset)
    assert_array_equal(table.decoder.toarray()[:, -1], popularity(dataset))
    assert table.tags == (*dataset.tags, POPULARITY)


def test_look_ups_follow_from_tags_and_decoder(dataset: Dataset) -> None:
    table = TagTable.from_dataset(dataset, -decoder(dataset.S, popularity(dataset)))
    assert [table.tags[i] for i in table.index.values()] == list(table.index)
    assert_allclose(table.mass, abs(table.decoder.toarray()).sum(axis=0))
    names, numbers = table.features
    assert [names[n] for n in numbers] == [tag.feature for tag in table.tags]
    longer = table.extended(decoder(dataset.S[:2], np.zeros(2)))
    assert longer.decoder.shape == (42, len(table.tags))
    assert (longer.mass > table.mass).any()


@pytest.mark.parametrize("name", ["popularity", "discovered"])
def test_a_feature_may_not_be_named_as_those_of_the_model(name: str) -> None:
    interactions, items = small_tables()
    items = items.with_columns(pl.lit("x").alias(name))
    data = Dataset.from_tables(interactions, items, rules=(*RULES, Category(name)))
    with pytest.raises(RuleError, match=f"'{name}'"):
        Teaser().fit(data)
    wrong: Any = None
    with pytest.raises(ParameterError, match="Dataset"):
        check_tagged(wrong)
