"""Lists with less of the same, whose numbers stay true."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import Dataset, Steering, Teaser
from teaser.errors import ParameterError
from teaser.extensions import Remainder
from teaser.recommend import Recommendation
from teaser.steer import varied
from teaser.steer.similarity import rarity_rows

HISTORIES = st.lists(st.integers(0, 39).map(lambda i: f"i{i}"), max_size=5, unique=True)
PRESSES = st.dictionaries(
    st.sampled_from(["type=concert", "town=Ghent", "labels=free"]), st.integers(-5, 5), max_size=2
)


def place(r: Recommendation) -> int:
    return int(str(r.item_id)[1:])


def mean_overlap(model: Teaser, found: list[Recommendation]) -> float:
    V = rarity_rows(model)[[place(r) for r in found]].toarray()
    likeness = V @ V.T
    return float(likeness[np.triu_indices(len(found), 1)].mean())


def slow_order(model: Teaser, pool: list[Recommendation], variety: float, k: int) -> list[int]:
    V = rarity_rows(model).toarray()
    left, taken = [*pool], list[Recommendation]()
    while left and len(taken) < k:

        def worth(r: Recommendation) -> float:
            overlap = max((V[place(r)] @ V[place(t)] for t in taken), default=0.0)
            return float((1 - variety) * r.match - variety * overlap)

        best = max(map(worth, left))
        taken.append(next(r for r in left if worth(r) >= best - 1e-12))
        left.remove(taken[-1])
    return [place(r) for r in taken]


@given(HISTORIES, PRESSES, st.integers(1, 40))
def test_no_variety_is_the_plain_list(
    model: Teaser, history: list[str], presses: dict[str, int], k: int
) -> None:
    assert varied(model, history, presses, variety=0, k=k) == model.recommend(history, presses, k=k)


@given(HISTORIES, PRESSES, st.floats(0, 1))
def test_every_number_is_that_of_the_plain_list(
    model: Teaser, history: list[str], presses: dict[str, int], variety: float
) -> None:
    plain = {r.item_id: r for r in model.recommend(history, presses, k=40)}
    found = varied(model, history, presses, variety=variety, k=10)
    assert len({r.item_id for r in found}) == len(found) == 10
    assert all(r == plain[r.item_id] for r in found)
    assert found[0] == next(iter(plain.values()))


@pytest.mark.parametrize("variety", [0.1, 0.35, 0.7, 1.0])
@pytest.mark.parametrize("pool", [6, 15, 200])
def test_items_are_taken_by_match_less_overlap(model: Teaser, variety: float, pool: int) -> None:
    history, presses = ["i1", "i5", "i8"], {"town=Ghent": 2}
    best = model.recommend(history, presses, k=max(pool, 10))
    found = varied(model, history, presses, variety=variety, k=10, pool=pool)
    assert [place(r) for r in found] == slow_order(model, best, variety, 10)


def test_more_variety_is_less_overlap_and_less_match(model: Teaser) -> None:
    lists = [varied(model, ["i1", "i5"], variety=v, k=8) for v in (0, 0.5, 1)]
    overlap = [mean_overlap(model, found) for found in lists]
    assert overlap[0] > overlap[1] > overlap[2]
    match = [sum(r.match for r in found) for found in lists]
    assert match[0] >= match[1] > match[2]


@pytest.mark.parametrize("variety", [0, 0.5])
def test_only_allowed_items_and_the_best_of_them(model: Teaser, variety: float) -> None:
    allowed = np.arange(40) % 4 == 1
    every = model.recommend(["i1", "i6"], k=40)
    best = {r.item_id for r in every if place(r) % 4 == 1}
    found = varied(model, ["i1", "i6"], variety=variety, k=9, allowed=allowed)
    assert {r.item_id for r in found} == best
    few = varied(model, ["i1", "i6"], variety=variety, k=2, pool=2, allowed=allowed)
    assert few == [r for r in every if place(r) % 4 == 1][:2]
    assert varied(model, [], variety=variety, allowed=np.zeros(40, dtype=bool)) == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"variety": -0.1}, "variety must be between 0 and 1"),
        ({"variety": float("nan")}, "variety must be between 0 and 1"),
        ({"variety": 0.5, "k": 0}, "k must be"),
        ({"variety": 0.5, "allowed": [True]}, "allowed must hold"),
    ],
)
def test_bad_settings_are_refused(model: Teaser, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        varied(model, ["i1"], **settings)


@pytest.mark.parametrize("variety", [0.0, 0.6])
def test_the_history_and_reasons_against_are_there_as_asked(model: Teaser, variety: float) -> None:
    history, presses = ["i0", "i2", "i4"], {"town=Ghent": -4}
    plain = model.recommend(history, presses, k=40, exclude_history=False, negative_reasons=False)
    found = varied(
        model,
        history,
        presses,
        variety=variety,
        k=40,
        exclude_history=False,
        negative_reasons=False,
    )
    assert {r.item_id for r in found} >= set(history)
    assert sorted(found, key=place) == sorted(plain, key=place)
    assert (found == plain) == (variety == 0)
    against = varied(model, history, presses, variety=variety, k=37)
    assert any(reason.share < 0 for r in against for reason in r.reasons)


@pytest.mark.parametrize("balance", [0.0, 0.3, 0.5, 1.0])
def test_viewed_items_count_in_varied_lists_too(dataset: Dataset, balance: float) -> None:
    both = Teaser(
        l2_weights=5.0, l2_encoder=5.0, remainder=Remainder(neighbours=None, l2=20.0)
    ).fit(dataset)
    steering = Steering(balance=balance)
    history, presses = ["i1", "i8"], {"town=Ghent": 2}
    plain = both.recommend(history, presses, k=40, steering=steering)
    assert varied(both, history, presses, variety=0, k=40, steering=steering) == plain
    numbers = {r.item_id: r for r in plain}
    found = varied(both, history, presses, variety=0.6, k=10, steering=steering)
    assert all(numbers[r.item_id] == r for r in found)
    assert [place(r) for r in found] == slow_order(both, plain, 0.6, 10)
