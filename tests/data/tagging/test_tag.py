"""Tags: written, parsed, found and kept in tables."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.data.tagging.tag import DISCOVERED, Tag, resolve_tag, tag_frame, tags_from
from teaser.errors import UnknownTagError


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


class TestResolve:
    INDEX = {Tag("genre", "jazz"): 0, Tag("genre", "rock"): 1}  # noqa: RUF012

    @pytest.mark.parametrize("tag", [Tag("genre", "rock"), "genre=rock", " genre = rock"])
    def test_tags_and_texts_are_found(self, tag: Tag | str) -> None:
        assert resolve_tag(tag, self.INDEX) == 1

    def test_an_unknown_tag_is_named_with_the_closest(self) -> None:
        with pytest.raises(UnknownTagError, match=r"Unknown tag genre=jaz\. Closest: genre=jazz"):
            resolve_tag("genre=jaz", self.INDEX)

    @pytest.mark.parametrize("thing", [5, None, ["genre", "jazz"]])
    def test_what_is_no_tag_is_unknown(self, thing: Any) -> None:
        with pytest.raises(UnknownTagError, match="Unknown tag"):
            resolve_tag(thing, self.INDEX)


def test_tags_come_back_from_their_table() -> None:
    for tags in ((), (Tag("genre", "jazz"), Tag("genre", "a=b"), Tag("town", "Liège"))):
        assert tags_from(tag_frame(tags)) == tags


def test_a_tag_that_the_model_found_says_so() -> None:
    assert Tag(DISCOVERED, "Air, Bonobo").discovered
    assert not Tag("mood", "calm").discovered
