"""What is promoted says so in lists."""

from typing import Any

import numpy as np
import pytest

from teaser import Teaser
from teaser.explain import BoostReason
from teaser.extensions import DiscoveredTags, Remainder
from teaser.model.baselines.ease import EASE
from teaser.model.baselines.product import Product
from teaser.testing import example_dataset

PENALTIES: dict[str, Any] = {"l2_weights": 1.0, "l2_encoder": 1.0}
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
