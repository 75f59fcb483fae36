"""A study from data to results: search, test once, simulate feedback, compare; one json file."""

import json
import platform
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from teaser._version import __version__
from teaser.data.dataset import Dataset
from teaser.data.split import Split, split
from teaser.evaluate.metrics import Summary
from teaser.evaluate.protocol import ALL_METRICS, Evaluation, compare, evaluate
from teaser.evaluate.simulation import simulate
from teaser.evaluate.study.data import describe, first_users, read_data, with_common_tags
from teaser.evaluate.study.grid_search import Bench, Found, make, search
from teaser.evaluate.study.meter import Meter
from teaser.evaluate.study.plan import ModelPlan, SimulationPlan, Study
from teaser.model import KINDS
from teaser.model.base import Model
from teaser.model.tagged import TaggedModel
from teaser.model.teaser import Teaser
from teaser.profile import Steering

Progress = Callable[[str, int, int, str], None]

_PARTS = 40
_PACKAGES = ("numpy", "scipy", "polars", "optuna", "implicit")


@dataclass
class Run:
    """One run of a study: what is known so far, and whom to tell."""

    study: Study
    split: Split
    bench: Bench
    storage: Path | None
    progress: Progress
    found: dict[str, Found]
    models: dict[str, Model]
    tested: dict[str, Evaluation]

    @classmethod
    def start(
        cls,
        study: Study,
        dataset: Dataset,
        *,
        storage: Path | None = None,
        progress: Progress | None = None,
    ) -> "Run":
        """Split the data; nothing is fitted yet."""
        _check_models(study)
        how = study.split
        parts = split(
            dataset,
            n_validation=how.validation,
            n_test=how.test,
            min_interactions=how.min_interactions,
            held_out=how.held_out,
            rng=how.seed,
        )
        if how.training:
            parts = replace(parts, training=first_users(parts.training, how.training))
        quiet: Progress = progress or (lambda stage, done, total, doing: None)
        return cls(study, parts, Bench(parts.training), storage, quiet, {}, {}, {})

    def tune(self, plan: ModelPlan) -> Found:
        """Search the grid of a model, or go on with a search that was stopped."""

        def told(done: int, total: int, cell: Any) -> None:
            self.progress(plan.name, done, total, ", ".join(f"{k}={v}" for k, v in cell.items()))

        found = search(
            plan,
            self.bench,
            self.split.validation,
            self.study.search,
            storage=self.storage,
            seed=self.study.split.seed,
            callback=told,
        )
        self.progress(plan.name, len(found.trials) or 1, len(found.trials) or 1, "")
        self.found[plan.name] = found
        return found

    def fit(self, plan: ModelPlan) -> tuple[Model, dict[str, Any]]:
        """Fit the best cell from nothing, and say what that took."""
        if plan.parts:
            parts = [self.models[name] for name in plan.parts]
            model = make(plan.kind, plan.parameters, *parts)
            with Meter() as meter:
                model.fit(self.split.training)
        else:
            model = make(plan.kind, self.found[plan.name].best)
            with Meter() as meter:
                model.fit(self.split.training)
        self.models[plan.name] = model
        took = {
            "seconds": meter.seconds,
            "cpu_seconds": meter.cpu_seconds,
            "peak_memory": meter.peak_memory,
        }
        solver = {"iterations": model.iterations_, "residual": model.residual_}
        took |= {name: value for name, value in solver.items() if value is not None}
        return model, took

    def test(self, plan: ModelPlan) -> dict[str, Any]:
        """Tune, fit and test one model; return its part of the results."""
        found = self.tune(plan)
        model, took = self.fit(plan)
        with Meter() as meter:
            reached = evaluate(
                model,
                self.split.test,
                training=self.split.training,
                metrics=ALL_METRICS,
                name=plan.name,
            )
        self.tested[plan.name] = reached
        return {
            "name": plan.name,
            "kind": plan.kind,
            "interactive": isinstance(model, TaggedModel),
            "parts": list(plan.parts),
            "parameters": dict(found.best),
            "trials": [asdict(trial) for trial in found.trials],
            "fit": took,
            "scoring_seconds": meter.seconds,
            "metrics": summaries(reached.summary()),
            "popularity_curve": popularity_curve(reached.lists[:, :20], self.split.training),
        }

    def pressed(self, plan: SimulationPlan) -> list[dict[str, Any]]:
        """Simulate feedback on every interactive model; return that part of the results."""
        out = []
        able = {n: m for n, m in self.models.items() if isinstance(m, TaggedModel)}
        ways = [
            (name, scale, step, strength, n_tags)
            for name in able
            for scale in plan.scales
            for step in plan.steps
            for strength in plan.strengths
            for n_tags in plan.tags
        ]
        plain: dict[tuple[str, str], Evaluation] = {}
        for done, (name, scale, step, strength, n_tags) in enumerate(ways):
            self.progress("simulated feedback", done, len(ways), f"{name}, {scale}")
            steering = Steering(scale=scale, step=step)
            if (name, scale) not in plain:
                plain[name, scale] = evaluate(
                    able[name], self.split.test, steering=steering, name=name
                )
            result = simulate(
                able[name],
                self.split.test,
                n_tags=n_tags,
                strength=strength,
                draws=plan.draws,
                rng=plan.seed,
                steering=steering,
                name=name,
            )
            gain = compare(plain[name, scale], result.evaluation, rng=0)
            out.append(
                {
                    "model": name,
                    "scale": scale,
                    "step": step,
                    "strength": strength,
                    "n_tags": n_tags,
                    "draws": plan.draws,
                    "seed": plan.seed,
                    "without_tags": result.without_tags,
                    "fewer_tags": result.fewer_tags,
                    "metrics": summaries(result.evaluation.summary()),
                    "gain": {metric: asdict(change) for metric, change in gain.items()},
                }
            )
        self.progress("simulated feedback", len(ways), len(ways), "")
        return out

    def by_tags(self) -> list[dict[str, Any]]:
        """Fit the first Teaser again with the tags of ever more items only."""
        plan = next((p for p in self.study.models if p.kind == "Teaser"), None)
        out: list[dict[str, Any]] = []
        for done, least in enumerate(self.study.tag_cuts if plan else ()):
            self.progress("fewer tags", done, len(self.study.tag_cuts), f"min_items={least}")
            training = with_common_tags(self.split.training, least)
            model = make("Teaser", self.found[plan.name].best).fit(training)  # type: ignore[union-attr]
            reached = evaluate(model, self.split.test)
            out.append(
                {
                    "min_items": least,
                    "n_tags": training.n_tags,
                    "metrics": summaries(reached.summary()),
                }
            )
        if out:
            self.progress("fewer tags", len(out), len(out), "")
        return out

    def convergence(self) -> list[dict[str, Any]]:
        """Return the residual of both solvers by iteration and second, at the best Teaser."""
        plan = next((p for p in self.study.models if p.kind == "Teaser"), None)
        out: list[dict[str, Any]] = []
        for done, solver in enumerate(self.study.solvers if plan else ()):
            self.progress("convergence", done, len(self.study.solvers), solver)
            best = dict(self.found[plan.name].best)  # type: ignore[union-attr]
            model = make("Teaser", {**best, "solver": solver})
            heard: list[tuple[float, float]] = []
            start = time.perf_counter()

            def told(
                iteration: int, residual: float, heard: Any = heard, start: float = start
            ) -> None:
                heard.append((time.perf_counter() - start, residual))

            if isinstance(model, Teaser):
                model.fit(self.split.training, callback=told)
            out.append(
                {
                    "solver": solver,
                    "seconds": [s for s, _ in heard],
                    "residuals": [r for _, r in heard],
                }
            )
        return out


def run_study(
    study: Study,
    *,
    data: Path,
    out: Path,
    quick: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run a whole study, and write its results.

    Parameters
    ----------
    data
        The folder that holds the folders of public data sets.
    out
        Gets NAME.json, the values of every test person as NAME.users.parquet, and NAME.sqlite
        with the trials of the searches.
    quick
        The small version of the study, under NAME-quick.
    """
    name = f"{study.name}-quick" if quick else study.name
    study = study.smaller() if quick else study
    out.mkdir(parents=True, exist_ok=True)
    with Meter() as meter:
        dataset = read_data(study.data, data, beside=study.path.parent)
        run = Run.start(study, dataset, storage=out / f"{name}.sqlite", progress=progress)
        models = [run.test(plan) for plan in study.models]
        run.bench.forget()
        simulations = run.pressed(study.simulate) if study.simulate else []
        tags = run.by_tags()
        convergence = run.convergence()
    results = {
        "format": 1,
        "study": study.name,
        "title": study.title,
        "quick": quick,
        "paper": study.paper,
        "note": study.note,
        "data": describe(dataset),
        "split": {
            **asdict(study.split),
            "training_users": run.split.training.n_users,
            "validation_users": run.split.validation.n_users,
            "test_users": run.split.test.n_users,
        },
        "search": asdict(study.search),
        "models": models,
        "comparisons": comparisons(run.tested.values()),
        "simulations": simulations,
        "by_tags": tags,
        "convergence": convergence,
        "seconds": meter.seconds,
        "cpu_seconds": meter.cpu_seconds,
        "peak_memory": max(meter.peak_memory, *(m["fit"]["peak_memory"] for m in models)),
        **circumstances(),
    }
    write_json(out / f"{name}.json", results)
    values_frame(run.tested.values()).write_parquet(out / f"{name}.users.parquet")
    return results


def simulate_study(
    study: Study,
    plan: SimulationPlan,
    *,
    data: Path,
    out: Path,
    quick: bool = False,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Simulate feedback on the interactive models of a study, at the parameters it chose.

    A search that has run before is read from `out`; parameters as in `run_study`.
    """
    name = f"{study.name}-quick" if quick else study.name
    study = study.smaller() if quick else study
    out.mkdir(parents=True, exist_ok=True)
    dataset = read_data(study.data, data, beside=study.path.parent)
    run = Run.start(study, dataset, storage=out / f"{name}.sqlite", progress=progress)
    parts = {part for model in study.models for part in model.parts}
    for model in study.models:
        if model.name in parts or issubclass(KINDS[model.kind], TaggedModel):
            run.tune(model)
            run.fit(model)
    return run.pressed(plan)


def comparisons(evaluations: Iterable[Evaluation]) -> list[dict[str, Any]]:
    """Return the paired bootstrap interval of every two models, by metric."""
    return [
        {"a": a.model, "b": b.model, "metric": metric, **asdict(gap)}
        for a, b in combinations(list(evaluations), 2)
        for metric, gap in compare(a, b, rng=0).items()
    ]


def summaries(given: dict[str, Summary]) -> dict[str, dict[str, Any]]:
    """Return means with their errors as json holds them."""
    return {name: asdict(summary) for name, summary in given.items()}


def popularity_curve(lists: Any, training: Dataset) -> list[float]:
    """Return the share of recommendations that go to the most popular 1/40, 2/40, ... of items."""
    order = np.argsort(-training.item_counts, kind="stable")
    shown = np.bincount(lists[lists >= 0], minlength=training.n_items)[order]
    cumulative = np.concatenate([[0], np.cumsum(shown)]) / max(1, shown.sum())
    places = np.linspace(0, training.n_items, _PARTS + 1).round().astype(int)
    return [round(float(share), 5) for share in cumulative[places]]


def circumstances() -> dict[str, Any]:
    """Return versions, commit and machine: what the figures depend on beside the data."""
    found = {"teaser": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except ModuleNotFoundError:
            continue
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607
        capture_output=True, text=True, check=False, cwd=Path(__file__).parent,
    ).stdout.strip()  # fmt: skip
    return {"versions": found, "commit": commit, "machine": platform.machine()}


def values_frame(evaluations: Iterable[Evaluation]) -> pl.DataFrame:
    """Return the values of every person, one row for a person and model."""
    return pl.concat(
        pl.DataFrame({"model": e.model, "user": list(e.users), **e.values}) for e in evaluations
    )


def write_json(path: Path, results: dict[str, Any]) -> None:
    """Write results whole or not at all."""
    unfinished = path.with_suffix(".json.unfinished")
    unfinished.write_text(json.dumps(_plain(results), indent=1) + "\n", encoding="utf-8")
    unfinished.replace(path)


def _plain(value: Any) -> Any:
    """Return a value as json holds it: no number that is not finite, none of numpy's types."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value


def _check_models(study: Study) -> None:
    """Raise for an unknown kind or parameter before any long work."""
    for plan in study.models:
        if not plan.parts:
            make(plan.kind, {**plan.parameters, **{k: v[0] for k, v in plan.grid.items()}})
