"""The record of a fit that chose: what it tried, what it chose and why."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from teaser.errors import counted
from teaser.notebook import Html, TrialRow, draw_recipe, recipe_table


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
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    ndcg: float | None = None
    share: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    reason: str | None = None
    error: float | None = None


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

    def draw(self) -> Html:
        """Return the trials as a table for a notebook."""
        best = self.table()
        return recipe_table(
            [TrialRow(t.name, t.ndcg, t.share, t.parts, t.seconds) for t in best if t.ndcg],
            chosen=self.chosen,
            why=self.why,
            yardstick=self.yardstick,
            n_users=self.n_users,
            left_out={t.name: t.reason for t in best if t.ndcg is None and t.reason},
        )

    def __repr__(self) -> str:
        return f"<Recipe: {self.chosen}, {counted(len(self.tried), 'trial')}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Write the best trial of each name as lines, for IPython in a terminal."""
        lines = [f"{self.chosen}: {self.why}"]
        for trial in self.table():
            if trial.ndcg is None:
                lines += [f"  {trial.name} is left out: {trial.reason}"] if trial.reason else []
                continue
            share = "" if trial.share is None else f", {percent(trial.share)} of {self.yardstick}"
            parts = ", ".join(
                f"{part} {percent(s)}" for part, s in trial.parts.items() if s >= 0.005
            )
            line = f"  {trial.name}: nDCG@100 {trial.ndcg:.3f}{share}, {trial.seconds:.1f} s"
            lines.append(line + (f" ({parts})" if parts else ""))
        printer.text("\n".join(lines))

    def _repr_html_(self) -> str:
        return draw_recipe(self.draw())

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


def percent(share: float) -> str:
    """Return a share as a text."""
    return f"{100 * share:.0f} %"
