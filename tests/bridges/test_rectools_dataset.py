"""RecTools data sets become ours, feature by feature."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from rectools.dataset import Dataset

import teaser
from teaser.bridges.rectools import TeaserModelConfig
from teaser.bridges.rectools_dataset import read_dataset, tag_feature
from teaser.errors import DataError

PAIRS = pd.DataFrame(
    {
        "user_id": ["u", "u", "v"],
        "item_id": ["a", "b", "b"],
        "weight": [1.0, 2.5, 1.0],
        "datetime": "2024-05-01",
    }
)


def read(features: pd.DataFrame | None = None, **how: Any) -> teaser.Dataset:
    options = how.pop("options", {})
    data = Dataset.construct(PAIRS, item_features_df=features, **how)
    return read_dataset(data, TeaserModelConfig(**options))


def test_weights_are_strengths_unless_left_out() -> None:
    assert read().X.toarray().tolist() == [[1.0, 2.5], [0.0, 1.0]]
    assert read(options={"strength": None}).X.toarray().tolist() == [[1.0, 1.0], [0.0, 1.0]]
    assert list(read().users) == ["u", "v"]
    assert read().tags == ()


def test_every_category_is_a_tag() -> None:
    features = pd.DataFrame(
        {
            "id": ["a", "a", "b", "c", "b"],
            "feature": ["genre", "genre", "genre", "genre", "a=b"],
            "value": ["noir", "slow", "noir", "western", 3],
        }
    )
    found = read(features, cat_item_features=["genre", "a=b"])
    assert list(found.items) == ["a", "b", "c"]  # c was never chosen
    carriers = {
        str(tag): [found.items[i] for i in np.flatnonzero(found.S.toarray()[:, j])]
        for j, tag in enumerate(found.tags)
    }
    assert carriers == {
        "genre=noir": ["a", "b"],
        "genre=slow": ["a"],
        "genre=western": ["c"],
        "a b=3": ["b"],
    }
    assert tag_feature("a=b") == "a b"
    rules = [teaser.ListOf("genre", min_items=2)]
    own = read(features, cat_item_features=["genre", "a=b"], options={"rules": rules})
    assert [str(tag) for tag in own.tags] == ["genre=noir"]


def test_direct_and_dense_features_are_numbers() -> None:
    minutes = pd.DataFrame({"id": ["a", "b"], "feature": "minutes", "value": [90.0, 120.0]})
    dense = pd.DataFrame({"id": ["a", "b"], "minutes": [90.0, 120.0]})
    for found in (read(minutes), read(dense, make_dense_item_features=True)):
        assert found.table["minutes"].to_list() == [90.0, 120.0]
        assert {tag.feature for tag in found.tags} == {"minutes"}


def test_categories_of_users_become_user_tags_if_asked() -> None:
    users = pd.DataFrame({"id": ["v", "w"], "feature": "town", "value": ["Ghent", "Liège"]})
    how: dict[str, Any] = {"user_features_df": users, "cat_user_features": ["town"]}
    assert read(**how).user_features is None
    found = read(**how, options={"user_features": True})
    assert found.Q is not None
    assert [str(tag) for tag in found.user_tags] == ["town=Ghent"]
    assert found.Q.toarray().tolist() == [[0.0], [1.0]]


def test_ids_that_cannot_be_told_apart_are_refused() -> None:
    features = pd.DataFrame({"id": [" a", "b"], "feature": "genre", "value": "noir"})
    with pytest.raises(DataError, match=r"RecTools has 3 items, of which 2.*described twice"):
        read(features, cat_item_features=["genre"])
