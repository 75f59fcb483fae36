"""The recipes that a fit chooses from: what each tries, and the choice between trials."""

from collections.abc import Iterable, Mapping
from typing import Any

from teaser.errors import ParameterError, closest
from teaser.model.extensions.discovered import DiscoveredTags
from teaser.model.extensions.remainder import Remainder
from teaser.model.extensions.weights import Weights
from teaser.model.recipe import Recipe, Trial, best_trial, percent

# General appeal tells what popularity would: its own column is held back.
_WEIGHTS = Weights(popularity_scale=0.5)
# What each recipe has beyond the paper's model, the most readable first.
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
# Of the most readable recipes, one that is at most so much less accurate than the best is taken.
TOLERANCE = 0.02

# Penalties to try, as l2_encoder, and for neighbours (remainder.l2, neighbours) on one encoder.
# benchmarks/choose.py says what they cost and reach.
_ENCODER = (300.0, 3000.0)
# The first two say on which side the others are worth a trial.
_REMAINDER = ((50.0, 100), (200.0, 100), (15.0, 20), (1000.0, 100))


def check_recipe(name: object) -> str:
    """Return the name of a recipe; raise `ParameterError` for any other."""
    known = (AUTO, *RECIPES)
    if not isinstance(name, str) or name not in known:
        raise ParameterError(
            f"Unknown recipe {name!r}. Known: {', '.join(known)}.{closest(str(name), known)}"
        )
    return name


def candidates(name: str, mean_count: float, given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the hyper-parameters that a recipe tries; given ones stand as they are.

    Parameters
    ----------
    mean_count
        The mean number of users of an item: l2_weights is near to it at its best.
    given
        Hyper-parameters that the caller fixed.
    """
    own = dict(RECIPES[name])
    if name == "paper":  # its defaults are within 2 % of the best on every study
        return [own | given]
    l1 = float(f"{min(300.0, max(5.0, mean_count)):.2g}")
    tried = [own | {"l2_weights": l1, "l2_encoder": l2} for l2 in _ENCODER]
    if name != "neighbours" or "remainder" in given:
        return _each_once(one | given for one in tried)
    kinds = [Remainder(l2=l2, neighbours=m) for l2, m in _REMAINDER]
    return [tried[-1] | {"remainder": kind} | given for kind in kinds]


def default_parameters(name: str, mean_count: float, given: dict[str, Any]) -> dict[str, Any]:
    """Return the hyper-parameters of a recipe where nothing can be tried.

    Given penalties take the place of the recipe's.
    """
    found = candidates(name, mean_count, given)
    return found[len(found) // 2]


def is_worth_trying(parameters: Mapping[str, Any], tried: Iterable[Trial]) -> bool:
    """Return whether a penalty on the remainder lies where accuracy was still rising.

    Parameters
    ----------
    tried
        The trials of the same recipe before.
    """
    found = {t.parameters["remainder"]["l2"]: t.ndcg for t in tried if t.ndcg is not None}
    if len(found) < 2:
        return True
    best, l2 = max(found, key=lambda each: found[each]), parameters["remainder"].l2
    beyond: bool = l2 > max(found) if best == max(found) else best == min(found) and l2 < best
    return beyond


def choose(trials: Iterable[Trial]) -> Trial:
    """Return the best trial of the most readable recipe within 2 % of the best of all."""
    measured = [t for t in trials if t.name in RECIPES and t.ndcg is not None]
    best = max(t.ndcg or 0.0 for t in measured)
    near = [t for t in measured if (t.ndcg or 0.0) >= (1 - TOLERANCE) * best]
    first = min(near, key=lambda t: list(RECIPES).index(t.name))
    return max((t for t in near if t.name == first.name), key=lambda t: t.ndcg or 0.0)


def explain_choice(recipe: Recipe) -> str:
    """Return why a recipe was chosen, by the shares of the yardstick that were reached."""
    said: list[str] = []
    before = 0.0
    everywhere = any("discovered" in t.parameters for t in recipe.tried if t.name == "paper")
    kinds = {
        "declared and given discovered tags" if everywhere else "declared tags alone": (
            "paper",
            "weighted",
        ),
        "discovered tags": ("discovered",),
        "neighbours": ("neighbours",),
    }
    for named, names in kinds.items():
        trial = best_trial(t for t in recipe.tried if t.name in names and t.share is not None)
        if trial is None or trial.share is None:
            continue
        reached = percent(trial.share)
        if not said:
            said.append(f"{named} reach {reached} of {recipe.yardstick} here")
        elif trial.share > before:
            said.append(f"{named} bring it to {reached}")
        else:
            said.append(f"with {named} it is {reached}")
        before = trial.share
    measured = {t.name for t in recipe.tried if t.name in RECIPES and t.ndcg is not None}
    last = f"{recipe.chosen} is the most readable within {percent(TOLERANCE)} of the best"
    if len(measured) == 1:
        last = f"{recipe.chosen} is the only recipe that was tried"
    sentences = [text for text in ("; ".join(said), last) if text]
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in sentences)


def _each_once(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for one in found:
        if one not in out:
            out.append(one)
    return out
