"""A pickled bridge holds arrays, tables and settings of its model."""

import pickle
from copy import deepcopy

from numpy.testing import assert_array_equal

from teaser import Dataset, Teaser
from teaser.artifact import Content
from teaser.bridges.packed_state import PackedState


class Holder(PackedState):
    def __init__(self, name: str) -> None:
        self.name = name


def test_a_model_survives_a_pickle(model: Teaser, dataset: Dataset) -> None:
    holder = Holder("a")
    assert pickle.loads(pickle.dumps(holder)).__dict__ == {"name": "a"}
    holder.model_ = model
    assert isinstance(holder.__getstate__()["model_"], Content)
    assert holder.model_ is model
    for again in (pickle.loads(pickle.dumps(holder)), deepcopy(holder)):
        assert isinstance(again.model_, Teaser)
        assert_array_equal(again.model_.score_batch(dataset.X), model.score_batch(dataset.X))
        assert again.model_.recommend(["i1"], k=3) == model.recommend(["i1"], k=3)
    assert pickle.dumps(holder) == pickle.dumps(holder)
