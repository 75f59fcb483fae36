"""The [data] of a study: one of three ways, and only the entries that have a meaning for it."""

from typing import Any

import pytest

from teaser.errors import ParameterError
from teaser.evaluate.study.data_plan import TABLE_NAMES, complete_data


def test_tables_are_kept_under_the_names_of_from_tables() -> None:
    given = {"interactions": "a.csv", "items": "b.csv", "user": "who", "half_life": 30.0}
    assert complete_data(given | {"min_items": 3}) == {"min_items": 3, "tables": given}
    assert {"item", "positive", "rules", "strength", "counts", "time", "users"} <= set(TABLE_NAMES)


def test_a_public_data_set_may_say_how_its_interactions_count() -> None:
    found = complete_data({"source": "ml-1m", "folder": "f", "negative": "rating <= 2"})
    assert found["tables"] == {"negative": "rating <= 2"}
    found = complete_data({"source": "ml-1m", "folder": "f", "positive": "rating >= 5"})
    assert found == {"source": "ml-1m", "folder": "f", "tables": {"positive": "rating >= 5"}}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sorce": "events"}, "no entry 'sorce'.*Closest: source"),
        ({"prepard": "shop"}, "no entry 'prepard'.*Closest: prepared"),
        ({"interactions": "a", "strenght": "b"}, "no entry 'strenght'.*Closest: strength"),
        ({"tables": {}}, "no entry 'tables'"),
        ({"interactions": "a", "items_columns": []}, r"\(--items-columns\).*prepared = .FOLDER"),
        ({}, "needs one of source.*found none"),
        ({"items": "a.csv"}, "found none"),
        ({"source": "events", "prepared": "shop"}, "found source and prepared"),
        ({"prepared": "shop", "interactions": "a.csv"}, "found prepared and interactions"),
        ({"prepared": "shop", "positive": "x > 1"}, "positive has no meaning with prepared"),
        ({"prepared": "shop", "folder": "x"}, "folder has no meaning with prepared"),
        ({"source": "events", "user": "who"}, "user has no meaning with source"),
        ({"interactions": "a.csv", "folder": "b"}, "folder has no meaning with interactions"),
        ({"interactions": 3}, "interactions must be a text, found 3"),
        ({"interactions": "a", "items": ["b"]}, "items must be a text"),
    ],
)
def test_a_slip_is_one_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        complete_data(given)
