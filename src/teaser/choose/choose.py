"""Fit a model whose recipe is chosen on held-out users."""

import json
import logging
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from teaser.choose.recipe import (
    AS_GIVEN,
    AUTO,
    PENALTIES,
    RECIPES,
    TOLERANCE,
    candidates,
    check_recipe,
    choose,
    default_parameters,
    explain_choice,
    is_worth_trying,
)
from teaser.choose.record import Recipe, Trial, best_trial
from teaser.data.dataset import Dataset
from teaser.data.reading.partitions import Interactions
from teaser.data.split import Split, as_generator, split
from teaser.errors import (
    ConvergenceWarning,
    ParameterError,
    ResourceError,
    RuleError,
    TeaserError,
)
from teaser.evaluate.protocol import evaluate
from teaser.model.base import Model, plain_parameters
from teaser.model.baselines.ease import EASE
from teaser.model.baselines.neighbour_ease import NeighbourEASE
from teaser.model.baselines.popularity import Popularity
from teaser.model.extensions.groups import Groups
from teaser.model.shared_fit import SharedFits
from teaser.model.tag_table import check_tagged
from teaser.model.teaser import Teaser

log = logging.getLogger("teaser")

# What is being done, and the share of the work that is done.
Progress = Callable[[str, float], None]

METRIC = "ndcg@100"
# Rankings settle near this residual: trials need no more.
TRIAL_TOL = 1e-2
# Held-out users: a tenth of those with enough interactions, within these limits.
MIN_INTERACTIONS = 5
SHARE_HELD_OUT = 0.1
LEAST_USERS, MOST_USERS = 50, 1000
# Of how many of them the parts of the scores are measured.
PARTS_USERS = 200
# Below so many users with enough interactions nothing is tried.
ENOUGH_USERS = 4 * LEAST_USERS
# Above so many items, EASE on neighbours is the yardstick: EASE inverts an items x items array.
EASE_ITEMS = 10_000
# The recipe where nothing can be tried: of few users, and of interactions in partitions.
# With few users the paper's model leaves nearly all of a score to general appeal.
FEW_DEFAULT = "discovered"
PARTITIONS_DEFAULT = ("discovered", "weighted", "paper")


def fit(
    dataset: Dataset,
    *,
    recipe: str = AUTO,
    rng: int | np.random.Generator = 0,
    start: Teaser | None = None,
    previous: Groups | None = None,
    callback: Progress | None = None,
    **given: Any,
) -> Teaser:
    """Return a fitted model whose recipe was chosen on held-out users; `recipe_` says why.

    The recipes are `"paper"`, the paper's model; `"weighted"`, with weights; `"discovered"`, with
    discovered tags too; `"neighbours"`, with a remainder of neighbours too. Each is fitted to
    nine tenths of the users at a coarse tolerance, with a few penalties, and measured on the
    others. The most readable recipe within 2 % of the most accurate is fitted to all users.

    Parameters
    ----------
    recipe
        `"auto"` to choose, or the name of one recipe, of which the penalties are chosen.
        `"paper"` has its defaults.
    rng
        Seed of the held-out users and of the fits.
    start
        An earlier model to begin from; see `Teaser.fit`.
    previous
        Groups of an earlier model, whose names are kept; those of `start` by default.
    callback
        Called with what is being done and the share of the work that is done.
    given
        Parameters of `Teaser`, which every recipe takes as they are. With `l2_weights` or
        `l2_encoder` nothing is tried: `"auto"` is then a plain fit of these parameters.

    Raises
    ------
    ResourceError
        If no recipe fits into the memory of this machine.
    """
    plan = make_plan(dataset, recipe=recipe, rng=rng, **given)
    return run_plan(plan, start=start, previous=previous, callback=callback)


@dataclass(frozen=True, eq=False)
class Plan:
    """What a fit is going to do.

    Attributes
    ----------
    parameters
        The hyper-parameters to try, by recipe.
    left_out
        Why recipes are not tried, by name.
    split
        Users to learn from and users to choose with; None where nothing is tried.
    stated
        Where nothing is tried, the recipe and why.
    """

    dataset: Dataset
    given: dict[str, Any]
    parameters: Mapping[str, list[dict[str, Any]]]
    stated: Recipe
    left_out: Mapping[str, str] = field(default_factory=dict)
    split: Split | None = None
    seed: int = 0

    @property
    def done(self) -> float:
        """The share of the work that comes before the final fit."""
        n = self.n_trials
        return n / (n + 2)

    @property
    def n_trials(self) -> int:
        """How many models are going to be tried, with those to compare with."""
        return 0 if self.split is None else 2 + sum(map(len, self.parameters.values()))

    def model(self) -> Teaser:
        """Return the model that is fitted where nothing is tried, else the largest of them."""
        return Teaser(**list(self.parameters.values())[-1][-1])


def make_plan(
    dataset: Dataset, *, recipe: str = AUTO, rng: int | np.random.Generator = 0, **given: Any
) -> Plan:
    """Return what `fit` will do with a data set; bad parameters are refused here.

    For the parameters see `fit`.
    """
    name = check_recipe(recipe)
    given = {"rng": rng, **given}
    _check_given(dataset, name, given)
    mean_count = float(dataset.item_counts.mean()) if dataset.n_items else 0.0
    able = 0
    if any(penalty in given for penalty in PENALTIES):
        chosen, own = (AS_GIVEN, dict(given)) if name == AUTO else (name, None)
        why = "The penalties were given: nothing was tried."
    elif name == "paper":
        chosen, own, why = name, None, "The paper's model was asked for: nothing was tried."
    elif isinstance(dataset.X, Interactions):
        chosen, own = _fitting(dataset, name, mean_count, given), None
        why = (
            f"Interactions in partitions are not split, so that nothing was tried: {chosen} is "
            "the default there."
        )
    else:
        able = int((np.diff(dataset.X.indptr) >= MIN_INTERACTIONS).sum())
        chosen, own = FEW_DEFAULT if name == AUTO else name, None
        why = (
            f"{able:,} users with {MIN_INTERACTIONS} interactions or more are too few to choose "
            f"by ({ENOUGH_USERS} are needed), so that nothing was tried: {chosen} "
            f"{'is the default there' if name == AUTO else 'was asked for'}."
        )
    if able < ENOUGH_USERS:
        own = default_parameters(chosen, mean_count, given) if own is None else own
        return Plan(dataset, given, {chosen: [own]}, Recipe((), chosen, why))
    return _plan_search(dataset, name, given, mean_count, able)


def run_plan(
    plan: Plan,
    *,
    start: Teaser | None = None,
    previous: Groups | None = None,
    callback: Progress | None = None,
) -> Teaser:
    """Return the model of a plan, fitted; for the parameters see `fit`."""
    report = callback or (lambda _what, _share: None)
    if previous is None and start is not None:
        previous = start.groups_
    if plan.split is None:
        model, found = plan.model(), plan.stated
    else:
        model, found, start = _Search(plan, report, previous).run(start)
    said = f"fitting {found.chosen} to all users"
    report(said, plan.done)

    done = plan.done

    def residual(iteration: int, size: float) -> None:
        nonlocal done
        # Conjugate gradients converge linearly in the logarithm of the residual.
        solved = min(1.0, math.log10(min(size, 1.0)) / math.log10(model.tol))
        done = max(done, plan.done + (1 - plan.done) * solved)
        report(f"{said}: iteration {iteration}, residual {size:.1e}", done)

    model.fit(plan.dataset, start=start, previous=previous, callback=residual)
    model.recipe_ = found
    report("done", 1.0)
    return model


def _check_given(dataset: Dataset, name: str, given: dict[str, Any]) -> None:
    known = Teaser().parameters()
    for parameter in given:
        if parameter not in known:
            raise ParameterError(
                f"Teaser has no parameter {parameter!r}. Known: {', '.join(known)}."
            )
    check_tagged(dataset)
    if (
        not isinstance(given.get("gram", "auto"), str)
        and name == AUTO
        and not (set(PENALTIES) & set(given))
    ):
        raise ParameterError(
            "A Gram that was made before cannot be used to choose a recipe: it is of all users. "
            "Leave gram out, or name a recipe and penalties."
        )
    Teaser(**given).estimate(dataset)  # refuses bad parameters


def _fitting(dataset: Dataset, name: str, mean_count: float, given: dict[str, Any]) -> str:
    """Return the named recipe, or for "auto" the default that fits into the memory."""
    if name != AUTO:
        return name
    for one in PARTITIONS_DEFAULT:
        if _shortage(dataset, default_parameters(one, mean_count, given)) is None:
            return one
    return PARTITIONS_DEFAULT[-1]


def _plan_search(
    dataset: Dataset, name: str, given: dict[str, Any], mean_count: float, able: int
) -> Plan:
    parameters: dict[str, list[dict[str, Any]]] = {}
    left_out: dict[str, str] = {}
    for one in RECIPES if name == AUTO else (name,):
        tried = candidates(one, mean_count, given)
        short = _shortage(dataset, tried[-1])
        if any(tried == others for others in parameters.values()):
            left_out[one] = "it is the same as another with the options that were given"
        elif dataset.n_tags == 0 and tried[-1].get("discovered") is None:
            left_out[one] = "the data set has no declared tags"
        elif short is not None:
            left_out[one] = short
        else:
            parameters[one] = tried
    if not parameters:
        said = "; ".join(f"{one}: {why}" for one, why in left_out.items())
        raise ResourceError(
            f"No recipe can be fitted. {said}. Use fewer tags, gram='sparse', or a larger machine."
        )
    generator = as_generator(given["rng"])
    n_users = min(MOST_USERS, max(LEAST_USERS, int(SHARE_HELD_OUT * able)))
    parts = split(
        dataset,
        n_validation=n_users,
        n_test=0,
        min_interactions=MIN_INTERACTIONS,
        rng=generator,
    )
    # Trials share what does not change, so that they need one seed.
    seed = given["rng"]
    seed = int(generator.integers(2**31)) if isinstance(seed, np.random.Generator) else int(seed)
    return Plan(dataset, given, parameters, Recipe((), name, ""), left_out, parts, seed)


def _shortage(dataset: Dataset, parameters: Mapping[str, Any]) -> str | None:
    """Return why a fit does not fit into the memory, before anything large is allocated."""
    return Teaser(**parameters).estimate(dataset).shortage()


@dataclass(eq=False)
class _Search:
    """The trials of a plan, in the order of the recipes."""

    plan: Plan
    report: Progress
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
                "tol": max(TRIAL_TOL, parameters.get("tol", 0.0)),
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
