"""Each rule: what it makes of a column, and which columns it refuses."""

import math
import re
from collections import Counter
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.data.rules import (
    KINDS,
    Category,
    ListOf,
    Number,
    Rule,
    Rules,
    Text,
    Year,
    unreadable,
)
from teaser.errors import RuleError


def values(rule: Rule, cells: Any) -> list[list[str]]:
    """Return what a rule makes of the cells of column x; nothing reads as an empty list."""
    items = pl.DataFrame({"x": cells})
    found = rule.resolve(items).values(items)
    assert found.dtype == pl.List(pl.String)
    return [[v for v in row or [] if v is not None] for row in found.to_list()]


class TestCategory:
    def test_values_can_carry_the_name_of_their_feature(self) -> None:
        rule = Category("x", prefix="players")
        assert values(rule, [2, 4, None]) == [["players 2"], ["players 4"], []]
        assert values(rule, [True, False]) == [["players yes"], ["players no"]]
        assert values(rule, ["a", " ", None]) == [["players a"], [], []]

    def test_cells_become_words(self) -> None:
        cases: list[Any] = [
            (["jazz", None], ["jazz", None]),
            ([3, -4], ["3", "-4"]),
            ([3.0, 4.5, -0.0], ["3", "4.5", "0"]),
            ([1e300, float("nan"), float("inf")], ["1e+300", None, None]),
            ([True, False, None], ["yes", "no", None]),
            ([date(2024, 2, 29)], ["2024-02-29"]),
            (pl.Series(["a", None], dtype=pl.Categorical), ["a", None]),
            ([["a", "b"], []], ["a b", ""]),
            ([None, None], [None, None]),
        ]
        for cells, words in cases:
            assert values(Category("x"), cells) == [[w] if w is not None else [] for w in words]

    def test_a_number_reads_alike_whatever_its_neighbours(self) -> None:
        assert values(Category("x"), [3.0, 4.5])[0] == values(Category("x"), [3.0])[0]


class TestListOf:
    def test_cells_are_split_at_the_separator(self) -> None:
        rule = ListOf("x", separator=", ")
        assert values(rule, ["a, b", "c", None]) == [["a", "b"], ["c"], []]

    def test_a_separator_is_no_pattern(self) -> None:
        assert values(ListOf("x", separator="."), ["a.b"]) == [["a", "b"]]

    def test_columns_of_lists_are_taken_element_by_element(self) -> None:
        cases: list[Any] = [
            ([["a", None, "b|c"], [], None], [["a", "b|c"], [], []]),
            ([[1, 2]], [["1", "2"]]),
            ([[3.0, 4.5, float("nan")]], [["3", "4.5"]]),
            ([[True, False]], [["yes", "no"]]),
            (pl.Series([["a", "b"]], dtype=pl.Array(pl.String, 2)), [["a", "b"]]),
            (pl.Series([["a"]], dtype=pl.List(pl.Categorical)), [["a"]]),
        ]
        for cells, lists in cases:
            assert values(ListOf("x"), cells) == lists


def bounds(label: str) -> tuple[float, float]:
    """Read what the label of a bin says: from where, ends included, to where, ends excluded."""
    number = r"(-?[\d.]+(?:e[+-]?\d+)?)"
    if found := re.fullmatch(rf"under {number}", label):
        return -math.inf, float(found[1])
    if found := re.fullmatch(rf"{number} and over", label):
        return float(found[1]), math.inf
    if found := re.fullmatch(rf"{number} to {number}", label):
        return float(found[1]), float(found[2])
    assert label == "any"
    return -math.inf, math.inf


class TestNumber:
    finite = st.floats(allow_nan=False, allow_infinity=False)

    @given(
        numbers=st.lists(finite | st.integers(-5, 5).map(float), min_size=1),
        bins=st.integers(2, 12),
    )
    def test_a_number_is_in_the_bin_whose_label_says_so(
        self, numbers: list[float], bins: int
    ) -> None:
        for number, (label,) in zip(numbers, values(Number("x", bins=bins), numbers), strict=True):
            low, high = bounds(label)
            assert low <= number < high

    @given(
        edges=st.lists(finite, min_size=1, unique=True).map(sorted),
        numbers=st.lists(finite, min_size=1),
    )
    def test_so_it_is_with_given_edges(self, edges: list[float], numbers: list[float]) -> None:
        rule = Number("x", edges=tuple(edges))
        cells = [*numbers, *edges]
        for number, (label,) in zip(cells, values(rule, cells), strict=True):
            low, high = bounds(label)
            assert low <= number < high

    @given(numbers=st.lists(finite, min_size=2), bins=st.integers(2, 12))
    def test_numbers_that_differ_make_two_bins_or_more(
        self, numbers: list[float], bins: int
    ) -> None:
        labels = {label for (label,) in values(Number("x", bins=bins), numbers)}
        assert (len(labels) == 1) == (len(set(numbers)) == 1)
        assert len(labels) <= bins

    @given(
        seed=st.integers(0, 1000),
        shift=st.sampled_from([0.0, 1e3, -1e6]),
        scale=st.sampled_from([1.0, 1e6]),
    )
    def test_bins_are_about_equally_full(self, seed: int, shift: float, scale: float) -> None:
        numbers = shift + scale * np.random.default_rng(seed).lognormal(size=500)
        full = Counter(label for (label,) in values(Number("x", bins=5), numbers))
        assert len(full) == 5
        assert all(70 <= count <= 130 for count in full.values())

    @given(numbers=st.lists(st.sampled_from([0.0, 1.0, 1.001, 1.002, 7.0]), min_size=1))
    def test_what_is_learned_is_itself_a_rule(self, numbers: list[float]) -> None:
        learned = Number("x").resolve(pl.DataFrame({"x": numbers}))
        assert Rules.from_dict(Rules((learned,)).as_dict()).tags == (learned,)

    def test_ties_do_not_make_edges_fall_together(self) -> None:
        numbers = [1.0] * 500 + [1.001] * 4 + [1.002] * 496
        learned = Number("x", bins=100).resolve(pl.DataFrame({"x": numbers}))
        assert learned.edges == tuple(sorted(set(learned.edges)))

    def test_edges_are_rounded_where_bins_stay_as_full(self) -> None:
        numbers = np.random.default_rng(0).uniform(60, 240, 1000)
        (rule,) = [Number("x", bins=4).resolve(pl.DataFrame({"x": numbers}))]
        assert all(edge == float(f"{edge:.2g}") for edge in rule.edges)

    def test_numbers_far_from_zero_are_still_told_apart(self) -> None:
        labels = values(Number("x", bins=2), [1_000_001, 1_000_002, 1_000_003, 1_000_004])
        assert labels[0] == labels[1] != labels[2] == labels[3]

    def test_labels_are_written_from_edges_and_unit(self) -> None:
        rule = Number("x", edges=(60, 90.5), unit="min")
        assert values(rule, [0, 60, 90, 100]) == [
            ["under 60 min"],
            ["60 to 90.5 min"],
            ["60 to 90.5 min"],
            ["90.5 min and over"],
        ]

    def test_labels_can_carry_the_name_of_their_feature(self) -> None:
        rule = Number("x", edges=(200,), prefix="pages")
        assert values(rule, [100, 200, None]) == [["pages under 200"], ["pages 200 and over"], []]
        assert rule.declared() == ("pages under 200", "pages 200 and over")
        assert rule.as_dict() == {
            "kind": "number", "column": "x", "edges": [200], "prefix": "pages",
        }  # fmt: skip

    def test_labels_can_be_given(self) -> None:
        rule = Number("x", edges=(0,), labels=("below", "above"))
        assert values(rule, [-5, 0]) == [["below"], ["above"]]

    def test_equal_numbers_make_one_bin(self) -> None:
        assert values(Number("x"), [7.0] * 5) == [["any"]] * 5

    def test_texts_that_hold_numbers_are_read(self) -> None:
        rule = Number("x", edges=(10,))
        assert values(rule, [" 5 ", "15", "n/a", ""]) == [["under 10"], ["10 and over"], [], []]

    def test_what_is_learned_is_kept_in_the_rule(self) -> None:
        learned = Number("x", bins=2).resolve(pl.DataFrame({"x": [1, 2, 3, 4]}))
        assert values(learned, [100]) == [[f"{learned.edges[0]:g} and over"]]
        assert values(learned, [-100]) == [[f"under {learned.edges[0]:g}"]]

    def test_a_column_without_a_number_is_refused(self) -> None:
        cases: list[Any] = [[None, None], ["a", "b"], [float("nan"), float("inf")]]
        for cells in cases:
            with pytest.raises(RuleError, match="Column 'x' has no number"):
                values(Number("x"), cells)


class TestYear:
    def test_years_are_read_from_numbers_dates_and_texts(self) -> None:
        cases: list[Any] = [
            ([1995, -44, 0], ["1995", "-44", "0"]),
            ([1995.0, None], ["1995", None]),
            ([date(1995, 12, 31)], ["1995"]),
            ([datetime(1995, 12, 31, 23, 59)], ["1995"]),
            (["1995", " 1995 ", "1995-12-31", "Heat (1995)"], ["1995"] * 4),
            (["soon", "12345", "", None], [None] * 4),
            ([1e4, 1e300, float("nan")], [None] * 3),
            (pl.Series(["1995", "x"], dtype=pl.Categorical), ["1995", None]),
        ]
        for cells, years in cases:
            assert values(Year("x"), cells) == [[y] if y else [] for y in years]

    def test_wider_bins_name_their_years(self) -> None:
        cases: list[Any] = [
            (10, 1999, "1990s"),
            (10, 1990, "1990s"),
            (10, -1, "-10s"),
            (5, 1994, "1990–1994"),
            (100, 1994, "1900–1999"),
        ]
        for width, year, label in cases:
            assert values(Year("x", width=width), [year]) == [[label]]

    @given(year=st.integers(-9999, 9999), width=st.integers(2, 300).filter(lambda w: w != 10))
    def test_a_year_is_in_the_bin_whose_label_says_so(self, year: int, width: int) -> None:
        ((label,),) = values(Year("x", width=width), [year])
        first, last = map(int, label.split("–"))
        assert first <= year <= last == first + width - 1


class TestText:
    def words(self, *texts: str | None, **settings: Any) -> list[list[str]]:
        return values(Text("x", **{"stop_words": (), **settings}), list(texts))

    def test_words_are_lower_case_and_of_three_letters_or_more(self) -> None:
        assert self.words("A Night at the OPERA") == [["night", "the", "opera"]]

    def test_stop_words_are_passed_over(self) -> None:
        assert self.words("The night of the opera", stop_words="english") == [["night", "opera"]]

    def test_stop_words_of_several_languages_and_ones_own(self) -> None:
        found = self.words("the nuit avec opera show", stop_words=("english", "french", "Show"))
        assert found == [["nuit", "opera"]]

    @pytest.mark.parametrize("mark", ["'", "’"])
    def test_an_apostrophe_ends_a_word(self, mark: str) -> None:
        text = f"L{mark}amour du king{mark}s cafe, don{mark}t and doesn{mark}t"
        assert self.words(text, stop_words="english") == [["amour", "king", "cafe"]]

    def test_a_hyphen_does_not(self) -> None:
        assert self.words("a well-known rock-'n'-roll") == [["well-known", "rock", "roll"]]

    def test_two_ways_to_write_an_accent_are_one(self) -> None:
        first, second = self.words("café crème", "cafe\u0301 cre\u0300me")
        assert first == second == ["café", "crème"]

    def test_letters_of_other_scripts_are_letters(self) -> None:
        assert self.words("Москва हिन्दी 東京都") == [["москва", "हिन्दी", "東京都"]]

    def test_markup_is_no_text(self) -> None:
        text = '<p class="big">Caf&eacute; &amp; <b>jazz</b><br/>live</p><!-- draft --> 1 < 2'
        assert self.words(text) == [["café", "jazz", "live"]]

    def test_digits_alone_are_no_words(self) -> None:
        assert self.words("1984 and 3000 mp3") == [["and", "mp3"]]

    def test_a_missing_text_has_no_words(self) -> None:
        assert self.words(None, "", "   ", "...") == [[], [], [], []]

    def test_several_columns_are_read_as_one(self) -> None:
        items = pl.DataFrame({"a": ["red", None], "b": ["green", "blue"]})
        rule = Text(("a", "b"), stop_words=())
        assert rule.values(items).to_list() == [["red", "green"], ["blue"]]
        assert rule.name == "a b"

    def test_shares_bound_how_many_items_use_a_word(self) -> None:
        cases: list[Any] = [
            ({}, 1000, (10, 300)),
            ({"min_items": 50}, 1000, (50, 300)),
            ({"min_share": 0.0, "max_share": 1.0}, 10, (1, 10)),
            ({"min_share": 0.1, "max_share": 0.3}, 10, (1, 3)),
            ({"min_share": 0.15, "max_share": 0.29}, 10, (2, 2)),
        ]
        for settings, n_items, wanted in cases:
            assert Text("x", **settings).bounds(n_items) == wanted


class TestUnfitColumns:
    def test_columns_that_a_rule_cannot_read_are_refused(self) -> None:
        columns: list[Any] = [[{"a": 1}], [[{"a": 1}]], [[[1]]], [b"\xff"], [timedelta(1)]]
        for kind in KINDS.values():
            for cells in columns:
                with pytest.raises(RuleError, match=r"Column 'x' has type .*cannot be read as"):
                    values(kind("x"), cells)

    def test_cells_that_cannot_be_read_are_found(self) -> None:
        cases: list[tuple[Rule, list[Any], list[str]]] = [
            (Number("x"), ["1", " ", None, "1,5", "x"], ["1,5", "x"]),
            (Number("x"), [1.0, None, float("inf"), float("nan")], ["inf", "NaN"]),
            (Year("x"), ["1995", "soon", ""], ["soon"]),
            (Year("x"), [1995, 19950101], ["19950101"]),
            (Year("x"), [date(1995, 1, 1), None], []),
            (Category("x"), ["a", None], []),
        ]
        for rule, cells, bad in cases:
            assert unreadable(rule, pl.DataFrame({"x": cells})).to_list() == bad
