"""Ids: a sequence that knows the position of each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.data.matrix import Ids
from teaser.errors import UnknownItemError


class TestIds:
    def test_they_are_a_sequence_that_equals_its_names(self) -> None:
        ids = Ids(["a", "b"])
        assert list(ids) == ["a", "b"]
        assert ids == ["a", "b"] == list(ids)
        assert ids == Ids(("a", "b"))
        assert ids != ["b", "a"]
        assert ids != "ab"

    def test_a_number_is_found_as_number_and_as_text(self) -> None:
        for name in (17, "17", " 17 ", np.int64(17), np.int8(17)):
            assert Ids([3, 17]).find(name) == 1

    def test_so_is_a_text_that_is_a_number(self) -> None:
        for name in ("17", 17, np.int64(17)):
            assert Ids(["3", "17"]).find(name) == 1

    def test_what_is_not_there_is_not_found(self) -> None:
        texts = ["x", "", "-", "--1", "1.0", "²", "9" * 5000]
        for name in (None, True, 1.5, b"1", [1], float("nan"), *texts):
            assert Ids([1, -1]).find(name) is None
            assert name not in Ids([1, -1])

    def test_they_cannot_be_keys(self) -> None:
        with pytest.raises(TypeError, match="unhashable"):
            hash(Ids([1]))

    def test_whole_numbers_of_a_frame_with_gaps_are_found(self) -> None:
        assert Ids([1, -1]).find(-1.0) == 1
        assert Ids(["17"]).find(17.0) == 0

    def test_negative_numbers_are_found(self) -> None:
        assert Ids([1, -1]).find("-1") == 1

    def test_blanks_around_a_number_do_not_count(self) -> None:
        # str.strip takes these for blanks, int does not.
        assert [Ids([17]).find(text) for text in (" 17\n", "17\x1c", "\x1f17")] == [0, 0, 0]

    @given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.text(), unique_by=str))
    def test_every_name_is_found_at_its_position(self, names: list[int | str]) -> None:
        ids = Ids(names)
        assert [ids.index_of(name) for name in names] == list(range(len(names)))

    def test_an_unknown_item_is_named_with_the_closest(self) -> None:
        with pytest.raises(
            UnknownItemError, match=r"Unknown item 'alpa'; .*2 items\. Closest: alpha"
        ):
            Ids(["alpha", "zzz"]).index_of("alpa")

    def test_another_type_is_said_but_not_of_digits(self) -> None:
        with pytest.raises(UnknownItemError, match=r"whole numbers, such as 3; .* type str"):
            Ids([3, 17]).index_of("abc")
        with pytest.raises(UnknownItemError, match=r"Unknown item '99'; the model has 2 items\.$"):
            Ids([3, 17]).index_of("99")

    def test_more_names_make_new_ids(self) -> None:
        ids = Ids(["a"])
        assert ids.extended(["b"]) == ["a", "b"]
        assert ids == ["a"]

    def test_only_the_first_names_are_shown(self) -> None:
        assert repr(Ids(range(5))) == "Ids(5: 0, 1, 2, ...)"
        assert repr(Ids(["a"])) == "Ids(1: 'a')"
