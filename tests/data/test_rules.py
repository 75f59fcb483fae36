"""Rules turn columns into tags, and are written as TOML that people edit."""

import math
import re
from collections import Counter
from datetime import date, datetime, timedelta
from pathlib import Path
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
    as_rules,
    fold_value,
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


class TestListOf:
    def test_cells_are_split_at_the_separator(self) -> None:
        rule = ListOf("x", separator=", ")
        assert values(rule, ["a, b", "c", None]) == [["a", "b"], ["c"], []]

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
        seed=st.integers(0, 1000),
        shift=st.sampled_from([0.0, 1e3, -1e6]),
        scale=st.sampled_from([1.0, 1e6]),
    )
    def test_bins_are_about_equally_full(self, seed: int, shift: float, scale: float) -> None:
        numbers = shift + scale * np.random.default_rng(seed).lognormal(size=500)
        full = Counter(label for (label,) in values(Number("x", bins=5), numbers))
        assert len(full) == 5
        assert all(70 <= count <= 130 for count in full.values())


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

    @given(year=st.integers(-9999, 9999), width=st.integers(2, 300).filter(lambda w: w != 10))
    def test_a_year_is_in_the_bin_whose_label_says_so(self, year: int, width: int) -> None:
        ((label,),) = values(Year("x", width=width), [year])
        first, last = map(int, label.split("–"))
        assert first <= year <= last == first + width - 1


class TestText:
    def words(self, *texts: str | None, **settings: Any) -> list[list[str]]:
        return values(Text("x", **{"stop_words": (), **settings}), list(texts))

    def test_stop_words_of_several_languages_and_ones_own(self) -> None:
        found = self.words("the nuit avec opera show", stop_words=("english", "french", "Show"))
        assert found == [["nuit", "opera"]]

    @pytest.mark.parametrize("mark", ["'", "’"])
    def test_an_apostrophe_ends_a_word(self, mark: str) -> None:
        text = f"L{mark}amour du king{mark}s cafe, don{mark}t and doesn{mark}t"
        assert self.words(text, stop_words="english") == [["amour", "king", "cafe"]]

    def test_several_columns_are_read_as_one(self) -> None:
        items = pl.DataFrame({"a": ["red", None], "b": ["green", "blue"]})
        rule = Text(("a", "b"), stop_words=())
        assert rule.values(items).to_list() == [["red", "green"], ["blue"]]
        assert rule.name == "a b"


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


# The constructors as a program without type checks calls them.
ANY: Any = (Category, ListOf, Number, Text, Year)
category, list_of, number, text, year = ANY
WRONG_RULES = [
    (category("x", min_items=0), "a whole number from 1 as min_items, found 0"),
    (category("x", feature=3), "a text as feature, found 3"),
    (category(3), "needs the name of a column, found 3"),
    (category("a=b"), "a feature called 'a=b'"),
    (list_of("x", separator=5), "a text as separator, found 5"),
    (list_of("x", separator=""), "a separator that is not empty"),
    (number("x", bins=10**9), "2 to 1,000 bins, found 1,000,000,000"),
    (number("x", bins="4"), "a whole number from 1 as bins, found '4'"),
    (number("x", edges=("a", "b")), "finite numbers as edges"),
    (number("x", edges=(1.0, math.nan)), "finite numbers as edges"),
    (number("x", edges=(2, 1)), "needs edges that ascend"),
    (number("x", labels=("a", "b")), "has 0 edges and 2 labels"),
    (number("x", edges=(1,), labels=("a",)), "has 1 edges and 1 labels"),
    (number("x", edges=(1,), labels=("a", " ")), "a list of texts as labels"),
    (number("x", unit=3), "a text as unit"),
    (year("x", width=0), "a whole number from 1 as width, found 0"),
    (text(()), "needs the name of a column"),
    (text("x", min_share=0.5, max_share=0.5), "0 <= min_share < max_share <= 1"),
    (text("x", min_share="1"), "a number as min_share"),
    (text("x", stop_words="german"), "unknown stop words 'german'. Known: english"),
    (text("x", stop_words=5), "a language or a list of words as stop_words"),
    (text("x", min_length=0), "a whole number from 1 as min_length"),
    (category("x", drop="a"), "a list of texts as drop, found 'a'"),
    (category("x", rename=("a", "b")), "a table of names"),
    (category("x", merge={"a": "b"}), "a table of lists"),
    (category("x", drop=("Jazz",), rename={"jazz": "a"}), "names 'jazz' twice"),
]


class TestChecks:
    def test_invalid_settings_are_refused(self) -> None:
        for rule, complaint in WRONG_RULES:
            with pytest.raises(RuleError, match=re.escape(complaint)):
                Rules((rule,))

    def test_an_unknown_role_is_named_with_the_closest(self) -> None:
        with pytest.raises(RuleError, match=r"Unknown role 'titel'.*Closest: title"):
            Rules((Category("x"),), {"titel": "x"})


name = st.text(min_size=1).filter(lambda t: "=" not in t and t.strip())
finite = st.floats(allow_nan=False, allow_infinity=False)
value = st.text("abcé .", min_size=1).filter(str.strip)
shared = {
    "column": name,
    "feature": st.just("") | name,
    "min_items": st.integers(1, 99),
    "drop": st.lists(value.map("drop {}".format), unique_by=fold_value).map(tuple),
    "rename": st.lists(value, unique_by=fold_value).map(lambda v: {old: f"new {old}" for old in v}),
    "merge": st.lists(value, unique_by=fold_value, min_size=1).map(
        lambda each: {"one": tuple(f"merge {old}" for old in each)}
    ),
}
shares = st.tuples(st.floats(0, 0.4), st.floats(0.5, 1))
any_rule = st.one_of(
    st.builds(Category, **shared),
    st.builds(ListOf, **shared, separator=st.text(min_size=1)),
    st.builds(Number, **shared, bins=st.integers(2, 99), unit=st.text()),
    st.lists(finite, min_size=1, unique=True)
    .map(sorted)
    .flatmap(
        lambda edges: st.builds(
            Number,
            **shared,
            edges=st.just(tuple(edges)),
            labels=st.just(())
            | st.lists(name, min_size=len(edges) + 1, max_size=len(edges) + 1).map(tuple),
        )
    ),
    st.builds(Year, **shared, width=st.integers(1, 99)),
    shares.flatmap(
        lambda share: st.builds(
            Text,
            **{**shared, "column": name | st.lists(name, min_size=1).map(tuple)},
            min_share=st.just(share[0]),
            max_share=st.just(share[1]),
            stop_words=st.sampled_from(["english", "dutch", "french", ""])
            | st.lists(st.text()).map(tuple),
            min_length=st.integers(1, 9),
        )
    ),
)
any_rules = st.builds(
    Rules,
    st.lists(any_rule, max_size=4).map(tuple),
    st.dictionaries(st.sampled_from(["title", "description", "picture", "link", "date"]), name),
    st.dictionaries(st.text(), st.just("it is empty")),
)


RULE = '[[tags]]\nkind = "category"\ncolumn = "x"\n'
MISTAKES = [
    (RULE + 'min_items = "3"', "In rule 1 of .*rules.toml: .*as min_items, found '3'"),
    (RULE + "min_item = 3", "'min_item' in rule 1 of .*Closest: min_items"),
    (RULE + "[[tags]]", "in rule 2 of"),
    ('[[tags]]\nkind = "number"\ncolumn = "x"\nedges = ["a"]', "rule 1 of .*edges"),
    ('[[tags]]\nkind = "year"\ncolumn = "x"\nwidth = 1979-05-27', "rule 1 of .*width"),
    ('[[tags]]\nkind = "category"', "rule 1 of .*names no column"),
    ('[[tags]]\nkind = "genre"', "Unknown kind 'genre' in rule 1 of .*Known: category"),
    ('tags = ["x"]', "rule 1 of .*is not a table"),
    ('[tags]\nkind = "category"', "with two brackets"),
    ("[rules]\nx = 1", r"Unknown table \[rules\]"),
    ("[roles]\ntitle = 3", r"\[roles\] in .*map a role"),
    ('[roles]\nhead = "x"', "Unknown role 'head'"),
    ("kind = ", "could not be read"),
    ("a = " + "[" * 100_000, "could not be read"),
]


class TestToml:
    @given(rules=any_rules)
    def test_rules_written_as_toml_read_back(
        self, tmp_path_factory: pytest.TempPathFactory, rules: Rules
    ) -> None:
        path = tmp_path_factory.mktemp("rules") / "rules.toml"
        rules.write(path)
        found = Rules.read(path)
        assert found.tags == rules.tags
        assert found.roles == rules.roles

    def test_mistakes_are_refused_and_their_place_is_named(self, tmp_path: Path) -> None:
        for text, complaint in MISTAKES:
            (tmp_path / "rules.toml").write_text(text)
            with pytest.raises(RuleError, match=complaint):
                Rules.read(tmp_path / "rules.toml")

    def test_a_file_that_is_not_there_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(RuleError, match="There is no rules file"):
            Rules.read(tmp_path / "r.toml")


class TestAsRules:
    def test_rules_come_in_every_form(self, tmp_path: Path) -> None:
        rules = Rules((Category("x"),))
        rules.write(tmp_path / "r.toml")
        forms: list[Any] = [rules, [Category("x")], iter([Category("x")])]
        for form in [*forms, tmp_path / "r.toml", str(tmp_path / "r.toml")]:
            assert as_rules(form) == rules

    @pytest.mark.parametrize("thing", [5, Category("x"), None])
    def test_other_things_are_refused(self, thing: Any) -> None:
        with pytest.raises(RuleError, match="Rules must be a path, a list of rules or Rules"):
            as_rules(thing)
