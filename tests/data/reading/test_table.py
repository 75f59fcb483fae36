"""A table as read: counts of what was refused, and texts for messages."""

import polars as pl
import pytest

from teaser.data.reading import (
    Refusal,
    check_names,
    few,
    first_line,
    named_errors,
    need_columns,
    shown,
)
from teaser.errors import TableError

FRAME = pl.DataFrame({"user_id": [1, 2], "item_id": ["a", "b"]})


def test_errors_name_the_file() -> None:
    for name, start in (("x.csv", "x.csv: "), ("the items", "")):
        with pytest.raises(TableError) as caught, named_errors(name):
            raise TableError("Row 3 is bad.")
        assert str(caught.value) == f"{start}Row 3 is bad."
    with pytest.raises(KeyError), named_errors("x.csv"):
        raise KeyError(1)


def test_a_refusal_reads_as_a_sentence_and_lasts() -> None:
    refusal = Refusal("it is bad", 1, ("row 3 (None)",))
    assert str(refusal) == "1 row refused, it is bad: row 3 (None)"
    assert Refusal.from_dicts([vars(refusal)]) == (refusal,)


def test_a_pattern_is_no_name() -> None:
    check_names(["a", "^b", "c$"])
    with pytest.raises(TableError, match="cannot be called"):
        check_names(["^b$"])


def test_missing_columns_are_named_with_those_found() -> None:
    need_columns(FRAME, ("user_id",), "the test")
    with pytest.raises(TableError, match=r"'userid'.*Found: user_id, item_id\. Closest: user_id"):
        need_columns(FRAME, ("userid",), "the test")


def test_long_cells_are_shortened() -> None:
    assert shown("a") == "'a'"
    assert len(shown("a" * 200)) == 61
    assert few(pl.Series([3, 3, 1, 2, 4])) == "3, 1, 2"


def test_an_error_is_one_line() -> None:
    assert first_line(ValueError("bad.\nmore")) == "bad"
    assert first_line(ValueError()) == "ValueError"
