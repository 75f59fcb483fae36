"""Cells as words, numbers and years, and numbers in labelled bins."""

from datetime import date, time
from typing import Any

import numpy as np
import polars as pl
import pytest

from teaser.data.rules import (
    as_numbers,
    as_text,
    as_words,
    as_years,
    bin_labels,
    quantile_edges,
    split_words,
)
from teaser.errors import RuleError


def test_cells_become_words() -> None:
    assert as_words(pl.Series([3.0, -0.0, 1.5, None])).to_list() == ["3", "0", "1.5", None]
    assert as_words(pl.Series([True, False])).to_list() == ["yes", "no"]
    assert as_words(pl.Series([[1.0, 2.5], []])).to_list() == [["1", "2.5"], []]
    assert as_text(pl.Series([["a", None, "b"], None])).to_list() == ["a b", None]


def test_words_are_without_markup_and_apostrophes() -> None:
    found = split_words(pl.Series(["<b>L'Amour</b> &amp; don't", "rock-and-roll 1990"]))
    assert found.to_list() == [["l", "amour", "do"], ["rock-and-roll"]]


def test_dates_and_lists_are_no_numbers() -> None:
    columns: list[Any] = [[date(2024, 1, 1)], [time(8)], [["1"]]]
    for cells in columns:
        with pytest.raises(RuleError, match="cannot be read as numbers"):
            as_numbers(pl.Series("x", cells))


def test_numbers_and_years_are_read_from_texts() -> None:
    assert as_numbers(pl.Series([" 5 ", "x", "inf"])).to_list() == [5.0, None, None]
    assert as_years(pl.Series(["in 1995", "19950101", "1987.0"])).to_list() == [1995, None, 1987]
    assert as_years(pl.Series([date(2001, 2, 3)])).to_list() == [2001]
    titles = pl.Series(["2001: A Space Odyssey (1968)", "1984 (1984) ", "1984 (new)"])
    assert as_years(titles).to_list() == [1968, 1984, 1984]


def test_edges_are_round_where_the_bins_allow_it() -> None:
    assert quantile_edges(np.arange(1001.0), 4) == (250.0, 500.0, 750.0)
    assert quantile_edges(np.array([1.0, 1.0, 2.0]), 5) == (2.0,)


def test_labels_name_the_open_and_closed_bins() -> None:
    assert bin_labels((10.0, 20.5), "km") == ("under 10 km", "10 to 20.5 km", "20.5 km and over")
    assert bin_labels((), "km") == ("any",)
