"""Items that come after the fit."""

import logging
from typing import Any

import polars as pl
import pytest
from conftest import RULES

from teaser import Dataset, Rules, Tag
from teaser.data.matrix import Ids
from teaser.data.tags import DISCOVERED
from teaser.errors import DataError, ParameterError, UnknownTagError
from teaser.model.tables import ItemTable, new_ids, read_new_items, tag_rows
from teaser.profile import POPULARITY

TAGS = (Tag("town", "Ghent"), Tag("type", "film"), POPULARITY)


def test_ids_become_those_of_the_catalogue() -> None:
    assert new_ids(["7", 8], Ids([1, 2]), pl.Int64()) == [7, 8]
    assert new_ids([7, "x"], Ids(["a"]), pl.String()) == ["7", "x"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1], r"are known already: \[1\]"),
        ([5, 5], "1 items are named twice"),
        (["five"], "Item ids here are whole numbers, found 'five'"),
        ([True], "Item ids here are whole numbers, found True"),
    ],
)
def test_ids_that_cannot_be_are_refused(given: list[Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        new_ids(given, Ids([1, 2]), pl.Int64())


def test_tags_become_rows_without_popularity() -> None:
    S = tag_rows({"a": ["type=film", Tag("town", "Ghent"), "type=film"], "b": []}, TAGS)
    assert S.toarray().tolist() == [[1, 1], [0, 0]]
    with pytest.raises(ParameterError, match="Popularity is counted, not given"):
        tag_rows({"a": ["popularity=popularity"]}, TAGS)
    with pytest.raises(ParameterError, match="Item 'a' needs a list of tags, found 'type=film'"):
        tag_rows({"a": "type=film"}, TAGS)
    with pytest.raises(UnknownTagError, match="Closest: town=Ghent"):
        tag_rows({"a": ["town=Gent"]}, TAGS)


def test_discovered_tags_are_no_tags_of_new_items() -> None:
    tags = (*TAGS[:2], Tag(DISCOVERED, "A, B"), POPULARITY, Tag("general", "general"))
    assert tag_rows({"a": ["type=film"]}, tags).toarray().tolist() == [[0, 1, 0]]
    with pytest.raises(ParameterError, match="Discovered tags are found by a fit"):
        tag_rows({"a": ["discovered=A, B"]}, tags)


def test_a_table_is_read_by_the_rules_and_joined(
    dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    tags = (*dataset.tags, POPULARITY)
    table = pl.DataFrame(
        {"item_id": ["n1", "n2"], "town": ["Ghent", "Paris"], "type": ["film", None], "x": [1, 2]}
    ).with_columns(labels=pl.lit(None, dtype=pl.String))
    rules = Rules(RULES)
    with caplog.at_level(logging.WARNING, logger="teaser"):
        new = read_new_items(table, ItemTable.from_dataset(dataset), tags, rules)
    assert new.ids == ["n1", "n2"]
    assert [str(tags[j]) for j in new.S[[0]].indices] == ["type=film", "town=Ghent"]
    assert new.S[[1]].nnz == 0
    assert new.table.columns == dataset.table.columns
    assert new.table["town"].to_list()[-2:] == ["Ghent", "Paris"]
    assert "1 tags of the new items are new to the model: town=Paris" in caplog.text
    assert "1 of 2 new items carry no tag" in caplog.text


def test_columns_that_do_not_fit_are_named(dataset: Dataset) -> None:
    table = pl.DataFrame({"item_id": ["n1"], "title": [[1, 2]]})
    with pytest.raises(DataError, match="title"):
        read_new_items(table, ItemTable.from_dataset(dataset), (POPULARITY,), Rules(()))
