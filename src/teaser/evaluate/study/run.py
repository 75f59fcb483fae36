"""A study from data to results: grid searches, one test of each model, feedback, comparisons.

Trials are stored, so that a stopped search resumes.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations, cycle, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import polars as pl
import psutil

from teaser._version import __version__
from teaser.data.dataset import Dataset
from teaser.data.split import Split
from teaser.errors import ParameterError
from teaser.evaluate.bonus import Bonus
from teaser.evaluate.protocol import Evaluation, compare, evaluate, list_shares
from teaser.evaluate.simulation import has_tags, simulate
from teaser.evaluate.study.data import describe, make_split, read_data
from teaser.evaluate.study.plan import ModelPlan, SimulationPlan, Study
from teaser.evaluate.study.results import (
    FitCost,
    GridTrial,
    ModelDifference,
    ModelResult,
    SimulationResult,
    SplitSummary,
    StudyResults,
    environment,
)
from teaser.evaluate.truth import fold_truth
from teaser.model.base import KINDS, Model
from teaser.model.shared_fit import SharedFits, make_model
from teaser.model.tagged import TaggedModel
from teaser.profile import Steering
from teaser.progress import Update

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
# A fit to measure: its name, the kind of model, and its parameters, fixed ones and its own.
Planned: TypeAlias = tuple[str, str, Mapping[str, Any], Mapping[str, Any]]

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
        directions = cycle((list(values), list(values)[::-1]))
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

    Outside Linux it is the present one.
    """
    try:
        status = _STATUS.read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    except (OSError, IndexError):
        return int(psutil.Process().memory_info().rss)


# Users of whom what is said is measured, at most.
TRUTH_USERS = 500


@dataclass
class StudyRun:
    """A study while it runs: its data, and the models that are searched, fitted and tested."""

    study: Study
    dataset: Dataset
    split: Split
    fits: SharedFits
    out: Path
    name: str
    report: Update
    models: dict[str, Model] = field(default_factory=dict)
    evaluations: dict[str, Evaluation] = field(default_factory=dict)

    @classmethod
    def start(
        cls,
        study: Study,
        *,
        data: Path,
        out: Path,
        quick: bool = False,
        report: Update | None = None,
    ) -> "StudyRun":
        """Check the models, then read and split the data; nothing is fitted yet."""
        name, study = (f"{study.name}-quick", study.smaller()) if quick else (study.name, study)
        check_models(study.models)
        dataset = read_data(study, data)
        parts = make_split(dataset, study.split)
        out.mkdir(parents=True, exist_ok=True)
        fits = SharedFits(parts.search_training)
        return cls(study, dataset, parts, fits, out, name, report or (lambda *_: None))

    def facts(self) -> dict[str, Any]:
        """Return what all results have; see `Results`."""
        named = {"study": self.study.name, "title": self.study.title}
        quick = self.name != self.study.name
        return {**named, "quick": quick, "data": describe(self.dataset), **environment()}

    def search(self, plan: ModelPlan) -> GridSearch:
        """Search the grid of a model, or resume a search that was stopped; return the best cell."""
        metric = self.study.search.metric

        def measure(
            name: str, kind: str, fixed: Mapping[str, Any], own: Mapping[str, Any]
        ) -> GridTrial:
            with measured() as cost:
                model = self.fits.fit(make_model(kind, {**fixed, **own}))
                evaluation = evaluate(model, self.split.validation, metrics=[metric])
            value = evaluation.summary()[metric].mean
            return GridTrial(own, value, cost.seconds, model.iterations_)

        grid = cells(plan.grid)
        if len(grid) == 1:
            return GridSearch({**plan.parameters, **grid[0]}, ())
        planned = [(plan.name, plan.kind, plan.parameters, cell) for cell in grid]
        trials = self.trials(planned, measure, GridTrial, TRIALS_SUFFIX)
        best = max(trials, key=lambda trial: trial.value)
        return GridSearch({**plan.parameters, **best.parameters}, tuple(trials))

    def trials(
        self, planned: Sequence[Planned], measure: Callable[..., T], result: type[T], suffix: str
    ) -> list[T]:
        """Return what was measured of each planned fit, by this run or by one that was stopped.

        Trials are kept in a file of the results with this suffix, one JSON object a line; those
        with the fingerprint of a planned fit count.
        """
        storage = self.out / f"{self.name}{suffix}"
        known: dict[str, dict[str, Any]] = {}
        if storage.exists():
            for line in storage.read_text(encoding="utf-8", errors="replace").splitlines():
                with suppress(ValueError):  # a line that was cut off
                    entry = json.loads(line)
                    known[entry.pop("key")] = entry
        found = []
        for done, (name, kind, fixed, own) in enumerate(planned):
            key = self.fingerprint(kind, {**fixed, **own})
            if key in known:
                found.append(result(**known[key]))
                continue
            doing = f"{name} {', '.join(f'{each}={value}' for each, value in own.items())}"
            self.report(f"{doing} ({done} of {len(planned)})", done / len(planned))
            found.append(measure(name, kind, fixed, own))
            with storage.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, **asdict(found[-1])}) + "\n")
        return found

    def fingerprint(self, kind: str, parameters: Mapping[str, Any]) -> str:
        """Return a hash of all that the value of a trial depends on."""
        digest, training, fold = hashlib.sha256(), self.fits.training, self.split.validation
        matrices = (training.X, training.S, fold.history, fold.held_out)
        for matrix in (m for m in (*matrices, training.Q, fold.user_features) if m is not None):
            digest.update(np.asarray(matrix.indptr, dtype=np.int64).tobytes())
            digest.update(np.asarray(matrix.indices, dtype=np.int64).tobytes())
            digest.update(np.asarray(matrix.data, dtype=np.float32).tobytes())
        facts = [__version__, kind, dict(parameters), self.study.search.metric]
        digest.update(json.dumps(facts, sort_keys=True, default=str).encode())
        return digest.hexdigest()[:16]

    def fit(self, plan: ModelPlan, found: GridSearch) -> tuple[Model, FitCost]:
        """Fit a model with its best parameters, sharing nothing with other fits."""
        parts = [self.models[name] for name in plan.parts]
        model = make_model(plan.kind, found.best, *parts)
        with measured() as cost:
            model.fit(self.split.training)
        self.models[plan.name] = model
        return model, replace(cost, iterations=model.iterations_, residual=model.residual_)

    def test(self, plan: ModelPlan) -> ModelResult:
        """Search, fit and test one model."""
        found = self.search(plan)
        model, cost = self.fit(plan, found)
        with measured() as scoring:
            evaluation = evaluate(
                model, self.split.test, training=self.split.training, name=plan.name
            )
        self.evaluations[plan.name] = evaluation
        is_tagged, study = isinstance(model, TaggedModel), self.study
        parts = [each.parts for each in study.models] + [each.bonus for each in study.simulate]
        if not is_tagged and not any(plan.name in names for names in parts):
            del self.models[plan.name]  # an items x items array may be large
        return ModelResult(
            name=plan.name,
            kind=plan.kind,
            interactive=is_tagged,
            parts=plan.parts,
            parameters=found.best,
            trials=found.trials,
            fit=cost,
            scoring_seconds=scoring.seconds,
            metrics=evaluation.summary(),
            shares=list_shares(model, self.split.test, evaluation.lists),
            discovered=len(groups) if (groups := getattr(model, "groups_", None)) else 0,
            truth=fold_truth(model, self.split.test, most=TRUTH_USERS)
            if isinstance(model, TaggedModel)
            else None,
        )

    def simulate(self, plan: SimulationPlan) -> tuple[SimulationResult, ...]:
        """Simulate feedback on the fitted interactive models that a plan is for."""
        tagged = {n: model for n, model in self.models.items() if isinstance(model, TaggedModel)}
        models: dict[str, TaggedModel | Bonus] = {
            name: model for name, model in tagged.items() if name in (plan.models or self.models)
        }
        for name in plan.bonus if models else ():
            if not isinstance(self.models[name], TaggedModel):
                models[name] = Bonus(self.models[name], list(tagged.values())[-1])
        steps: tuple[float | None, ...] = plan.steps or (None,)
        choices = product(models, plan.among, plan.scales, steps, plan.strengths, plan.tags)
        # A bonus has one step, whatever the scale.
        runs = [
            run
            for run in choices
            if has_tags(models[run[0]], run[1])
            and (run[0] not in plan.bonus or run[2:4] == (plan.scales[0], steps[0]))
        ]
        without_feedback: dict[tuple[str, str], Evaluation] = {}
        results = []
        for done, (name, among, scale, step, strength, n_tags) in enumerate(runs):
            doing = f"simulated feedback: {name}, {among}, {scale} ({done} of {len(runs)})"
            self.report(doing, done / len(runs))
            steering = Steering(scale=scale, step=step)
            model, fold = models[name], self.split.test
            is_tagged = isinstance(model, TaggedModel)
            given: dict[str, Any] = {"name": name, "steering": steering if is_tagged else None}
            if (name, scale) not in without_feedback:
                without_feedback[name, scale] = evaluate(model, fold, **given)
            pressed: dict[str, Any] = {"strength": strength, "n_tags": n_tags, "draws": plan.draws}
            found = simulate(model, fold, rng=plan.seed, among=among, **pressed, **given)
            results.append(
                SimulationResult(
                    model=name,
                    scale=scale,
                    step=steering.fixed_step,
                    **pressed,
                    among=among,
                    seed=plan.seed,
                    without_tags=found.without_tags,
                    fewer_tags=found.fewer_tags,
                    metrics=found.evaluation.summary(),
                    gain=compare(without_feedback[name, scale], found.evaluation, rng=0),
                )
            )
        return tuple(results)


def run_study(
    study: Study,
    *,
    data: Path,
    out: Path,
    quick: bool = False,
    report: Update | None = None,
) -> StudyResults:
    """Run a whole study, and write its results.

    Parameters
    ----------
    data
        The folder that holds the folders of public data sets.
    out
        Gets NAME.json, the values of every test user as NAME.users.parquet, and
        NAME.trials.jsonl with the trials of the grid searches.
    quick
        The small version of the study, under NAME-quick.
    report
        Called with what is being done, and the share of this stage that is done.
    """
    with measured() as cost:
        run = StudyRun.start(study, data=data, out=out, quick=quick, report=report)
        study = run.study
        models = tuple(run.test(plan) for plan in study.models)
        run.fits.clear()
        simulations = tuple(found for plan in study.simulate for found in run.simulate(plan))
    results = StudyResults(
        **run.facts(),
        paper=study.paper,
        note=study.note,
        split=SplitSummary(
            **asdict(study.split),
            training_users=run.split.training.n_users,
            validation_users=run.split.validation.n_users,
            test_users=run.split.test.n_users,
            notes=run.split.notes,
        ),
        search=study.search,
        models=models,
        comparisons=comparisons(run.evaluations.values()),
        simulations=simulations,
        seconds=cost.seconds,
        cpu_seconds=cost.cpu_seconds,
        peak_memory=max(cost.peak_memory, *(model.fit.peak_memory for model in models)),
    )
    results.write(out / f"{run.name}.json")
    values = [
        pl.DataFrame({"model": e.model, "user": list(e.users), **e.values})
        for e in run.evaluations.values()
    ]
    pl.concat(values).write_parquet(out / f"{run.name}.users.parquet")
    return results


def simulate_study(
    study: Study,
    plan: SimulationPlan,
    *,
    data: Path,
    out: Path,
    quick: bool = False,
    report: Update | None = None,
) -> tuple[SimulationResult, ...]:
    """Simulate feedback on the interactive models of a study, with the parameters it chose.

    The trials of an earlier grid search are read from `out`; parameters as in `run_study`.
    """
    run = StudyRun.start(study, data=data, out=out, quick=quick, report=report)
    study = run.study
    chosen = [model for model in study.models if model.name in plan.models or not plan.models]
    parts = {part for model in chosen for part in model.parts} | set(plan.bonus)
    for model in study.models:
        is_wanted = model in chosen and issubclass(KINDS[model.kind], TaggedModel)
        if is_wanted or model.name in parts:
            run.fit(model, run.search(model))
    return run.simulate(plan)


def comparisons(evaluations: Iterable[Evaluation]) -> tuple[ModelDifference, ...]:
    """Return the paired bootstrap interval of every two models, by metric."""
    return tuple(
        ModelDifference(a=a.model, b=b.model, metric=metric, **asdict(gap))
        for a, b in combinations(list(evaluations), 2)
        for metric, gap in compare(a, b, rng=0).items()
    )
