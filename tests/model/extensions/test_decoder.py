"""Learned weights: each half-step against brute force, what they do to a model, and its file."""

import logging
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from oracles import exact_encoder, objective, random_problem

import teaser
from teaser import Dataset, Tag, Teaser
from teaser.data.split import Split
from teaser.errors import ParameterError
from teaser.evaluate import evaluate
from teaser.extensions import LearnedDecoder, Remainder
from teaser.model.extensions import decoder as decoder
from teaser.model.extensions.decoder import learn_decoder
from teaser.model.gram import DenseGram
from teaser.model.solve import EncoderEquation, Limits, Solution, System, dispatch
from teaser.profile import POPULARITY

Array = Any
L1, L2, LD = 3.0, 2.0, 4.0


def exact_weights(X: Array, E: Array, D: Array) -> Array:
    """Regress every item on what the others say of its tags."""
    found = np.zeros_like(D)
    for i in range(len(D)):
        tags = np.flatnonzero(D[i])
        others = E.copy()
        others[i] = 0
        Z, rest = (X @ others)[:, tags], others[:, tags]
        A = Z.T @ Z + L1 * rest.T @ rest + LD * np.eye(len(tags))
        found[i, tags] = np.linalg.solve(A, Z.T @ X[:, i] + LD * D[i, tags])
    return found


def whole_objective(X: Array, S: Array, E: Array, D: Array) -> float:
    return objective(X, D, L1, L2, E) + LD * float(((D - S) ** 2).sum())


def solve_exactly(system: System, start: Array | None) -> Solution:
    equation = EncoderEquation(system, L1, L2)
    return dispatch(equation, Limits(tol=1e-13, max_iter=500), solver="cg", start=start)


SEED: Any = {"rank": 5, "rng": np.random.default_rng(0)}


def build(G: Array, D: Array) -> System:
    return System.build(DenseGram(G), sp.csr_array(D), **SEED)


@pytest.mark.parametrize("seed", range(4))
def test_no_half_step_raises_the_objective_and_the_encoder_is_the_last_weights(seed: int) -> None:
    X, S = random_problem(seed, awkward=False)
    G = X.T @ X
    seen: list[tuple[Array, Array]] = []

    def solve(system: System, start: Array | None) -> Solution:
        found = solve_exactly(system, start)
        seen.append((system.D.toarray(), found.encoder))
        return found

    settings: Any = {"l1": L1, "options": LearnedDecoder(l2=LD, rounds=3), "solve": solve}
    solution, system, weights = learn_decoder(build(G, S), sp.csr_array(S), **settings)
    values = []
    for (D, E), after in zip(seen, [*seen[1:], None], strict=True):
        assert_allclose(E, exact_encoder(G, D, L1, L2), atol=1e-8)
        values.append(whole_objective(X, S, E, D))
        if after is not None:
            assert_allclose(after[0], exact_weights(X, E, S), atol=1e-8)
            values.append(whole_objective(X, S, E, after[0]))
    assert len(values) == 7
    assert all(b <= a + 1e-9 for a, b in pairwise(values))
    assert values[-1] < values[0] - 0.1
    assert_allclose(weights.toarray(), system.D.toarray())
    assert_allclose(solution.encoder, exact_encoder(G, weights.toarray(), L1, L2), atol=1e-8)


def test_items_that_nobody_chose_have_the_mean_weights_of_their_tags() -> None:
    X, S = random_problem(0)  # nobody chose item 5
    settings: Any = {"l1": L1, "options": LearnedDecoder(l2=LD, rounds=2), "solve": solve_exactly}
    _, _, weights = learn_decoder(build(X.T @ X, S), sp.csr_array(S), **settings)
    D = weights.toarray()
    carried = S != 0
    carried[5] = False
    for j in np.flatnonzero(S[5]):
        assert D[5, j] == pytest.approx(D[carried[:, j], j].mean() if carried[:, j].any() else 1.0)


@pytest.fixture(scope="module")
def learned(dataset: Dataset) -> Teaser:
    return Teaser(decoder=LearnedDecoder(l2=1.0), l2_weights=5.0, l2_encoder=5.0).fit(dataset)


def test_reasons_carry_the_weight_and_sum_to_the_score(learned: Teaser) -> None:
    more = 0
    for item_id in learned.items_:
        found = learned.explain(item_id, ["i2", "i6", "i9"], {"town=Ghent": 2})
        assert sum(found.contributions.values()) == pytest.approx(found.score, abs=1e-12)
        for reason in found.reasons:
            assert isinstance(reason, teaser.explain.Reason)
            assert reason.contribution == pytest.approx(reason.weight * reason.affinity)
            said = reason.sentence().endswith(", which matters more here")
            assert said == (reason.weight >= 1.25 and reason.tag != POPULARITY)
            more += said
    assert more > 0


def test_new_items_start_at_the_mean_weights_of_their_tags(dataset: Dataset) -> None:
    model = Teaser(decoder=LearnedDecoder(l2=1.0), l2_weights=5.0, l2_encoder=5.0).fit(dataset)
    tags = [Tag("town", "Ghent"), Tag("labels", "late")]
    places = [model.tags_.index(tag) for tag in tags]
    D = model.decoder_.toarray()
    wanted = [D[D[:, j] != 0, j].mean() for j in places]
    assert max(abs(w - 1) for w in wanted) > 1e-3
    model.add_items({"new": tags}).add_items({"newer": tags})
    for place in (-2, -1):
        row = model.decoder_.toarray()[place]
        assert_allclose(row[places], wanted)
        # Popularity, which is predicted, is the last of the learned tags.
        assert np.count_nonzero(row[: model.tag_table_.popularity]) == len(places)


def test_settings_that_make_no_sense_are_refused_before_any_work(dataset: Dataset) -> None:
    numbers: list[Any] = [0, float("nan"), "3"]
    counts: list[Any] = [0, 1.5, True]
    wrong: list[tuple[Any, str]] = [
        ("learned", "decoder must be a LearnedDecoder object or None, found 'learned'"),
        *((LearnedDecoder(l2=l2), r"decoder\.l2") for l2 in numbers),
        *((LearnedDecoder(rounds=n), r"decoder\.rounds") for n in counts),
    ]
    for options, said in wrong:
        for work in (Teaser(decoder=options).estimate, Teaser(decoder=options).fit):
            with pytest.raises(ParameterError, match=said):
                work(dataset)
    both = Teaser(decoder=LearnedDecoder(), remainder=Remainder(neighbours=None))
    with pytest.raises(ParameterError, match="learned with decoder"):
        both.fit(dataset)


def test_items_without_tags_are_told_of_and_a_catalogue_of_them_refused(
    dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    S = dataset.S.tolil()
    S[[3, 4]] = 0
    some = replace(dataset, S=sp.csr_array(S))
    with caplog.at_level(logging.WARNING, logger="teaser"):
        model = Teaser(decoder=LearnedDecoder()).fit(some)
    assert "2 of 40 items carry no tag" in caplog.text
    D = model.tag_table_.learned_decoder
    assert_array_equal(D[[3]].indices, [model.tags_.index(POPULARITY)])
    assert set(model.explain("i3", ["i2"]).tags) == {POPULARITY}
    none = replace(dataset, S=sp.csr_array(dataset.S.shape))
    with pytest.raises(ParameterError, match="No item carries a tag"):
        Teaser(decoder=LearnedDecoder()).fit(none)


def test_weights_help_where_tags_are_coarse(few_films: Split) -> None:
    ways: list[dict[str, Any]] = [{}, {"decoder": LearnedDecoder()}]
    fixed, learned = (
        evaluate(Teaser(**how).fit(few_films.training), few_films.test, metrics=["ndcg@100"])
        for how in ways
    )
    gain = learned.summary()["ndcg@100"].mean / fixed.summary()["ndcg@100"].mean
    assert gain > 1.03
