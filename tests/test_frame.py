"""Results as frames: types of columns, slices, pandas with and without pyarrow."""

import sys

import polars as pl
import pytest

from teaser.errors import MissingPackageError
from teaser.frame import FrameList, as_pandas, make_frame

COLUMNS = {"item_id": None, "score": pl.Float64, "title": pl.String}


class Numbers(FrameList[int]):
    note = "none"

    def to_frame(self) -> pl.DataFrame:
        return make_frame(([n] for n in self), {"n": pl.Int64})


def test_a_slice_is_such_a_list_too_and_keeps_its_attributes() -> None:
    numbers = Numbers([3, 1, 2])
    numbers.note = "own"
    assert numbers == [3, 1, 2]
    assert numbers[0] == 3
    some = numbers[1:]
    assert isinstance(some, Numbers)
    assert some.note == "own"
    assert some.to_frame()["n"].to_list() == [1, 2]


def test_pandas_frames_hold_the_same() -> None:
    frame = make_frame([(1, 0.5, "a"), (2, None, None)], COLUMNS)
    found = as_pandas(frame)
    assert list(found.columns) == list(COLUMNS)
    assert found["item_id"].to_list() == [1, 2]
    assert found["title"].to_list()[0] == "a"
    assert Numbers([4]).to_pandas()["n"].to_list() == [4]


def test_a_missing_pandas_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match=r"^to_pandas needs pandas.*pip install pandas$"):
        Numbers([1]).to_pandas()
    with pytest.raises(MissingPackageError):
        as_pandas(make_frame([], COLUMNS))
