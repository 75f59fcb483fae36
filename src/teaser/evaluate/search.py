"""The trials of a plan: fit each recipe to some users, measure it on the others, choose."""

import json
import logging
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from teaser.data.split import Split
from teaser.errors import (
    ConvergenceWarning,
    ParameterError,
    ResourceError,
    RuleError,
    TeaserError,
)
from teaser.evaluate.plan import FitPlan
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.recipe import (
    PENALTIES,
    RECIPES,
    TOLERANCE,
    choose,
    explain_choice,
    is_worth_trying,
)
from teaser.model.base import Model, plain_parameters
from teaser.model.baselines.ease import EASE
from teaser.model.baselines.neighbour_ease import NeighbourEASE
from teaser.model.baselines.popularity import Popularity
from teaser.model.extensions.groups import Groups
from teaser.model.recipe import Recipe, Trial, best_trial
from teaser.model.shared_fit import SharedFits
from teaser.model.solve import coarse_tol
from teaser.model.teaser import Teaser
from teaser.progress import Update

log = logging.getLogger("teaser")

METRIC = "ndcg@100"
# Of how many held-out users the parts of the scores are measured.
PARTS_USERS = 200
# Above so many items, EASE on neighbours is the yardstick: EASE inverts an items x items array.
EASE_ITEMS = 10_000


@dataclass(eq=False)
class Search:
    """The trials of a plan, in the order of the recipes."""

    plan: FitPlan
    report: Update
    previous: Groups | None
    trials: list[Trial] = field(default_factory=list)
    # Models that may be chosen still, by the place of their trial.
    kept: dict[int, Teaser] = field(default_factory=dict)

    def run(self, start: Teaser | None) -> tuple[Teaser, Recipe, Teaser | None]:
        """Return the model to fit to all users, the record, and a model to begin from."""
        fold = self._split.validation
        shared = SharedFits(self._split.training, previous=self.previous)
        highest, yardstick = self._compare(shared)
        for name, tried in self.plan.parameters.items():
            varied = len({str(each.get("remainder")) for each in tried}) > 1
            for parameters in tried:
                before = [trial for trial in self.trials if trial.name == name]
                if not varied or is_worth_trying(parameters, before):
                    self._try(shared, name, parameters, highest)
        for name, why in self.plan.left_out.items():
            self.trials.append(Trial(name, reason=why))
        shared.clear()
        if not any(t.name in RECIPES and t.ndcg is not None for t in self.trials):
            said = "; ".join(f"{t.name}: {t.reason}" for t in self.trials if t.reason)
            raise ResourceError(f"No recipe could be fitted. {said}")
        best = choose(self.trials)
        found = Recipe(tuple(self.trials), best.name, "", fold.n_users, yardstick)
        found = replace(found, why=explain_choice(found))
        coarse = self.kept[self.trials.index(best)]
        model = Teaser(**{**coarse.parameters(), **self._own()})
        return model, found, coarse if start is None else start

    @property
    def _split(self) -> Split:
        if self.plan.split is None:
            raise ParameterError("There is nothing to search without held-out users.")
        return self.plan.split

    def _own(self) -> dict[str, Any]:
        """Return what the final fit has in another way than the trials."""
        default = Teaser().parameters()
        return {name: self.plan.given.get(name, default[name]) for name in ("tol", "gram", "rng")}

    def _compare(self, shared: SharedFits) -> tuple[float | None, str]:
        """Measure popularity and the yardstick; return the nDCG of the latter and its name."""
        self._measure("Popularity", lambda: Popularity().fit(self._split.training))
        n_items, training = self.plan.dataset.n_items, self._split.training
        l2 = 5 * float(training.item_counts.mean())
        dtype = self.plan.given.get("dtype", "float32")
        yardstick: Model = EASE(l2_weights=max(l2, 50.0), dtype=dtype)
        if n_items > EASE_ITEMS:
            yardstick = NeighbourEASE(dtype=dtype)
        name = type(yardstick).__name__
        self._measure(name, lambda: shared.fit(yardstick))
        last = self.trials[-1]
        if last.ndcg:
            self.trials = [_compared(trial, last.ndcg) for trial in self.trials]
        return last.ndcg, name

    def _try(
        self,
        shared: SharedFits,
        name: str,
        parameters: Mapping[str, Any],
        highest: float | None,
    ) -> None:
        """Fit and measure one trial of a recipe."""
        model = Teaser(
            **{
                **parameters,
                "tol": coarse_tol(parameters.get("tol", 0.0), parameters.get("solver", "cg")),
                "rng": self.plan.seed,
            }
        )
        shown = shown_parameters(model)
        self._measure(name, lambda: shared.fit(model), shown)
        self.trials[-1] = _compared(self.trials[-1], highest)
        if self.trials[-1].ndcg is None:
            return
        self.kept[len(self.trials) - 1] = model
        # Only what may still be chosen is held: encoders may be large.
        best = best_trial(t for t in self.trials if t.name in RECIPES)
        limit = (1 - TOLERANCE) * (best.ndcg or 0.0) if best is not None else 0.0
        for place in list(self.kept):
            trial = self.trials[place]
            same = best_trial(t for t in self.trials if t.name == trial.name)
            if (trial.ndcg or 0.0) < limit or trial is not same:
                del self.kept[place]

    def _measure(
        self, name: str, make: Callable[[], Model], shown: Mapping[str, Any] | None = None
    ) -> None:
        """Fit a model and append its trial, or why there is none."""
        shown = {} if shown is None else shown
        penalties = ", ".join(f"{key} {value}" for key, value in _penalties(shown))
        said = f"trying {name}{f' ({penalties})' if penalties else ''}"
        self.report(said, len(self.trials) / (self.plan.n_trials + 2))
        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = make()
            trial = _evaluate(name, model, self._split, shown)
        except RuleError:  # the owner's file of groups: no recipe would do better
            raise
        except (TeaserError, MemoryError) as error:
            log.warning("%s is left out: %s", name, error)
            trial = Trial(name, shown, reason=str(error) or "out of memory")
        self.trials.append(replace(trial, seconds=time.perf_counter() - began))


def shown_parameters(model: Teaser) -> dict[str, Any]:
    """Return the hyper-parameters that tell trials apart, as plain values."""
    plain, default = plain_parameters(model.parameters()), plain_parameters(Teaser().parameters())
    machine = ("tol", "rng", "gram", "max_iter", "device")
    kept = {
        name: value
        for name, value in plain.items()
        if name in PENALTIES or (name not in machine and value != default[name])
    }
    found: dict[str, Any] = json.loads(json.dumps(kept))  # as a saved model will have it
    return found


def _penalties(shown: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in PENALTIES:
        if name in shown:
            yield name, f"{shown[name]:g}"
    remainder = shown.get("remainder")
    if remainder is not None:
        yield "remainder", f"{remainder['l2']:g}"


def _evaluate(name: str, model: Model, parts: Split, shown: Mapping[str, Any]) -> Trial:
    fold = parts.validation
    found = evaluate(model, fold, metrics=[METRIC], name=name)
    shares: dict[str, float] = {}
    if isinstance(model, Teaser):
        some = slice(0, PARTS_USERS)
        known = fold.user_features if model.user_tags_ else None
        about = None if known is None else known[some]
        shares = model.list_shares(fold.history[some], found.lists[some], about=about)
    reached = found.summary()[METRIC]
    error = float(reached.error) if math.isfinite(reached.error) else None
    return Trial(name, shown, float(reached.mean), None, shares, error=error)


def _compared(trial: Trial, highest: float | None) -> Trial:
    """Return a trial with its share of the yardstick's nDCG."""
    if not highest or trial.ndcg is None:
        return trial
    return replace(trial, share=trial.ndcg / highest)
