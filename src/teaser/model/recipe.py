"""The record of a fit that chose: what it tried, what it chose and why."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from teaser.errors import counted
from teaser.notebook import draw_recipe


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
    error
        The standard error of the nDCG; None where it is not known.
    truth
        The figures of `teaser.evaluate.truth` on the held-out users; empty where they were not
        measured.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    ndcg: float | None = None
    share: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    reason: str | None = None
    error: float | None = None
    truth: Mapping[str, Any] = field(default_factory=dict)

    @property
    def readability(self) -> float:
        """How readable the model is; see `Truth`. 0 where it was not measured."""
        return float(self.truth.get("readability", 0.0))

    def figure(self, path: str) -> float | None:
        """Return a figure of the truth by its name; that of presses after a dot, `plus.carried`."""
        first, _, second = path.partition(".")
        found: Any = self.truth.get(first)
        found = found.get(second) if second and found is not None else found
        return None if found is None else float(found)


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

    def columns(self) -> list[str]:
        """Return the headings of `cells`, without that of the recipe."""
        return ["nDCG@100", f"of {self.yardstick}", *self._parts(), "seconds", *self._truth()]

    def cells(self, trial: Trial) -> list[str]:
        """Return what a trial reached as texts, one for each of `columns`."""
        share = "" if trial.share is None else percent(trial.share)
        parts = [percent(trial.parts[p]) if p in trial.parts else "" for p in self._parts()]
        found = {name: trial.figure(TRUTH[name][0]) for name in self._truth()}
        truth = ["" if n is None else TRUTH[name][1](n) for name, n in found.items()]
        ndcg = "" if trial.ndcg is None else f"{trial.ndcg:.3f}"
        return [ndcg, share, *parts, f"{trial.seconds:.1f}", *truth]

    def _truth(self) -> list[str]:
        """Return the headings of the figures of the truth that some trial has."""
        return [
            name
            for name, (path, _) in TRUTH.items()
            if any(trial.figure(path) is not None for trial in self.tried)
        ]

    def _parts(self) -> list[str]:
        """Return the parts of scores that some trial has."""
        names = dict.fromkeys(name for trial in self.tried for name in trial.parts)
        return [n for n in names if any(t.parts.get(n, 0.0) >= 0.005 for t in self.tried)]

    def __repr__(self) -> str:
        return f"<Recipe: {self.chosen}, {counted(len(self.tried), 'trial')}>"

    def draw(self) -> str:
        """Return the trials as HTML for a notebook."""
        return draw_recipe(self)

    _repr_html_ = draw

    def as_dict(self) -> dict[str, Any]:
        """Return plain values that `from_dict` reads back."""
        return {**asdict(self), "tried": [asdict(trial) for trial in self.tried]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the record that `as_dict` gave."""
        tried = tuple(Trial(**trial) for trial in plain["tried"])
        return cls(**{**plain, "tried": tried})


def percent(share: float) -> str:
    """Return a share as a text."""
    return f"{100 * share:.0f} %"


def ratio(times: float) -> str:
    """Return a ratio as a text."""
    return f"x{times:.2f}"


# Headings of tables of recipes, with the figure of `teaser.evaluate.Truth` and how it is written.
TRUTH: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "known": ("known", ratio),
    "naive": ("naive_known", ratio),
    "guessed": ("guessed", ratio),
    "away": ("away", ratio),
    "agrees": ("agreement", percent),
    "reasons": ("with_reason", percent),
    "1 press": ("plus.changed_by_one", percent),
    "3 presses": ("plus.changed_by_three", percent),
}


def best_trial(trials: Iterable[Trial]) -> Trial | None:
    """Return the trial with the highest nDCG, the first of equals; None without any."""
    return max(trials, key=lambda t: -1.0 if t.ndcg is None else t.ndcg, default=None)
