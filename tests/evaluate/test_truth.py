"""Whether what is said is true, against counts by hand on generated people."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import teaser
from teaser import Dataset, Teaser
from teaser.data import demo
from teaser.data.split import Fold, split
from teaser.errors import ParameterError
from teaser.evaluate import Truth, truth
from teaser.explain import Reason
from teaser.steer import statements
from teaser.testing import example_dataset


@pytest.fixture(scope="module")
def parts() -> Any:
    data = example_dataset(n_users=600, n_items=60)
    return split(data, n_validation=60, n_test=0, min_interactions=5, rng=0)


@pytest.fixture(scope="module")
def fitted(parts: Any) -> Teaser:
    how: Any = {"l2_weights": 20.0, "l2_encoder": 20.0}
    remainder = teaser.extensions.Remainder(l2=50.0, neighbours=10)
    return Teaser(remainder=remainder, **how).fit(parts.training)


@pytest.fixture(scope="module")
def fold(parts: Any) -> Fold:
    return parts.validation  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def found(fitted: Teaser, fold: Fold) -> Truth:
    return truth(fitted, fold.history, fold.held_out)


def ids(model: Teaser, rows: sp.csr_array) -> list[list[Any]]:
    return [[model.items_[i] for i in rows[[u]].indices.tolist()] for u in range(rows.shape[0])]


def carriers(model: Teaser, tags: Any) -> set[Any]:
    """The items that carry one of some tags."""
    columns = [model.tags_.index(tag) for tag in tags]
    rows = np.flatnonzero(np.asarray(model.decoder_[:, columns].sum(axis=1)).ravel())
    return {model.items_[i] for i in rows.tolist()}


def test_ratios_and_agreement_are_those_counted_by_hand(
    found: Truth, fitted: Teaser, fold: Fold, parts: Any
) -> None:
    counts = parts.training.item_counts
    chosen: dict[Any, list[float]] = {"known": [], "guessed": [], "away": []}
    expected: dict[Any, list[float]] = {"known": [], "guessed": [], "away": []}
    agree = []
    for history, held in zip(ids(fitted, fold.history), ids(fitted, fold.held_out), strict=True):
        for said in statements(fitted.profile(history)):
            kind = said.kind if said.leaning > 0 else "away"
            own = carriers(fitted, said.tags)
            places = [fitted.items_.index_of(item) for item in own]
            rate = counts[places].sum() / counts.sum()
            chosen[kind].append(len(own & set(held)))
            expected[kind].append(rate * len(held))
            if said.kind == "known":
                above = len(own & set(history)) / len(history) > rate
                agree.append(above == (said.leaning > 0))
    assert sum(map(len, chosen.values())) / 60 == pytest.approx(found.n_said)
    for kind in ("known", "guessed", "away"):
        wanted = sum(chosen[kind]) / sum(expected[kind]) if expected[kind] else None
        assert getattr(found, kind) == (wanted if wanted is None else pytest.approx(wanted))
    assert found.agreement == pytest.approx(np.mean(agree))


def test_people_of_whom_it_was_said_choose_so_afterwards(found: Truth) -> None:
    assert found.known is not None
    assert found.known > 1.2


def test_people_choose_less_of_what_they_are_said_to_avoid() -> None:
    data = demo.dataset(n_events=300, n_users=1500)
    parts = split(data, n_validation=300, n_test=0, rng=0)
    fold = parts.validation
    said = truth(Teaser(tol=1e-2).fit(parts.training), fold.history, fold.held_out)
    assert said.away is not None
    assert said.away < 0.9
    assert said.guessed is not None
    assert said.guessed > 1.5


def test_entries_are_those_that_people_get(found: Truth, fitted: Teaser, fold: Fold) -> None:
    n = with_reason = tags = against = 0
    for history in ids(fitted, fold.history):
        leanings = fitted.profile(history).leanings
        for entry in fitted.recommend(history, k=20):
            n, with_reason = n + 1, with_reason + bool(entry.reasons)
            for reason in entry.reasons:
                if isinstance(reason, Reason):
                    tags += 1
                    against += leanings[reason.tag] * reason.contribution < 0
    assert found.with_reason == pytest.approx(with_reason / n)
    assert found.against_leaning == pytest.approx(against / tags)


def test_presses_move_the_list_more_the_more_there_are(found: Truth) -> None:
    for effect in (found.plus, found.minus):
        assert effect is not None
        assert 0 < effect.changed_by_one <= effect.changed_by_three <= 1
    assert found.plus is not None
    assert found.plus.carried_after_five > found.plus.carried
    assert found.minus is not None
    assert found.minus.carried_after_five < found.minus.carried


def test_lists_of_ids_are_read_as_rows_are(found: Truth, fitted: Teaser, fold: Fold) -> None:
    again = truth(fitted, ids(fitted, fold.history), ids(fitted, fold.held_out))
    assert again == found


def test_the_figures_are_told_in_sentences(found: Truth) -> None:
    text = "\n".join(found.lines())
    assert f"known x{found.known:.2f}" in text
    assert f"naive profile x{found.naive_known:.2f}" in text
    assert "One press of + changes the first 20 of" in text
    assert found.as_dict()["readability"] == found.readability
    assert Truth.from_dict(json.loads(json.dumps(found.as_dict()))) == found


def test_nothing_is_said_of_people_without_a_history(fitted: Teaser) -> None:
    silent = truth(fitted, [[], []], [["i1"], ["i2"]])
    assert (silent.known, silent.guessed, silent.away, silent.agreement) == (None,) * 4
    assert silent.readability == 0
    assert "nothing was said" in silent.lines()[0]
    nobody = truth(fitted, [], [])
    assert (nobody.n_people, nobody.n_said, nobody.plus) == (0, 0, None)


def test_a_model_without_tags_says_nothing() -> None:
    bare = Dataset.from_tables(*teaser.testing.example_tables(n_users=200), rules=())
    model = Teaser().fit(bare)
    found = truth(model, [["i1", "i2"]], [["i3"]])
    assert (found.known, found.with_reason, found.plus) == (None, 0.0, None)


def test_each_history_needs_what_was_chosen_afterwards(fitted: Teaser) -> None:
    with pytest.raises(ParameterError, match="found 2 and 1"):
        truth(fitted, [["i1"], ["i2"]], [["i3"]])


def test_what_is_known_of_people_counts() -> None:
    data = example_dataset()
    users = teaser.testing.example_tables()[0].select("user_id").unique(maintain_order=True)
    ages = users.with_columns(age=pl.Series(["old", "young"] * (users.height // 2)))
    known = Dataset.from_tables(
        *teaser.testing.example_tables(), rules=data.rules, users=ages,
        user_rules=[teaser.Category("age")],
    )  # fmt: skip
    model = Teaser().fit(known)
    rows, held = known.X[:20], known.X[20:40]
    assert known.Q is not None
    about = known.Q[:20]
    by_rows = truth(model, rows, held, about=about)
    tags = [[model.user_tags_[j] for j in about[[u]].indices] for u in range(20)]
    assert truth(model, rows, held, about=tags) == by_rows
