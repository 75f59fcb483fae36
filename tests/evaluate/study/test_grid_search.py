"""The search: all cells once, neighbours in a row, shared work, and going on after a stop."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_allclose

from teaser import Dataset, Teaser
from teaser.data.split import Split, split
from teaser.errors import ParameterError
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.study.grid_search import Bench, cells, make, search
from teaser.evaluate.study.plan import ModelPlan, SearchPlan
from teaser.model.baselines import ease
from teaser.model.baselines.ease import EASE
from teaser.model.extensions import remainder
from teaser.model.gram.operator import DenseGram
from teaser.model.solver.inverse import invert_gram
from teaser.model.solver.system import System

PLAN = ModelPlan(
    "TEASER",
    "Teaser",
    parameters={"tol": 1e-4},
    grid={"l2_weights": (1, 10, 100), "l2_encoder": (2.0, 20.0)},
)


@pytest.fixture(scope="module")
def parts(dataset: Dataset) -> Split:
    return split(dataset, n_validation=40, n_test=40, rng=0)


def test_neighbouring_cells_differ_in_one_value() -> None:
    grid = {"a": (1, 2, 3), "b": ("x", "y"), "c": (0.1, 0.2, 0.3)}
    order = cells(grid)
    assert len(order) == 18
    assert {tuple(cell.values()) for cell in order} == set(itertools.product(*grid.values()))
    for one, next_one in itertools.pairwise(order):
        assert sum(one[name] != next_one[name] for name in grid) == 1


def test_the_best_cell_is_the_one_that_validates_best(parts: Split) -> None:
    found = search(PLAN, Bench(parts.training), parts.validation, SearchPlan(metric="recall@5"))
    assert len(found.trials) == 6
    alone = {}
    for cell in cells(PLAN.grid):
        model = Teaser(tol=1e-4, **cell).fit(parts.training)
        alone[tuple(cell.values())] = evaluate(
            model, parts.validation, metrics=["recall@5"]
        ).summary()["recall@5"].mean  # fmt: skip
    for trial in found.trials:
        assert trial.value == pytest.approx(alone[tuple(trial.parameters.values())], abs=1e-9)
    best = max(alone.values())
    assert alone[found.best["l2_weights"], found.best["l2_encoder"]] == best
    assert found.best["tol"] == 1e-4


def test_cells_share_the_system_and_start_from_each_other(
    parts: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Any] = []
    build = System.build.__func__  # type: ignore[attr-defined]

    def counted(cls: Any, *given: Any, **named: Any) -> Any:
        built.append(1)
        return build(cls, *given, **named)

    monkeypatch.setattr(System, "build", classmethod(counted))
    found = search(PLAN, Bench(parts.training), parts.validation, SearchPlan())
    assert len(built) == 1
    bench = Bench(parts.training)
    exact: dict[str, Any] = {"l2_weights": 5.0, "tol": 1e-8, "dtype": "float64"}
    first = bench.fit("Teaser", {"l2_encoder": 5.0, **exact})
    again = bench.fit("Teaser", {"l2_encoder": 5.5, **exact})
    assert isinstance(first, Teaser)
    assert isinstance(again, Teaser)
    assert again.iterations_ < first.iterations_
    alone = Teaser(l2_encoder=5.5, **exact).fit(parts.training)
    assert_allclose(again.encoder_, alone.encoder_, atol=1e-6)
    assert all(trial.iterations is not None for trial in found.trials)


def test_the_gram_is_counted_once_for_all_models_that_take_one(
    parts: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    count = DenseGram.from_interactions.__func__  # type: ignore[attr-defined]

    def counting(cls: Any, *given: Any, **named: Any) -> Any:
        counted.append(1)
        return count(cls, *given, **named)

    monkeypatch.setattr(DenseGram, "from_interactions", classmethod(counting))
    plan = ModelPlan("EASE", "EASE", grid={"l2_weights": (1.0, 10.0, 100.0)})
    bench = Bench(parts.training)
    search(plan, bench, parts.validation, SearchPlan())
    dense = replace(PLAN, parameters={"tol": 1e-4, "gram": "dense"})
    found = search(dense, bench, parts.validation, SearchPlan())
    assert len(counted) == 1
    assert found.best["gram"] == "dense"


class StoppedError(Exception):
    pass


def test_a_search_that_was_stopped_goes_on_where_it_was(parts: Split, tmp_path: Path) -> None:
    kept = tmp_path / "trials.sqlite"

    def stop(done: int, total: int, cell: Any) -> None:
        if done == 4:
            raise StoppedError

    bench = Bench(parts.training)
    with pytest.raises(StoppedError):
        search(PLAN, bench, parts.validation, SearchPlan(), storage=kept, callback=stop)
    asked: list[int] = []
    found = search(
        PLAN, bench, parts.validation, SearchPlan(), storage=kept,
        callback=lambda done, total, cell: asked.append(done),
    )  # fmt: skip
    assert asked == [4, 5]
    assert found.resumed == 4
    assert len({tuple(t.parameters.items()) for t in found.trials}) == 6
    whole = search(PLAN, Bench(parts.training), parts.validation, SearchPlan())
    assert found.best == whole.best


def test_trials_of_other_data_or_parameters_do_not_count(parts: Split, tmp_path: Path) -> None:
    kept = tmp_path / "trials.sqlite"
    bench = Bench(parts.training)
    search(PLAN, bench, parts.validation, SearchPlan(), storage=kept)
    again = search(PLAN, bench, parts.validation, SearchPlan(), storage=kept)
    assert again.resumed == 6
    other = replace(PLAN, parameters={"tol": 1e-3})
    assert search(other, bench, parts.validation, SearchPlan(), storage=kept).resumed == 0
    assert search(PLAN, bench, parts.test, SearchPlan(), storage=kept).resumed == 0
    wider = replace(PLAN, grid={**PLAN.grid, "l2_encoder": (2.0, 20.0, 200.0)})
    assert search(wider, bench, parts.validation, SearchPlan(), storage=kept).resumed == 0
    assert search(PLAN, bench, parts.validation, SearchPlan("recall@5"), storage=kept).resumed == 0


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_sampling_takes_as_many_different_cells_as_asked(sampler: str, parts: Split) -> None:
    how = SearchPlan(sampler=sampler, trials=4)
    found = search(PLAN, Bench(parts.training), parts.validation, how, seed=1)
    assert len({tuple(t.parameters.items()) for t in found.trials}) == 4
    best = max(found.trials, key=lambda trial: trial.value)
    assert dict(best.parameters).items() <= dict(found.best).items()
    every = SearchPlan(sampler=sampler, trials=100)
    assert len(search(PLAN, Bench(parts.training), parts.validation, every).trials) == 6


def test_a_sampled_search_goes_on_too(parts: Split, tmp_path: Path) -> None:
    kept = tmp_path / "trials.sqlite"
    bench = Bench(parts.training)
    few = SearchPlan(sampler="random", trials=2)
    search(PLAN, bench, parts.validation, few, storage=kept)
    more = replace(few, trials=5)
    found = search(PLAN, bench, parts.validation, more, storage=kept)
    assert found.resumed == 2
    assert len(found.trials) == 5


def test_one_cell_needs_no_search(parts: Split) -> None:
    plan = ModelPlan("TEASER", "Teaser", parameters={"tol": 1e-2})
    found = search(plan, Bench(parts.training), parts.validation, SearchPlan())
    assert found.trials == ()
    assert found.best == {"tol": 1e-2}


def test_unknown_kinds_and_parameters_are_named() -> None:
    with pytest.raises(ParameterError, match=r"Unknown kind of model 'Teazer'.*Teaser"):
        make("Teazer", {})
    with pytest.raises(ParameterError, match=r"Teaser has no parameter 'l3'.*l2_weights"):
        make("Teaser", {"l3": 1})


def test_optunas_loggers_are_left_as_they_were(parts: Split) -> None:
    import optuna

    before = optuna.logging.get_verbosity()
    search(PLAN, Bench(parts.training), parts.validation, SearchPlan(sampler="tpe", trials=1))
    assert optuna.logging.get_verbosity() == before


@pytest.fixture(autouse=True)
def _no_output(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """A library prints nothing."""
    yield
    assert capfd.readouterr() == ("", "")


def test_one_inverse_serves_all_penalties_on_the_encoder(
    parts: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    inverted: list[float] = []

    def counted(gram: Any, ridge: float, **named: Any) -> Any:
        inverted.append(ridge)
        return invert_gram(gram, ridge, **named)

    monkeypatch.setattr(remainder, "invert_gram", counted)
    bench = Bench(parts.training)
    pairs = [(5.0, 20.0), (10.0, 15.0), (5.0, 40.0)]
    exact = {"tol": 1e-8, "dtype": "float64"}
    for (l1, k), l2 in itertools.product(pairs, (5.0, 50.0)):
        named: dict[str, Any] = {"l2_weights": l1, "remainder.l2": k, "l2_encoder": l2, **exact}
        found = bench.fit("Teaser", named)
        alone = Teaser.from_parameters(named).fit(parts.training)
        inverted.pop()  # that of the model alone
        assert isinstance(found, Teaser)
        assert_allclose(found.encoder_, alone.encoder_, atol=1e-5)
        assert_allclose(found.remainder_, alone.remainder_, atol=1e-5)
    # The first two pairs of penalties have one sum.
    assert inverted == [25.0, 45.0]


def test_ease_of_the_same_ridge_needs_no_inverse_of_its_own(
    parts: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(parts.training)
    bench.fit("Teaser", {"l2_weights": 5.0, "remainder.l2": 20.0})
    wanted = EASE(l2_weights=25.0).fit(parts.training)
    with monkeypatch.context() as patch:
        patch.setattr(ease, "invert", lambda _: pytest.fail("an inverse was made again"))
        found = bench.fit_ease(25.0)
    assert isinstance(found, EASE)
    assert_allclose(found.weights_, wanted.weights_, atol=1e-6)
    other = bench.fit_ease(30.0)
    assert isinstance(other, EASE)
    assert_allclose(other.weights_, EASE(l2_weights=30.0).fit(parts.training).weights_, atol=1e-6)
    bench.fit("Teaser", {"l2_weights": 5.0, "remainder.l2": 20.0, "content_weight": 9.0})
    plain = bench.fit_ease(25.0)
    assert isinstance(plain, EASE)
    assert_allclose(plain.weights_, wanted.weights_, atol=1e-6)


def test_a_senseless_remainder_is_refused_by_the_search_too(parts: Split) -> None:
    with pytest.raises(ParameterError, match=r"remainder\.l2 must be"):
        Bench(parts.training).fit("Teaser", {"remainder.l2": "five"})


def test_a_system_without_a_remainder_is_not_taken_for_one_with(parts: Split) -> None:
    bench = Bench(parts.training)
    for k in (None, 20.0, None):
        found = bench.fit("Teaser", {"l2_weights": 5.0, "remainder.l2": k})
        assert isinstance(found, Teaser)
        assert found.has_remainder == (k is not None)
