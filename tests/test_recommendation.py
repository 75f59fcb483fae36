"""Lists of recommendations as frames."""

import sys

import pytest

from teaser import Teaser
from teaser.errors import MissingPackageError, ParameterError

BOOST = {"i3": 9.0, "town=Ghent": 0.2}


def test_a_list_is_a_frame_of_one_row_an_item(remainder_model: Teaser) -> None:
    listed = remainder_model.recommend(["i1", "i5"], k=6, boost=BOOST)
    frame = listed.to_frame()
    assert frame["rank"].to_list() == [1, 2, 3, 4, 5, 6]
    for name in ("item_id", "title", "score", "match", "general", "boost", "other"):
        assert frame[name].to_list() == [getattr(entry, name) for entry in listed]
    for row, entry in zip(frame["reasons"].to_list(), listed, strict=True):
        assert [reason["share"] for reason in row] == [reason.share for reason in entry.reasons]
    kinds = {reason["kind"] for row in frame["reasons"].to_list() for reason in row}
    assert kinds == {"tag", "viewed", "boost"}
    assert listed.to_pandas()["item_id"].to_list() == frame["item_id"].to_list()
    assert listed[2:].to_frame()["item_id"].to_list() == frame["item_id"].to_list()[2:]
    assert listed[:0].to_frame().schema == frame.schema


def test_several_lists_are_one_frame_with_their_users(model: Teaser) -> None:
    batch = model.recommend_batch([["i1"], [], ["i2"]], k=2)
    assert batch.to_frame().select("user", "rank").rows() == [
        (u, r) for u in range(3) for r in (1, 2)
    ]
    named = batch.to_frame(["u", "v", "w"])
    assert named["user_id"].to_list() == ["u", "u", "v", "v", "w", "w"]
    assert batch.to_pandas([4, 5, 6])["user_id"].to_list() == [4, 4, 5, 5, 6, 6]
    assert batch[2:].to_frame()["item_id"].to_list() == named["item_id"].to_list()[4:]
    with pytest.raises(ParameterError, match="3 lists and 2 user ids"):
        batch.to_frame(["u", "v"])


def test_a_missing_pandas_is_said(model: Teaser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match=r"^to_pandas needs pandas.*pip install pandas$"):
        model.recommend(["i1"]).to_pandas()
