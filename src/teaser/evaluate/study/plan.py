"""A study as a TOML file describes it: data, split, models with their grids, simulated feedback."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from teaser.errors import ParameterError, closest
from teaser.evaluate.metrics import Metric
from teaser.profile import SCALES

SAMPLERS = ("grid", "random", "tpe")


@dataclass(frozen=True)
class DataPlan:
    """Which data: a reader of public data sets and a folder, or `"events"`, or two tables.

    `min_items` replaces the cut-off of all tag rules that have one; `options` are the reader's.
    """

    source: str
    folder: str = ""
    positive: str | None = None
    rules: str | None = None
    min_items: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SplitPlan:
    """How many people to validate and test on, and the seed of the draw.

    `training` keeps at most that many people to learn from, for a quick run; 0 keeps all.
    """

    validation: int | float
    test: int | float
    min_interactions: int = 5
    held_out: float = 0.2
    seed: int = 0
    training: int = 0


@dataclass(frozen=True)
class SearchPlan:
    """What the search maximises, and whether it enumerates the grid or samples from it."""

    metric: str = "ndcg@100"
    sampler: str = "grid"
    trials: int = 0


@dataclass(frozen=True)
class ModelPlan:
    """A model of the study: its class, fixed parameters, and the values to choose from.

    `parts` names the models that a product is made of; it takes their optima.
    """

    name: str
    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class SimulationPlan:
    """Simulated feedback: every combination of the lists is run, on all interactive models."""

    tags: tuple[int, ...] = (1, 2)
    strengths: tuple[int, ...] = (3,)
    scales: tuple[str, ...] = ("robust", "paper")
    steps: tuple[float, ...] = (0.2,)
    draws: int = 3
    seed: int = 1


@dataclass(frozen=True)
class DialPlan:
    """The penalties to turn the dial over: on the remainder (k), weights (l1), the encoder (l2)."""

    k: tuple[float, ...] = (300.0, 1000.0, 3000.0, 10000.0)
    l1: tuple[float, ...] = (50.0, 200.0)
    l2: tuple[float, ...] = (300.0, 1000.0, 3000.0)

    def __post_init__(self) -> None:
        for name, values in asdict(self).items():
            if not values:
                raise ParameterError(f"The dial needs at least one {name} to try.")
            for value in values:
                if not isinstance(value, int | float) or not 0 < value < math.inf:
                    raise ParameterError(f"{name} must be numbers above 0, found {value!r}.")

    @property
    def size(self) -> int:
        """How many fits there are: with a remainder, TEASER, and EASE of each ridge."""
        ridges = {l1 + k for l1 in self.l1 for k in self.k}
        return (len(self.k) + 1) * len(self.l1) * len(self.l2) + len(ridges)

    def thinned(self) -> "DialPlan":
        """Return fewer to try, for a quick run: the ends of k, one l1, and one l2."""
        middle = len(self.l2) // 2
        ends = self.k[:: max(1, len(self.k) - 1)]
        return DialPlan(k=ends, l1=self.l1[-1:], l2=self.l2[middle : middle + 1])


@dataclass(frozen=True)
class Study:
    """An experiment from data to tables; see experiments/README.md for the format.

    Attributes
    ----------
    paper
        The column of the paper's tables to show beside ours, if there is one.
    note
        Why figures are or are not comparable with the paper's.
    tag_cuts
        Further fits of the first Teaser with only the tags of at least so many items.
    solvers
        Solvers whose convergence is shown, at the best Teaser.
    """

    name: str
    title: str
    data: DataPlan
    split: SplitPlan
    models: tuple[ModelPlan, ...]
    search: SearchPlan = SearchPlan()
    simulate: SimulationPlan | None = None
    dial: DialPlan = DialPlan()
    paper: str | None = None
    note: str = ""
    tag_cuts: tuple[int, ...] = ()
    solvers: tuple[str, ...] = ("cg",)
    quick: Mapping[str, Any] = field(default_factory=dict)
    path: Path = Path()

    @classmethod
    def read(cls, path: str | Path) -> "Study":
        """Read and check a TOML file."""
        path = Path(path)
        try:
            text = path.read_bytes().decode("utf-8")
            given = tomllib.loads(text)
        except FileNotFoundError as error:
            raise ParameterError(f"There is no study {path}.") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ParameterError(f"{path} is not a TOML file: {error}.") from error
        try:
            return _study(given, path)
        except ParameterError as error:
            raise ParameterError(f"{path}: {error}") from error

    def smaller(self) -> "Study":
        """Return the quick version: fewer people, cells and draws, as its [quick] table says."""
        quick = dict(self.quick)
        cells = quick.pop("cells", 2)
        draws = quick.pop("draws", 1)
        split = replace(self.split, **quick)
        models = tuple(replace(m, grid=_thinned(m.grid, cells)) for m in self.models)
        simulation = self.simulate and replace(self.simulate, draws=draws)
        return replace(
            self, split=split, models=models, simulate=simulation, tag_cuts=(), solvers=("cg",)
        )


def _study(given: dict[str, Any], path: Path) -> Study:
    known = {f.name for f in fields(Study)} - {"path"}
    _only(given, known, "the study")
    for needed in ("data", "split", "models"):
        if not isinstance(given.get(needed), dict):
            raise ParameterError(f"It needs a table [{needed}].")
    name = given.get("name", path.stem)
    search = _table(SearchPlan, given.get("search", {}), "[search]")
    Metric.parse(search.metric)
    if search.sampler not in SAMPLERS:
        raise ParameterError(
            f"[search] sampler must be one of {', '.join(SAMPLERS)}, found {search.sampler!r}."
        )
    simulate = given.get("simulate")
    study = Study(
        name=str(name),
        title=str(given.get("title", name)),
        data=_table(DataPlan, given["data"], "[data]"),
        split=_table(SplitPlan, given["split"], "[split]"),
        models=tuple(_model(key, value) for key, value in given["models"].items()),
        search=search,
        simulate=None if simulate is None else _table(SimulationPlan, simulate, "[simulate]"),
        dial=_table(DialPlan, given.get("dial", {}), "[dial]"),
        paper=given.get("paper"),
        note=str(given.get("note", "")),
        tag_cuts=tuple(given.get("tag_cuts", ())),
        solvers=tuple(given.get("solvers", ("cg",))),
        quick=given.get("quick", {}),
        path=path,
    )
    _check(study)
    return study


def _model(name: str, given: Any) -> ModelPlan:
    where = f"[models.{name}]"
    if not isinstance(given, dict) or "kind" not in given:
        raise ParameterError(f"{where} needs a kind, such as kind = 'Teaser'.")
    plan: ModelPlan = _table(ModelPlan, {"name": name, **given}, where)
    parameters = _dotted(plan.parameters)
    grid = {key: tuple(v) if isinstance(v, list) else v for key, v in _dotted(plan.grid).items()}
    for key, values in grid.items():
        if not isinstance(values, tuple) or not values:
            raise ParameterError(f"{where} grid.{key} must be a list of values, found {values!r}.")
        if key in parameters:
            raise ParameterError(f"{where} names {key} both as a parameter and in the grid.")
    return replace(plan, parameters=parameters, grid=grid)


def _dotted(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with the entries of inner tables named by a dot, such as remainder.l2."""
    out: dict[str, Any] = {}
    for key, value in given.items():
        is_table = isinstance(value, dict) and value
        out |= {f"{key}.{k}": v for k, v in value.items()} if is_table else {key: value}
    return out


def _check(study: Study) -> None:
    names = [plan.name for plan in study.models]
    for plan in study.models:
        for part in plan.parts:
            if part not in names[: names.index(plan.name)]:
                raise ParameterError(
                    f"[models.{plan.name}] is made of {part!r}, which is not above it."
                    f"{closest(part, names)}"
                )
        if plan.parts and plan.grid:
            raise ParameterError(
                f"[models.{plan.name}] takes the optima of its parts, and has no grid of its own."
            )
    _only(study.quick, {"validation", "test", "training", "cells", "draws"}, "[quick]")
    for scale in study.simulate.scales if study.simulate else ():
        if scale not in SCALES:
            raise ParameterError(
                f"[simulate] scales are {', '.join(SCALES)}, found {scale!r}."
                f"{closest(scale, SCALES)}"
            )


def _table(kind: type[Any], given: Any, where: str) -> Any:
    """Return a plan of a table, lists as tuples, with unknown and missing names refused."""
    if not isinstance(given, dict):
        raise ParameterError(f"{where} must be a table, found {given!r}.")
    _only(given, {f.name for f in fields(kind)}, where)
    try:
        return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in given.items()})
    except TypeError as error:
        raise ParameterError(f"{where} is not whole: {error}.") from error


def _only(given: Mapping[str, Any], known: set[str], where: str) -> None:
    for name in given:
        if name not in known:
            raise ParameterError(
                f"{where} has no entry {name!r}. Known: {', '.join(sorted(known))}."
                f"{closest(name, known)}"
            )


def _thinned(grid: Mapping[str, tuple[Any, ...]], cells: int) -> dict[str, tuple[Any, ...]]:
    """Keep about `cells` cells in all, the middle values of each list."""
    kept = dict(grid)
    while kept:
        size = 1
        for values in kept.values():
            size *= len(values)
        longest = max(kept, key=lambda name: len(kept[name]))
        if size <= max(1, cells) or len(kept[longest]) == 1:
            break
        values = kept[longest]
        kept[longest] = values[1:] if len(values) % 2 else values[:-1]
    return kept
