"""Tags: written, parsed, found and kept in tables."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.data.tags import (
    DISCOVERED,
    Tag,
    feature_label,
    feature_words,
    find_bare,
    resolve_tag,
    tag_frame,
    tags_from,
)
from teaser.errors import ParameterError, UnknownTagError


class TestTag:
    @given(
        st.text().map(str.strip).filter(lambda t: t and "=" not in t),
        st.text().map(str.strip).filter(bool),
    )
    def test_a_tag_reads_back_from_its_text(self, feature: str, value: str) -> None:
        tag = Tag(feature, value)
        assert Tag.parse(str(tag)) == tag

    def test_spaces_around_the_equal_sign_are_no_matter(self) -> None:
        assert Tag.parse(" genre = jazz = rock ") == Tag("genre", "jazz = rock")

    def test_half_a_tag_is_refused(self) -> None:
        for text in ("", "jazz", "=jazz", "genre=", " = ", "genre= "):
            with pytest.raises(UnknownTagError, match="is not a tag"):
                Tag.parse(text)

    def test_a_tag_cannot_be_changed(self) -> None:
        with pytest.raises(AttributeError):
            setattr(Tag("a", "b"), "value", "c")  # noqa: B010, a type checker refuses it


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

    def test_a_group_stands_alone(self) -> None:
        assert Tag(DISCOVERED, "1984, 2001").label == "1984, 2001"
        assert Tag("X", "x").label == "x"

    @pytest.mark.parametrize(
        ("name", "label"),
        [
            ("Book-Author", "Book author"),
            ("Year-Of-Publication", "Year of publication"),
            ("startYear", "Start year"),
            ("ISBNCode", "ISBN code"),
            ("ISBN", "ISBN"),
            ("GENRE", "Genre"),
            ("Image-URL-L", "Image URL L"),
            ("author.name", "Author name"),
            ("co-author", "Co-author"),
            ("Release Date", "Release Date"),
            ("TV show", "TV show"),
            ("étoiles_Moyennes", "Étoiles moyennes"),
            ("price_band", "Price band"),
            ("_", "_"),
        ],
    )
    def test_names_of_columns_become_words(self, name: str, label: str) -> None:
        assert feature_label(name) == label

    def test_before_a_value_the_first_letter_stays(self) -> None:
        names = ["YearPublished", "max_players", "startYear", "_", "my column"]
        wanted = ["Year published", "max players", "start year", "_", "my column"]
        assert [feature_words(name) for name in names] == wanted


class TestResolve:
    INDEX = {Tag("genre", "jazz"): 0, Tag("genre", "rock"): 1}  # noqa: RUF012

    @pytest.mark.parametrize("tag", [Tag("genre", "rock"), "genre=rock", " genre = rock"])
    def test_tags_and_texts_are_found(self, tag: Tag | str) -> None:
        assert resolve_tag(tag, self.INDEX) == 1

    def test_an_unknown_tag_is_named_with_the_closest(self) -> None:
        with pytest.raises(UnknownTagError, match=r"Unknown tag genre=jaz\. Closest: genre=jazz"):
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
        with pytest.raises(UnknownTagError, match=r"'jaz' is not a tag.*Closest: genre=jazz"):
            resolve_tag("jaz", self.INDEX)
        assert find_bare("jazz", self.INDEX) == Tag("genre", "jazz")
        assert find_bare("folk", self.INDEX) is None
        assert find_bare("genre", self.INDEX) is None

    @pytest.mark.parametrize("thing", [5, None, ["genre", "jazz"]])
    def test_what_is_no_tag_is_unknown(self, thing: Any) -> None:
        with pytest.raises(UnknownTagError, match="Unknown tag"):
            resolve_tag(thing, self.INDEX)


def test_tags_come_back_from_their_table() -> None:
    for tags in ((), (Tag("genre", "jazz"), Tag("genre", "a=b"), Tag("town", "Liège"))):
        assert tags_from(tag_frame(tags)) == tags


def test_a_tag_of_the_discovered_feature_is_one_that_a_fit_found() -> None:
    assert Tag(DISCOVERED, "A, B").discovered
    assert not Tag("genre", DISCOVERED).discovered
