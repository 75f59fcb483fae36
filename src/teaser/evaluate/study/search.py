"""Grid search on the validation users; trials are stored, so that a stopped search resumes."""

import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import psutil

from teaser.data.dataset import Dataset
from teaser.data.split import Fold
from teaser.errors import MissingPackageError, ParameterError
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.study.plan import ModelPlan, SearchPlan
from teaser.evaluate.study.results import GridTrial
from teaser.model.shared_fit import SharedFits, make_model

Cell = Mapping[str, Any]
Callback = Callable[[int, int, Cell], None]

_REPEATS = 30
# The kernel's own peak: psutil has none on Linux, and sampling would miss short ones.
_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class GridSearch:
    """A finished grid search: the best parameters, and all trials in the order they were run.

    `resumed` counts the trials that an earlier, stopped search had finished.
    """

    best: Mapping[str, Any]
    trials: tuple[GridTrial, ...] = field(repr=False)
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
        for cell in cells(plan.grid) if not plan.parts else ():
            try:
                make_model(plan.kind, {**plan.parameters, **cell}).check_parameters()
            except ParameterError as error:
                raise ParameterError(f"[models.{plan.name}]: {error}") from error


def search_grid(
    plan: ModelPlan,
    fits: SharedFits,
    fold: Fold,
    search: SearchPlan,
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
        A SQLite file of trials. Those of the same data, split, parameters and metric count.
    callback
        Gets the number of finished cells, the number of all, and the next cell.
    """
    grid = cells(plan.grid)
    if len(grid) == 1:
        return GridSearch({**plan.parameters, **grid[0]}, ())
    total = len(grid) if search.sampler == "grid" else min(search.trials or len(grid), len(grid))
    with _open_trials(plan, fits.training, fold, search, storage, seed) as trials:
        resumed = len(trials.finished())
        for cell in trials.remaining(grid, total):
            if callback is not None:
                callback(len(trials.finished()), total, cell)
            with Meter() as meter:
                model = fits.fit(make_model(plan.kind, {**plan.parameters, **cell}))
                evaluation = evaluate(model, fold, metrics=[search.metric])
            value = evaluation.summary()[search.metric].mean
            trials.add(GridTrial(cell, value, meter.seconds, model.iterations_))
        done = trials.finished()
    best = max(done, key=lambda trial: trial.value)
    return GridSearch({**plan.parameters, **best.parameters}, done, resumed)


class _Trials:
    """The trials of one grid search, stored by Optuna."""

    def __init__(self, study: Any, grid: Mapping[str, Sequence[Any]], sampler: str) -> None:
        from optuna.distributions import CategoricalDistribution

        self.study = study
        self.sampler = sampler
        self._asked: Any = None
        self.space: dict[str, Any] = {
            name: CategoricalDistribution(list(values)) for name, values in grid.items()
        }

    def finished(self) -> tuple[GridTrial, ...]:
        """Return the finished trials, each cell once."""
        from optuna.trial import TrialState

        finished = self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return tuple(
            GridTrial(t.params, t.value, t.user_attrs["seconds"], t.user_attrs["iterations"])
            for t in finished
            if "seconds" in t.user_attrs
        )

    def remaining(self, grid: list[dict[str, Any]], total: int) -> Iterator[dict[str, Any]]:
        """Yield the cells that are not done yet."""
        while len(done := {_key(t.parameters): t.value for t in self.finished()}) < total:
            if self.sampler == "grid" or not self._sample(done):
                self.study.enqueue_trial(next(c for c in grid if _key(c) not in done))
                self._asked = self.study.ask(self.space)
            yield dict(self._asked.params)

    def add(self, trial: GridTrial) -> None:
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
    search: SearchPlan,
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
            study_name=f"{plan.name} {fingerprint(plan, training, fold, search.metric)}",
            sampler=samplers.get(search.sampler, optuna.samplers.RandomSampler)(seed=seed),
            direction="maximize",
            load_if_exists=True,
        )
        yield _Trials(study, plan.grid, search.sampler)
    finally:
        optuna.logging.set_verbosity(verbosity)


def _key(parameters: Cell) -> str:
    return json.dumps(dict(parameters), sort_keys=True)


def fingerprint(plan: ModelPlan, training: Dataset, fold: Fold, metric: str) -> str:
    """Return a hash of all that the value of a trial depends on."""
    digest = hashlib.sha256()
    matrices = (training.X, training.S, fold.history, fold.held_out)
    about_users = (training.Q, fold.user_features)
    for matrix in (*matrices, *(Q for Q in about_users if Q is not None)):
        digest.update(np.asarray(matrix.indptr, dtype=np.int64).tobytes())
        digest.update(np.asarray(matrix.indices, dtype=np.int64).tobytes())
        digest.update(np.asarray(matrix.data, dtype=np.float32).tobytes())
    facts = [plan.kind, dict(plan.parameters), dict(plan.grid), metric]
    digest.update(json.dumps(facts, sort_keys=True, default=str).encode())
    return digest.hexdigest()[:16]


class Meter:
    """A context that measures the step in it.

    Attributes
    ----------
    seconds
        Wall-clock time.
    cpu_seconds
        Processor time of all threads, which does not depend on other processes.
    peak_memory
        The largest resident memory of the process meanwhile, in bytes; see `peak_memory`.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory: int = 0

    def __enter__(self) -> Self:
        with suppress(OSError):
            _RESET.write_text("5", encoding="ascii")  # resets VmHWM, see proc(5)
        self._start, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.seconds = time.perf_counter() - self._start
        self.cpu_seconds = time.process_time() - self._cpu
        self.peak_memory = peak_memory()


def peak_memory() -> int:
    """Return the largest resident memory since a `Meter` was entered, in bytes.

    Outside Linux it is the largest since the process began, or where the system does not keep
    it, the present one.
    """
    try:
        status = _STATUS.read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    except (OSError, IndexError):
        memory = psutil.Process().memory_info()
        return int(getattr(memory, "peak_wset", memory.rss))
