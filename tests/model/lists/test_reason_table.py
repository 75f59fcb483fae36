"""The reasons of all lists are those of each."""

from typing import Any

import numpy as np
import pytest

from teaser import Teaser
from teaser.explain import BoostReason
from teaser.extensions import DiscoveredTags, Remainder
from teaser.model.baselines.ease import EASE
from teaser.model.baselines.product import Product
from teaser.testing import assert_same_lists, example_dataset, user_histories

PENALTIES: dict[str, Any] = {"l2_weights": 1.0, "l2_encoder": 1.0}
BOOST = {"i3": 0.5, "labels=free": 0.2, "film": -0.1}
TINY = {
    "labels=free": 1e-6,
    "labels=late": 1e-7,
    "film": -1e-6,
    "concert": 1e-5,
    "popularity": 1e-6,
}


def teaser_with(**options: Any) -> Teaser:
    return Teaser(**PENALTIES, **options).fit(example_dataset())


@pytest.fixture(scope="module", params=["plain", "joint", "neighbours", "discovered", "product"])
def model(request: pytest.FixtureRequest) -> Any:
    made: dict[str, Any] = {
        "plain": lambda: teaser_with(),
        "joint": lambda: teaser_with(remainder=Remainder(neighbours=None)),
        "neighbours": lambda: teaser_with(remainder=Remainder(neighbours=10)),
        "discovered": lambda: teaser_with(discovered=DiscoveredTags(grains=(5,))),
        "product": lambda: Product(teaser_with(), EASE(l2=3.0).fit(example_dataset())),
    }
    return made[request.param]()


@pytest.mark.parametrize("boost", [None, BOOST, TINY])
@pytest.mark.parametrize("negative", [True, False])
def test_reasons_equal_those_of_single_lists(model: Any, boost: Any, negative: bool) -> None:
    data = example_dataset().at(np.arange(60))
    found = model.recommend_all(data, k=7, reasons=True, boost=boost, negative_reasons=negative)
    wanted = model.recommend_batch(
        user_histories(data), k=7, boost=boost, negative_reasons=negative
    )
    assert_same_lists(found, wanted.to_frame(data.users[:]))
    kinds = {reason["kind"] for row in found["reasons"].to_list() for reason in row}
    assert "tag" in kinds
    assert ("boost" in kinds) == (boost is not None)
    assert ("viewed" in kinds) == (model.remainder_ is not None)


def test_items_added_after_the_fit_have_reasons_too() -> None:
    model = teaser_with(remainder=Remainder(neighbours=10))
    model.add_items({"new": ["type=concert", "town=Ghent"]})
    data = example_dataset().at(np.arange(20))
    found = model.recommend_all(data, k=41, reasons=True)
    assert "new" in found["item_id"].to_list()
    wanted = model.recommend_batch(user_histories(data), k=41).to_frame(data.users[:])
    assert_same_lists(found, wanted)


def test_an_item_that_is_promoted_always_says_so(model: Any) -> None:
    data = example_dataset().at(np.arange(20))
    found = model.recommend_all(data, k=10, reasons=True, boost=TINY)
    promoted = found.filter(found["boost"] != 0)
    assert promoted.height > 50
    for reasons in promoted["reasons"].to_list():
        assert "boost" in {reason["kind"] for reason in reasons}
        sizes = [abs(reason["share"]) for reason in reasons]
        assert sizes == sorted(sizes, reverse=True)
        # One more where boosts leave no place for a reason of the person.
        assert len(sizes) <= 6
    for entry in model.recommend(["i2", "i4"], k=20, boost=TINY):
        boosts = [r for r in entry.reasons if isinstance(r, BoostReason)]
        assert sum(r.contribution for r in boosts) == pytest.approx(entry.boost)
