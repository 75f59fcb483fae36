"""Choose hyper-parameters by validation people: a grid or samples of it, kept so as to resume."""

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from teaser.data.dataset import Dataset
from teaser.data.split import Fold
from teaser.errors import ParameterError
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.study.meter import Meter
from teaser.evaluate.study.plan import ModelPlan, SearchPlan
from teaser.model import KINDS
from teaser.model.base import Model
from teaser.model.baselines.ease import EASE
from teaser.model.extensions.remainder import Inverse
from teaser.model.gram.cost import choose_gram
from teaser.model.gram.gpu import to_host
from teaser.model.gram.operator import DenseGram, Gram
from teaser.model.solver.system import System
from teaser.model.teaser import Teaser

Cell = Mapping[str, Any]
Callback = Callable[[int, int, Cell], None]

_REPEATS = 30


@dataclass(frozen=True)
class Trial:
    """One cell: its parameters, what it reached on the validation people, and what it took."""

    parameters: Mapping[str, Any]
    value: float
    seconds: float
    iterations: int | None = None


@dataclass(frozen=True)
class Found:
    """The outcome of a search: the best parameters and all trials, in the order they were run."""

    best: Mapping[str, Any]
    trials: tuple[Trial, ...] = field(repr=False)
    resumed: int = 0


class Bench:
    """Fits models to one data set, and shares between fits what does not change.

    The Gram is counted once for all models that take one; for Teaser its leading eigenpairs and
    those of D'D are found once, and a fit begins at the encoder of the one before. With a
    remainder the inverse is shared where l2_weights + remainder.l2 is the same: put l2_encoder
    last in a grid.
    """

    def __init__(self, training: Dataset) -> None:
        self.training = training
        self._grams: dict[str, Gram] = {}
        self._systems: dict[tuple[Any, ...], System] = {}
        self._last: dict[tuple[Any, ...], Teaser] = {}

    def fit(self, kind: str, parameters: Cell) -> Model:
        """Return a fitted model of a kind."""
        model = make(kind, parameters)
        if isinstance(model, Teaser):
            return self._fit_teaser(model)
        if isinstance(model.gram, str):
            model.gram = self._gram(model.dtype)
        return model.fit(self.training)

    def fit_ease(self, ridge: float) -> Model:
        """Return EASE of a penalty, from the inverse that is shared if it is of this ridge."""
        for (content_weight, dtype, *_), system in self._systems.items():
            if isinstance(system, Inverse) and system.ridge == ridge and not content_weight:
                model = EASE(l2_weights=ridge, dtype=dtype)
                return model.fit(self.training, inverse=to_host(system.inverse))
        return self.fit("EASE", {"l2_weights": ridge})

    def forget(self) -> None:
        """Free what is shared."""
        self._grams.clear()
        self._systems.clear()
        self._last.clear()

    def _fit_teaser(self, model: Teaser) -> Teaser:
        ridge = model.ridge
        how = (model.solver, str(model.gram), str(model.rng), model.device, model.user_features)
        key = (model.content_weight, model.dtype, *how, ridge)
        if key not in self._systems:
            # One at a time: the arrays of a system may be large.
            self._systems.clear()
            self._last.clear()
            if self._takes_array(model):
                model.gram = self._gram(model.dtype)
            self._systems[key] = model.prepare(self.training)
        model.fit(self.training, system=self._systems[key], start=self._last.get(key))
        self._last[key] = model
        return model

    def _takes_array(self, model: Teaser) -> bool:
        """Whether a model works on X'X as one array, which is then shared with all others."""
        training = self.training
        if model.device != "cpu" or not isinstance(model.gram, str) or model.gram == "sparse":
            return False
        if model.ridge is not None:
            return True
        if training.F is not None and model.user_features:  # its Gram is of people's features too
            return False
        chosen = choose_gram(training.X, training.n_tags + 1, np.dtype(model.dtype))
        return model.gram == "dense" or chosen == "dense"

    def _gram(self, dtype: str) -> Gram:
        if dtype not in self._grams:
            self._grams[dtype] = DenseGram.from_interactions(self.training.X, np.dtype(dtype))
        return self._grams[dtype]


def make(kind: str, parameters: Cell, *parts: Model) -> Model:
    """Return a model of a kind to be fitted, made of parts if it is a product.

    A parameter that it does not have is a clear error.
    """
    if kind not in KINDS:
        raise ParameterError(f"Unknown kind of model {kind!r}. Known: {', '.join(KINDS)}.")
    model: Model = KINDS[kind].from_parameters(parameters, *parts)
    return model


def cells(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return all cells of a grid, in an order in which each differs from the last in one value."""
    order: list[tuple[Any, ...]] = [()]
    for values in grid.values():
        turns = itertools.cycle((list(values), list(values)[::-1]))
        order = [(*head, value) for head in order for value in next(turns)]
    return [dict(zip(grid, cell, strict=True)) for cell in order]


def search(
    plan: ModelPlan,
    bench: Bench,
    fold: Fold,
    how: SearchPlan,
    *,
    storage: Path | None = None,
    seed: int = 0,
    callback: Callback | None = None,
) -> Found:
    """Fit and validate the cells of a model's grid, and return the best.

    Parameters
    ----------
    fold
        The validation people.
    storage
        A SQLite file that keeps the trials: a search that was stopped goes on where it was.
        Trials count only for the same data, split, parameters and metric.
    callback
        Told how many cells are done, of how many, and which comes next.
    """
    grid = cells(plan.grid)
    if len(grid) == 1:
        return Found({**plan.parameters, **grid[0]}, ())
    total = len(grid) if how.sampler == "grid" else min(how.trials or len(grid), len(grid))
    with _kept(plan, bench.training, fold, how, storage, seed) as trials:
        resumed = len(trials)
        for cell in trials.to_do(grid, total):
            if callback is not None:
                callback(len(trials), total, cell)
            with Meter() as meter:
                model = bench.fit(plan.kind, {**plan.parameters, **cell})
                reached = evaluate(model, fold, metrics=[how.metric])
            value = reached.summary()[how.metric].mean
            trials.add(Trial(cell, value, meter.seconds, model.iterations_))
        done = trials.all()
    best = max(done, key=lambda trial: trial.value)
    return Found({**plan.parameters, **best.parameters}, done, resumed)


class _Trials:
    """The trials of one search in an Optuna study."""

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

    def to_do(self, grid: list[dict[str, Any]], total: int) -> Iterator[dict[str, Any]]:
        """Give the cells that are not done yet, one after the other."""
        if self.sampler == "grid":
            finished = {_key(trial.parameters) for trial in self.all()}
            yield from (cell for cell in grid if _key(cell) not in finished)
            return
        while len(done := {_key(t.parameters): t.value for t in self.all()}) < total:
            self._asked = self.study.ask(self.space)
            known = done.get(_key(self._asked.params))
            for _ in range(_REPEATS):
                if known is None:
                    break
                # A cell that is done already tells the sampler what it was, and is not run again.
                self._tell(known, {})
                self._asked = self.study.ask(self.space)
                known = done.get(_key(self._asked.params))
            else:
                self.study.enqueue_trial(next(c for c in grid if _key(c) not in done))
                self._asked = self.study.ask(self.space)
            yield dict(self._asked.params)

    def add(self, trial: Trial) -> None:
        """Keep a finished trial."""
        from optuna.trial import create_trial

        facts = {"seconds": trial.seconds, "iterations": trial.iterations}
        if self._asked is not None:
            self._tell(trial.value, facts)
            return
        self.study.add_trial(
            create_trial(
                params=dict(trial.parameters),
                distributions=self.space,
                value=trial.value,
                user_attrs=facts,
            )
        )

    def _tell(self, value: float, facts: Mapping[str, Any]) -> None:
        for name, fact in facts.items():
            self._asked.set_user_attr(name, fact)
        self.study.tell(self._asked, value)
        self._asked = None


@contextmanager
def _kept(
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
        raise ParameterError(
            "A search needs Optuna. Install it with the experiments: pip install 'teaser[evaluate]'"
        ) from error
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    samplers = {"tpe": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}
    try:
        study = optuna.create_study(
            storage=None if storage is None else f"sqlite:///{storage}",
            study_name=f"{plan.name} {_fingerprint(plan, training, fold, how)}",
            sampler=samplers.get(how.sampler, optuna.samplers.RandomSampler)(seed=seed),
            direction="maximize",
            load_if_exists=True,
        )
        yield _Trials(study, plan.grid, how.sampler)
    finally:
        optuna.logging.set_verbosity(verbosity)


def _key(parameters: Cell) -> str:
    return json.dumps(dict(parameters), sort_keys=True)


def _fingerprint(plan: ModelPlan, training: Dataset, fold: Fold, how: SearchPlan) -> str:
    """Return a short name of all that a trial's value depends on."""
    digest = hashlib.sha256()
    for matrix in (training.X, training.S, fold.history, fold.held_out):
        digest.update(np.asarray(matrix.indptr, dtype=np.int64).tobytes())
        digest.update(np.asarray(matrix.indices, dtype=np.int64).tobytes())
    said = [plan.kind, dict(plan.parameters), dict(plan.grid), how.metric]
    digest.update(json.dumps(said, sort_keys=True, default=str).encode())
    return digest.hexdigest()[:16]
