"""The fewest presses that bring an item up, against a search of everything."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from teaser import Dataset, ListOf, Steering, Tag, Teaser
from teaser.errors import ParameterError, SearchTimeoutError
from teaser.model.tables import Basis
from teaser.profile import GENERAL
from teaser.recommend import Recommendation
from teaser.steer import smallest_presses

# Presses that follow from the person's scores, and presses of one step.
PERSONAL, EVEN = Steering(cold_general=0.55), Steering(cold_general=0.55, step=0.1)


def random_model(seed: int, n_items: int = 14, n_tags: int = 3) -> Teaser:
    """A model of a few tags whose encoder is drawn, not learnt; some items are alike."""
    rng = np.random.default_rng(seed)
    carried = rng.random((n_items, n_tags)) < 0.45
    carried[1] = carried[0]
    items = pl.DataFrame(
        {
            "item_id": [f"i{i}" for i in range(n_items)],
            "tags": ["|".join(f"t{j}" for j in np.flatnonzero(row)) for row in carried],
        }
    )
    pairs = [(f"u{u}", f"i{i}") for u in range(9) for i in rng.choice(n_items, 4, replace=False)]
    people = pl.DataFrame(pairs, schema=["user_id", "item_id"], orient="row")
    model = Teaser().fit(Dataset.from_tables(people, items, rules=(ListOf("tags"),)))
    model.encoder_ = rng.normal(size=model.encoder_.shape)
    return model


def without_basis(model: Teaser) -> Teaser:
    """The same model with raw scores as they are, and no general appeal."""
    table = model.tag_table_
    plain = Basis.plain(table.n_learned)
    model._tag_table = replace(
        table,
        tags=(*table.learned_tags, GENERAL),
        decoder=plain.widen(table.learned_decoder),
        basis=plain,
    )
    return model


def rank_of(found: Sequence[Recommendation], item: str) -> int:
    return [r.item_id for r in found].index(item) + 1


@cache
def choices(n_tags: int, most: int) -> list[tuple[tuple[int, int], list[tuple[int, ...]]]]:
    """All press vectors by their presses and tags, the fewest presses first, then tags."""

    def size(v: tuple[int, ...]) -> tuple[int, int]:
        return sum(map(abs, v)), sum(map(bool, v))

    every = [v for v in product(range(-most, most + 1), repeat=n_tags) if size(v)[0] <= most]
    return [(key, list(alike)) for key, alike in groupby(sorted(every, key=size), key=size)]


def brute_force(
    model: Teaser,
    item: str,
    history: list[str],
    presses: dict[Tag, int],
    rank: int,
    limit: int,
    allowed: NDArray[np.bool_] | None,
    steering: Steering,
) -> tuple[int, int] | None:
    def net(vector: tuple[int, ...]) -> dict[Tag, int]:
        steps = dict(zip(model.tags_, vector, strict=True))
        return {tag: presses.get(tag, 0) + steps[tag] for tag in steps}

    place = model.items_.index_of(item)
    viewed = {model.items_.index_of(i): 1.0 for i in history}
    for size, alike in choices(len(model.tags_), limit):
        tried = [n for n in map(net, alike) if max(map(abs, n.values())) <= 5]
        # As in the lists of `recommend`, without the reasons, which would take most of the time.
        histories = model.item_table_.rows([viewed] * len(tried))
        for state in model.user_states(histories, tried, steering=steering):
            (scores,) = model.score_states(state)
            if place in model.rank_items(scores, k=rank, seen=state.rows.indices, allowed=allowed):
                return size
    return None


def check(
    model: Teaser,
    rng: np.random.Generator,
    limit: int,
    steering: Steering,
    allowed: NDArray[np.bool_] | None = None,
) -> int | None:
    """Compare one random question with the search of everything; return how many presses."""
    n = len(model.items_)
    history = [f"i{i}" for i in rng.choice(n, rng.integers(0, 3), replace=False)]
    tags = rng.choice(len(model.tags_), rng.integers(0, 3), replace=False)
    presses = {model.tags_[j]: int(rng.integers(-5, 6)) for j in tags}
    item = str(rng.choice([f"i{i}" for i in range(n) if f"i{i}" not in history]))
    rank = int(rng.integers(1, 4))
    found = smallest_presses(
        model, item, history, presses, k=rank, max_presses=limit, allowed=allowed, steering=steering
    )
    best = brute_force(model, item, history, presses, rank, limit, allowed, steering)
    if best is None or found is None:
        assert found is None
        assert best is None
        return None
    assert (found.total, len(found.presses)) == best
    net = {t: presses.get(t, 0) + found.presses.get(t, 0) for t in model.tags_}
    after = model.recommend(history, net, k=n, allowed=allowed, steering=steering)
    assert found.rank_after == rank_of(after, item) <= rank
    assert found.score_after == after[found.rank_after - 1].score
    before = model.recommend(history, presses, k=n, allowed=allowed, steering=steering)
    assert found.rank_before == rank_of(before, item)
    assert found.score_before == before[found.rank_before - 1].score
    return found.total


@pytest.mark.parametrize("seed", range(4))
def test_no_smaller_set_of_presses_exists(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_model(seed)
    totals = [check(model, rng, 4, own) for own in (PERSONAL, EVEN) for _ in range(6)]
    assert any(totals)


@pytest.mark.parametrize("seed", range(6))
def test_no_smaller_set_exists_where_the_weights_of_tags_were_learned(seed: int) -> None:
    rng = np.random.default_rng(30 + seed)
    model = random_model(seed)
    last = model.decoder_.indices >= model.tag_table_.n_personal
    model.decoder_.data[~last] = rng.normal(1.0, 0.7, int((~last).sum()))
    totals = [check(model, rng, 4, own) for own in (PERSONAL, EVEN) for _ in range(6)]
    assert any(totals)


@pytest.mark.parametrize("seed", range(4))
def test_what_may_not_be_recommended_is_neither_passed_nor_brought_up(seed: int) -> None:
    rng = np.random.default_rng(10 + seed)
    model = random_model(seed)
    totals = []
    for _ in range(12):
        allowed = rng.random(len(model.items_)) < 0.6
        totals.append(check(model, rng, 3, Steering(cold_general=0.55), allowed))
    assert None in totals
    assert any(total is not None for total in totals)


def test_fewer_rivals_ask_for_fewer_presses(model: Teaser) -> None:
    ranked = [r.item_id for r in model.recommend(["i1", "i5"], k=40)]
    allowed = np.ones(len(model.items_), dtype=bool)
    allowed[[model.items_.index_of(i) for i in ranked[:-3]]] = False
    found = smallest_presses(model, ranked[-1], ["i1", "i5"], k=3, allowed=allowed)
    assert found is not None
    assert (found.presses, found.rank_before) == ({}, 3)
    assert allowed.sum() == len(model.items_) - len(ranked) + 3, "the mask is left as it was"
    allowed[model.items_.index_of(ranked[-1])] = False
    assert smallest_presses(model, ranked[-1], ["i1", "i5"], k=3, allowed=allowed) is None


@pytest.mark.parametrize("seed", range(4))
def test_ties_are_decided_as_in_the_list(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = without_basis(random_model(seed))
    model.encoder_ = np.round(2 * rng.normal(size=model.encoder_.shape)) / 2
    counted = np.round(2 * model.popularity_) / 2
    model._item_table = replace(model.item_table_, popularity=counted)
    own = model.decoder_.indices == model.tag_table_.popularity
    model.decoder_.data[own] = np.round(2 * model.decoder_.data[own]) / 2
    steering = Steering(scale="paper", step=0.25, cold_general=0.5, certainty=lambda h: 1.0)
    assert any(check(model, rng, 3, steering) for _ in range(20))


def test_what_cannot_be_brought_up_is_none(model: Teaser) -> None:
    history = ["i1", "i5"]
    last = model.recommend(history, k=40)[-1].item_id
    far = smallest_presses(model, last, history, k=1, max_presses=60)
    assert far is not None
    assert far.total > 1
    assert smallest_presses(model, last, history, k=1, max_presses=far.total - 1) is None
    exact = smallest_presses(model, last, history, k=1, max_presses=far.total)
    assert exact is not None
    assert exact.total == far.total
    assert smallest_presses(model, "i5", history) is None


def test_many_rivals_are_passed_with_no_press_to_spare() -> None:
    model = random_model(7, n_items=400, n_tags=16)
    rng = np.random.default_rng(7)
    found = [check_only(model, rng) for _ in range(20)]
    assert sum(f is not None for f in found) >= 3


def check_only(model: Teaser, rng: np.random.Generator) -> int | None:
    """Ask about a random item, and confirm that the answer works and that no press is idle."""
    history = [f"i{i}" for i in rng.choice(400, 3, replace=False)]
    item = str(rng.choice([f"i{i}" for i in range(400) if f"i{i}" not in history]))
    found = smallest_presses(model, item, history, k=10, max_presses=9)
    if found is None:
        return None
    shown = model.recommend(history, dict(found.presses), k=10)
    assert item in [r.item_id for r in shown]
    for tag, steps in found.presses.items():
        fewer = {**found.presses, tag: steps - int(np.sign(steps))}
        assert item not in [r.item_id for r in model.recommend(history, fewer, k=10)]
    return found.total


@pytest.mark.parametrize(
    "settings", [{"k": 0}, {"max_presses": 0}, {"k": 2.5}, {"max_presses": True}]
)
def test_k_and_max_presses_are_whole_numbers(model: Teaser, settings: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="whole number of at least 1"):
        smallest_presses(model, "i1", [], **settings)


def with_remainder(seed: int) -> Teaser:
    """The same with what viewed items add, drawn too."""
    model = random_model(seed)
    R = np.random.default_rng(seed + 100).normal(size=(14, 14)).astype(np.float32)
    np.fill_diagonal(R, 0)
    model._remainder = R
    return model


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("balance", [0.2, 0.5, 0.8])
def test_no_smaller_set_exists_where_viewed_items_count_too(seed: int, balance: float) -> None:
    rng = np.random.default_rng(20 + seed)
    model = with_remainder(seed)
    steering = Steering(cold_general=0.55, balance=balance)
    totals = [check(model, rng, 4, steering) for _ in range(10)]
    assert any(total for total in totals)


def test_presses_bring_nothing_up_where_only_viewed_items_count() -> None:
    model, alone = with_remainder(0), Steering(balance=1.0)
    ranked = [r.item_id for r in model.recommend(["i3", "i7"], k=12, steering=alone)]
    how: dict[str, Any] = {"k": 1, "max_presses": 10, "steering": alone}
    assert smallest_presses(model, ranked[5], ["i3", "i7"], **how) is None
    first = smallest_presses(model, ranked[0], ["i3", "i7"], **how)
    assert first is not None
    assert first.presses == {}
    # Without a history there are tags alone, wherever the dial stands.
    assert smallest_presses(model, ranked[5], [], **how) is not None


def test_a_search_with_a_time_limit_ends_in_time() -> None:
    model = random_model(7, n_items=400, n_tags=60)
    last = model.recommend(["i1", "i5"], k=398)[-1].item_id
    with pytest.raises(SearchTimeoutError, match="did not end within"):
        smallest_presses(model, last, ["i1", "i5"], k=3, max_presses=40, seconds=0.001)
    first = model.recommend(["i1", "i5"], k=1)[0].item_id
    assert smallest_presses(model, first, ["i1", "i5"], k=3, seconds=60) is not None
