"""Which items a condition and the name of a boost mean."""

from datetime import UTC, date, datetime

import numpy as np
import polars as pl
import pytest

from teaser import Category, Dataset, ListOf, Tag, Teaser
from teaser.errors import ParameterError, UnknownNameError
from teaser.model.filters import find_items, pass_where

ITEMS = pl.DataFrame(
    {
        "item_id": ["a", "b", "c", "d"],
        "town": ["Ghent", "Bruges", "Ghent", None],
        "players": [2, 3, 2, None],
        "labels": ["free|late", "free", None, "late"],
        "days": [[1, 2], [3], [], None],
        "promoted": [True, False, None, True],
        "new": [1, 0, 0, 1],
        "opens": [date(2024, 1, 1), date(2024, 2, 1), None, None],
        "pair": pl.Series([[1, 2], [3, 4], None, [1, 4]], dtype=pl.Array(pl.Int64, 2)),
        "when": pl.Series([datetime(2024, 1, 1, 8), datetime(2024, 1, 1, 20), None, None]),
        "zoned": pl.Series(
            [datetime(2024, 1, 1, 8), datetime(2024, 2, 1, 20), None, None]
        ).dt.replace_time_zone("Europe/Brussels"),
        "gaps": [1.0, None, float("nan"), 1.0],
        "said": ["yes", "No", None, ""],
    }
)
CHOICES = pl.DataFrame({"user_id": [1, 1, 2, 2, 3, 3], "item_id": ["a", "b", "b", "c", "c", "d"]})


@pytest.fixture(scope="module")
def model() -> Teaser:
    rules = (Category("town", min_items=1), ListOf("labels", min_items=1))
    data = Dataset.from_tables(CHOICES, ITEMS, rules=rules)
    return Teaser(l2_weights=1.0, l2_encoder=1.0).fit(data)


def passing(model: Teaser, where: object, *, tags: bool = True) -> str:
    mask = pass_where(where, model.item_table_, model.tag_table_ if tags else None)
    return "".join(np.array(model.items_[:])[mask])


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ({"town": "Ghent"}, "ac"),
        ({"town": ["Ghent", "Bruges"]}, "abc"),
        ({"TOWN": "ghent"}, "ac"),
        ("Players >= 3", "b"),
        ({"players": 2}, "ac"),
        ({"players": "2"}, "ac"),
        ({"players": {2, 3}, "town": "Bruges"}, "b"),
        ({"labels": "free"}, "ab"),
        ({"days": 3}, "b"),
        ({"days": [1, 3]}, "ab"),
        ({"promoted": True}, "ad"),
        ({"promoted": "no"}, "b"),
        ({"opens": date(2024, 2, 1)}, "b"),
        ({"opens": "2024-02-01"}, "b"),
        ({"town": None}, "d"),
        ({"item_id": "c"}, "c"),
        (pl.col("players") >= 3, "b"),
        ((pl.col("town") == "Ghent") & pl.col("labels").is_null(), "c"),
        ("players=2", "ac"),
        ("players != 2", "bd"),
        ("players > 2", "b"),
        ("labels in free, late", "abd"),
        (["players=2", {"labels": "late"}], "a"),
        (["town=Ghent", "town=Bruges"], "abc"),
        (["town=Ghent", {"town": "Bruges"}, "players=2"], "ac"),
        (["labels=free", "labels=late"], "abd"),
        (["town != Ghent", "town != Bruges"], "d"),
        (["town in Ghent, Bruges", "town != Bruges"], "ac"),
        (["town=Ghent", "town=Bruges", pl.col("players") > 2], "b"),
        ({"pair": 1}, "ad"),
        ("when=2024-01-01", "ab"),
        ("when=2024-01-01 20:00", "b"),
        ("when != 2024-01-01", "cd"),
        ({"when": datetime(2024, 1, 1, 8)}, "a"),
        ({"zoned": date(2024, 2, 1)}, "b"),
        ("zoned=2024-01-01T07:00+00:00", "a"),
        ({"zoned": datetime(2024, 2, 1, 19, tzinfo=UTC)}, "b"),
        ({"pair": [3, 2]}, "ab"),
        ([], "abcd"),
    ],
)
def test_items_that_pass(model: Teaser, where: object, wanted: str) -> None:
    assert passing(model, where) == wanted


@pytest.mark.parametrize(
    ("where", "told"),
    [
        (pl.col("twon") == "x", "'twon'.*Closest: town.*item_id, town"),
        ({"twon": 1}, "'twon'.*Closest: town"),
        ({"town": "Gent"}, "'Gent'.*Ghent.*unknown='ignore'"),
        ({"players": "two"}, "'two'"),
        ("when=soon", "when = 'soon'"),
        ({"pair": 9}, "pair = 9.*Such as: 1"),
        ([["players=2"]], r"found \['players=2'\]"),
        (pl.col("town"), "true or false for each of 4 items; found 4 rows of String"),
        (pl.col("players").max() > 2, "found 1 rows"),
        (pl.col("town") > 3, "cannot be computed"),
        (7, "found 7"),
        ("players", "column=value"),
    ],
)
def test_what_cannot_be_asked_is_said(model: Teaser, where: object, told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        passing(model, where)


@pytest.mark.parametrize(
    ("name", "shown", "wanted"),
    [
        ("b", "b", "b"),
        ("town=Ghent", Tag("town", "Ghent"), "ac"),
        (Tag("labels", "late"), Tag("labels", "late"), "ad"),
        ("Bruges", Tag("town", "Bruges"), "b"),
        ("promoted", "promoted", "ad"),
        ("new", "new", "ad"),
        ("gaps", "gaps", "ad"),
        ("said", "said", "a"),
        ("players=3", Tag("players", "3"), "b"),
    ],
)
def test_a_boost_is_named_by_id_tag_or_column(
    model: Teaser, name: object, shown: object, wanted: str
) -> None:
    found, weights = find_items(name, model.item_table_, model.tag_table_)
    assert found == shown
    assert "".join(np.array(model.items_[:])[weights > 0]) == wanted
    assert set(weights.tolist()) <= {0.0, 1.0}


def test_names_that_mean_nothing_or_too_much_are_refused(model: Teaser) -> None:
    table = model.item_table_
    with pytest.raises(UnknownNameError, match=r"'promotd'.*promoted"):
        find_items("promotd", table, model.tag_table_)
    with pytest.raises(UnknownNameError, match="town=Gent"):
        find_items("town=Gent", table, model.tag_table_)
    with pytest.raises(UnknownNameError, match="Closest: town=Ghent"):
        find_items(Tag("town", "Gent"), table, model.tag_table_)
    rules = (Category("town", min_items=1), Category("town", feature="place", min_items=1))
    twice = Teaser(l2_weights=1.0, l2_encoder=1.0).fit(
        Dataset.from_tables(CHOICES, ITEMS, rules=rules)
    )
    with pytest.raises(ParameterError, match="town=Ghent, place=Ghent"):
        find_items("Ghent", table, twice.tag_table_)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("players", r"false\. Name one of its values, such as 'players=2' or 'players=3'\.$"),
        ("labels", r"such as 'labels=free' or 'labels=late'\.$"),
        ("days", r"such as 'days=1' or 'days=2' or 'days=3'\.$"),
        ("xyzzy", r"false\. Name an item or a tag, such as 'a' or 'town=\w+'\.$"),
        ("promotd", r"false\. Closest: promoted\.$"),
    ],
)
def test_a_name_that_cannot_be_boosted_is_never_proposed(
    model: Teaser, name: str, told: str
) -> None:
    with pytest.raises(UnknownNameError, match=told) as raised:
        find_items(name, model.item_table_, model.tag_table_)
    assert name not in (*raised.value.closest, *raised.value.facts["examples"])
    for example in raised.value.facts["examples"]:
        find_items(example, model.item_table_, model.tag_table_)
