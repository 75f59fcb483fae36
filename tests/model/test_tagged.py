"""Batches, presses and ties of a model with affinities and a decoder."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from teaser import Dataset, Steering, Tag, Teaser
from teaser.baselines import EASE, WMFS, Product
from teaser.data.tags import DISCOVERED
from teaser.errors import ParameterError
from teaser.explain import PARTS, ViewedReason
from teaser.extensions import DiscoveredTags, Group, Groups, Remainder, SparseEncoder
from teaser.model.scores import TagMoves, ordinary_lifts
from teaser.profile import POPULARITY

PRESSES = [{"town=Ghent": 3}, None, {"type=film": -2, Tag("labels", "free"): 1}]


HISTORIES = [["i1", "i5"], [], ["i2"]]


def rows_of(histories: list[list[str]]) -> np.ndarray:
    X = np.zeros((len(histories), 40))
    for row, history in enumerate(histories):
        X[row, [int(i[1:]) for i in history]] = 1
    return X


def test_presses_move_a_learned_profile_as_they_move_one_from_the_start(model: Teaser) -> None:
    for history, presses in zip(HISTORIES, PRESSES, strict=True):
        whole = model.profile(history, presses)
        moved = model.pressed(model.profile(history), presses or {})
        assert_array_equal(moved.values, whole.values)
        assert (moved.impacts, moved.presses) == (whole.impacts, whole.presses)
        assert model.scores(moved).tolist() == model.scores(whole).tolist()


def test_five_presses_are_from_the_median_score_to_that_of_rank_20() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 301))
    rows = sp.csr_array(rng.random(scores.shape) < 0.1)
    for user, lift in enumerate(ordinary_lifts(scores, rows)):
        left = np.sort(scores[user][~rows.toarray()[user]])
        assert lift == pytest.approx(left[-20] - np.median(left))
    few = ordinary_lifts(np.arange(40.0)[None], sp.csr_array((1, 40)))
    assert few == pytest.approx(35 - 19.5)  # of 40 items the fifth, not the twentieth


def count_first(scores: np.ndarray, seen: np.ndarray, carried: np.ndarray) -> int:
    """Count the items that carry a tag among the first 20 that were not seen."""
    order = [i for i in np.argsort(-scores, kind="stable") if i not in set(seen.tolist())]
    return int(np.count_nonzero(carried[order[:20]]))


def test_one_press_changes_the_list_and_five_bring_eight_items_or_take_all_out() -> None:
    rng = np.random.default_rng(3)
    n_items, shares = 500, (0.02, 0.1, 0.3, 0.8)
    carried = np.array([rng.random(n_items) < share for share in shares])
    # Items differ in how much the tag counts in them, as those of discovered groups do.
    weights = sp.csr_array(carried * rng.uniform(0.3, 1.5, carried.shape))
    for _ in range(20):
        scores = rng.normal(size=n_items)
        seen = rng.choice(n_items, 12, replace=False)
        rows = sp.csr_array(np.isin(range(n_items), seen)[None])
        lift = float(ordinary_lifts(scores[None], rows)[0])
        moves = TagMoves(scores, seen, lift, weights)()
        assert moves.shape == (4, 11)
        assert (np.diff(moves, axis=1) > 0).all()
        assert_array_equal(TagMoves(scores, seen, lift, weights)([2])[0], moves[2])
        for own, by in zip(weights.toarray(), moves, strict=True):
            now, *after = (count_first(scores + by[n + 5] * own, seen, own) for n in range(6))
            left = int(np.count_nonzero(own) - np.count_nonzero(own[seen]))
            assert after[0] >= min(now + 1, left, 20)
            assert after[4] >= min(max(8, now + 3), left, 20)
            assert after == sorted(after)
            less = [count_first(scores + by[5 - n] * own, seen, own) for n in range(6)]
            assert less[1] <= max(now - 1, 0)
            assert less[5] == 0
            assert less == sorted(less, reverse=True)


def test_a_press_is_never_dead() -> None:
    equal = np.array([[0.7] * 50, [0.0] * 50])
    everything = sp.csr_array(np.ones((1, 3)))
    assert_array_equal(ordinary_lifts(equal, sp.csr_array(equal.shape)), [1.0, 1.0])
    assert_array_equal(ordinary_lifts(np.array([[3.0, 2.0, 1.0]]), everything), [1.0])


def test_the_step_follows_from_the_scores_without_presses(model: Teaser) -> None:
    scores = model.score_batch(rows_of(HISTORIES))
    lifts = ordinary_lifts(scores, model.check_histories(rows_of(HISTORIES)))
    for history, presses, lift in zip(HISTORIES, PRESSES, lifts, strict=True):
        assert model.profile(history, presses).step == pytest.approx(lift / 5)
        for steering in (Steering(step=0.3), Steering(scale="paper")):
            fixed = model.profile(history, presses, steering=steering)
            step = 0.3 if steering.step else 0.2
            assert fixed.step == step
            assert_allclose(fixed.moves, np.tile(step * np.arange(-5, 6), (len(fixed.tags), 1)))


def test_lists_of_a_batch_follow_everybodys_own_presses(model: Teaser) -> None:
    found = model.recommend_batch(HISTORIES, PRESSES, k=6)
    single = [model.recommend(h, p, k=6) for h, p in zip(HISTORIES, PRESSES, strict=True)]
    assert found == single
    for wrong, said in (([None], "3 histories and 1"), ({"town=Ghent": 1}, "one mapping for each")):
        presses: Any = wrong
        with pytest.raises(ParameterError, match=said):
            model.score_batch(rows_of(HISTORIES), presses)


def test_a_cold_person_sees_what_appeals_to_all(model: Teaser, dataset: Dataset) -> None:
    found = model.recommend([], k=5)
    appeal = model.decoder_[:, [len(model.tags_) - 1]].toarray().ravel()
    order = np.lexsort((np.arange(40), -dataset.item_counts, -appeal))
    assert [r.item_id for r in found] == [dataset.items[i] for i in order[:5]]
    for r in found:
        assert (r.reasons, r.general_share) == ((), 1.0)
        assert r.general == r.score == pytest.approx(0.6 * appeal[int(str(r.item_id)[1:])])


def test_where_all_scores_are_equal_popularity_decides(dataset: Dataset) -> None:
    model = Teaser().fit(dataset)
    model.add_items({"new": ["type=film"]})
    assert model.recommend(["new"], k=3)[0].score == 0.0
    order = np.lexsort((np.arange(40), -dataset.item_counts))
    found = [r.item_id for r in model.recommend(["new"], k=3)]
    assert found == [dataset.items[i] for i in order[:3]]


HOW: dict[str, Any] = {"l2_weights": 5.0, "l2_encoder": 5.0}


@pytest.fixture(scope="module")
def found_groups(dataset: Dataset) -> Dataset:
    """The example with two groups of items more, as if they had been discovered."""
    rng = np.random.default_rng(0)
    more = rng.random((40, 2)) * (rng.random((40, 2)) < 0.4)
    tags = (*dataset.tags, Tag(DISCOVERED, "a"), Tag(DISCOVERED, "b"))
    S = sp.csr_array(sp.hstack([dataset.S, sp.csr_array(more)], format="csr"))
    return replace(dataset, S=S, tags=tags)


@pytest.fixture(scope="module")
def both(dataset: Dataset, found_groups: Dataset) -> Teaser:
    weights = found_groups.S[:, dataset.n_tags :]
    found = tuple(Group(tag, 20, 16, ()) for tag in found_groups.tags[dataset.n_tags :])
    given = (found_groups, Groups(dataset.items, found, weights))
    model = Teaser(remainder=Remainder(l2=20.0), discovered=DiscoveredTags(), **HOW)
    model.fit(dataset, prepared=model.prepare(dataset, discovered=given))
    model.keep_basis(given[0])
    return model


def test_shares_of_lists_are_means_over_their_items(both: Teaser, found_groups: Dataset) -> None:
    X = found_groups.X
    lists = np.argsort(-both.score_batch(X), axis=1)[:, :7]
    lists[::5, 4:] = -1
    shares = []
    for user in range(X.shape[0]):
        history = [both.items_[i] for i in X[[user]].indices]
        for item in lists[user, :5][lists[user, :5] >= 0]:
            said = both.explain(both.items_[item], history)
            viewed = sum(abs(part) for part in said.viewed.values())
            own = {"general": abs(said.general), "viewed": viewed}
            for tag, part in said.tags.items():
                kind = "discovered" if tag.discovered else f"declared {tag.feature}"
                kind = "popularity" if tag == POPULARITY else kind
                own[kind] = own.get(kind, 0.0) + abs(part)
            shares.append({name: size / sum(own.values()) for name, size in own.items()})
    wanted = {n: sum(s.get(n, 0.0) for s in shares) / len(shares) for s in shares for n in s}
    found = both.list_shares(X, lists, shown=5)
    assert list(found.parts) == list(PARTS)
    told = {f"declared {name}": share for name, share in found.features.items()}
    told |= {name: share for name, share in found.parts.items() if name != "declared"}
    assert told == pytest.approx(wanted)
    assert sum(found.parts.values()) == pytest.approx(1.0)
    assert sum(found.features.values()) == pytest.approx(found.parts["declared"])
    assert found.parts["viewed"] > 0.01
    nothing = both.list_shares(X[:3], np.full((3, 4), -1))
    assert set(nothing.parts.values()) == {0.0}


@pytest.mark.parametrize(
    "make",
    [
        lambda: Teaser(**HOW),
        lambda: Teaser(remainder=Remainder(l2=20.0), **HOW),
        lambda: Teaser(remainder=Remainder(l2=20.0, neighbours=None), **HOW),
        lambda: Teaser(sparse=SparseEncoder(density=0.3), **HOW),
        lambda: WMFS(l2=2.0, alpha=5.0),
        lambda: Product(Teaser(remainder=Remainder(l2=20.0), **HOW), EASE(l2=5.0)),
    ],
)
def test_strengths_reach_scores_explanations_and_origins(make: Any, dataset: Dataset) -> None:
    model = make().fit(dataset)
    history = {"i1": 0.5, "i5": 2.0, "i8": 1.0}
    row = np.zeros((1, 40))
    row[0, [1, 5, 8]] = 0.5, 2.0, 1.0
    scores = model.score_batch(row)[0]
    profile = model.profile(history)
    for item in ("i3", "i9", "i20"):
        said = model.explain(item, history)
        assert said.score == pytest.approx(scores[int(item[1:])], rel=1e-6)
        covered = said.cover.explained if said.cover else said.score
        total = said.general + sum(said.tags.values()) + sum(said.viewed.values())
        assert total == pytest.approx(covered, rel=1e-9)
    values = model.tag_table_.apply_basis(model.encode(sp.csr_array(row)))[0]
    for tag in ("town=Ghent", "general appeal=general appeal"):
        column = model.tag_table_.index[Tag.parse(tag)]
        assert sum(model.origins(tag, history).values()) == pytest.approx(values[column])
    if not isinstance(model, Product):
        assert_allclose(model.scores(profile), scores, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Teaser(discovered=DiscoveredTags(grains=(10,), factors=32)),
        lambda: Teaser(remainder=Remainder(neighbours=5), dtype="float64"),
        lambda: Teaser(sparse=SparseEncoder(density=0.4)),
        WMFS,
    ],
)
@pytest.mark.parametrize("balance", [0.2, 0.5, 0.8])
def test_what_viewed_items_add_in_all_is_the_personal_score(
    make: Any, balance: float, dataset: Dataset
) -> None:
    model = make().fit(dataset)
    steering = Steering(balance=balance)
    for history in (["i1", "i4", "i8"], {"i1": 2.0, "i5": -1.0}, ["i2"]):
        profile = model.profile(history, steering=steering)
        parts = model.viewed_parts(profile, np.arange(len(model.items_)))
        assert parts.shape == (len(model.items_), len(history))
        scale = np.abs(parts).max()
        assert_allclose(parts.sum(axis=1), profile.personal_scores, atol=1e-5 * scale)
    assert model.viewed_parts(model.profile([]), np.arange(3)).shape == (3, 0)


def test_a_raw_profile_is_the_weighted_sum_of_rows(both: Teaser) -> None:
    row = np.zeros((1, 40))
    row[0, [1, 5]] = 0.25, 3.0
    E, R = both.encoder_.astype(np.float64), both.remainder_.toarray().astype(np.float64)
    assert_allclose(both.encode(sp.csr_array(row))[0], 0.25 * E[1] + 3 * E[5], rtol=1e-9)
    viewed = both.decode_viewed(sp.csr_array(row))[0]
    assert_allclose(viewed, 0.25 * R[1] + 3 * R[5], rtol=1e-9, atol=1e-12)
    said = both.explain("i9", {"i1": 0.25, "i5": 3.0})
    weight = both.profile({"i1": 0.25, "i5": 3.0}).viewed_weight
    assert said.viewed == pytest.approx({"i1": weight * 0.25 * R[1, 9], "i5": weight * 3 * R[5, 9]})


def test_impossible_strengths_are_refused(model: Teaser) -> None:
    for bad in (np.nan, np.inf, -np.inf):
        row = np.zeros((1, 40))
        row[0, 3] = bad
        for ask in (model.score_batch, model.affinity_batch):
            with pytest.raises(ParameterError, match="finite numbers"):
                ask(row)


class TestDislikes:
    """Items of a strength below 0."""

    @pytest.fixture
    def row(self) -> Any:
        """Two liked items and a disliked one."""
        row = np.zeros((1, 40))
        row[0, [1, 4, 9]] = 1.0, 1.0, -0.25
        return row

    def test_they_say_nothing_of_general_appeal(self, both: Teaser, row: Any) -> None:
        table, liked = both.tag_table_, np.maximum(row, 0.0)
        raw = both.encode(sp.csr_array(row))
        signed, plain = table.apply_basis(raw)[0], table.apply_basis(both.encode(liked_rows(liked)))
        signed[table.general] = plain[0, table.general]
        found = both.affinity_batch(row)[0]
        # One factor takes the values to the affinities.
        assert_allclose(found * signed[0], signed * found[0], rtol=1e-9, atol=1e-12)
        assert found[table.general] > 0

    def test_dislikes_alone_leave_general_appeal_to_decide(self, model: Teaser) -> None:
        row = np.zeros((1, 40))
        row[0, 9] = -0.25
        found, liked = model.affinity_batch(row)[0], model.affinity_batch(-row)[0]
        cold = model.affinity_batch(np.zeros((1, 40)))[0]
        general = model.tag_table_.general
        assert found[general] == cold[general] == pytest.approx(0.6)
        assert_allclose(found[:general], -liked[:general], rtol=1e-9)
        # The strength alone changes nothing: affinities are scaled.
        assert_allclose(model.affinity_batch(4 * row)[0], found, rtol=1e-9)

    def test_lists_of_all_users_know_them(self, both: Teaser, dataset: Dataset) -> None:
        users = [dataset.users[n] for n in range(8)]
        free = [int(np.flatnonzero(row == 0)[3]) for row in dataset.X[:8].toarray()]
        disliked = sp.csr_array(([-0.25] * 8, (range(8), free)), shape=dataset.X.shape)
        rated = replace(dataset, disliked=disliked)
        found = both.recommend_all(rated, k=40, users=users, reasons=True)
        assert isinstance(found, pl.DataFrame)
        kinds: set[str] = set()
        for user in users:
            one = both.recommend(rated.history(user), k=40).to_frame()
            lists = found.filter(pl.col("user_id") == user)
            assert lists["item_id"].to_list() == one["item_id"].to_list()
            assert_allclose(lists["score"].to_numpy(), one["score"].to_numpy(), rtol=1e-5)
            for many, single in zip(lists["reasons"], one["reasons"], strict=True):
                names = [[(r["kind"], r["value"]) for r in given] for given in (many, single)]
                assert set(names[0]) == set(names[1])
                kinds |= {kind for kind, _ in names[0]}
        assert {"tag", "viewed", "disliked"} <= kinds

    def test_a_reason_says_that_an_item_was_disliked(self, both: Teaser) -> None:
        history = {"i1": 1, "i4": 1, "i9": -0.25}
        found = [r for i in both.items_ for r in both.explain(i, history).reasons]
        viewed = [r for r in found if isinstance(r, ViewedReason)]
        assert {r.item_id for r in viewed if r.disliked} == {"i9"}
        assert {r.item_id for r in viewed if not r.disliked} == {"i1", "i4"}
        one = next(r for r in viewed if r.disliked)
        assert one.sentence().endswith("because you disliked Event 9")


def liked_rows(dense: Any) -> sp.csr_array:
    return sp.csr_array(dense)


@pytest.mark.parametrize("sparse", [None, SparseEncoder(density=0.4)])
def test_the_mean_profile_is_that_of_all_training_users(dataset: Dataset, sparse: Any) -> None:
    model = Teaser(sparse=sparse).fit(dataset)
    wanted = model.encode(dataset.X).mean(axis=0)
    assert_allclose(model.mean_raw(dataset, np.zeros((1, 8))), wanted, rtol=1e-9, atol=1e-15)
