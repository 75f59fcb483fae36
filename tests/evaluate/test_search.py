"""Grid search: every cell once, the best cell, and resuming after a stop."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from teaser import Dataset, Teaser
from teaser.data.split import Split, split
from teaser.errors import ParameterError
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.study.plan import DataPlan, ModelPlan, SearchPlan, SplitPlan, Study
from teaser.evaluate.study.run import StudyRun, cells, check_models
from teaser.model.shared_fit import SharedFits
from teaser.progress import Update

PLAN = ModelPlan(
    "TEASER",
    "Teaser",
    parameters={"tol": 1e-4},
    grid={"l2_weights": (1, 10, 100), "l2_encoder": (2.0, 20.0)},
)


@pytest.fixture(scope="module")
def parts(dataset: Dataset) -> Split:
    return split(dataset, n_validation=40, n_test=40, rng=0)


def a_run(
    parts: Split, folder: Path, metric: str = "ndcg@100", report: Update = lambda *_: None
) -> StudyRun:
    """The run of a study whose results are in a folder."""
    search = SearchPlan(metric)
    study = Study("x", "x", DataPlan("events"), SplitPlan(40, 40), (), search)
    fits = SharedFits(parts.training)
    return StudyRun(study, parts.training, parts, fits, folder, "x", report)


def test_the_best_cell_is_the_one_that_validates_best(parts: Split, tmp_path: Path) -> None:
    found = a_run(parts, tmp_path, "recall@5").search(PLAN)
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
    assert all(trial.iterations is not None for trial in found.trials)


@pytest.mark.parametrize(
    ("kind", "grid", "said"),
    [
        ("Teaser", {"l2_weights": (5, 50, -1)}, "l2_weights must be a finite number above 0"),
        ("Teaser", {"remainder.neighbours": (100, 2.5)}, "neighbours"),
        ("Teaser", {"l2_wieghts": (5,)}, "no parameter 'l2_wieghts'"),
        ("EASE", {"l2": (5, "x")}, "found 'x'"),
        ("NeighbourEASE", {"neighbours": (100, 0)}, "neighbours must be a whole number"),
        ("EDLAE", {"dropout": (0.5, 1.5)}, "dropout"),
        ("ItemKNN", {"neighbours": (20, -5)}, "neighbours must be a whole number"),
        ("WMF", {"factors": (64,), "alpha": (2, 0)}, "alpha must be"),
        ("WMFS", {"l2": (3, -3)}, "l2 must be"),
        ("EAES", {}, "Unknown kind of model 'EAES'"),
    ],
)
def test_a_bad_value_anywhere_in_a_grid_is_found_before_any_fit(
    kind: str, grid: dict[str, tuple[Any, ...]], said: str
) -> None:
    with pytest.raises(ParameterError) as error:
        check_models([PLAN, ModelPlan("mine", kind, grid=grid)])
    assert str(error.value).startswith("[models.mine]: ")
    assert said in str(error.value)


class StoppedError(Exception):
    pass


def test_a_search_that_was_stopped_goes_on_where_it_was(parts: Split, tmp_path: Path) -> None:
    def stop(doing: str, share: float) -> None:
        if share > 0.5:
            raise StoppedError

    with pytest.raises(StoppedError):
        a_run(parts, tmp_path, report=stop).search(PLAN)
    asked: list[float] = []
    found = a_run(parts, tmp_path, report=lambda doing, share: asked.append(share)).search(PLAN)
    assert asked == [4 / 6, 5 / 6]
    assert len({tuple(t.parameters.items()) for t in found.trials}) == 6
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert found.best == a_run(parts, elsewhere).search(PLAN).best


def test_trials_of_other_data_or_parameters_do_not_count(parts: Split, tmp_path: Path) -> None:
    plan = ModelPlan("EASE", "EASE", grid={"l2": (1.0, 10.0)})

    def resumed(plan: ModelPlan, parts: Split, metric: str = "ndcg@100") -> int:
        fitted = list[Any]()
        run = a_run(parts, tmp_path, metric, lambda *told: fitted.append(told))
        return len(run.search(plan).trials) - len(fitted)

    assert resumed(plan, parts) == 0
    assert resumed(plan, parts) == 2
    other = replace(plan, parameters={"weights": {"user_power": 0.25}})
    assert resumed(other, parts) == 0
    wider = replace(plan, grid={"l2": (1.0, 10.0, 100.0)})
    assert resumed(wider, parts) == 2
    assert resumed(plan, replace(parts, validation=parts.test)) == 0
    assert resumed(plan, parts, "recall@5") == 0
