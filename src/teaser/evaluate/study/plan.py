"""The plan of a study, a TOML file: data, split, models with their grids, simulated feedback."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from pathlib import Path
from typing import Any

from teaser.data.split import TEST_FROM, VALIDATION_FROM
from teaser.errors import ParameterError, closest
from teaser.evaluate.metrics import Metric
from teaser.evaluate.simulation import AMONG
from teaser.evaluate.study.data_plan import DataPlan, complete_data
from teaser.evaluate.study.typed import TypedError, from_plain
from teaser.files import read_settings
from teaser.profile import SCALES

SAMPLERS = ("grid", "random", "tpe")

# The kinds of split, and which further entries each has.
SPLITS: Mapping[str, tuple[str, ...]] = {
    "users": ("min_interactions", "held_out"),
    "last": ("min_interactions",),
    "time": ("test_from", "validation_from", "min_history"),
}
_OF_ALL_SPLITS = ("kind", "validation", "test", "seed", "training")

DIAL_LISTS = ("remainder_l2", "l2_weights", "l2_encoder", "neighbours")

_DOTTED = ("parameters", "grid")


@dataclass(frozen=True)
class SplitPlan:
    """What is held out, and the seed of the draws.

    Attributes
    ----------
    kind
        `"users"`: other users are tested than those learned from. `"last"`: the last interaction
        of each user is held out. `"time"`: all interactions from a point in time on are.
    validation, test
        Numbers of users, or fractions of those that can be evaluated. For `"last"` and `"time"`
        at most so many, and all when not given.
    min_interactions
        What an evaluated user needs; not for `"time"`.
    held_out
        The share of a history that is held out, for `"users"`.
    test_from, validation_from, min_history
        For `"time"`; see `split_time`.
    training
        Fits to at most that many users, for a quick run; 0 fits to all others.
    """

    validation: int | float | None = None
    test: int | float | None = None
    kind: str = "users"
    min_interactions: int = 5
    held_out: float = 0.2
    test_from: Any = TEST_FROM
    validation_from: Any = VALIDATION_FROM
    min_history: int = 1
    seed: int = 0
    training: int = 0

    def __post_init__(self) -> None:
        for name in ("test_from", "validation_from"):
            point = getattr(self, name)
            if isinstance(point, date):  # a date of TOML, as JSON can hold it
                object.__setattr__(self, name, point.isoformat())


@dataclass(frozen=True)
class SearchPlan:
    """What the grid search maximises, and whether it runs all cells or a sample."""

    metric: str = "ndcg@100"
    sampler: str = "grid"
    trials: int = 0


@dataclass(frozen=True)
class ModelPlan:
    """A model of the study: its class, fixed parameters, and the values to choose from.

    A parameter of an option object has a dotted name, such as `remainder.l2`. `parts` names the
    models that a product is made of; it takes their best parameters.
    """

    name: str
    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class SimulationPlan:
    """Simulated feedback: all combinations of the lists.

    `models` names the models that get it, all interactive ones where it is empty. Presses `among`
    discovered tags are left out for a model that has none.
    """

    tags: tuple[int, ...] = (1, 2)
    strengths: tuple[int, ...] = (3,)
    scales: tuple[str, ...] = ("robust", "paper")
    steps: tuple[float, ...] = (0.2,)
    among: tuple[str, ...] = ("all",)
    models: tuple[str, ...] = ()
    draws: int = 3
    seed: int = 1


@dataclass(frozen=True)
class DialPlan:
    """The settings of the dial: tags first, then neighbours.

    Every combination of `l2_weights` and `l2_encoder` is measured with tags alone, and with a
    remainder for all combinations of `neighbours` and `remainder_l2`. `model` names the Teaser
    whose fixed parameters (weights, discovered tags) are taken; the last of the study when empty.
    """

    remainder_l2: tuple[float, ...] = (50.0, 200.0, 1000.0)
    l2_weights: tuple[float, ...] = (50.0, 200.0)
    l2_encoder: tuple[float, ...] = (300.0, 1000.0, 3000.0)
    neighbours: tuple[int, ...] = (100,)
    model: str = ""

    def __post_init__(self) -> None:
        for name in DIAL_LISTS:
            values = getattr(self, name)
            if not values:
                raise ParameterError(f"The dial needs at least one {name} to try.")
            for value in values:
                if not isinstance(value, int | float) or not 0 < value < math.inf:
                    raise ParameterError(f"{name} must be numbers above 0, found {value!r}.")

    @property
    def size(self) -> int:
        """The number of fits with tags: those alone, and those with a remainder."""
        cells = len(self.l2_weights) * len(self.l2_encoder)
        return cells * (1 + len(self.neighbours) * len(self.remainder_l2))

    def thinned(self) -> "DialPlan":
        """Return fewer penalties, for a quick run: the extreme remainders, one of the others."""
        middle = len(self.l2_encoder) // 2
        return replace(
            self,
            remainder_l2=self.remainder_l2[:: max(1, len(self.remainder_l2) - 1)],
            l2_weights=self.l2_weights[-1:],
            l2_encoder=self.l2_encoder[middle : middle + 1],
            neighbours=self.neighbours[:1],
        )


@dataclass(frozen=True)
class QuickPlan:
    """What a quick run makes smaller: numbers of users, cells of each grid, and draws."""

    validation: int | float | None = None
    test: int | float | None = None
    training: int | None = None
    cells: int = 2
    draws: int = 1


@dataclass(frozen=True)
class Study:
    """The plan of an experiment; see experiments/README.md for the format.

    Attributes
    ----------
    paper
        The column of the paper's tables to show beside ours, if there is one.
    note
        How comparable the figures are with the paper's.
    tag_cuts
        Further fits of the first Teaser with only the tags of at least so many items.
    solvers
        Solvers whose convergence is shown, with the parameters chosen for the first Teaser.
    folder
        Where the study's file lies; other files of the study are beside it.
    """

    name: str
    title: str
    data: DataPlan
    split: SplitPlan
    models: tuple[ModelPlan, ...]
    search: SearchPlan = SearchPlan()
    simulate: tuple[SimulationPlan, ...] = ()
    dial: DialPlan = DialPlan()
    paper: str | None = None
    note: str = ""
    tag_cuts: tuple[int, ...] = ()
    solvers: tuple[str, ...] = ("cg",)
    quick: QuickPlan = QuickPlan()
    folder: str = "."

    @classmethod
    def read(cls, path: str | Path) -> "Study":
        """Read and check a TOML file."""
        path = Path(path)
        try:
            given = tomllib.loads(read_settings(path))
        except OSError as error:
            raise ParameterError(f"The study {path} cannot be read: {error.strerror}.") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ParameterError(f"{path} is not a TOML file: {error}.") from error
        try:
            study: Study = from_plain(cls, _completed(given, path), "", strict=True)
            _check(study)
        except (ParameterError, TypedError) as error:
            raise ParameterError(f"{path}: {error}") from error
        return study

    @property
    def dial_teaser(self) -> ModelPlan | None:
        """The model whose fixed parameters the dial takes."""
        named = [plan for plan in self.models if plan.name == self.dial.model]
        return next(iter(named or [p for p in self.models[::-1] if p.kind == "Teaser"]), None)

    @property
    def first_teaser(self) -> ModelPlan | None:
        """The first model of kind Teaser."""
        return next((plan for plan in self.models if plan.kind == "Teaser"), None)

    def smaller(self) -> "Study":
        """Return the quick version: fewer users, cells and draws, as its [quick] table says."""
        sizes = {name: getattr(self.quick, name) for name in ("validation", "test", "training")}
        split = replace(self.split, **{k: v for k, v in sizes.items() if v is not None})
        models = tuple(replace(m, grid=_thinned(m.grid, self.quick.cells)) for m in self.models)
        simulations = tuple(replace(plan, draws=self.quick.draws) for plan in self.simulate)
        return replace(
            self,
            split=split,
            models=models,
            simulate=simulations,
            tag_cuts=(),
            solvers=self.solvers[:1],
        )


def _completed(given: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the tables of a file with the names that it implies, and dotted parameters."""
    models = given.get("models", {})
    if not isinstance(models, dict) or not all(isinstance(m, dict) for m in models.values()):
        raise ParameterError("models must be tables [models.NAME].")
    if "folder" in given:
        raise ParameterError("It has no entry 'folder'; that of the data is in [data].")
    name = given.get("name", path.stem)
    listed = [
        {"name": key, **model, **{k: _dotted(model[k]) for k in _DOTTED if k in model}}
        for key, model in models.items()
    ]
    # One table [simulate], or several [[simulate]].
    plans = given.get("simulate", [])
    implied: dict[str, Any] = {"models": listed}
    implied["simulate"] = [plans] if isinstance(plans, dict) else plans
    if isinstance(given.get("data"), dict):
        implied["data"] = complete_data(given["data"])
    if isinstance(given.get("split"), dict):
        _check_split(given["split"])
    return {"name": name, "title": name, **given, **implied, "folder": str(path.parent)}


def _dotted(given: Any) -> Any:
    """Return a table with dotted names for inner tables, such as `{"remainder.l2": 5}`."""
    if not isinstance(given, dict):
        return given
    flat: dict[str, Any] = {}
    for name, value in given.items():
        is_table = isinstance(value, dict) and value
        flat |= {f"{name}.{k}": v for k, v in value.items()} if is_table else {name: value}
    return flat


def _check_split(given: Mapping[str, Any]) -> None:
    """Refuse entries of [split] that its kind does not have, and demand those that it needs."""
    kind = given.get("kind", "users")
    _check_known("[split] kind", kind, tuple(SPLITS))
    known = [each.name for each in fields(SplitPlan)]
    for name in given:
        if name not in known:
            raise ParameterError(
                f"[split] has no entry {name!r}. Known: {', '.join(sorted(known))}."
                f"{closest(name, known)}"
            )
        if name not in (*_OF_ALL_SPLITS, *SPLITS[kind]):
            raise ParameterError(f"[split] {name} has no meaning with kind = {kind!r}.")
    missing = [name for name in ("validation", "test") if name not in given]
    if kind == "users" and missing:
        raise ParameterError(f"split lacks {', '.join(missing)}.")


def _check(study: Study) -> None:
    Metric.parse(study.search.metric)
    _check_known("[search] sampler", study.search.sampler, SAMPLERS)
    names = tuple(model.name for model in study.models)
    for simulation in study.simulate:
        for scale in simulation.scales:
            _check_known("[simulate] scales", scale, SCALES)
        for kind in simulation.among:
            _check_known("[simulate] among", kind, AMONG)
        for name in simulation.models:
            _check_known("[simulate] models", name, names)
    if study.dial.model:
        _check_known("[dial] model", study.dial.model, names)
    for place, plan in enumerate(study.models):
        where, above = f"[models.{plan.name}]", [m.name for m in study.models[:place]]
        for part in plan.parts:
            if part not in above:
                raise ParameterError(
                    f"{where} is made of {part!r}, which is not above it.{closest(part, above)}"
                )
        if (plan.kind == "Product") != (len(plan.parts) == 2):
            raise ParameterError(
                f"{where} needs two parts if and only if its kind is Product; found the kind "
                f"{plan.kind} and {len(plan.parts)} parts."
            )
        if plan.parts and plan.grid:
            raise ParameterError(
                f"{where} takes the best parameters of its parts; it cannot have a grid."
            )
        for key, values in plan.grid.items():
            if not values:
                raise ParameterError(f"{where} grid.{key} is empty; give at least one value.")
            if key in plan.parameters:
                raise ParameterError(f"{where} names {key} both as a parameter and in the grid.")


def _check_known(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        near = closest(str(value), known)
        raise ParameterError(f"{name} must be one of {', '.join(known)}, found {value!r}.{near}")


def _thinned(grid: Mapping[str, tuple[Any, ...]], cells: int) -> dict[str, tuple[Any, ...]]:
    """Keep about `cells` cells in all, the middle values of each list."""
    kept = dict(grid)
    while kept:
        size = math.prod(map(len, kept.values()))
        longest = max(kept, key=lambda name: len(kept[name]))
        if size <= max(1, cells) or len(kept[longest]) == 1:
            break
        values = kept[longest]
        kept[longest] = values[1:] if len(values) % 2 else values[:-1]
    return kept
