"""Fit a model whose recipe is chosen on held-out users: the recipes, the plan, the trials."""

import json
import logging
import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeVar

import numpy as np

from teaser.data.dataset import Dataset
from teaser.data.partitions import Interactions
from teaser.data.split import Split, as_generator, split
from teaser.errors import (
    ConvergenceWarning,
    ParameterError,
    ResourceError,
    RuleError,
    TeaserError,
    closest,
)
from teaser.evaluate.protocol import evaluate, list_shares
from teaser.evaluate.truth import fold_truth
from teaser.model.base import Model, plain_parameters
from teaser.model.baselines.ease import EASE
from teaser.model.baselines.neighbour_ease import NeighbourEASE
from teaser.model.baselines.popularity import Popularity
from teaser.model.extensions.content import Content
from teaser.model.extensions.discovered import DiscoveredTags
from teaser.model.extensions.groups import Groups
from teaser.model.extensions.remainder import Remainder
from teaser.model.extensions.weights import Weights
from teaser.model.recipe import Recipe, Trial, best_trial, percent, ratio
from teaser.model.shared_fit import SharedFits
from teaser.model.solve import coarse_tol, share_solved
from teaser.model.tables import check_tagged
from teaser.model.teaser import Teaser
from teaser.progress import Update, progress_bar

log = logging.getLogger("teaser")
T = TypeVar("T")

METRIC = "ndcg@100"
# General appeal says what popularity would: its own column is held back.
_WEIGHTS = Weights(popularity_scale=0.5)
# What each recipe has beyond the paper's model, the simplest first.
RECIPES: Mapping[str, Mapping[str, Any]] = {
    "paper": {},
    "weighted": {"weights": _WEIGHTS},
    "discovered": {"weights": _WEIGHTS, "discovered": DiscoveredTags()},
    "neighbours": {
        "weights": _WEIGHTS,
        "discovered": DiscoveredTags(),
        "remainder": Remainder(),
    },
}
AUTO = "auto"
# Chosen where the penalties were given: no recipe, the options alone.
AS_GIVEN = "as given"
PENALTIES = ("l2_weights", "l2_encoder")
# The most readable recipe that is at most so much less accurate than the best is chosen.
TOLERANCE = 0.02
# What is tried, uphill from one of the values: see `climb`. Of neighbours, penalty and number.
# With neighbours, which say what a strongly held back encoder does not, l2_encoder may be larger.
_FIRST_ENCODER, _SMALL_ENCODER, _LARGE_ENCODER = 3000.0, 300.0, 30000.0
_CONTENT = (0.0, 0.1, 1.0, 10.0)
_REMAINDER, _FIRST_REMAINDER = ((15.0, 20), (50.0, 100), (200.0, 100), (1000.0, 100)), 1
_POWERS = (0.0, 0.1, 0.2, 0.3)
# Trials stop where scores change by so much: their nDCG is then within 0.2 % of the exact one.
_CHANGE = 0.03
# Penalties of EASE over the mean count of an item, within limits.
_EASE, _FIRST_EASE, _EASE_LIMITS = (0.3, 1.0, 3.0, 10.0, 30.0), 2, (20.0, 5000.0)

# Held-out users: a tenth of those with enough interactions, within these limits.
MIN_INTERACTIONS = 5
SHARE_HELD_OUT = 0.1
LEAST_USERS, MOST_USERS = 50, 1000
# With fewer users that have enough interactions, nothing is tried.
ENOUGH_USERS = 4 * LEAST_USERS
# The recipe where nothing can be tried: with few users, and with interactions in partitions.
# With few users the paper's model leaves nearly all of a score to general appeal.
FEW_DEFAULT = "discovered"
PARTITIONS_DEFAULT = ("discovered", "weighted", "paper")
# The shares of parts are measured on so many held-out users.
PARTS_USERS = 200
# What is said is measured on so many of them.
TRUTH_USERS = 100
# Above so many items, EASE on neighbours is the yardstick: EASE inverts an items x items array.
EASE_ITEMS = 10_000

_NO_TAGS = "the data set has no declared tags"


def fit(
    dataset: Dataset,
    *,
    recipe: str = AUTO,
    rng: int | np.random.Generator = 0,
    start: Teaser | None = None,
    previous: Groups | None = None,
    callback: Update | None = None,
    progress: bool = False,
    **given: Any,
) -> Teaser:
    """Return a fitted model whose recipe was chosen on held-out users; `recipe_` says why.

    The recipes are `"paper"`, the paper's model; `"weighted"`, with weights; `"discovered"`, with
    discovered tags too; `"neighbours"`, with a remainder of neighbours too. Each is fitted to
    nine tenths of the users at a coarse tolerance, with a few penalties, and measured on the
    others. Content is tried on one of them, and what helps there is in those that follow; powers
    of histories are tried on the best. The most readable recipe within 2 % of the most accurate
    is fitted to all users.

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
    progress
        Whether to show a bar, in a notebook or a terminal; a `callback` takes its place.
    given
        Parameters of `Teaser`, which every recipe takes as they are. With `l2_weights` or
        `l2_encoder` nothing is tried: `"auto"` is then a plain fit of these parameters.

    Raises
    ------
    ResourceError
        If no recipe fits into the memory of this machine.
    """
    plan = make_plan(dataset, recipe=recipe, rng=rng, **given)
    with progress_bar("preparing", show=progress and callback is None) as update:
        return run_plan(plan, start=start, previous=previous, callback=callback or update)


def check_recipe(name: object) -> str:
    """Return the name of a recipe; raise `ParameterError` for any other."""
    known = (AUTO, *RECIPES)
    if not isinstance(name, str) or name not in known:
        raise ParameterError(
            f"Unknown recipe {name!r}. Known: {', '.join(known)}.{closest(str(name), known)}"
        )
    return name


def first_parameters(name: str, mean_count: float, given: dict[str, Any]) -> dict[str, Any]:
    """Return the hyper-parameters that a recipe begins with; given ones stay as they are.

    Parameters
    ----------
    mean_count
        The mean number of users of an item: l2_weights is near to it at its best.
    given
        Hyper-parameters that the caller fixed.
    """
    own = dict(RECIPES[name])
    if name == "paper":  # its defaults are within 2 % of the best on every study
        return own | given
    l1 = float(f"{min(300.0, max(5.0, mean_count)):.2g}")
    return own | {"l2_weights": l1, "l2_encoder": _FIRST_ENCODER} | given


def ease_penalties(mean_count: float) -> tuple[list[float], int]:
    """Return the penalties that EASE tries, in rising order, and the place of the first."""
    low, high = _EASE_LIMITS
    values = [float(f"{min(high, max(low, each * mean_count)):.2g}") for each in _EASE]
    different = list(dict.fromkeys(values))
    return different, different.index(values[_FIRST_EASE])


def climb(values: Sequence[T], first: int, measure: Callable[[T], float]) -> T:
    """Return the best of some values in order, tried from the first upwards while they rise.

    Where the next one is no better, those below the first are tried in the same way.
    """
    found = {first: measure(values[first])}
    for step in (1, -1):
        place = first
        while 0 <= place + step < len(values):
            place += step
            found[place] = measure(values[place])
            if found[place] <= found[place - step]:
                break
        if max(found, key=lambda each: found[each]) != first:
            break
    return values[max(found, key=lambda each: found[each])]


def choose(trials: Iterable[Trial]) -> Trial:
    """Return the most readable of the best trials of each recipe that are within 2 % of the best.

    Readable is what `Truth.readability` says, to two digits. Of equals the simpler recipe is taken.
    """
    measured = [t for t in trials if t.name in RECIPES and t.ndcg is not None]
    best = max(t.ndcg or 0.0 for t in measured)
    near = [t for t in measured if (t.ndcg or 0.0) >= (1 - TOLERANCE) * best]
    names = [name for name in RECIPES if any(t.name == name for t in near)]
    own = [max((t for t in near if t.name == n), key=lambda t: t.ndcg or 0.0) for n in names]
    return max(own, key=lambda t: float(f"{t.readability:.2g}"))


def explain_choice(recipe: Recipe) -> str:
    """Return why a recipe was chosen, by the shares of the yardstick that were reached."""
    given = any("discovered" in t.parameters for t in recipe.tried if t.name == "paper")
    declared = "declared and given discovered tags" if given else "declared tags alone"
    kinds = {
        declared: ("paper", "weighted"),
        "discovered tags": ("discovered",),
        "neighbours": ("neighbours",),
    }
    parts: list[str] = []
    before = 0.0
    for named, names in kinds.items():
        trial = best_trial(t for t in recipe.tried if t.name in names and t.share is not None)
        if trial is None or trial.share is None:
            continue
        reached = percent(trial.share)
        told = f"{named} bring it to" if trial.share > before else f"with {named} it is"
        first = f"{named} reach {reached} of {recipe.yardstick} here"
        parts.append(f"{told} {reached}" if parts else first)
        before = trial.share
    measured = {t.name for t in recipe.tried if t.name in RECIPES and t.ndcg is not None}
    last = f"{recipe.chosen} is the most readable within {percent(TOLERANCE)} of the best"
    trial = recipe.best(recipe.chosen)
    if trial is not None and trial.truth.get("known") is not None:
        last += (
            f": {percent(trial.truth['with_reason'])} of the entries have a reason, "
            f"{percent(trial.truth['agreement'])} of what is known agrees with the own history, "
            f"and is chosen {ratio(trial.truth['known'])} as often as by others"
        )
    if len(measured) == 1:
        last = f"{recipe.chosen} is the only recipe that was tried"
    brought = [_say_gain(recipe.tried, *what) for what in _ADDED]
    sentences = [text for text in ("; ".join(parts), *brought, last) if text]
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in sentences)


# Options that are tried on one recipe: their name, and where they stand in its parameters.
_ADDED = (("content", "content", "weight"), ("a history power", "weights", "history_power"))


def _say_gain(tried: Iterable[Trial], what: str, option: str, entry: str) -> str:
    """Return what an option brought to the trial that is the same without it; "" if untried."""

    def value(trial: Trial) -> float:
        return (trial.parameters.get(option) or {}).get(entry) or 0.0

    def others(trial: Trial) -> dict[str, Any]:
        return {name: x for name, x in trial.parameters.items() if name != option}

    measured = [t for t in tried if t.ndcg]
    gains = [
        ((t.ndcg or 0.0) / (before.ndcg or 1.0) - 1, value(t), t.name)
        for t, before in product(measured, measured)
        if value(t) and not value(before)
        and (t.name, others(t)) == (before.name, others(before))
    ]  # fmt: skip
    if not gains:
        return ""
    gain, found, name = max(gains)
    if gain <= 0:
        return f"{what} does not help {name} here"
    return f"{what} of {found:g} brings {100 * gain:+.1f} % to {name}"


@dataclass(frozen=True, eq=False)
class FitPlan:
    """What a fit is going to do.

    Attributes
    ----------
    parameters
        The hyper-parameters that each recipe begins with.
    left_out
        Why recipes are not tried, by name.
    split
        Users to learn from and users to choose with; None where nothing is tried.
    stated
        Where nothing is tried, the recipe and why.
    """

    dataset: Dataset
    given: dict[str, Any]
    parameters: Mapping[str, dict[str, Any]]
    stated: Recipe
    left_out: Mapping[str, str] = field(default_factory=dict)
    split: Split | None = None
    seed: int = 0

    @property
    def n_trials(self) -> int:
        """How many models are tried at most, with those to compare with."""
        if self.split is None:
            return 0
        tried = [len(values) for name in self.parameters for values, _ in self.axes(name).values()]
        return 1 + len(_EASE) + len(self.parameters) + sum(tried) + len(_POWERS)

    def axes(self, name: str) -> dict[str, tuple[list[Any], int]]:
        """Return what a recipe varies, one parameter after the other, and where it begins.

        What was given is not varied. Content is tried on one recipe.
        """
        found: dict[str, tuple[list[Any], int]] = {}
        able = [n for n in ("discovered", "weighted", "neighbours") if n in self.parameters]
        if self.dataset.n_tags > 0 and able[:1] == [name]:
            found["content"] = [Content(weight=each) if each else None for each in _CONTENT], 0
        if name == "neighbours":
            kinds = [Remainder(l2=l2, neighbours=m) for l2, m in _REMAINDER]
            found["remainder"] = kinds, _FIRST_REMAINDER
            found["l2_encoder"] = [_FIRST_ENCODER, _LARGE_ENCODER], 0
        elif name != "paper":
            found["l2_encoder"] = [_SMALL_ENCODER, _FIRST_ENCODER], 1
        return {parameter: axis for parameter, axis in found.items() if parameter not in self.given}

    def model(self) -> Teaser:
        """Return the model that is fitted where nothing is tried, else the largest of them."""
        return Teaser(**list(self.parameters.values())[-1])


def make_plan(
    dataset: Dataset, *, recipe: str = AUTO, rng: int | np.random.Generator = 0, **given: Any
) -> FitPlan:
    """Return what `fit` will do with a data set; bad parameters are refused here.

    For the parameters see `fit`.
    """
    name = check_recipe(recipe)
    given = {"rng": rng, **given}
    _check_given(dataset, name, given)
    mean_count = float(dataset.item_counts.mean()) if dataset.n_items else 0.0
    if any(penalty in given for penalty in PENALTIES):
        chosen, why = (AS_GIVEN if name == AUTO else name), "The penalties were given."
    elif name == "paper":
        chosen, why = name, "The paper's model was asked for."
    elif isinstance(dataset.X, Interactions):
        chosen = name if name != AUTO else _partitions_default(dataset, mean_count, given)
        why = f"Interactions in partitions cannot be split; using {chosen!r}."
    else:
        able = int((np.diff(dataset.X.indptr) >= MIN_INTERACTIONS).sum())
        if able >= ENOUGH_USERS:
            return _plan_trials(dataset, name, given, mean_count, able)
        chosen = FEW_DEFAULT if name == AUTO else name
        why = (
            f"Too few users to compare recipes; using {chosen!r}. {able:,} users have "
            f"{MIN_INTERACTIONS} interactions or more, and {ENOUGH_USERS} are needed."
        )
    own = dict(given) if chosen == AS_GIVEN else first_parameters(chosen, mean_count, given)
    why = f"{why} Nothing was tried."
    return FitPlan(dataset, given, {chosen: own}, Recipe((), chosen, why))


def _check_given(dataset: Dataset, name: str, given: dict[str, Any]) -> None:
    Teaser().set_params(**given).estimate(dataset)  # refuses bad parameters
    check_tagged(dataset)
    is_made = not isinstance(given.get("gram", "auto"), str)
    if is_made and name == AUTO and not set(PENALTIES) & set(given):
        raise ParameterError(
            "A Gram that was made before cannot be used to choose a recipe: it is of all users. "
            "Leave gram out, or name a recipe and penalties."
        )


def _partitions_default(dataset: Dataset, mean_count: float, given: dict[str, Any]) -> str:
    """Return the first default that fits into the memory, or the last."""
    for name in PARTITIONS_DEFAULT:
        if Teaser(**first_parameters(name, mean_count, given)).estimate(dataset).shortage() is None:
            break
    return name


def _plan_trials(
    dataset: Dataset, name: str, given: dict[str, Any], mean_count: float, able: int
) -> FitPlan:
    parameters: dict[str, dict[str, Any]] = {}
    left_out: dict[str, str] = {}
    for one in RECIPES if name == AUTO else (name,):
        tried = first_parameters(one, mean_count, given)
        short = Teaser(**tried).estimate(dataset).shortage()
        if any(tried == others for others in parameters.values()):
            left_out[one] = "it is the same as another with the options that were given"
        elif dataset.n_tags == 0 and tried.get("discovered") is None:
            left_out[one] = _NO_TAGS
        elif short is not None:
            left_out[one] = short
        else:
            parameters[one] = tried
    if not parameters and set(left_out.values()) == {_NO_TAGS}:
        raise ParameterError(
            f"The recipe {name} needs declared tags, and the data set has none. "
            "Use recipe='discovered' or recipe='neighbours', or add rules."
        )
    if not parameters:
        reasons = "; ".join(f"{one}: {why}" for one, why in left_out.items())
        raise ResourceError(
            f"No recipe can be fitted. {reasons}. Use fewer tags, gram='sparse', or a larger "
            "machine."
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
    return FitPlan(dataset, given, parameters, Recipe((), name, ""), left_out, parts, seed)


def run_plan(
    plan: FitPlan,
    *,
    start: Teaser | None = None,
    previous: Groups | None = None,
    callback: Update | None = None,
) -> Teaser:
    """Return the model of a plan, fitted; for the parameters see `fit`."""
    report = callback or (lambda _what, _share: None)
    if previous is None and start is not None:
        previous = start.groups_
    if plan.split is None:
        model, found = plan.model(), plan.stated
    else:
        shared = SharedFits(plan.split.training, previous=previous)
        model, found, start = _Trials(plan, plan.split, report, shared).run(start)
    text = f"fitting {found.chosen} to all users"
    before = done = plan.n_trials / (plan.n_trials + 2)
    report(text, before)

    def residual(iteration: int, size: float) -> None:
        nonlocal done
        done = max(done, before + (1 - before) * share_solved(size, model.tol))
        report(f"{text}: iteration {iteration}, residual {size:.1e}", done)

    model.fit(plan.dataset, start=start, previous=previous, callback=residual)
    model.recipe_ = found
    report("done", 1.0)
    return model


@dataclass(eq=False)
class _Trials:
    """The trials of a plan, in the order of the recipes."""

    plan: FitPlan
    parts: Split
    report: Update
    shared: SharedFits
    trials: list[Trial] = field(default_factory=list)
    # Models that may be chosen still: the best of each recipe, by its name.
    models: dict[str, Teaser] = field(default_factory=dict)
    # What recipes take over from those before.
    kept: dict[str, Any] = field(default_factory=dict)

    def run(self, start: Teaser | None) -> tuple[Teaser, Recipe, Teaser | None]:
        """Return the model to fit to all users, the record, and a model to begin from."""
        yardstick = self._try_yardstick()
        for name in self.plan.parameters:
            self._climb_recipe(name)
        if len(self.models) > 1:  # truth decides between recipes
            self._measure_truth()
        self._climb_powers()
        self._measure_truth()
        best = self._best(yardstick)
        if best.ndcg:
            self.trials = [
                t if t.ndcg is None else replace(t, share=t.ndcg / best.ndcg) for t in self.trials
            ]
        self.trials += [Trial(name, reason=why) for name, why in self.plan.left_out.items()]
        self.shared.clear()
        if not any(t.name in RECIPES and t.ndcg is not None for t in self.trials):
            reasons = "; ".join(f"{t.name}: {t.reason}" for t in self.trials if t.reason)
            raise ResourceError(f"No recipe could be fitted. {reasons}")
        chosen = choose(self.trials)
        n_users = self.parts.validation.n_users
        found = Recipe(tuple(self.trials), chosen.name, "", n_users, yardstick)
        found = replace(found, why=explain_choice(found))
        coarse, default = self.models[chosen.name], Teaser().parameters()
        # The final fit is more exact than the trials.
        own = {name: self.plan.given.get(name, default[name]) for name in ("tol", "gram", "rng")}
        model = Teaser(**{**coarse.parameters(), **own})
        return model, found, coarse if start is None else start

    def _best(self, name: str) -> Trial:
        """Return the most accurate trial of a name."""
        return max((t for t in self.trials if t.name == name), key=lambda t: t.ndcg or 0.0)

    def _try_yardstick(self) -> str:
        """Measure popularity and the yardstick; return the name of the latter."""
        training, dtype = self.parts.training, self.plan.given.get("dtype", "float32")
        self._measure("Popularity", lambda: Popularity().fit(training))
        is_large = self.plan.dataset.n_items > EASE_ITEMS
        kind: type[EASE] | type[NeighbourEASE] = NeighbourEASE if is_large else EASE
        penalties, first = ease_penalties(float(training.item_counts.mean()))

        def try_penalty(l2: float) -> float:
            model = kind(l2=l2, dtype=dtype)
            self._measure(kind.__name__, lambda: self.shared.fit(model), {"l2": l2})
            return self.trials[-1].ndcg or 0.0

        climb(penalties, first, try_penalty)
        return kind.__name__

    def _climb_recipe(self, name: str) -> None:
        """Try a recipe: each of its parameters in turn, with the best of those before."""
        own = self.plan.parameters[name] | self.kept
        known: dict[str, float] = {}

        def try_recipe(parameters: Mapping[str, Any]) -> float:
            key = str(Teaser(**parameters).parameters())
            if key not in known:
                known[key] = self._try_recipe(name, parameters)
            return known[key]

        try_recipe(own)
        for parameter, (values, first) in self.plan.axes(name).items():
            steps = [own | {parameter: value} for value in values]
            own = climb(steps, first, try_recipe)
            if parameter == "content":
                self.kept = {"content": own["content"]}

    def _climb_powers(self) -> None:
        """Try powers of histories on what would be chosen, unless weights were given."""
        measured = [t for t in self.trials if t.name in RECIPES and t.ndcg is not None]
        if not measured or "weights" in self.plan.given:
            return
        best = choose(measured)
        start = self.models[best.name]
        own = start.parameters() | {"gram": self.plan.given.get("gram", "auto")}
        weights: Weights | None = own["weights"]
        if weights is None:  # the paper's model
            return

        def try_power(power: float) -> float:
            if power == weights.history_power:
                return best.ndcg or 0.0
            changed = own | {"weights": replace(weights, history_power=power)}
            return self._try_recipe(best.name, changed, start)

        climb(_POWERS, 0, try_power)

    def _try_recipe(
        self, name: str, parameters: Mapping[str, Any], start: Teaser | None = None
    ) -> float:
        """Fit and measure one trial of a recipe; return its nDCG, 0 where it failed."""
        coarse = coarse_tol(parameters.get("tol", 0.0), parameters.get("solver", "cg"))
        model = Teaser(**{**parameters, "tol": coarse, "rng": self.plan.seed})
        model.settled_change = _CHANGE
        self._measure(name, lambda: self.shared.fit(model, start), shown_parameters(model))
        reached = self.trials[-1].ndcg
        if reached is None:
            return 0.0
        if self._best(name) is self.trials[-1]:
            self.models[name] = model
        # Only what may still be chosen is held: encoders may be large.
        values = {each: self._best(each).ndcg or 0.0 for each in self.models}
        for each, value in values.items():
            if value < (1 - TOLERANCE) * max(values.values()):
                del self.models[each]
        return reached

    def _measure_truth(self) -> None:
        """Measure whether what the models that may be chosen say is true."""
        for name, model in self.models.items():
            trial, began = self._best(name), time.perf_counter()
            if not trial.truth:
                found = fold_truth(model, self.parts.validation, most=TRUTH_USERS)
                seconds = trial.seconds + time.perf_counter() - began
                measured = replace(trial, truth=found.as_dict(), seconds=seconds)
                self.trials[self.trials.index(trial)] = measured

    def _measure(
        self, name: str, make: Callable[[], Model], shown: Mapping[str, Any] | None = None
    ) -> None:
        """Fit a model and append its trial, or why there is none."""
        shown = {} if shown is None else shown
        penalties = {n: shown[n] for n in ("l2", *PENALTIES) if n in shown}
        for what, option, entry in (("remainder", "remainder", "l2"), *_ADDED):
            if value := (shown.get(option) or {}).get(entry):
                penalties[what.removeprefix("a ")] = value
        text = ", ".join(f"{key} {value:g}" for key, value in penalties.items())
        doing = f"trying {name}{f' ({text})' if text else ''}"
        self.report(doing, len(self.trials) / (self.plan.n_trials + 2))
        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = make()
            trial = _evaluate(name, model, self.parts, shown)
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


def _evaluate(name: str, model: Model, parts: Split, shown: Mapping[str, Any]) -> Trial:
    fold = parts.validation
    found = evaluate(model, fold, metrics=[METRIC], name=name)
    shares = list_shares(model, fold, found.lists, most=PARTS_USERS)
    reached = found.summary()[METRIC]
    error = float(reached.error) if math.isfinite(reached.error) else None
    return Trial(name, shown, float(reached.mean), None, shares, error=error)
