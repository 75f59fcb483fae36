"""The results of a study and of its dial: written as JSON by one command, read by the next."""

import json
import math
import platform
import re
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from teaser._version import __version__
from teaser.errors import DataError
from teaser.evaluate.metrics import PairedDifference, Summary
from teaser.evaluate.simulation import AMONG
from teaser.evaluate.study.data import DataSummary
from teaser.evaluate.study.plan import SearchPlan, SplitPlan, describe_error
from teaser.evaluate.truth import Truth
from teaser.files import read_settings
from teaser.profile import PAPER_STEP

TARGET = "ndcg@100"
DIAL_SUFFIX, NEW_ITEMS_SUFFIX = ".dial.json", ".new-items.json"
RECOMMENDED = "recommended"

_PACKAGES = ("numpy", "scipy", "polars", "implicit")


def _restore_nan(value: Any) -> Any:
    """Return NaN for null, in a number or in the numbers of a table: JSON has no NaN."""
    if isinstance(value, dict):
        return {name: math.nan if number is None else number for name, number in value.items()}
    return math.nan if value is None else value


# Numbers and tables of numbers that may be NaN.
Number = Annotated[float, BeforeValidator(_restore_nan)]
Summaries = Mapping[str, Annotated[Summary, BeforeValidator(_restore_nan)]]
Differences = Mapping[str, Annotated[PairedDifference, BeforeValidator(_restore_nan)]]


@dataclass(frozen=True, kw_only=True)
class SplitSummary(SplitPlan):
    """A split as it was planned, with the number of users in each part, and notes on them."""

    training_users: int
    validation_users: int
    test_users: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class GridTrial:
    """One cell of a grid: its parameters, its value on the validation users, and its cost."""

    parameters: Mapping[str, Any]
    value: Number
    seconds: float
    iterations: int | None = None


@dataclass
class FitCost:
    """What a fit took; iterations and residual only of a model that iterates.

    The largest resident memory of the process meanwhile is in bytes.
    """

    seconds: float
    cpu_seconds: float
    peak_memory: int
    iterations: int | None = None
    residual: float | None = None


@dataclass(frozen=True, kw_only=True)
class ModelResult:
    """A model of a study at its best parameters, measured on the test users.

    Attributes
    ----------
    interactive
        Whether users can press tags.
    parts
        The models that a product is made of.
    shares
        The mean share of each part in the scores of the first 20 of each list: general appeal,
        declared tags, discovered tags, popularity, viewed items. Of a product, in the part with
        tags. Empty without tags.
    discovered
        The number of discovered tags.
    truth
        Whether what it says of test users is true; None without tags.
    """

    name: str
    kind: str
    interactive: bool
    parameters: Mapping[str, Any]
    trials: tuple[GridTrial, ...]
    fit: FitCost
    metrics: Summaries
    parts: tuple[str, ...] = ()
    scoring_seconds: float = 0.0
    shares: Mapping[str, float] = field(default_factory=dict)
    discovered: int = 0
    truth: Truth | None = None

    @property
    def tag_share(self) -> float | None:
        """The share of scores that comes from tags, declared or discovered; None if unknown."""
        return tag_share(self.shares) if self.shares else None

    def value(self, metric: str) -> Summary | None:
        """Return what the model reached; None where that was not measured."""
        return find_value(self.metrics, metric)


@dataclass(frozen=True, kw_only=True)
class ModelDifference(PairedDifference):
    """How much better model b is than model a by one metric."""

    mean: Number
    low: Number
    high: Number
    a: str
    b: str
    metric: str


def default_step(scale: str) -> float | None:
    """Return the step of a scale, None where it is each person's own."""
    return PAPER_STEP if scale == "paper" else None


@dataclass(frozen=True)
class Scenario:
    """Simulated feedback: how many tags of which kind are pressed, how often, how they count."""

    n_tags: int
    strength: int
    scale: str
    step: float | None
    among: str = "all"

    @property
    def has_default_step(self) -> bool:
        """Whether the step is that of the scale: each person's own, or the paper's."""
        return self.step == default_step(self.scale)

    @property
    def order(self) -> tuple[Any, ...]:
        """Its place in a report, as in the paper: + before -, the default scale, few presses."""
        scale = (self.scale == "paper", self.scale, abs(self.strength), self.n_tags)
        step = (not self.has_default_step, self.step or 0.0)
        return AMONG.index(self.among), self.strength < 0, *scale, *step

    @property
    def step_text(self) -> str:
        """The step as a number, or "own" where each person has one."""
        return "own" if self.step is None else f"{self.step:g}"


@dataclass(frozen=True, kw_only=True)
class SimulationResult(Scenario):
    """One model after simulated feedback; `gain` is against the model without feedback.

    A `step` of None is each person's own.
    """

    model: str
    draws: int
    seed: int
    without_tags: int
    fewer_tags: int
    metrics: Summaries
    gain: Differences

    @property
    def scenario(self) -> Scenario:
        """Which feedback was simulated."""
        return Scenario(self.n_tags, self.strength, self.scale, self.step, self.among)

    def gain_in(self, metric: str) -> PairedDifference | None:
        """Return the gain by one metric, if it was measured."""
        gain = self.gain.get(metric)
        return gain if gain is not None and gain.is_finite else None

    def improvement(self, metric: str = TARGET) -> PairedDifference | None:
        """Return the gain in percent of what the model reaches without feedback."""
        after, gain = find_value(self.metrics, metric), self.gain_in(metric)
        if after is None or gain is None or after.mean <= gain.mean:
            return None
        return gain.times(100 / (after.mean - gain.mean))


@dataclass(frozen=True)
class DialSetting:
    """One fit of the dial.

    Attributes
    ----------
    kind
        `"TEASER"` for tags alone, `"remainder"` for tags and then neighbours, and to compare
        with `"EASE"` and `"NeighbourEASE"`.
    value, error
        The metric's mean over the validation users, and its standard error.
    tag_share
        The share of the first recommendations' scores that comes from tags, declared or
        discovered.
    personal_share
        The share of tags in what is personal: tags / (tags + viewed items).
    shares
        The share of every part; see `ModelResult`.
    """

    kind: str
    parameters: Mapping[str, float]
    value: Number
    error: Number
    tag_share: float
    seconds: float
    personal_share: float | None = None
    shares: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_tags(self) -> bool:
        """Whether tags are reasons of this setting."""
        return self.kind in ("TEASER", "remainder")


@dataclass(frozen=True, kw_only=True)
class Results:
    """What the results of a study and of its dial have in common."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    study: str
    title: str
    quick: bool
    data: DataSummary
    versions: Mapping[str, str]
    commit: str
    machine: str = ""
    format: int = 1

    @property
    def key(self) -> str:
        """A name for files and anchors."""
        name = re.sub(r"[^A-Za-z0-9]+", "-", self.study).strip("-")
        return f"{name}-quick" if self.quick else name

    def write(self, path: Path) -> None:
        """Write a JSON file, with a line for each entry."""
        plain = _plain(asdict(self)).items()
        lines = (f" {json.dumps(name)}: {json.dumps(value)}" for name, value in plain)
        write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


@dataclass(frozen=True, kw_only=True)
class StudyResults(Results):
    """What `teaser evaluate` found."""

    split: SplitSummary
    search: SearchPlan
    models: Annotated[tuple[ModelResult, ...], Field(min_length=1)]
    comparisons: tuple[ModelDifference, ...]
    simulations: tuple[SimulationResult, ...]
    seconds: float
    cpu_seconds: float = 0.0
    peak_memory: int
    paper: str | None = None
    note: str = ""

    def first(self, kind: str) -> ModelResult | None:
        """Return the first model of a kind, in the order of the study."""
        return next((model for model in self.models if model.kind == kind), None)

    @property
    def recommended(self) -> ModelResult | None:
        """The model that the study recommends: the one whose name ends so."""
        return next((model for model in self.models if model.name.endswith(RECOMMENDED)), None)

    def gap(self, a: str, b: str, metric: str) -> PairedDifference | None:
        """Return how much better model b is than model a, with its interval."""
        for found in self.comparisons:
            if found.metric == metric and found.is_finite:
                if (found.a, found.b) == (a, b):
                    return found
                if (found.a, found.b) == (b, a):
                    return found.times(-1)
        return None

    def simulation(self, model: str, scenario: Scenario) -> SimulationResult | None:
        """Return the results of a model after some simulated feedback, if that was run."""
        return next(
            (s for s in self.simulations if s.model == model and s.scenario == scenario), None
        )

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """All simulated feedback, each once."""
        found = {simulation.scenario for simulation in self.simulations}
        return tuple(sorted(found, key=lambda each: each.order))


@dataclass(frozen=True, kw_only=True)
class DialResults(Results):
    """What `teaser tune` found.

    Attributes
    ----------
    users
        The number of validation users.
    shown
        How many items of each list count for the tag share.
    within
        How near to the best value the recommended setting must be.
    recommended
        The setting with most from tags within that of the best, or of the best with tags where
        that is farther from the best.
    at_ease
        The setting with most from tags that is at least as accurate as EASE, if there is one.
    fixed
        Further parameters of all settings with tags.
    """

    metric: str
    users: int
    shown: int
    within: float
    settings: Annotated[tuple[DialSetting, ...], Field(min_length=1)]
    recommended: DialSetting
    at_ease: DialSetting | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ease(self) -> float | None:
        """The accuracy of EASE with its best ridge, if it was measured."""
        return max((s.value for s in self.settings if s.kind == "EASE"), default=None)

    @property
    def near(self) -> str:
        """How near the recommended setting is to the best, in words."""
        best = max(setting.value for setting in self.settings)
        near = f"within {100 * self.within:g} % of the best"
        if self.recommended.value >= (1 - self.within) * best:
            return near
        tagged = max(setting.value for setting in self.settings if setting.has_tags)
        return f"{near} with tags, which is {100 * (1 - tagged / best):.1f} % below the best of all"


def read_results(path: str | Path) -> StudyResults | DialResults:
    """Read the JSON file of a study or of its dial."""
    try:
        return parse_results(read_settings(path))
    except FileNotFoundError as error:
        raise DataError(
            f"There are no results {path}. Run the study: teaser evaluate STUDY.toml"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read as results of a study: {error}") from error


def parse_results(text: str) -> StudyResults | DialResults:
    """Return the results in a JSON text; raise `ValueError` if it has none."""
    content = json.loads(text)
    is_dial = isinstance(content, dict) and "settings" in content
    kind: type[StudyResults | DialResults] = DialResults if is_dial else StudyResults
    try:
        return TypeAdapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        raise ValueError(
            f"{describe_error(error, content)} Another version may have written it: run it again, "
            "teaser evaluate (or teaser tune) STUDY.toml."
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def find_value(metrics: Mapping[str, Summary], metric: str) -> Summary | None:
    """Return the mean of a metric; None where it was not measured or no user has a value."""
    found = metrics.get(metric)
    return None if found is None or math.isnan(found.mean) else found


def tag_share(shares: Mapping[str, float]) -> float:
    """Return the share of scores from tags: declared and discovered, never general appeal."""
    return shares.get("declared", 0.0) + shares.get("discovered", 0.0)


def personal_share(shares: Mapping[str, float]) -> float:
    """Return the share of tags in what is personal: tags / (tags + viewed items)."""
    tags, viewed = tag_share(shares), shares.get("viewed", 0.0)
    return tags / (tags + viewed) if tags + viewed > 0 else 0.0


def environment() -> dict[str, Any]:
    """Return what figures depend on beside the data: versions, commit and machine."""
    found = {"teaser": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607
        capture_output=True, text=True, check=False, cwd=Path(__file__).parent,
    ).stdout.strip()  # fmt: skip
    return {"versions": found, "commit": commit, "machine": platform.machine()}


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it: finite numbers of six digits, none of NumPy's types."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
