"""Grid search on the validation users; trials are stored, so that a stopped search resumes."""

import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from teaser._version import __version__
from teaser.data.dataset import Dataset
from teaser.data.split import Fold
from teaser.errors import ParameterError
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.study.plan import ModelPlan, SearchPlan
from teaser.evaluate.study.results import FitCost, GridTrial
from teaser.model.shared_fit import SharedFits, make_model

Cell = Mapping[str, Any]
Callback = Callable[[int, int, Cell], None]

TRIALS_SUFFIX = ".trials.jsonl"

# The kernel's own peak: psutil has none on Linux, and sampling would miss short ones.
_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class GridSearch:
    """A finished grid search: the best parameters, and all trials in the order they were run."""

    best: Mapping[str, Any]
    trials: tuple[GridTrial, ...] = field(repr=False)


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
    callback: Callback | None = None,
) -> GridSearch:
    """Fit and validate the cells of a model's grid, and return the best.

    Parameters
    ----------
    fold
        The validation users.
    storage
        A file of trials. Those of the same data, split, parameters and metric count.
    callback
        Gets the number of finished cells, the number of all, and the next cell.
    """
    grid = cells(plan.grid)
    if len(grid) == 1:
        return GridSearch({**plan.parameters, **grid[0]}, ())
    known, trials = read_trials(storage), list[GridTrial]()
    for cell in grid:
        parameters = {**plan.parameters, **cell}
        key = fingerprint(plan.kind, parameters, fits.training, fold, search.metric)
        if key in known:
            trials.append(GridTrial(**known[key]))
            continue
        if callback is not None:
            callback(len(trials), len(grid), cell)
        with measured() as cost:
            model = fits.fit(make_model(plan.kind, parameters))
            evaluation = evaluate(model, fold, metrics=[search.metric])
        value = evaluation.summary()[search.metric].mean
        trials.append(GridTrial(cell, value, cost.seconds, model.iterations_))
        add_trial(storage, key, asdict(trials[-1]))
    best = max(trials, key=lambda trial: trial.value)
    return GridSearch({**plan.parameters, **best.parameters}, tuple(trials))


def read_trials(path: Path | None) -> dict[str, dict[str, Any]]:
    """Return the trials of an earlier run by fingerprint; a line that was cut off is left out."""
    found: dict[str, dict[str, Any]] = {}
    if path is None or not path.exists():
        return found
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with suppress(ValueError):
            entry = json.loads(line)
            found[entry.pop("key")] = entry
    return found


def add_trial(path: Path | None, key: str, entry: Mapping[str, Any]) -> None:
    """Append a trial to the file of a study, one JSON object a line."""
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, **entry}) + "\n")


def fingerprint(
    kind: str, parameters: Mapping[str, Any], training: Dataset, fold: Fold, metric: str
) -> str:
    """Return a hash of all that the value of a trial depends on."""
    digest = hashlib.sha256()
    matrices = (training.X, training.S, fold.history, fold.held_out)
    about_users = (training.Q, fold.user_features)
    for matrix in (*matrices, *(Q for Q in about_users if Q is not None)):
        digest.update(np.asarray(matrix.indptr, dtype=np.int64).tobytes())
        digest.update(np.asarray(matrix.indices, dtype=np.int64).tobytes())
        digest.update(np.asarray(matrix.data, dtype=np.float32).tobytes())
    facts = [__version__, kind, dict(parameters), metric]
    digest.update(json.dumps(facts, sort_keys=True, default=str).encode())
    return digest.hexdigest()[:16]


@contextmanager
def measured() -> Iterator[FitCost]:
    """Yield what gets the cost of the work inside: wall-clock and processor time, and memory."""
    with suppress(OSError):
        _RESET.write_text("5", encoding="ascii")  # resets VmHWM, see proc(5)
    cost, start, cpu = FitCost(0.0, 0.0, 0), time.perf_counter(), time.process_time()
    yield cost
    cost.seconds = time.perf_counter() - start
    cost.cpu_seconds = time.process_time() - cpu
    cost.peak_memory = peak_memory()


def peak_memory() -> int:
    """Return the largest resident memory since `measured` began, in bytes.

    Outside Linux it is the largest since the process began, or where the system does not keep
    it, the present one.
    """
    try:
        status = _STATUS.read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    except (OSError, IndexError):
        memory = psutil.Process().memory_info()
        return int(getattr(memory, "peak_wset", memory.rss))
