"""Tags: their names and labels, the matrix of items and tags, and warnings of poor ones."""

from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from teaser.data import tags as tag_quality
from teaser.data.rules import Category, ListOf, Number, Rule, Text, Year
from teaser.data.tags import (
    OneHotTags,
    Tag,
    build_tags,
    encode_tags,
    find_bare,
    near_equal_tags,
    resolve_tag,
    tag_warnings,
)
from teaser.errors import ParameterError, RuleError, TableError, UnknownNameError


class TestTag:
    @given(
        st.text().map(str.strip).filter(lambda t: t and "=" not in t),
        st.text().map(str.strip).filter(bool),
    )
    def test_a_tag_reads_back_from_its_text(self, feature: str, value: str) -> None:
        tag = Tag(feature, value)
        assert Tag.parse(str(tag)) == tag


class TestLabel:
    @pytest.mark.parametrize(
        "value",
        [
            "2",
            "1994",
            "1990s",
            "1990–1994",
            "under 10",
            "10 to 20",
            "-3 to 1.5",
            "20 and over",
            "3+",
            "10 %",
            "yes",
            "No",
            "unknown",
            "R",
        ],
    )
    def test_what_says_nothing_alone_stands_after_its_feature(self, value: str) -> None:
        assert Tag("min_players", value).label == f"Min players: {value}"

    @pytest.mark.parametrize(
        "value",
        [
            "Agnès Varda",
            "PG",
            "7 Samurai",
            "2001: A Space Odyssey",
            "under the sea",
            "under 10 km",
            "20 km and over",
            "players 4",
            "12 monkeys",
            "日",
            "Yes Minister",
            "over and over",
        ],
    )
    def test_words_stand_alone(self, value: str) -> None:
        assert Tag("title word", value).label == value


class TestResolve:
    INDEX = {Tag("genre", "jazz"): 0, Tag("genre", "rock"): 1}  # noqa: RUF012

    @pytest.mark.parametrize("tag", [Tag("genre", "rock"), " genre = rock", "Genre=ROCK", "Rock"])
    def test_tags_and_texts_are_found_in_any_case(self, tag: Tag | str) -> None:
        assert resolve_tag(tag, self.INDEX) == 1

    def test_case_counts_where_two_tags_differ_by_nothing_else(self) -> None:
        index = {Tag("genre", "rock"): 0, Tag("genre", "Rock"): 1}
        assert [resolve_tag(f"genre={name}", index) for name in ("rock", "Rock")] == [0, 1]
        assert resolve_tag("Rock", index) == 1
        with pytest.raises(UnknownNameError, match="Closest: genre="):
            resolve_tag("genre=ROCK", index)
        with pytest.raises(ParameterError, match="several tags: genre=rock, genre=Rock"):
            resolve_tag("ROCK", index)

    def test_an_unknown_tag_is_named_with_the_closest(self) -> None:
        with pytest.raises(UnknownNameError, match=r"Unknown tag genre=jaz\. Closest: genre=jazz"):
            resolve_tag("genre=jaz", self.INDEX)

    def test_a_bare_name_is_found_where_one_tag_has_it(self) -> None:
        appeal = Tag("general appeal", "general appeal")
        index = {
            Tag("style", "swing"): 0,
            Tag("genre", "jazz"): 0,
            appeal: 1,
            Tag("town", "jazz"): 2,
        }
        assert resolve_tag("general appeal", index) == 1
        assert resolve_tag(" town ", index) == 2
        with pytest.raises(ParameterError, match="several tags: genre=jazz, town=jazz"):
            resolve_tag("jazz", index)
        with pytest.raises(UnknownNameError, match=r"'jaz' is not a tag.*Closest: genre=jazz"):
            resolve_tag("jaz", self.INDEX)
        assert find_bare("jazz", self.INDEX) == Tag("genre", "jazz")
        assert find_bare("folk", self.INDEX) is None
        assert find_bare("genre", self.INDEX) is None


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

    def test_a_missing_column_is_named_with_the_closest(self) -> None:
        with pytest.raises(
            TableError, match=r"Column 'genre', needed for the list rule.*Closest: genres"
        ):
            build_tags(ITEMS, [ListOf("genre")])


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


class TestEdits:
    """Rules drop, rename and merge values."""

    ITEMS = pl.DataFrame({"g": ["Lay|Sci-Fi", "Wargame|wargames", "War  games", "Sci-Fi|lay"]})

    def test_values_are_dropped_renamed_and_merged_whatever_their_case(self) -> None:
        rule = ListOf(
            "g",
            min_items=2,
            drop=("LAY",),
            rename={"sci-fi": "Science fiction"},
            merge={"Wargames": ("Wargame", "Wargames", "war games")},
        )
        found = build_tags(self.ITEMS, [rule])
        assert list(map(str, found.tags)) == ["g=Science fiction", "g=Wargames"]
        assert found.S.toarray().tolist() == [[1, 0], [0, 1], [0, 1], [1, 0]]
        new = pl.DataFrame({"g": ["WARGAME|lay|Sci-Fi"]})
        encoded, unknown = encode_tags(new, found.rules, found.tags)
        assert (encoded.toarray().tolist(), unknown) == ([[1, 1]], [])

    def test_one_line_drops_all_values_that_begin_alike(self) -> None:
        items = pl.DataFrame({"g": ["Admin: check|Dice", "ADMIN:no picture", "Administration"]})
        found = build_tags(items, [ListOf("g", drop=("Admin:*",))])
        assert [tag.value for tag in found.tags] == ["Administration", "Dice"]
        with pytest.raises(RuleError, match=r"names the value 'Todo:\*', which no item has"):
            build_tags(items, [ListOf("g", drop=("Todo:*",))])

    def test_a_value_that_no_item_has_is_refused_with_the_closest(self) -> None:
        for edits in (
            {"drop": ["Wargme"]},
            {"rename": {"Wargme": "a"}},
            {"merge": {"a": ["Wargme"]}},
        ):
            rule: Any = ListOf("g", **edits)
            with pytest.raises(RuleError, match=r"'Wargme', which no item has\. Closest: Wargame"):
                build_tags(self.ITEMS, [rule])


class TestEncode:
    RULES = (ListOf("genres"), Category("town"), Number("price", bins=2))

    @given(st.permutations(range(4)), st.integers(1, 4))
    def test_an_item_is_read_alike_in_any_company(self, order: list[int], n: int) -> None:
        table = build_tags(ITEMS, self.RULES)
        some = encode_tags(ITEMS[order[:n]], table.rules, table.tags)[0]
        np.testing.assert_array_equal(some.toarray(), table.S.toarray()[order[:n]])


def tags(n: int) -> list[Tag]:
    return [Tag("f", f"t{j}") for j in range(n)]


@given(seed=st.integers(0, 10_000), block=st.integers(1, 9))
def test_near_equal_tags_are_those_of_sets(seed: int, block: int) -> None:
    rng = np.random.default_rng(seed)
    S = (rng.random((12, 4)) < rng.random(4)).astype(np.float32)
    S = np.hstack([S, np.where(rng.random((12, 4)) < 0.05, 1 - S, S)])
    carriers = [set(np.flatnonzero(column).tolist()) for column in S.T]
    wanted = {}
    for i in range(8):
        for j in range(i + 1, 8):
            both, either = carriers[i] & carriers[j], carriers[i] | carriers[j]
            if len(both) > 1 and len(both) / len(either) > 0.8:
                wanted[i, j] = len(both) / len(either)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tag_quality, "_BLOCK", block)
        found = {(i, j): share for i, j, share in near_equal_tags(sp.csr_array(S))}
    assert found == pytest.approx(wanted)


def test_tags_on_one_item_and_on_nearly_all() -> None:
    S = np.zeros((100, 4))
    S[:96, 0] = S[:95, 1] = S[3, 2] = S[10:20, 3] = 1
    pairs, alone, common = tag_warnings(sp.csr_array(S), tags(4))
    assert "f=t0 and f=t1 (99 %)" in pairs
    assert alone.startswith("1 tag on one item alone")
    assert "f=t2." in alone
    assert common.startswith("1 tag on nearly all items")
    assert "f=t0 (96 %)" in common
