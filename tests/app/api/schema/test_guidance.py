"""Schemas of differences, variations and examples: bounds, and what they are made of."""

from typing import Any

import pytest
from pydantic import ValidationError

from teaser import Teaser
from teaser.app.api.schema.guidance import (
    Difference,
    TagExamples,
    Variation,
    VariationRequest,
)
from teaser.steer import tag_examples, vary_item


def test_tags_are_texts_and_items_keep_their_ids(model: Teaser) -> None:
    found = Difference.of(model.compare("i6", "i9", ["i1"], boost={"i6": 0.5, "town=Ghent": 0.1}))
    kinds = {part.kind: part for part in found.parts}
    assert kinds["tag"].name == kinds["tag"].tags[0].tag
    assert kinds["general"].name == "general appeal=general appeal"
    assert {part.name for part in found.parts if part.kind == "boost"} == {"i6", "town=Ghent"}


def test_ignored_names_are_added(model: Teaser) -> None:
    made = vary_item(model, "i2", {}, ["i1", "nowhere"], unknown="ignore")
    assert Variation.of(made, 2).ignored == 3


def test_a_share_of_all_items_is_no_more_than_one(model: Teaser) -> None:
    found = TagExamples.of(tag_examples(model, "type=concert"))
    assert all(0 < beside.share <= 1 < beside.times for beside in found.comes_with)


@pytest.mark.parametrize(
    "asked",
    [{"n": 0}, {"n": 21}, {"steps": 0}, {"steps": 6}, {"changes": [{"new": "town=Ghent"}]}],
)
def test_odd_requests_are_refused(asked: dict[str, Any]) -> None:
    assert VariationRequest(item_id="i1").changes == []
    with pytest.raises(ValidationError):
        VariationRequest(item_id="i1", **asked)
