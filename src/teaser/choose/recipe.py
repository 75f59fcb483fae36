"""The recipes that a fit chooses from, and the record of what it tried, chose and why."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from teaser.errors import ParameterError, closest
from teaser.model.extensions.discovered_tags import DiscoveredTags
from teaser.model.extensions.remainder import Remainder
from teaser.model.extensions.weights import Weights

# What each recipe has beyond the paper's model, the most readable first.
RECIPES: Mapping[str, Mapping[str, Any]] = {
    "paper": {},
    "weighted": {"weights": Weights()},
    "discovered": {"weights": Weights(), "discovered": DiscoveredTags()},
    "neighbours": {
        "weights": Weights(),
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
_REMAINDER = ((15.0, 20), (50.0, 100), (200.0, 100), (1000.0, 100))


@dataclass(frozen=True)
class Trial:
    """One model that was tried, or why it was not.

    Attributes
    ----------
    name
        The recipe, or the class of a model to compare with.
    parameters
        Its hyper-parameters that differ from the defaults, as plain values.
    ndcg
        nDCG@100 of the held-out users; None where it was not measured.
    share
        That over the nDCG@100 of EASE, or of the yardstick in its place.
    parts
        The mean share of each part in the scores of the top-20: general, declared, discovered,
        popularity, viewed. Empty for models without tags.
    seconds
        What fit and evaluation took.
    reason
        Why it failed or was left out; None where it was tried.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    ndcg: float | None = None
    share: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    reason: str | None = None


@dataclass(frozen=True)
class Recipe:
    """What a fit tried, what it chose, and why.

    Attributes
    ----------
    tried
        Every trial, in the order of the work; empty where nothing was tried.
    chosen
        The name of the recipe that was fitted, or "as given".
    why
        The reason, in one or two sentences.
    n_users
        How many users were held out for the trials.
    yardstick
        The model that `Trial.share` compares with.
    """

    tried: tuple[Trial, ...]
    chosen: str
    why: str
    n_users: int = 0
    yardstick: str = "EASE"

    def best(self, name: str) -> Trial | None:
        """Return the most accurate trial of a name, else one that says why there is none."""
        return best_trial(trial for trial in self.tried if trial.name == name)

    def table(self) -> tuple[Trial, ...]:
        """Return the best trial of each name, in the order of the work."""
        found = (self.best(name) for name in dict.fromkeys(t.name for t in self.tried))
        return tuple(trial for trial in found if trial is not None)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values that `from_dict` reads back."""
        return {**asdict(self), "tried": [asdict(trial) for trial in self.tried]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the record that `as_dict` gave."""
        tried = tuple(Trial(**trial) for trial in plain["tried"])
        return cls(**{**plain, "tried": tried})


def best_trial(trials: Iterable[Trial]) -> Trial | None:
    """Return the trial with the highest nDCG, the first of equals; None without any."""
    return max(trials, key=lambda t: -1.0 if t.ndcg is None else t.ndcg, default=None)


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
    declared = best_trial(
        t for t in recipe.tried if t.name in ("paper", "weighted") and t.share is not None
    )
    if declared is not None:
        named = "no tags but popularity" if declared.reason else "declared tags alone"
        said.append(f"{named} reach {declared.share:.0%} of {recipe.yardstick} here")
    for name, of in (("discovered", "discovered tags"), ("neighbours", "neighbours")):
        trial = recipe.best(name)
        if trial is not None and trial.share is not None:
            verb = "bring it to" if said else "reach"
            tail = "" if said else f" of {recipe.yardstick} here"
            said.append(f"{of} {verb} {trial.share:.0%}{tail}")
    left = sum(t.reason is not None for t in recipe.table() if t.name in RECIPES)
    n_measured = sum(t.ndcg is not None for t in recipe.table() if t.name in RECIPES)
    if n_measured > 1:
        last = f"{recipe.chosen} is the most readable within {TOLERANCE:.0%} of the best"
    else:
        last = f"{recipe.chosen} is the only recipe that could be tried" if left else ""
    text = "; ".join(said)
    return ". ".join(f"{part[0].upper()}{part[1:]}" for part in (text, last) if part) + "."


def _each_once(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for one in found:
        if one not in out:
            out.append(one)
    return out
