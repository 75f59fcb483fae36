"""The contract of a model: what it takes, what it answers, how it is saved, and its lists."""

import copy
import json
import pickle
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from teaser import artifact
from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.errors import ArtifactError, NotFittedError, ParameterError, UnknownNameError
from teaser.explain import BoostReason
from teaser.model import load
from teaser.profile import GENERAL, MAX_PRESSES, Steering
from teaser.testing.example import example_dataset


def user_histories(data: Dataset) -> list[dict[Any, float]]:
    """Return the history of each user of a data set: the strength of each item by its id."""
    rows = (data.X[[row]] for row in range(data.n_users))
    return [
        {data.items[i]: float(x) for i, x in zip(row.indices.tolist(), row.data, strict=True)}
        for row in rows
    ]


def assert_same_lists(found: pl.DataFrame, wanted: pl.DataFrame, rtol: float = 1e-9) -> None:
    """Assert that two frames of lists are the same up to rounding, in the columns of the first.

    Items may have changed places where their scores are equal up to rounding; reasons are
    compared where the items are the same.
    """
    assert found.height == wanted.height
    assert found.select("user_id", "rank").equals(wanted.select("user_id", "rank"))
    for name in ("score", "match"):
        assert_allclose(found[name], wanted[name], rtol=rtol, atol=rtol)
    same = (found["item_id"] == wanted["item_id"]).to_numpy()
    assert same.mean() > 0.95
    if "reasons" not in found.columns:
        return
    for name in ("general", "boost", "other"):
        assert_allclose(
            found[name].to_numpy()[same], wanted[name].to_numpy()[same], rtol=rtol, atol=rtol
        )
    pairs = zip(found["reasons"].to_list(), wanted["reasons"].to_list(), same, strict=True)
    for ours, theirs in ((ours, theirs) for ours, theirs, is_same in pairs if is_same):
        assert_allclose([r["share"] for r in ours], [r["share"] for r in theirs], atol=rtol)
        # Equal shares may have changed places too.
        names = [{(r["kind"], r["value"], r["item_id"]) for r in own} for own in (ours, theirs)]
        assert names[0] == names[1]


class ListContract:
    """What the lists of a model must do; it is a part of `ModelContract`.

    Attributes
    ----------
    rtol
        See `ModelContract`.
    """

    rtol = 1e-12

    def test_filters_leave_the_order_as_it_is(self, fitted: Any) -> None:
        every = fitted.recommend(["i1", "i5"], k=100)
        some = {f"i{i}" for i in range(8, 30)}
        found = fitted.recommend(
            ["i1", "i5"], k=100, items=some, exclude=["i9"], where=pl.col("type") == "film"
        )
        films = set(example_dataset().table.filter(pl.col("type") == "film")["item_id"])
        assert found == [r for r in every if r.item_id in (some & films) - {"i9"}]
        assert found == fitted.recommend(
            ["i1", "i5"], k=100, items=some, exclude=["i9"], where={"type": "film"}
        )
        with pytest.raises(ParameterError, match="'tpye'"):
            fitted.recommend(["i1"], where=pl.col("tpye") == "film")

    def test_a_boost_adds_to_scores_and_is_told(self, fitted: Any) -> None:
        plain = {r.item_id: r for r in fitted.recommend(["i1", "i5"], k=100)}
        found = fitted.recommend(["i1", "i5"], k=100, boost={"i9": 50.0, "town=Ghent": 0.25})
        assert found[0].item_id == "i9"
        assert any(r.boost == 0.25 for r in found)
        for r in found:
            boosted = sum(x.contribution for x in r.reasons if isinstance(x, BoostReason))
            assert r.boost == 0 or not r.reasons or boosted != 0
            if r.cover is None:
                assert r.score == pytest.approx(plain[r.item_id].score + r.boost)

    def test_unknown_items_are_ignored_if_asked(self, fitted: Any) -> None:
        found = fitted.recommend_batch([["i1", "nope"], ["i5"]], k=4, unknown="ignore")
        assert found == fitted.recommend_batch([["i1"], ["i5"]], k=4)
        assert found.ignored == 1

    def test_lists_become_frames(self, fitted: Any) -> None:
        found = fitted.recommend(["i1", "i5"], k=4)
        frame = found.to_frame()
        assert frame["item_id"].to_list() == [r.item_id for r in found]
        assert frame["rank"].to_list() == [1, 2, 3, 4]
        assert frame["title"].to_list() == [r.title for r in found]

    def test_lists_of_all_users_are_those_of_each(self, fitted: Any) -> None:
        data = example_dataset().at(np.arange(40))
        filters = {"boost": {"i4": 0.5}, "exclude": ["i7"]}
        found = fitted.recommend_all(data, k=6, reasons=True, **filters)
        wanted = fitted.recommend_batch(user_histories(data), k=6, **filters)
        assert_same_lists(found, wanted.to_frame(data.users[:]), max(self.rtol, 1e-6))


class ModelContract(ListContract):
    """What every model must do; a subclass defines `make`.

    Attributes
    ----------
    questions
        Methods that must raise `NotFittedError` before `fit`.
    rtol
        How near the scores of a batch must be to those of one user. A matrix product in single
        precision rounds a batch differently from a row.
    """

    questions: tuple[str, ...] = ("score_batch", "recommend")
    rtol = 1e-12

    def make(self) -> Any:
        """Return a model that is not fitted."""
        raise NotImplementedError

    @pytest.fixture
    def fitted(self) -> Any:
        """The model, fitted to the example data set once for all tests, which leave it as it is."""
        kind: Any = type(self)
        return _fitted(kind)

    def test_fit_returns_the_model(self) -> None:
        model = self.make()
        assert model.fit(example_dataset()) is model

    def test_parameters_are_stored_unchanged(self) -> None:
        model = self.make()
        again = type(model)(**model.parameters())
        assert again.parameters() == model.parameters()

    def test_its_text_can_be_pasted_and_its_parameters_set(self) -> None:
        model = self.make()
        modules = ("teaser", "teaser.extensions", "teaser.baselines")
        names = {name: value for m in modules for name, value in vars(sys.modules[m]).items()}
        again = eval(repr(model), {**names, type(model).__name__: type(model)})  # noqa: S307
        assert type(again) is type(model)
        deep, same = model.get_params(), again.get_params()
        assert deep.keys() == same.keys()
        plain = {n: v for n, v in deep.items() if isinstance(v, int | float | str | tuple)}
        assert plain == {n: same[n] for n in plain}
        assert again.set_params(**plain) is again
        assert repr(again) == repr(model)
        with pytest.raises(ParameterError, match="no_such_name"):
            again.set_params(no_such_name=1)

    def test_copies_answer_the_same_and_clones_learned_nothing(self, fitted: Any) -> None:
        before = fitted.recommend(["i1", "i4"])
        assert copy.deepcopy(fitted).recommend(["i1", "i4"]) == before
        sent = pickle.loads(pickle.dumps(fitted))  # noqa: S301, made here
        assert sent.recommend(["i1", "i4"]) == before
        other = fitted.clone()
        assert repr(other) == repr(sent) == repr(fitted) == repr(self.make())
        with pytest.raises(NotFittedError):
            other.check_fitted()
        other.fit(example_dataset(seed=9, n_users=120, n_items=24))
        assert fitted.recommend(["i1", "i4"]) == before

    def test_a_second_fit_forgets_the_first(self, fitted: Any) -> None:
        data, other = example_dataset(), example_dataset(seed=9, n_users=120, n_items=24)
        first = fitted.score_batch(data.X)
        again = self.make().fit(data)
        assert_array_equal(again.fit(data).score_batch(data.X), first)
        model = self.make().fit(other).fit(data)
        assert model.items_ == data.items
        assert_array_equal(model.score_batch(data.X), first)
        _assert_same_content(model.to_content(), again.to_content())

    def test_only_a_data_set_can_be_learned_from(self, fitted: Any) -> None:
        before = fitted.recommend(["i1", "i4"])
        for thing in (None, 5, "data", np.eye(3)):
            with pytest.raises(ParameterError, match="Dataset"):
                fitted.fit(thing)
        assert fitted.recommend(["i1", "i4"]) == before

    def test_fitting_leaves_its_input_unchanged(self) -> None:
        data = example_dataset()
        before = data.X.copy(), data.S.copy()
        self.make().fit(data)
        assert (before[0] != data.X).nnz == 0
        assert (before[1] != data.S).nnz == 0

    def test_an_unfitted_model_says_so(self, tmp_path: Path) -> None:
        for question in self.questions:
            with pytest.raises(NotFittedError):
                getattr(self.make(), question)(["i0"])
        with pytest.raises(NotFittedError):
            self.make().save(tmp_path / "model")
        with pytest.raises(NotFittedError):
            self.make().describe()

    def test_a_saved_model_answers_the_same(self, fitted: Any, tmp_path: Path) -> None:
        fitted.save(tmp_path / "model")
        loaded = load(tmp_path / "model", type(fitted))
        X = example_dataset().X
        assert_array_equal(loaded.score_batch(X), fitted.score_batch(X))
        assert loaded.recommend(["i1", "i4"]) == fitted.recommend(["i1", "i4"])
        assert repr(loaded) == repr(fitted)

    def test_a_folder_without_its_arrays_is_refused(self, fitted: Any, tmp_path: Path) -> None:
        fitted.save(tmp_path / "model")
        content = artifact.read(tmp_path / "model")
        artifact.write(
            tmp_path / "model",
            kind=content.kind,
            settings=content.settings,
            arrays={"other": np.zeros(3)},
            tables=content.tables,
        )
        with pytest.raises(ArtifactError):
            load(tmp_path / "model")

    def test_a_batch_equals_its_single_users(self, fitted: Any) -> None:
        data = example_dataset()
        rows, histories = data.X[:5], _histories(data, 5)
        single = [fitted.recommend(history, k=7) for history in histories]
        assert fitted.recommend_batch(histories, k=7) == single
        _assert_same_scores(fitted.score_batch(rows), single, data, self.rtol)

    def test_dense_and_sparse_histories_score_alike(self, fitted: Any) -> None:
        rows = example_dataset().X[:4].copy()
        before = rows.toarray()
        dense = fitted.score_batch(before)
        assert_array_equal(dense, fitted.score_batch(sp.coo_array(rows)))
        assert_array_equal(dense, fitted.score_batch(rows))
        assert_array_equal(rows.toarray(), before)

    def test_the_history_is_left_out_unless_asked_for(self, fitted: Any) -> None:
        items, history = set(example_dataset().items), ["i0", "i2", "i4"]
        everything = fitted.recommend(history, k=1000)
        assert {r.item_id for r in everything} == items - set(history)
        with_it = fitted.recommend(history, k=1000, exclude_history=False)
        assert {r.item_id for r in with_it} == items

    def test_lists_are_as_long_as_asked_and_fall(self, fitted: Any) -> None:
        found = fitted.recommend(["i0"], k=6)
        assert len(found) == 6
        scores = [r.score for r in found]
        assert scores == sorted(scores, reverse=True)

    def test_the_match_falls_from_at_most_one(self, fitted: Any) -> None:
        matches = [r.match for r in fitted.recommend(["i1", "i5"], k=12, exclude_history=False)]
        assert matches == sorted(matches, reverse=True)
        assert matches[0] == pytest.approx(1.0)
        assert matches[-1] >= 0.0

    def test_a_user_without_history_is_scored(self, fitted: Any) -> None:
        data = example_dataset()
        scores = fitted.score_batch(np.zeros((1, data.n_items)))
        assert scores.shape == (1, data.n_items)
        assert np.isfinite(scores).all()
        order = np.lexsort((np.arange(data.n_items), -data.item_counts, -scores[0]))
        wanted = [data.items[i] for i in order[:5]]
        assert [r.item_id for r in fitted.recommend([], k=5)] == wanted

    def test_only_allowed_items_are_recommended(self, fitted: Any) -> None:
        allowed = np.arange(example_dataset().n_items) % 3 == 1
        found = fitted.recommend(["i1", "i5"], k=100, allowed=allowed)
        every = fitted.recommend(["i1", "i5"], k=100)
        assert found == [r for r in every if _position(r.item_id) % 3 == 1]
        assert len(found) > 5

    def test_impossible_questions_are_refused(self, fitted: Any) -> None:
        for k in (0, -1, 2.5, True, "5"):
            with pytest.raises(ParameterError, match="k must be"):
                fitted.recommend(["i0"], k=k)
        with pytest.raises(UnknownNameError, match="i99x"):
            fitted.recommend(["i0", "i99x"])
        with pytest.raises(ParameterError, match="'i0'"):
            fitted.recommend("i0")

    def test_impossible_histories_are_refused(self, fitted: Any) -> None:
        with pytest.raises(ParameterError, match="3 columns"):
            fitted.score_batch(np.ones((2, 3)))
        for bad in (np.nan, np.inf, -np.inf):
            X = np.zeros((1, example_dataset().n_items))
            X[0, 0] = bad
            with pytest.raises(ParameterError, match="finite numbers"):
                fitted.score_batch(X)
            with pytest.raises(ParameterError, match="'i0'"):
                fitted.recommend({"i0": bad})

    def test_disliked_items_are_left_out_of_lists(self, fitted: Any) -> None:
        history = {"i1": 1, "i5": -0.25}
        found = fitted.recommend(history, k=example_dataset().n_items)
        assert not {r.item_id for r in found} & set(history)
        X = _row(1, 5)
        X[0, 5] = -0.25
        scores = fitted.score_batch(X)[0]
        assert np.isfinite(scores).all()
        for r in found[:5]:
            assert scores[_position(r.item_id)] == pytest.approx(r.score, rel=1e-9, abs=1e-12)

    def test_items_of_a_history_may_have_strengths(self, fitted: Any) -> None:
        X = _row(1, 5)
        X[0, 5] = 0.25
        scores = fitted.score_batch(X)[0]
        for r in fitted.recommend({"i1": 1, "i5": 0.25, "i7": 0}, k=5):
            assert scores[_position(r.item_id)] == pytest.approx(r.score, rel=1e-9, abs=1e-12)
            assert r.item_id not in ("i1", "i5")
        plain = fitted.recommend(["i1", "i5"], k=40)
        assert fitted.recommend({"i1": 1.0, "i5": 1}, k=40) == plain

    def test_it_describes_itself_in_plain_values(self, fitted: Any) -> None:
        found = json.loads(json.dumps(fitted.describe()))
        assert found["kind"] == type(fitted).__name__
        assert found["items"] == example_dataset().n_items

    def test_titles_come_from_the_metadata(self, fitted: Any) -> None:
        for r in fitted.recommend(["i1"], k=3):
            assert r.title == f"Event {_position(r.item_id)}"


class TaggedModelContract(ModelContract):
    """What a model with tags must do besides: profile, presses, reasons."""

    questions = ("score_batch", "recommend", "profile", "affinity_batch")

    def test_presses_of_a_batch_are_those_of_its_users(self, fitted: Any) -> None:
        data, presses = example_dataset(), [{"town=Ghent": 3}, None, {"type=film": -2}]
        histories = _histories(data, 3)
        single = [fitted.recommend(h, p, k=7) for h, p in zip(histories, presses, strict=True)]
        assert fitted.recommend_batch(histories, presses, k=7) == single
        _assert_same_scores(fitted.score_batch(data.X[:3], presses), single, data, self.rtol)

    def test_a_press_moves_one_affinity_by_a_step(self, fitted: Any) -> None:
        learned = fitted.profile(["i1", "i5"])
        before = learned.affinities
        after = fitted.profile(["i1", "i5"], {"labels=free": 1}).affinities
        assert before.keys() == after.keys()
        (moved,) = (tag for tag in before if before[tag] != after[tag])
        assert str(moved) == "labels=free"
        move = learned.moves[learned.place_of(moved), MAX_PRESSES + 1]
        assert after[moved] - before[moved] == pytest.approx(move)
        paper = Steering(scale="paper")
        assert fitted.profile(["i1", "i5"], steering=paper).step == 0.2

    def test_a_press_never_lowers_an_item_that_carries_the_tag(self, fitted: Any) -> None:
        data = example_dataset()
        tag = [str(t) for t in data.tags].index("town=Ghent")
        carries = data.S.toarray()[:, tag] > 0
        before = fitted.score_batch(data.X[:20])
        after = fitted.score_batch(data.X[:20], [{"town=Ghent": 2}] * 20)
        assert (after[:, carries] >= before[:, carries]).all()
        assert (after[:, carries] > before[:, carries]).any()
        assert_allclose(after[:, ~carries], before[:, ~carries], rtol=1e-9, atol=1e-12)

    def test_steering_reaches_scores_and_lists(self, fitted: Any) -> None:
        paper = Steering(scale="paper")
        X = _row(1, 5)
        scores = fitted.score_batch(X, steering=paper)[0]
        assert not np.allclose(scores, fitted.score_batch(X)[0])
        for r in fitted.recommend(["i1", "i5"], steering=paper, k=3):
            assert scores[_position(r.item_id)] == pytest.approx(r.score)
            assert fitted.explain(r.item_id, ["i1", "i5"], steering=paper).score == r.score

    def test_contributions_sum_to_what_the_reasons_cover(self, fitted: Any) -> None:
        for item in ("i2", "i9", "i20"):
            found = fitted.explain(item, ["i1", "i5"], {"town=Ghent": 1})
            covered = found.cover.explained if found.cover else found.score
            parts = found.general + sum(found.tags.values()) + sum(found.viewed.values())
            assert parts == pytest.approx(covered, rel=1e-9)
            shares = [found.general_share, *(r.share for r in found.reasons)]
            # Near-equal tags are one reason, in which what they add and take may cancel.
            is_merged = any(len(getattr(r, "tags", ())) > 1 for r in found.reasons)
            assert sum(map(abs, shares)) == pytest.approx(1.0) or is_merged
            assert sum(map(abs, shares)) <= 1 + 1e-9
            assert sum(shares) == pytest.approx(covered / found.total)

    def test_the_parts_of_a_difference_sum_to_it(self, fitted: Any) -> None:
        asked = (["i1", "i5"], {"town=Ghent": 1})
        found = fitted.compare("i2", "i9", *asked)
        score, other = found.explained
        moved = sum(part.difference for part in found.parts)
        assert moved == pytest.approx(score - other, abs=1e-9)
        scores = tuple(fitted.explain(item, *asked).score for item in ("i2", "i9"))
        assert (found.score, found.other_score) == scores

    def test_every_recommendation_has_reasons_of_its_own_tags(self, fitted: Any) -> None:
        D = fitted.decoder_.toarray()
        n_reasons = 0
        for r in fitted.recommend(["i1", "i5"], k=5):
            row = D[fitted.items_.index_of(r.item_id)]
            reasons = [reason for reason in r.reasons if hasattr(reason, "tag")]
            n_reasons += len(reasons)
            assert all(row[fitted.tags_.index(reason.tag)] > 0 for reason in reasons)
            assert all(reason.tag != GENERAL for reason in reasons)
        assert n_reasons > 0

    def test_impacts_sum_to_one(self, fitted: Any) -> None:
        assert sum(fitted.profile(["i1", "i5"]).impacts.values()) == pytest.approx(1.0)

    def test_origins_sum_to_the_value_before_scaling(self, fitted: Any) -> None:
        history = {"i2": 1.0, "i5": 0.5, "i7": 2.0}
        row = _row(2, 5, 7)
        row[0, [5, 7]] = 0.5, 2.0
        values = fitted.tag_table_.apply_basis(fitted.encode(sp.csr_array(row)))[0]
        assert len(values) == len(fitted.tags_)
        a = fitted.profile(history).values
        for column in range(len(values)):
            origins = fitted.origins(fitted.tags_[column], history)
            assert list(origins) == list(history)
            assert sum(origins.values()) == pytest.approx(values[column], rel=1e-9, abs=1e-12)
            assert a[column] * values[0] == pytest.approx(a[0] * values[column], abs=1e-12)

    def test_rankings_are_those_of_the_raw_scores(self, fitted: Any) -> None:
        X = example_dataset().X[:8]
        table = fitted.tag_table_
        raw = fitted.encode(sp.csr_array(X))
        before = raw @ table.learned_decoder.toarray().T
        after = table.apply_basis(raw) @ fitted.decoder_.toarray().T
        # Both differ by one constant for each user.
        apart = after - before
        assert_allclose(apart, np.tile(apart[:, :1], (1, apart.shape[1])), rtol=0, atol=1e-9)

    def test_an_unknown_tag_is_named_with_the_closest(self, fitted: Any) -> None:
        with pytest.raises(UnknownNameError, match="town=Ghent"):
            fitted.profile(["i1"], {"town=Gent": 1})


@lru_cache(maxsize=1)
def _fitted(contract: type[ModelContract]) -> Any:
    return contract().make().fit(example_dataset())


def _assert_same_content(found: Content, wanted: Content) -> None:
    """Compare all that is saved of two models."""
    assert found.settings == wanted.settings
    assert found.arrays.keys() == wanted.arrays.keys()
    for name, array in wanted.arrays.items():
        assert_array_equal(found.arrays[name], array)
    assert found.tables.keys() == wanted.tables.keys()
    for name, table in wanted.tables.items():
        assert found.tables[name].equals(table)


def _position(item_id: Any) -> int:
    return int(str(item_id)[1:])


def _row(*positions: int) -> "np.ndarray[Any, Any]":
    row = np.zeros((1, example_dataset().n_items))
    row[0, positions] = 1
    return row


def _histories(data: Dataset, n_users: int) -> list[list[Any]]:
    X = data.X[:n_users]
    return [
        [data.items[i] for i in X.indices[X.indptr[u] : X.indptr[u + 1]]] for u in range(n_users)
    ]


def _assert_same_scores(scores: Any, lists: list[Any], data: Dataset, rtol: float) -> None:
    for row, found in zip(scores, lists, strict=True):
        positions = [data.items.index_of(r.item_id) for r in found]
        assert_allclose(row[positions], [r.score for r in found], rtol=rtol)
