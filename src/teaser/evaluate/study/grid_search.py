"""Grid search: parameters chosen by the validation users, with trials kept so as to resume."""

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from teaser.data.dataset import Dataset
from teaser.data.split import Fold
from teaser.errors import MissingPackageError, ParameterError
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.study.meter import Meter
from teaser.evaluate.study.plan import ModelPlan, SearchPlan
from teaser.evaluate.study.results import Trial
from teaser.model.shared_fit import SharedFits, make_model

Cell = Mapping[str, Any]
Callback = Callable[[int, int, Cell], None]

_REPEATS = 30


@dataclass(frozen=True)
class GridSearch:
    """A finished grid search: the best parameters, and all trials in the order they were run.

    `resumed` counts the trials that an earlier, stopped search had finished.
    """

    best: Mapping[str, Any]
    trials: tuple[Trial, ...] = field(repr=False)
    resumed: int = 0


def cells(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return all cells of a grid, in an order in which each differs from the last in one value."""
    order: list[tuple[Any, ...]] = [()]
    for values in grid.values():
        directions = itertools.cycle((list(values), list(values)[::-1]))
        order = [(*head, value) for head in order for value in next(directions)]
    return [dict(zip(grid, cell, strict=True)) for cell in order]


def check_models(plans: Iterable[ModelPlan]) -> None:
    """Raise `ParameterError` for the first cell of any grid whose parameters are not valid.

    Nothing is fitted: a mistake in the last model is found before the first fit.
    """
    for plan in plans:
        if plan.parts:
            continue
        for cell in cells(plan.grid):
            try:
                make_model(plan.kind, {**plan.parameters, **cell}).check_parameters()
            except ParameterError as error:
                raise ParameterError(f"[models.{plan.name}]: {error}") from error


def search_grid(
    plan: ModelPlan,
    fits: SharedFits,
    fold: Fold,
    how: SearchPlan,
    *,
    storage: Path | None = None,
    seed: int = 0,
    callback: Callback | None = None,
) -> GridSearch:
    """Fit and validate the cells of a model's grid, and return the best.

    Parameters
    ----------
    fold
        The validation users.
    storage
        A SQLite file that keeps the trials, so that a stopped search resumes. Trials count only
        for the same data, split, parameters and metric.
    callback
        Gets the number of finished cells, the number of all, and the next cell.
    """
    grid = cells(plan.grid)
    if len(grid) == 1:
        return GridSearch({**plan.parameters, **grid[0]}, ())
    total = len(grid) if how.sampler == "grid" else min(how.trials or len(grid), len(grid))
    with _open_trials(plan, fits.training, fold, how, storage, seed) as trials:
        resumed = len(trials)
        for cell in trials.remaining(grid, total):
            if callback is not None:
                callback(len(trials), total, cell)
            with Meter() as meter:
                model = fits.fit(make_model(plan.kind, {**plan.parameters, **cell}))
                evaluation = evaluate(model, fold, metrics=[how.metric])
            value = evaluation.summary()[how.metric].mean
            trials.add(Trial(cell, value, meter.seconds, model.iterations_))
        done = trials.all()
    best = max(done, key=lambda trial: trial.value)
    return GridSearch({**plan.parameters, **best.parameters}, done, resumed)


class _Trials:
    """The trials of one grid search, kept by Optuna."""

    def __init__(self, study: Any, grid: Mapping[str, Sequence[Any]], sampler: str) -> None:
        from optuna.distributions import CategoricalDistribution

        self.study = study
        self.sampler = sampler
        self._asked: Any = None
        self.space: dict[str, Any] = {
            name: CategoricalDistribution(list(values)) for name, values in grid.items()
        }

    def __len__(self) -> int:
        return len(self.all())

    def all(self) -> tuple[Trial, ...]:
        """Return the finished trials, each cell once."""
        from optuna.trial import TrialState

        finished = self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return tuple(
            Trial(t.params, t.value, t.user_attrs["seconds"], t.user_attrs["iterations"])
            for t in finished
            if "seconds" in t.user_attrs
        )

    def remaining(self, grid: list[dict[str, Any]], total: int) -> Iterator[dict[str, Any]]:
        """Yield the cells that are not done yet."""
        while len(done := {_key(t.parameters): t.value for t in self.all()}) < total:
            if self.sampler == "grid" or not self._sample(done):
                self.study.enqueue_trial(next(c for c in grid if _key(c) not in done))
                self._asked = self.study.ask(self.space)
            yield dict(self._asked.params)

    def add(self, trial: Trial) -> None:
        """Store the trial of the last remaining cell."""
        self._asked.set_user_attr("seconds", trial.seconds)
        self._asked.set_user_attr("iterations", trial.iterations)
        self.study.tell(self._asked, trial.value)

    def _sample(self, done: Mapping[str, float]) -> bool:
        """Ask the sampler for a cell that is not done; False if it only repeats itself."""
        for _ in range(_REPEATS):
            self._asked = self.study.ask(self.space)
            value = done.get(_key(self._asked.params))
            if value is None:
                return True
            self.study.tell(self._asked, value)
        return False


@contextmanager
def _open_trials(
    plan: ModelPlan,
    training: Dataset,
    fold: Fold,
    how: SearchPlan,
    storage: Path | None,
    seed: int,
) -> Iterator[_Trials]:
    try:
        import optuna
    except ImportError as error:
        raise MissingPackageError("A grid search", "Optuna", extra="evaluate") from error
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    samplers = {"tpe": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}
    try:
        study = optuna.create_study(
            storage=None if storage is None else f"sqlite:///{storage}",
            study_name=f"{plan.name} {fingerprint(plan, training, fold, how)}",
            sampler=samplers.get(how.sampler, optuna.samplers.RandomSampler)(seed=seed),
            direction="maximize",
            load_if_exists=True,
        )
        yield _Trials(study, plan.grid, how.sampler)
    finally:
        optuna.logging.set_verbosity(verbosity)


def _key(parameters: Cell) -> str:
    return json.dumps(dict(parameters), sort_keys=True)


def fingerprint(plan: ModelPlan, training: Dataset, fold: Fold, how: SearchPlan) -> str:
    """Return a hash of all that the value of a trial depends on."""
    digest = hashlib.sha256()
    matrices = (training.X, training.S, fold.history, fold.held_out)
    about_users = (training.Q, fold.user_features)
    for matrix in (*matrices, *(Q for Q in about_users if Q is not None)):
        digest.update(np.asarray(matrix.indptr, dtype=np.int64).tobytes())
        digest.update(np.asarray(matrix.indices, dtype=np.int64).tobytes())
        digest.update(np.asarray(matrix.data, dtype=np.float32).tobytes())
    facts = [plan.kind, dict(plan.parameters), dict(plan.grid), how.metric]
    digest.update(json.dumps(facts, sort_keys=True, default=str).encode())
    return digest.hexdigest()[:16]
