"""Batches, presses and ties of a model with affinities and a decoder."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from teaser import Dataset, Steering, Tag, Teaser
from teaser.errors import ParameterError
from teaser.model import load
from teaser.profile import POPULARITY

PRESSES = [{"town=Ghent": 3}, None, {"type=film": -2, Tag("labels", "free"): 1}]
HISTORIES = [["i1", "i5"], [], ["i2"]]


def rows_of(histories: list[list[str]]) -> np.ndarray:
    X = np.zeros((len(histories), 40))
    for row, history in enumerate(histories):
        X[row, [int(i[1:]) for i in history]] = 1
    return X


def test_affinities_of_a_batch_are_the_profiles_of_its_people(model: Teaser) -> None:
    found = model.affinity_batch(rows_of(HISTORIES), PRESSES)
    for row, (history, presses) in enumerate(zip(HISTORIES, PRESSES, strict=True)):
        assert_array_equal(found[row], model.profile(history, presses).values)


def test_presses_move_a_learned_profile_as_they_move_one_from_the_start(model: Teaser) -> None:
    for history, presses in zip(HISTORIES, PRESSES, strict=True):
        whole = model.profile(history, presses)
        moved = model.pressed(model.profile(history), presses or {}, 0.2)
        assert_array_equal(moved.values, whole.values)
        assert (moved.impacts, moved.presses) == (whole.impacts, whole.presses)
        assert model.scores(moved).tolist() == model.scores(whole).tolist()


def test_scores_of_a_batch_are_sums_of_affinities_over_tags(model: Teaser) -> None:
    a = model.affinity_batch(rows_of(HISTORIES), PRESSES)
    scores = model.score_batch(rows_of(HISTORIES), PRESSES)
    assert_allclose(scores, a @ model.decoder_.toarray().T, atol=1e-12)


def test_lists_of_a_batch_follow_everybodys_own_presses(model: Teaser) -> None:
    found = model.recommend_batch(HISTORIES, PRESSES, k=6)
    single = [model.recommend(h, p, k=6) for h, p in zip(HISTORIES, PRESSES, strict=True)]
    assert found == single


def test_steering_reaches_every_answer(model: Teaser) -> None:
    paper = Steering(scale="paper")
    history = ["i1", "i5"]
    raw = model.encode(model._rows([history]))
    values = model.tag_table_.apply_basis(raw)[0]
    wanted = 0.6 * values / np.abs(raw).max()
    assert_allclose(model.profile(history, steering=paper).values, wanted, rtol=1e-12)
    row = model.score_batch(rows_of([history]), steering=paper)[0]
    for r in model.recommend(history, steering=paper, k=3):
        assert row[int(str(r.item_id)[1:])] == pytest.approx(r.score)
        assert model.explain(r.item_id, history, steering=paper).score == r.score


def test_the_best_of_the_allowed_items_are_recommended(model: Teaser) -> None:
    allowed = np.arange(40) % 3 == 1
    every = model.recommend(["i1", "i5"], {"town=Ghent": 2}, k=40)
    wanted = [r for r in every if int(str(r.item_id)[1:]) % 3 == 1]
    assert len(wanted) == 12
    assert model.recommend(["i1", "i5"], {"town=Ghent": 2}, k=40, allowed=allowed) == wanted
    assert model.recommend(["i1", "i5"], {"town=Ghent": 2}, k=4, allowed=allowed) == wanted[:4]
    batch = model.recommend_batch(HISTORIES, PRESSES, k=4, allowed=allowed)
    assert batch[1] == model.recommend([], k=4, allowed=allowed)
    assert not model.recommend([], allowed=np.zeros(40, dtype=bool))


def test_what_is_viewed_may_be_kept_among_the_allowed(model: Teaser) -> None:
    allowed = np.arange(40) == 5
    (kept,) = model.recommend(["i5"], exclude_history=False, allowed=allowed)
    assert kept.item_id == "i5"
    assert not model.recommend(["i5"], allowed=allowed)


@pytest.mark.parametrize("allowed", [np.ones(39, dtype=bool), np.ones(40), [0, 1, 2]])
def test_allowed_is_a_mask_of_the_items(model: Teaser, allowed: Any) -> None:
    with pytest.raises(ParameterError, match="allowed must hold true or false for each of 40"):
        model.recommend([], allowed=allowed)


def test_as_many_presses_as_people(model: Teaser) -> None:
    with pytest.raises(ParameterError, match="3 histories and 1 sets of presses"):
        model.recommend_batch(HISTORIES, [None])


def test_an_empty_batch_is_no_list(model: Teaser) -> None:
    assert model.recommend_batch([]) == []


def test_a_cold_person_sees_what_appeals_to_all(model: Teaser, dataset: Dataset) -> None:
    found = model.recommend([], k=5)
    appeal = model.decoder_[:, [len(model.tags_) - 1]].toarray().ravel()
    order = np.lexsort((np.arange(40), -dataset.item_counts, -appeal))
    assert [r.item_id for r in found] == [dataset.items[i] for i in order[:5]]
    for r in found:
        assert (r.reasons, r.general_share) == ((), 1.0)
        assert r.general == r.score == pytest.approx(0.6 * appeal[int(str(r.item_id)[1:])])


def test_a_model_that_was_saved_before_has_no_general_appeal() -> None:
    model = load(Path(__file__).parents[1] / "saved" / "teaser", Teaser)
    assert model.tag_table_.basis is None
    assert model.tags_[-1] == POPULARITY
    history = ["i1", "i5", "i6"]
    assert model.profile(history).general == 0.0
    assert model.profile([]).affinities[POPULARITY] == 0.6
    for r in model.recommend(history, k=3):
        said = model.explain(r.item_id, history)
        assert (r.general, said.general, said.general_share) == (0.0, 0.0, 0.0)
        assert said.contributions == said.tags
        assert sum(said.tags.values()) == pytest.approx(r.score)
    parts = model.score_parts(model._rows([history]))
    assert not parts["general"].any()
    assert parts["popularity"].any()


def test_where_all_scores_are_equal_popularity_decides(dataset: Dataset) -> None:
    model = Teaser().fit(dataset)
    model.add_items({"new": ["type=film"]})
    assert model.recommend(["new"], k=3)[0].score == 0.0
    order = np.lexsort((np.arange(40), -dataset.item_counts))
    found = [r.item_id for r in model.recommend(["new"], k=3)]
    assert found == [dataset.items[i] for i in order[:3]]


def test_titles_come_from_the_metadata(model: Teaser) -> None:
    assert model.recommend(["i1"], k=1)[0].title in {f"Event {i}" for i in range(40)}
    assert model.title(7) == "Event 7"


@pytest.mark.parametrize("negative", [True, False])
def test_a_list_can_be_made_of_scores_that_are_there(model: Teaser, negative: bool) -> None:
    for history, presses in zip(HISTORIES, PRESSES, strict=True):
        profile = model.profile(history, presses)
        scores = model.scores(profile)
        seen = [model.items_.index_of(i) for i in profile.history]
        places = model.rank_items(scores, k=7, seen=seen)
        found = model.entries(places, profile, scores, negative_reasons=negative)
        assert found == model.recommend(history, presses, k=7, negative_reasons=negative)
        backwards = model.entries(places[::-1], profile, scores, negative_reasons=negative)
        assert backwards == found[::-1]


def test_a_rank_leaves_out_what_was_seen_and_what_is_not_allowed(model: Teaser) -> None:
    scores = np.arange(40.0)
    allowed = np.arange(40) < 38
    assert model.rank_items(scores, k=3).tolist() == [39, 38, 37]
    assert model.rank_items(scores, k=3, seen=[37, 35], allowed=allowed).tolist() == [36, 34, 33]
    with pytest.raises(ParameterError, match="k must be"):
        model.rank_items(scores, k=0)
