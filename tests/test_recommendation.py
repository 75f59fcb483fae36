"""Lists of recommendations and their frames."""

import sys

import polars as pl
import pytest

from teaser import Tag
from teaser.errors import MissingPackageError, ParameterError
from teaser.explain import BoostReason, Reason, ViewedReason
from teaser.frame import FrameList, as_pandas, make_frame
from teaser.recommend import (
    Recommendation,
    RecommendationBatch,
    Recommendations,
    reason_fields,
)

GHENT, FREE = Tag("town", "Ghent"), Tag("labels", "free")
FIRST = Recommendation(
    "a",
    0.9,
    1.0,
    (
        Reason(GHENT, 0.5, 0.5, 0.5, 1.0, (GHENT, FREE)),
        ViewedReason("b", 0.2, 0.2, "Bee"),
        BoostReason(Tag("promoted", "yes"), 0.1, 0.1),
    ),
    "An A",
    0.1,
    0.1,
    0.1,
)
SECOND = Recommendation("c", 0.4, 0.4, ())


def test_a_list_is_a_frame_of_one_row_an_item() -> None:
    frame = Recommendations([FIRST, SECOND]).to_frame()
    assert frame.drop("reasons").rows(named=True) == [
        {
            "rank": 1,
            "item_id": "a",
            "title": "An A",
            "score": 0.9,
            "match": 1.0,
            "general": 0.1,
            "boost": 0.1,
            "other": 0.0,
        },
        {
            "rank": 2,
            "item_id": "c",
            "title": None,
            "score": 0.4,
            "match": 0.4,
            "general": 0.0,
            "boost": 0.0,
            "other": 0.0,
        },
    ]
    assert frame["reasons"].to_list() == [[reason_fields(r) for r in FIRST.reasons], []]


def test_reasons_are_structs_of_their_kind() -> None:
    tag, viewed, boost = (reason_fields(reason) for reason in FIRST.reasons)
    assert tag == {
        "kind": "tag",
        "feature": "town",
        "value": "Ghent / free",
        "item_id": None,
        "contribution": 0.5,
        "share": 0.5,
    }
    assert (viewed["kind"], viewed["value"], viewed["item_id"]) == ("viewed", "Bee", "b")
    assert (boost["kind"], boost["feature"], boost["value"]) == ("boost", "promoted", "yes")


def test_several_lists_are_one_frame_with_their_users() -> None:
    batch = RecommendationBatch(
        [Recommendations([FIRST, SECOND]), Recommendations(), Recommendations([SECOND])]
    )
    frame = batch.to_frame()
    assert frame.columns[:3] == ["user", "rank", "item_id"]
    assert frame.select("user", "rank").rows() == [(0, 1), (0, 2), (2, 1)]
    named = batch.to_frame(["u", "v", "w"])
    assert named["user_id"].to_list() == ["u", "u", "w"]
    assert batch.to_pandas([4, 5, 6])["user_id"].to_list() == [4, 4, 6]
    assert batch[2:].to_frame()["item_id"].to_list() == ["c"]


def test_there_is_an_id_for_each_list() -> None:
    with pytest.raises(ParameterError, match="1 lists and 2 user ids"):
        RecommendationBatch([Recommendations()]).to_frame(["u", "v"])


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
