"""Long-form metadata becomes one row an item, and is recognised."""

from typing import Any

import polars as pl
import pytest

from teaser.data.reading import Table, as_long, check_wide, find_long, widen
from teaser.errors import ParameterError, TableError

ROWS = pl.DataFrame(
    {
        "id": [1, 1, 1, 2, 2, 3],
        "property": ["genre", "genre", "year", "year", "title", "genre"],
        "value": ["jazz", "rock", "1999", "2001", "Two", "jazz"],
    }
)


class TestNames:
    def test_they_are_given_as_a_text_or_a_list(self) -> None:
        assert as_long("id, property,value") == ("id", "property", "value")
        assert as_long(["id", "tag"]) == ("id", "tag")

    @pytest.mark.parametrize("wrong", ["id", "a,b,c,d", ["a", "a"], "a,,b", ["a", 3]])
    def test_there_are_two_or_three(self, wrong: Any) -> None:
        with pytest.raises(ParameterError, match=r"long must name .*--long item_id,property"):
            as_long(wrong)


class TestWide:
    def test_properties_become_columns(self) -> None:
        found = widen(Table(ROWS, "x.csv"), "id,property,value")
        assert found.frame.columns == ["id", "genre", "year", "title"]
        assert found.frame.rows() == [
            (1, ["jazz", "rock"], 1999, None),
            (2, None, 2001, "Two"),
            (3, ["jazz"], None, None),
        ]
        assert found.notes == (
            "long form of x.csv: 6 rows of 3 items became the columns genre, year, title",
        )

    def test_a_value_is_listed_once(self) -> None:
        rows = pl.concat([ROWS, ROWS])
        assert widen(Table(rows), "id,property,value").frame["genre"][0].to_list() == [
            "jazz",
            "rock",
        ]

    def test_a_value_alone_is_its_own_property(self) -> None:
        rows = pl.DataFrame({"user": [1, 2, 1], "movie": [7, 7, 8], "tag": ["fun", "dark", "fun"]})
        found = widen(Table(rows), ("movie", "tag"))
        assert found.frame.rows() == [(7, ["fun", "dark"]), (8, ["fun"])]

    def test_incomplete_rows_are_left_out_and_counted(self) -> None:
        gaps = pl.DataFrame(
            {"id": [None, 5, 5], "property": ["a", " ", "a"], "value": ["x", "x", None]}
        )
        found = widen(Table(pl.concat([ROWS, gaps]), "x.csv"), "id,property,value")
        assert found.frame["id"].to_list() == [1, 2, 3]
        assert found.notes[1] == "3 rows of x.csv without id, property or value left out"

    def test_many_properties_are_named_in_part(self) -> None:
        rows = pl.DataFrame({"i": [1] * 12, "p": [f"p{k}" for k in range(12)], "v": range(12)})
        assert widen(Table(rows), "i,p,v").notes[0].endswith("p7, p8 and 3 more")

    def test_what_cannot_be(self) -> None:
        with pytest.raises(TableError, match="'kind', needed for the long form, is missing"):
            widen(Table(ROWS), "id,kind,value")
        many = pl.DataFrame({"i": range(300), "p": range(300), "v": ["x"] * 300})
        with pytest.raises(TableError, match=r"has 300 properties.*--long i,v"):
            widen(Table(many), "i,p,v")
        with pytest.raises(TableError, match=r"A property of .* is called 'id'"):
            widen(Table(ROWS.with_columns(property=pl.lit("id"))), "id,property,value")
        with pytest.raises(TableError, match="No row"):
            widen(Table(ROWS.with_columns(value=pl.lit(None))), "id,property,value")


class TestRecognised:
    def test_by_the_names_of_its_columns(self) -> None:
        assert find_long(Table(ROWS), "id") == ("id", "property", "value")
        other = ROWS.rename({"property": "Attribute-Name", "value": "attributeValue"})
        assert find_long(Table(other), "id") == ("id", "Attribute-Name", "attributeValue")

    def test_not_where_every_item_has_one_row(self) -> None:
        assert find_long(Table(ROWS.unique("id", maintain_order=True)), "id") is None
        assert find_long(Table(ROWS.rename({"property": "genre"})), "id") is None

    def test_other_names_ask_for_the_option(self) -> None:
        rows = pl.concat([ROWS.rename({"property": "sort", "value": "what"})] * 5)
        rows = rows.with_columns(what=pl.col("what") + pl.int_range(pl.len()).cast(pl.String))
        with pytest.raises(
            TableError, match=r"The 30 rows of x.csv describe 3 items.*\(--long id,sort,what\)"
        ):
            check_wide(Table(rows, "x.csv"), "id")
        tags = pl.DataFrame({"user": [1, 2, 3], "movie": [7, 7, 7], "tag": ["a", "b", "c"]})
        with pytest.raises(TableError, match=r"differ in user, tag.*--long movie,tag\)"):
            check_wide(Table(tags), "movie")

    def test_rows_that_say_the_same_are_refused_later(self) -> None:
        again = pl.DataFrame({"id": [1, 1, 2, 2], "a": ["x", "x", "y", "y"]})
        check_wide(Table(again), "id")
        check_wide(Table(ROWS.unique("id")), "id")
