"""Lists of the arrays of a device are those of the processor, up to single precision."""

import copy
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from on_gpu import needs_gpu

from teaser import Dataset, Teaser
from teaser.errors import ResourceError
from teaser.extensions import Remainder, SparseEncoder
from teaser.model.gram import gpu
from teaser.model.lists import device_lists
from teaser.model.lists.device_lists import DeviceLists
from teaser.model.lists.selection import Placed
from teaser.profile import DEFAULT_STEERING, Steering
from teaser.testing import assert_same_lists, example_dataset

OPTIONS: list[Any] = [
    {},
    {"sparse": SparseEncoder(density=0.3)},
    {"remainder": Remainder(l2=20.0, neighbours=8)},
    {"remainder": Remainder(l2=20.0, neighbours=None)},
]


@pytest.fixture(scope="module", params=range(len(OPTIONS)))
def fitted(request: pytest.FixtureRequest) -> Teaser:
    options = OPTIONS[request.param]
    return Teaser(l2_weights=1.0, l2_encoder=1.0, dtype="float64", **options).fit(example_dataset())


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=needs_gpu)])
def like(request: pytest.FixtureRequest) -> Any:
    """An array of each kind of device, in double precision so that lists can be compared."""
    return np.zeros(1) if request.param == "numpy" else gpu.cupy().zeros(1)


def lists_of(model: Teaser, like: Any) -> DeviceLists:
    parts = (model.encoder_, model.tag_table_, model.item_table_, model.remainder_)
    return DeviceLists(*parts, like)


@pytest.mark.parametrize("steering", [DEFAULT_STEERING, Steering(scale="paper", balance=0.2)])
def test_affinities_are_those_of_users(fitted: Teaser, like: Any, steering: Steering) -> None:
    rows = sp.csr_array(example_dataset().X[:50], dtype=np.float64)
    found, factors = lists_of(fitted, like).affinities(rows, steering)
    states = fitted.user_states(rows, steering=steering)
    np.testing.assert_allclose(gpu.to_host(found), states.values, rtol=1e-9, atol=1e-12)
    assert (gpu.to_host(factors) > 0).all()


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("exclude_history", [False, True])
def test_lists_are_those_of_the_processor(
    fitted: Teaser,
    like: Any,
    known: bool,
    exclude_history: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = sp.csr_array(example_dataset().X[:50], dtype=np.float64)
    rows = sp.csr_array(sp.vstack([rows, sp.csr_array((1, rows.shape[1]))], format="csr"))
    states, table = fitted.user_states(rows), fitted.item_table_
    placed = fitted.place_filters({"boost": {"i4": 0.5, "town=Ghent": 0.1}, "exclude": ["i7"]})
    monkeypatch.setattr(DeviceLists, "block_size", lambda *_: 16)
    monkeypatch.setattr(device_lists, "_GROUP", 2)
    found = lists_of(fitted, like).best(
        rows,
        placed,
        k=5,
        steering=DEFAULT_STEERING,
        exclude_history=exclude_history,
        states=states if known else None,
    )
    scores = placed.boosted(fitted.score_states(states))
    np.testing.assert_allclose(found.highest, scores.max(axis=1), rtol=1e-9)
    for user in range(rows.shape[0]):
        seen = states[user].seen if exclude_history else np.zeros(0, dtype=np.int64)
        wanted = fitted.rank_items(scores[user], k=5, seen=seen, allowed=placed.allowed)
        own = found.places[user]
        np.testing.assert_allclose(found.scores[user], scores[user, wanted], rtol=1e-6, atol=1e-9)
        # Items whose scores are equal up to rounding may have changed places.
        np.testing.assert_allclose(scores[user, own], scores[user, wanted], rtol=1e-6, atol=1e-9)
        assert len(set(own.tolist())) == 5
        assert table.ids.index_of("i7") not in own
        assert not set(seen.tolist()) & set(own.tolist())


def test_items_added_after_the_fit_are_listed(fitted: Teaser, like: Any) -> None:
    model = copy.copy(fitted).add_items({"new": ["town=Ghent"]})
    rows = sp.csr_array(example_dataset().X[:9], dtype=np.float64)
    rows = sp.csr_array((rows.data, rows.indices, rows.indptr), (9, len(model.items_)))
    found = lists_of(model, like).best(
        rows, Placed(), k=50, steering=DEFAULT_STEERING, exclude_history=False
    )
    scores = model.score_batch(rows)
    np.testing.assert_allclose(found.scores, -np.sort(-scores), rtol=1e-6, atol=1e-9)


def test_equal_scores_stand_by_popularity_then_position(fitted: Teaser, like: Any) -> None:
    rows = sp.csr_array((3, len(fitted.items_)))
    states = fitted.user_states(rows)
    states.values[:], states.offset[:] = 0.0, 0.0
    found = lists_of(fitted, like).best(
        rows, Placed(), k=100, steering=DEFAULT_STEERING, exclude_history=True, states=states
    )
    wanted = np.lexsort((np.arange(len(fitted.items_)), -fitted.popularity_))
    assert found.places.tolist() == [wanted.tolist()] * 3


def test_a_short_list_ends_with_minus_one(fitted: Teaser, like: Any) -> None:
    rows = sp.csr_array(example_dataset().X[:2], dtype=np.float64)
    allowed = np.zeros(len(fitted.items_), dtype=bool)
    allowed[[3, 9]] = True
    found = lists_of(fitted, like).best(
        rows, Placed(allowed), k=4, steering=DEFAULT_STEERING, exclude_history=False
    )
    assert [sorted(row) for row in found.places.tolist()] == [[-1, -1, 3, 9]] * 2


def test_what_does_not_fit_is_said(fitted: Teaser) -> None:
    made = lists_of(fitted, np.zeros(1))
    with pytest.raises(ResourceError, match=r"one user needs 4\.000 GB.*device='cpu'"):
        made.block_size(10**8, 1)


@needs_gpu
def test_all_users_are_listed_on_a_gpu(fitted: Teaser) -> None:
    data: Dataset = example_dataset()
    wanted = fitted.recommend_all(data, k=6, reasons=True)
    for reasons in (False, True):
        found = fitted.recommend_all(data, k=6, reasons=reasons, device="cuda")
        assert_same_lists(found, wanted.select(found.columns), rtol=1e-3)


@needs_gpu
def test_a_model_that_does_not_fit_on_the_gpu_is_refused(
    fitted: Teaser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_lists, "free_memory", lambda: 1_000)
    like = gpu.cupy().zeros(1, dtype=np.float32)
    with pytest.raises(ResourceError, match=r"arrays of the model need .* GB free"):
        lists_of(fitted, like)
