"""Grid search on the validation users; trials are stored, so that a stopped search resumes."""

import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

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
from teaser.progress import Update

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
# A fit to measure: its fingerprint, what is said meanwhile, and what does it.
Planned: TypeAlias = tuple[str, str, Callable[[], T]]

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
    report: Update | None = None,
) -> GridSearch:
    """Fit and validate the cells of a model's grid on the users of a fold; return the best.

    For `storage` and `report` see `run_trials`.
    """

    def measure(cell: Mapping[str, Any]) -> GridTrial:
        with measured() as cost:
            model = fits.fit(make_model(plan.kind, {**plan.parameters, **cell}))
            evaluation = evaluate(model, fold, metrics=[search.metric])
        value = evaluation.summary()[search.metric].mean
        return GridTrial(cell, value, cost.seconds, model.iterations_)

    grid = cells(plan.grid)
    if len(grid) == 1:
        return GridSearch({**plan.parameters, **grid[0]}, ())
    planned: list[Planned[GridTrial]] = [
        (
            fingerprint(plan.kind, {**plan.parameters, **cell}, fits.training, fold, search.metric),
            f"{plan.name} {', '.join(f'{name}={value}' for name, value in cell.items())}",
            partial(measure, cell),
        )
        for cell in grid
    ]
    trials = run_trials(planned, GridTrial, storage, report)
    best = max(trials, key=lambda trial: trial.value)
    return GridSearch({**plan.parameters, **best.parameters}, tuple(trials))


def run_trials(
    planned: Sequence[Planned[T]], kind: type[T], storage: Path | None, report: Update | None
) -> list[T]:
    """Return what was measured of each planned fit, by this run or by one that was stopped.

    Parameters
    ----------
    storage
        A file with one JSON object a line; those with the fingerprint of a planned fit count.
    report
        Called with what is being done, and the share of the fits that are done.
    """
    known: dict[str, dict[str, Any]] = {}
    if storage is not None and storage.exists():
        for line in storage.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError):  # a line that was cut off
                entry = json.loads(line)
                known[entry.pop("key")] = entry
    found = []
    for done, (key, doing, measure) in enumerate(planned):
        if key in known:
            found.append(kind(**known[key]))
            continue
        if report is not None:
            report(f"{doing} ({done} of {len(planned)})", done / len(planned))
        found.append(measure())
        if storage is not None:
            with storage.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, **asdict(found[-1])}) + "\n")
    return found


def fingerprint(
    kind: str, parameters: Mapping[str, Any], training: Dataset, fold: Fold, metric: str
) -> str:
    """Return a hash of all that the value of a trial depends on."""
    digest = hashlib.sha256()
    matrices = (training.X, training.S, fold.history, fold.held_out)
    for matrix in (m for m in (*matrices, training.Q, fold.user_features) if m is not None):
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
