"""The plan of a fit: which recipes to try on which held-out users, or the one to take untried."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from teaser.data.dataset import Dataset
from teaser.data.partitions import Interactions
from teaser.data.split import Split, as_generator, split
from teaser.errors import ParameterError, ResourceError
from teaser.evaluate.recipe import (
    AS_GIVEN,
    AUTO,
    PENALTIES,
    RECIPES,
    candidates,
    check_recipe,
    default_parameters,
)
from teaser.model.recipe import Recipe
from teaser.model.tables import check_tagged
from teaser.model.teaser import Teaser

# Held-out users: a tenth of those with enough interactions, within these limits.
MIN_INTERACTIONS = 5
SHARE_HELD_OUT = 0.1
LEAST_USERS, MOST_USERS = 50, 1000
# Below so many users with enough interactions nothing is tried.
ENOUGH_USERS = 4 * LEAST_USERS
# The recipe where nothing can be tried: of few users, and of interactions in partitions.
# With few users the paper's model leaves nearly all of a score to general appeal.
FEW_DEFAULT = "discovered"
PARTITIONS_DEFAULT = ("discovered", "weighted", "paper")

_NO_TAGS = "the data set has no declared tags"


@dataclass(frozen=True, eq=False)
class FitPlan:
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
) -> FitPlan:
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
        return FitPlan(dataset, given, {chosen: [own]}, Recipe((), chosen, why))
    return _plan_search(dataset, name, given, mean_count, able)


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
) -> FitPlan:
    parameters: dict[str, list[dict[str, Any]]] = {}
    left_out: dict[str, str] = {}
    for one in RECIPES if name == AUTO else (name,):
        tried = candidates(one, mean_count, given)
        short = _shortage(dataset, tried[-1])
        if any(tried == others for others in parameters.values()):
            left_out[one] = "it is the same as another with the options that were given"
        elif dataset.n_tags == 0 and tried[-1].get("discovered") is None:
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
    return FitPlan(dataset, given, parameters, Recipe((), name, ""), left_out, parts, seed)


def _shortage(dataset: Dataset, parameters: Mapping[str, Any]) -> str | None:
    """Return why a fit does not fit into the memory, before anything large is allocated."""
    return Teaser(**parameters).estimate(dataset).shortage()
