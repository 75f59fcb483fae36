"""A study from data to results: grid searches, one test of each model, feedback, comparisons."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import polars as pl

from teaser.data.dataset import Dataset
from teaser.data.split import Split
from teaser.evaluate.bonus import Bonus
from teaser.evaluate.protocol import Evaluation, compare, evaluate, list_shares
from teaser.evaluate.simulation import has_tags, simulate
from teaser.evaluate.study.data import describe, make_split, read_data
from teaser.evaluate.study.plan import ModelPlan, SimulationPlan, Study
from teaser.evaluate.study.results import (
    FitCost,
    ModelDifference,
    ModelResult,
    SimulationResult,
    SplitSummary,
    StudyResults,
    environment,
)
from teaser.evaluate.study.search import (
    TRIALS_SUFFIX,
    GridSearch,
    check_models,
    measured,
    search_grid,
)
from teaser.evaluate.truth import fold_truth
from teaser.model.base import KINDS, Model
from teaser.model.shared_fit import SharedFits, make_model
from teaser.model.tagged import TaggedModel
from teaser.profile import Steering
from teaser.progress import Update

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

    def search(self, plan: ModelPlan) -> GridSearch:
        """Search the grid of a model, or resume a search that was stopped."""
        return search_grid(
            plan,
            self.fits,
            self.split.validation,
            self.study.search,
            storage=self.out / f"{self.name}{TRIALS_SUFFIX}",
            report=self.report,
        )

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
        study=study.name,
        title=study.title,
        quick=quick,
        paper=study.paper,
        note=study.note,
        data=describe(run.dataset),
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
        **environment(),
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
