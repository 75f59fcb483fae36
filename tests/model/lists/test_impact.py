"""What decides in lists: shares and changes, recomputed list by list from explanations."""

from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest

from teaser import Category, Dataset, Teaser
from teaser.extensions import DiscoveredTags, Remainder
from teaser.model.baselines.wmf import WMFS
from teaser.model.impact import K, list_people, measure_impacts, measured_users
from teaser.model.tables import sample_users
from teaser.model.tagged import TaggedModel
from teaser.profile import GENERAL, POPULARITY
from teaser.testing import RULES, example_tables

PENALTIES: dict[str, Any] = {"l2_weights": 5.0, "l2_encoder": 5.0, "dtype": "float64", "tol": 1e-9}


def data_with(*, n_users: int = 40, n_items: int = 60) -> Dataset:
    """Data with dislikes, strengths and user features: all that changes a list."""
    interactions, items = example_tables(3, n_users, n_items)
    users = pl.DataFrame(
        {
            "user_id": [f"u{u}" for u in range(n_users)],
            "age": ["young" if u % 3 else "old" for u in range(n_users)],
        }
    )
    return Dataset.from_tables(
        interactions.with_columns(weight=pl.col("rating") / 4),
        items,
        rules=RULES,
        negative="rating <= 3",
        positive="rating >= 4",
        strength="weight",
        users=users,
        user_rules=[Category("age", min_items=1)],
    )


@pytest.fixture(scope="module")
def data() -> Dataset:
    return data_with()


MODELS: dict[str, Any] = {
    "plain": lambda: Teaser(**PENALTIES),
    "neighbours": lambda: Teaser(**PENALTIES, remainder=Remainder(neighbours=20)),
    "joint": lambda: Teaser(**PENALTIES, remainder=Remainder(neighbours=None), user_features=False),
    "discovered": lambda: Teaser(**PENALTIES, discovered=DiscoveredTags(grains=(6,))),
    "wmfs": lambda: WMFS(),
}


def people_of(model: TaggedModel, data: Dataset) -> list[tuple[Any, Any]]:
    """Return the history of each measured user, and the facts about them."""
    places, rows = sample_users(data.X)
    chosen = places[measured_users(np.diff(rows.indptr) > 0)]
    found = []
    for place in chosen.tolist():
        about = None
        if model.user_tags_ and data.Q is not None:
            about = [data.user_tags[j] for j in data.Q[[place]].indices.tolist()]
        found.append((data.history(data.users[place]), about))
    return found


@pytest.mark.parametrize("name", MODELS)
def test_shares_equal_those_of_explanations(name: str, data: Dataset) -> None:
    model = MODELS[name]().fit(data)
    people = people_of(model, data)
    assert len(people) > 35
    shares: dict[str, float] = defaultdict(float)
    n_listed = 0
    for history, about in people:
        for entry in model.recommend(history, k=K, about=about):
            said = model.explain(entry.item_id, history, about=about)
            if not said.total:
                continue
            n_listed += 1
            shares["general"] += abs(said.general) / said.total
            shares["viewed"] += sum(map(abs, said.viewed.values())) / said.total
            for tag, part in said.tags.items():
                kind = "popularity" if tag == POPULARITY else tag.feature
                shares[kind] += abs(part) / said.total
    found = model.transparency_.impacts
    told = {
        **found.features,
        "general": found.general,
        "popularity": found.popularity,
        "discovered": found.discovered,
        "viewed": found.viewed,
    }
    for kind, share in told.items():
        assert share == pytest.approx(shares[kind] / n_listed, abs=1e-6), kind
    assert set(shares) <= set(told)
    assert sum(told.values()) == pytest.approx(1, abs=1e-9)
    assert found.n_people == len(people)
    assert GENERAL.feature not in found.features
    assert (found.viewed > 0) == model.has_remainder
    assert (found.discovered > 0) == (name == "discovered")


@pytest.mark.parametrize("name", ["plain", "neighbours"])
def test_a_press_changes_as_many_as_it_does_in_lists(name: str, data: Dataset) -> None:
    model = MODELS[name]().fit(data)
    people = people_of(model, data)
    histories, about = [h for h, _ in people], [a for _, a in people]
    rows = model.item_table_.rows([model.item_table_.strengths(h) for h in histories])
    states = model.user_states(rows, about=about)
    rng = np.random.default_rng(0)
    _, pressed, _, exchanged = list_people(model, states, rng=rng)
    changed: dict[str, list[int]] = defaultdict(list)
    for (history, known), j, n in zip(people, pressed, exchanged, strict=True):
        tag = model.tags_[j]
        before, after = (
            model.recommend(history, presses, k=K, about=known) for presses in ({}, {tag: 1})
        )
        # The tag is one of an item in the list.
        assert any(tag in model.explain(r.item_id, history).tags for r in before)
        assert j < model.tag_table_.n_personal
        left = {r.item_id for r in before} - {r.item_id for r in after}
        assert len(left) == n
        changed[tag.feature].append(len(left))
    found = measure_impacts(model, states)
    assert found is not None
    assert found == model.transparency_.impacts
    every = [n for each in changed.values() for n in each]
    assert found.press_change == pytest.approx(np.mean(every))
    assert found.press_change > 0
    steps = [
        model.profile(history, about=known).moves[j, 5 + 1]
        for (history, known), j in zip(people, pressed, strict=True)
    ]
    assert found.step == pytest.approx(np.mean(steps))
    assert found.press_changes == pytest.approx({f: np.mean(n) for f, n in changed.items()})


def test_lists_that_are_empty_measure_nothing() -> None:
    interactions = pl.DataFrame({"user_id": ["u", "u"], "item_id": ["a", "b"]})
    items = pl.DataFrame({"item_id": ["a", "b"], "type": ["x", "y"]})
    model = Teaser().fit(Dataset.from_tables(interactions, items))
    assert model.transparency_ is None
