"""User features in a model: its equation, profiles, origins, files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from oracles import random_problem, without_diagonal

import teaser
from teaser import Category, Dataset, Teaser
from teaser.data.split import split
from teaser.data.tags import Tag
from teaser.errors import ParameterError, UnknownNameError
from teaser.evaluate.protocol import evaluate
from teaser.extensions import Remainder
from teaser.model.extensions.user_features import learn_alone
from teaser.model.solve import solve

Array = NDArray[Any]
HISTORY = ["i1", "i4", "i6"]


def known_tables(seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The two camps of people, most of whom say which they are of; some say nothing."""
    interactions, items = small_tables(seed)
    kind = dict(zip(items["item_id"], items["type"], strict=True))
    rng = np.random.default_rng(seed)
    rows = []
    for (user,), chosen in interactions.group_by("user_id", maintain_order=True):
        films = sum(kind[i] == "film" for i in chosen["item_id"])
        camp = "cinema" if 2 * films > chosen.height else "music"
        if rng.random() < 0.9:
            rows.append((user, camp, int(rng.integers(18, 80))))
    users = pl.DataFrame(rows, schema=["user_id", "camp", "age"], orient="row")
    return interactions, items, users


@pytest.fixture(scope="module")
def known() -> Dataset:
    interactions, items, users = known_tables()
    rules = [Category("camp")]
    return Dataset.from_tables(interactions, items, rules=RULES, users=users, user_rules=rules)


@pytest.fixture(scope="module")
def fitted(known: Dataset) -> Teaser:
    return Teaser(l2_weights=5.0, l2_encoder=5.0, tol=1e-9, dtype="float64").fit(known)


def brute_force(X: Array, Q: Array, D: Array, l1: float, l2: float) -> Array:
    """Minimise |X - [X Q] W|^2 + l1 |W|^2 + l2 |E|^2, W = E D' without the diagonal of items.

    One column of the least-squares problem for each unknown.
    """
    Y = np.hstack([X, Q])
    n, t = D.shape
    rows = Y.shape[1]
    columns = []
    for unit in np.eye(rows * t):
        E = unit.reshape(rows, t)
        W = E @ D.T
        W[:n] = without_diagonal(W[:n])
        columns.append(
            np.concatenate([(Y @ W).ravel(), np.sqrt(l1) * W.ravel(), np.sqrt(l2) * E.ravel()])
        )
    goal = np.concatenate([X.ravel(), np.zeros(rows * n + rows * t)])
    return np.asarray(np.linalg.lstsq(np.stack(columns, axis=1), goal, rcond=None)[0]).reshape(
        rows, t
    )


def problem(seed: int) -> tuple[Array, Array, Array]:
    X, D = random_problem(seed)
    rng = np.random.default_rng(seed + 100)
    Q = np.zeros((len(X), 5))
    Q[np.arange(len(X)), rng.integers(0, 3, len(X))] = 1.0  # one of three groups
    Q[:, 3] = rng.random(len(X)) < 0.5  # a property of its own
    Q[4] = 0.0  # a person of whom nothing is known; the last feature is nobody's
    return X, Q, D


class TestEquation:
    @pytest.mark.parametrize("seed", [0, 1, 2])
    @pytest.mark.parametrize("solver", ["cg", "admm"])
    def test_the_rows_are_those_of_brute_force(self, seed: int, solver: str) -> None:
        X, Q, D = problem(seed)
        padded = np.vstack([D, np.zeros((Q.shape[1], D.shape[1]))])
        found = solve(
            np.hstack([X, Q]), padded, l2_weights=3.0, l2_encoder=2.0, tol=1e-12,
            solver=solver, dtype="float64", max_iter=20_000,
        )  # fmt: skip
        assert_allclose(found.encoder, brute_force(X, Q, D, 3.0, 2.0), atol=1e-8)

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_what_features_say_alone_is_that_of_brute_force(self, seed: int) -> None:
        X, Q, D = problem(seed)
        eta, V = np.linalg.eigh(D.T @ D)
        found = learn_alone(
            sp.csr_array(Q), sp.csr_array(X), sp.csr_array(D), basis=(V, np.maximum(eta, 0)),
            penalty=np.full(Q.shape[1], 3.0), l2=2.0,
        )  # fmt: skip
        p, t = Q.shape[1], D.shape[1]
        columns = [
            np.concatenate([
                (Q @ C @ D.T).ravel(), np.sqrt(3.0) * (C @ D.T).ravel(), np.sqrt(2.0) * C.ravel(),
            ])
            for C in np.eye(p * t).reshape(-1, p, t)
        ]  # fmt: skip
        goal = np.concatenate([X.ravel(), np.zeros(p * len(D) + p * t)])
        wanted = np.linalg.lstsq(np.stack(columns, axis=1), goal, rcond=None)[0].reshape(p, t)
        assert_allclose(found, wanted, atol=1e-8)

    def test_a_model_solves_it(self, known: Dataset, fitted: Teaser) -> None:
        assert known.Q is not None
        X, Q = known.X.toarray().astype(float), known.Q.toarray().astype(float)
        D = fitted.tag_table_.learned_decoder.toarray()
        assert fitted.user_encoder_ is not None
        both = np.vstack([fitted.encoder_, fitted.user_encoder_])
        Y = np.hstack([X, Q])

        def half_gradient(E: Array) -> Array:
            W = E @ D.T
            W[: len(D)] = without_diagonal(W[: len(D)])
            M = Y.T @ (Y @ W - X) + 5.0 * W
            M[: len(D)] = without_diagonal(M[: len(D)])
            return np.asarray(M @ D + 5.0 * E)

        size = np.abs(half_gradient(np.zeros_like(both))).max()
        assert np.abs(half_gradient(both)).max() < 1e-7 * size


class TestFit:
    def test_it_can_be_told_to_leave_them_out(self, known: Dataset, dataset: Dataset) -> None:
        plain = Teaser(tol=1e-5).fit(dataset)
        told = Teaser(tol=1e-5, user_features=False).fit(known)
        assert told.user_tags_ == ()
        assert_array_equal(told.encoder_, plain.encoder_)

    def test_a_full_remainder_is_refused(self, known: Dataset) -> None:
        full = Remainder(neighbours=None, l2=100.0)
        with pytest.raises(ParameterError, match=r"full remainder.*neighbours.*user_features=F"):
            Teaser(remainder=full).fit(known)
        with pytest.raises(ParameterError, match="user_features=False"):
            Teaser(remainder=full).estimate(known)
        model = Teaser(user_features=False, tol=1e-2, remainder=full).fit(known)
        assert model.user_tags_ == ()

    def test_a_prepared_system_must_have_their_rows(self, known: Dataset) -> None:
        prepared = Teaser(user_features=False).prepare(known)
        with pytest.raises(ParameterError, match="or user features"):
            Teaser().fit(known, prepared=prepared)
        shared = Teaser(tol=1e-5)
        found = shared.fit(known, prepared=shared.prepare(known))
        assert_array_equal(found.user_encoder_, Teaser(tol=1e-5).fit(known).user_encoder_)


class TestProfile:
    def test_raw_scores_are_history_plus_features(self, fitted: Teaser) -> None:
        rows = fitted.user_rows_
        assert rows is not None
        for history, share in (([], 1.0), (["i1"], 2 / 3), (HISTORY, 2 / 11)):
            places = [fitted.items_.index_of(i) for i in history]
            raw = fitted.encoder_[places].sum(axis=0)
            raw = raw + share * rows.alone[1] + (1 - share) * rows.encoder[1]
            profile = fitted.profile(history, about=["camp=music"])
            values = fitted.tag_table_.apply_basis(raw[None])[0]
            scale = np.percentile(np.abs(values[: fitted.tag_table_.n_personal]), 99)
            assert_allclose(profile.values, profile.certainty * values / scale, rtol=1e-9)

    def test_general_appeal_is_that_of_the_average_user_with_features(
        self, known: Dataset, fitted: Teaser
    ) -> None:
        rows = fitted.user_rows_
        assert rows is not None
        assert known.Q is not None
        lengths = np.diff(known.X.indptr)
        raw = known.X.toarray() @ fitted.encoder_ + rows.encode(known.Q, lengths)
        assert_allclose(rows.mean(known.Q, lengths), rows.encode(known.Q, lengths).mean(axis=0))
        mean = fitted.tag_table_.apply_basis(raw.mean(axis=0)[None])[0]
        assert_allclose(mean[:-1], 0, atol=1e-12)
        assert mean[-1] > 0

    def test_features_count_as_one_more_item_for_the_certainty(self, fitted: Teaser) -> None:
        for history in ([], ["i1"], HISTORY):
            known = fitted.profile(history, about=["camp=music"])
            assert known.certainty == fitted.profile([*history, "i9"]).certainty

    def test_cold_people_get_what_people_like_them_choose(self, fitted: Teaser) -> None:
        music = fitted.profile([], about=["camp=music"]).affinities
        cinema = fitted.profile([], about=["camp=cinema"]).affinities
        concert = Tag("type", "concert")
        assert music[concert] > 0 > cinema[concert]
        best = fitted.recommend([], about=["camp=cinema"], k=5)
        assert all(int(str(r.item_id)[1:]) % 2 == 1 for r in best)


class TestAnswers:
    def test_contributions_sum_to_the_score(self, fitted: Teaser) -> None:
        for history in ([], HISTORY):
            for r in fitted.recommend(history, about=["camp=music"], k=5):
                said = fitted.explain(r.item_id, history, about=["camp=music"])
                assert said.score == r.score
                assert sum(said.contributions.values()) == pytest.approx(said.score, rel=1e-9)

    def test_origins_name_features_and_sum_to_the_raw_score(self, fitted: Teaser) -> None:
        for history in ([], ["i1"], HISTORY):
            parts = fitted.origins("type=concert", history, about=["camp=music"])
            assert list(parts) == [*history, Tag("camp", "music")]
            profile = fitted.profile(history, about=["camp=music"])
            others = fitted.origins("town=Ghent", history, about=["camp=music"])
            # Affinities are one multiple of raw scores, whatever the tag.
            a, b = (profile.affinities[Tag.parse(t)] for t in ("type=concert", "town=Ghent"))
            assert sum(parts.values()) * b == pytest.approx(sum(others.values()) * a, rel=1e-9)

    def test_a_batch_equals_its_single_people(self, fitted: Teaser) -> None:
        histories = [HISTORY, [], ["i2"], []]
        people = [["camp=music"], ["camp=cinema"], None, None]
        single = [fitted.recommend(h, about=p, k=6) for h, p in zip(histories, people, strict=True)]
        assert fitted.recommend_batch(histories, about=people, k=6) == single
        X = np.zeros((4, len(fitted.items_)))
        for row, history in enumerate(histories):
            X[row, [fitted.items_.index_of(i) for i in history]] = 1
        matrix = sp.csr_array([[0, 1], [1, 0], [0, 0], [0, 0]])
        scores = fitted.score_batch(X, about=people)
        assert_array_equal(fitted.score_batch(X, about=matrix), scores)
        assert_array_equal(fitted.score_batch(X, about=matrix.toarray()), scores)
        for row, found in enumerate(single):
            places = [fitted.items_.index_of(r.item_id) for r in found]
            assert_allclose(scores[row, places], [r.score for r in found], rtol=1e-9)
            values = fitted.profile(histories[row], about=people[row]).values
            assert_allclose(fitted.affinity_batch(X, about=people)[row], values, rtol=1e-12)

    def test_saved_and_loaded_it_answers_to_the_bit(self, fitted: Teaser, tmp_path: Path) -> None:
        fitted.save(tmp_path / "m")
        loaded = teaser.load(tmp_path / "m", Teaser)
        assert loaded.user_tags_ == fitted.user_tags_
        for history in ([], HISTORY):
            found = loaded.recommend(history, about=["camp=music"])
            assert found == fitted.recommend(history, about=["camp=music"])


class TestBadInput:
    def test_an_unknown_feature_names_the_closest(self, fitted: Teaser) -> None:
        with pytest.raises(UnknownNameError, match="Closest: camp=music"):
            fitted.recommend([], about=["camp=musik"])
        with pytest.raises(UnknownNameError, match="Unknown tag type=concert"):
            fitted.recommend([], about=["type=concert"])

    def test_features_are_a_list(self, fitted: Teaser) -> None:
        wrong: list[Any] = ["camp=music", 5, {"camp": "music"}, Tag("camp", "music")]
        for about in wrong:
            with pytest.raises(ParameterError, match="features of a user are a list"):
                fitted.profile([], about=about)

    def test_a_model_without_user_features_says_so(self, model: Teaser) -> None:
        with pytest.raises(ParameterError, match="no user features, so camp=music"):
            model.recommend([], about=["camp=music"])
        assert model.recommend([], about=[]) == model.recommend([])


class TestEvaluation:
    def test_a_fold_brings_what_is_known_of_its_people(self, known: Dataset) -> None:
        parts = split(known, n_validation=10, n_test=60, rng=0)
        model = Teaser(l2_weights=5.0, l2_encoder=5.0).fit(parts.training)
        cold = parts.test.shortened(0, rng=0)
        told = evaluate(model, cold, metrics=["ndcg@20"])
        untold = evaluate(model, replace(cold, user_features=None), metrics=["ndcg@20"])
        assert told.values["ndcg@20"].mean() > untold.values["ndcg@20"].mean() + 0.1
        assert (untold.lists == untold.lists[0]).all()
        by_hand = model.recommend_batch(
            [[]] * 60,
            about=[[model.user_tags_[j] for j in row.indices] for row in _rows(cold.user_features)],
            k=20,
        )
        for found, wanted in zip(told.lists, by_hand, strict=True):
            assert [known.items[i] for i in found] == [r.item_id for r in wanted]


def _rows(matrix: sp.csr_array | None) -> list[sp.csr_array]:
    assert matrix is not None
    return [matrix[[i]] for i in range(matrix.shape[0])]
