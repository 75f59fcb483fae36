"""The one-hot matrix of the tags, and the report of what is left out."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.data.rules import Category, ListOf, Number, Rule, Text, Year
from teaser.data.tags import OneHotTags, Tag, TagReport, build_tags, encode_tags
from teaser.errors import RuleError, TableError

ITEMS = pl.DataFrame(
    {
        "genres": ["jazz|rock", "jazz", None, "rock| jazz |jazz"],
        "town": ["Ghent", "Liège", "Ghent", " Ghent "],
        "price": [5.0, 10.0, None, 20.0],
    }
)


def carried(table: OneHotTags) -> list[set[str]]:
    """Return the tags of each item as text."""
    return [{str(table.tags[j]) for j in row.indices} for row in table.S]


class TestBuild:
    def test_items_carry_what_their_columns_say(self) -> None:
        table = build_tags(ITEMS, [ListOf("genres", feature="genre"), Category("town")])
        assert carried(table) == [
            {"genre=jazz", "genre=rock", "town=Ghent"},
            {"genre=jazz", "town=Liège"},
            {"town=Ghent"},
            {"genre=jazz", "genre=rock", "town=Ghent"},
        ]

    def test_tags_come_by_rule_and_then_by_value(self) -> None:
        table = build_tags(ITEMS, [Category("town"), ListOf("genres")])
        assert list(map(str, table.tags)) == [
            "town=Ghent",
            "town=Liège",
            "genres=jazz",
            "genres=rock",
        ]

    def test_rules_may_share_a_feature(self) -> None:
        items = pl.DataFrame({"main": ["a", "b"], "other": ["b|c", "b"]})
        rules = [Category("main", feature="genre"), ListOf("other", feature="genre")]
        table = build_tags(items, rules)
        assert carried(table) == [{"genre=a", "genre=b", "genre=c"}, {"genre=b"}]
        assert table.S.max() == 1
        assert table.report.tags == {"genre": 3}

    @given(
        st.lists(
            st.lists(st.sampled_from("abcde"), max_size=6) | st.none(), min_size=1, max_size=8
        ).filter(lambda cells: any(cells)),
        st.integers(1, 3),
    )
    def test_the_matrix_is_binary_sorted_and_as_a_loop_finds_it(
        self, cells: list[list[str] | None], min_items: int
    ) -> None:
        items = pl.DataFrame({"x": cells}, schema={"x": pl.List(pl.String)})
        sets = [set(cell or []) for cell in cells]
        counts = {value: sum(value in s for s in sets) for value in set().union(*sets)}
        kept = sorted(value for value, n in counts.items() if n >= min_items)
        rule = ListOf("x", min_items=min_items)
        if not kept:
            with pytest.raises(RuleError, match="No tag is left"):
                build_tags(items, [rule])
            return
        table = build_tags(items, [rule])
        assert [tag.value for tag in table.tags] == kept
        wanted = np.array([[value in s for value in kept] for s in sets], dtype=np.float32)
        np.testing.assert_array_equal(table.S.toarray(), wanted)
        assert table.S.has_canonical_format
        assert table.S.dtype == np.float32
        assert table.report.too_rare.get("x", 0) == len(counts) - len(kept)
        assert table.report.items_without_tags == int((wanted.sum(axis=1) == 0).sum())

    def test_one_letter_written_in_two_ways_is_one_tag(self) -> None:
        table = build_tags(pl.DataFrame({"x": ["Liège", "Lie\u0300ge"]}), [Category("x")])
        assert list(map(str, table.tags)) == ["x=Liège"]

    def test_values_are_of_one_line(self) -> None:
        items = pl.DataFrame({"x": ["New\r\n York", "New\tYork\0 ", "New York"]})
        assert list(map(str, build_tags(items, [Category("x")]).tags)) == ["x=New York"]

    def test_long_values_are_kept_whole(self) -> None:
        items = pl.DataFrame({"x": ["y" * 10_000 + "a", "y" * 10_000 + "b"]})
        assert [len(t.value) for t in build_tags(items, [Category("x")]).tags] == [10_001, 10_001]

    def test_values_may_hold_equal_signs(self) -> None:
        (tag,) = build_tags(pl.DataFrame({"x": ["a=b"]}), [Category("x")]).tags
        assert Tag.parse(str(tag)) == tag

    def test_blank_values_are_no_tags(self) -> None:
        items = pl.DataFrame({"x": ["", " ", "| |", "a||b"]})
        assert list(map(str, build_tags(items, [ListOf("x")]).tags)) == ["x=a", "x=b"]

    def test_a_column_may_have_any_name(self) -> None:
        cases: list[Any] = ["^x", "*", "x y", "é", "row", "value", "feature"]
        for name in cases:
            items = pl.DataFrame({"x": ["no", "no"], name: ["a", "b"]})
            rules = [Category(name), ListOf(name, feature="list"), Text(name, feature="text")]
            table = build_tags(items, rules)
            assert carried(table) == [{f"{name}=a", "list=a"}, {f"{name}=b", "list=b"}]

    def test_a_missing_column_is_named_with_the_closest(self) -> None:
        with pytest.raises(TableError, match=r"list rule needs column 'genre'.*Closest: genres"):
            build_tags(ITEMS, [ListOf("genre")])

    def test_the_items_are_not_changed(self) -> None:
        before = ITEMS.clone()
        build_tags(ITEMS, [ListOf("genres"), Number("price")])
        assert ITEMS.equals(before)


class TestReport:
    def test_it_counts_what_was_kept_and_left_out(self) -> None:
        items = pl.DataFrame(
            {
                "genre": ["jazz", "jazz", "rock", None],
                "text": ["common word", "common", "common", "rare"],
                "year": ["1995", "soon", "19950101", None],
            }
        )
        rules: list[Rule] = [
            Category("genre", min_items=2),
            Text("text", stop_words=(), min_share=0.0, max_share=0.5),
            Year("year"),
        ]
        report = build_tags(items, rules).report
        assert report.tags == {"genre": 1, "text": 2, "year": 1}
        assert report.too_rare == {"genre": 1}
        assert report.too_common == {"text": 1}
        assert report.unreadable == {"year": (2, ("soon", "19950101"))}
        assert report.items_without_tags == 1
        assert report.lines() == [
            "4 tags: 1 genre, 2 text, 1 year",
            "1 tags left out, with too few items: 1 genre",
            "1 tags left out, with too many items: 1 text",
            "2 cells of the items' year could not be read, such as soon, 19950101",
            "1 item has no tag",
        ]

    def test_numbers_that_are_not_finite_are_counted(self) -> None:
        items = pl.DataFrame({"price": [1.0, 2.0, float("inf"), float("nan"), None]})
        report = build_tags(items, [Number("price", bins=2)]).report
        assert report.unreadable == {"price": (2, ("inf", "NaN"))}
        assert report.items_without_tags == 3

    def test_no_tag_left_can_be_allowed(self) -> None:
        found = build_tags(pl.DataFrame({"x": ["a", "b"]}), [], allow_none=True)
        assert found.S.shape == (2, 0)
        assert found.tags == ()
        assert found.report.lines() == ["0 tags: none", "2 items have no tag"]

    def test_warnings_are_told_and_last(self) -> None:
        report = TagReport({"f": 2}, warnings=("near-equal: a and b",))
        assert report.lines()[-1] == "warning: near-equal: a and b"
        assert TagReport.from_dict(report.as_dict()) == report
        assert "warnings" not in TagReport({"f": 2}).as_dict()

    def test_no_tag_left_is_an_error_that_says_why(self) -> None:
        cases: list[Any] = [
            (Category("x", min_items=2), ["a", "b"], "2 tags left out, with too few items"),
            (
                Year("x"),
                ["soon", "later"],
                "2 cells of the items' x could not be read, such as soon",
            ),
            (Category("x"), [None, ""], "2 items have no tag"),
            (Text("x"), ["opera house"] * 2, "2 tags left out, with too many items"),
        ]
        for rule, cells, why in cases:
            with pytest.raises(RuleError, match=f"No tag is left: .*{why}.*Lower min_items"):
                build_tags(pl.DataFrame({"x": cells}), [rule])

    def test_no_rule_leaves_no_tag(self) -> None:
        with pytest.raises(RuleError, match="No tag is left: 0 tags: none"):
            build_tags(ITEMS, [])


class TestEncode:
    RULES = (ListOf("genres"), Category("town"), Number("price", bins=2))

    def test_the_same_items_are_read_alike(self) -> None:
        table = build_tags(ITEMS, self.RULES)
        again = encode_tags(ITEMS, table.rules, table.tags)[0]
        np.testing.assert_array_equal(again.toarray(), table.S.toarray())

    @given(st.permutations(range(4)), st.integers(1, 4))
    def test_an_item_is_read_alike_in_any_company(self, order: list[int], n: int) -> None:
        table = build_tags(ITEMS, self.RULES)
        some = encode_tags(ITEMS[order[:n]], table.rules, table.tags)[0]
        np.testing.assert_array_equal(some.toarray(), table.S.toarray()[order[:n]])

    def test_values_without_a_tag_are_passed_over(self) -> None:
        table = build_tags(ITEMS, self.RULES)
        new = pl.DataFrame({"genres": ["folk|jazz"], "town": ["Deinze"], "price": [1e6]})
        found = encode_tags(new, table.rules, table.tags)[0]
        assert [str(table.tags[j]) for j in found.indices] == ["genres=jazz", "price=10 and over"]

    def test_a_category_of_numbers_is_read_alike_among_whole_ones(self) -> None:
        table = build_tags(pl.DataFrame({"x": [3.0, 4.5]}), [Category("x")])
        found = encode_tags(pl.DataFrame({"x": [3]}), table.rules, table.tags)[0]
        assert found.toarray().tolist() == [[1.0, 0.0]]

    def test_a_missing_column_is_refused(self) -> None:
        table = build_tags(ITEMS, self.RULES)
        with pytest.raises(TableError, match="needs column 'price'"):
            encode_tags(ITEMS.drop("price"), table.rules, table.tags)[0]


def test_bins_that_nothing_falls_into_are_counted() -> None:
    items = pl.DataFrame({"price": [1.0, 2.0, 30.0]})
    found = build_tags(items, [Number("price", edges=(5, 10, 20))])
    assert [tag.value for tag in found.tags] == ["20 and over", "under 5"]
    assert found.report.without_items == {"price": 2}
    assert "2 tags left out, with no items: 2 price" in found.report.lines()
    assert build_tags(items, [Number("price", edges=(5,))]).report.without_items == {}
