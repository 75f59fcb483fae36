"""The plan of a study, a TOML file: data, split, models with their grids, simulated feedback."""

import inspect
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from teaser.data.dataset import Dataset
from teaser.data.split import TEST_FROM, VALIDATION_FROM
from teaser.errors import ParameterError, closest
from teaser.evaluate.metrics import Metric
from teaser.files import read_toml

T = TypeVar("T")
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
AtLeastOne = Field(min_length=1)

# The kinds of split, and the entries that only this kind has.
SPLITS: Mapping[str, tuple[str, ...]] = {
    "users": ("min_interactions", "held_out"),
    "last": ("min_interactions",),
    "time": ("test_from", "validation_from", "min_history"),
}

# Arguments of `Dataset.from_tables`; a study has them under the same names.
TABLE_ARGUMENTS = tuple(inspect.signature(Dataset.from_tables).parameters)
# Those that name files beside the study.
FILE_ARGUMENTS = ("interactions", "items", "users", "rules", "user_rules")
# The three kinds of data, and the entries that each may have besides min_items.
_DATA_ENTRIES: Mapping[str, tuple[str, ...]] = {
    "source": (
        *("folder", "options", "positive", "negative", "rules"),
        *("strength", "counts", "time", "half_life"),
    ),
    "prepared": (),
    "interactions": TABLE_ARGUMENTS,
}


class Strict:
    """Unknown entries are refused."""

    __pydantic_config__ = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class DataPlan(Strict):
    """The data: a public data set or the generated `"events"`, a prepared folder, or tables.

    Attributes
    ----------
    source
        A reader of public data sets, or `"events"`; `folder` is where its files are, `options`
        are the reader's.
    prepared
        A folder that `teaser prepare` wrote.
    tables
        `interactions` and further arguments of `Dataset.from_tables`; with `source`, those that
        say how interactions count (`positive`, `time`, ...).
    min_items
        Drops the tags of fewer items.
    """

    source: str = ""
    prepared: str = ""
    folder: str = ""
    min_items: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SplitPlan(Strict):
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
    kind: Literal["users", "last", "time"] = "users"
    min_interactions: int = 5
    held_out: float = 0.2
    test_from: Any = TEST_FROM
    validation_from: Any = VALIDATION_FROM
    min_history: int = 1
    seed: int = 0
    training: int = 0


@dataclass(frozen=True)
class SearchPlan(Strict):
    """What the grid search maximises on the validation users."""

    metric: str = "ndcg@100"


@dataclass(frozen=True)
class ModelPlan(Strict):
    """A model of the study: its class, fixed parameters, and the values to choose from.

    A parameter of an option object has a dotted name, such as `remainder.l2`. `parts` names the
    models that a product is made of; it takes their best parameters.
    """

    name: str
    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Annotated[tuple[Any, ...], AtLeastOne]] = field(default_factory=dict)
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class SimulationPlan(Strict):
    """Simulated feedback: all combinations of the lists.

    `models` names the models that get it, all interactive ones where it is empty. Presses `among`
    discovered tags are left out for a model that has none. Without `steps`, the step of a press
    is that of the scale; see `Steering`. `bonus` names models without tags that get a bonus on the
    items of the pressed tags, those of the last interactive model; see `Bonus`.
    """

    tags: tuple[int, ...] = (1, 2)
    strengths: tuple[int, ...] = (3,)
    scales: tuple[Literal["robust", "paper"], ...] = ("robust", "paper")
    steps: tuple[float, ...] = ()
    among: tuple[Literal["all", "declared", "discovered"], ...] = ("all",)
    models: tuple[str, ...] = ()
    bonus: tuple[str, ...] = ()
    draws: int = 3
    seed: int = 1


@dataclass(frozen=True)
class DialPlan(Strict):
    """The settings of the dial: tags first, then neighbours.

    Every combination of `l2_weights` and `l2_encoder` is measured with tags alone, and with a
    remainder for all combinations of `neighbours` and `remainder_l2`. `model` names the Teaser
    whose fixed parameters (weights, discovered tags) are taken; the last of the study when empty.
    """

    remainder_l2: Annotated[tuple[Positive, ...], AtLeastOne] = (50.0, 200.0, 1000.0)
    l2_weights: Annotated[tuple[Positive, ...], AtLeastOne] = (50.0, 200.0)
    l2_encoder: Annotated[tuple[Positive, ...], AtLeastOne] = (300.0, 1000.0, 3000.0)
    neighbours: Annotated[tuple[Annotated[int, Field(gt=0)], ...], AtLeastOne] = (100,)
    model: str = ""

    def smaller(self) -> "DialPlan":
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
class QuickPlan(Strict):
    """What a quick run makes smaller: numbers of users, cells of each grid, and draws."""

    validation: int | float | None = None
    test: int | float | None = None
    training: int | None = None
    cells: int = 2
    draws: int = 1


@dataclass(frozen=True)
class Study(Strict):
    """The plan of an experiment; see experiments/README.md for the format.

    Attributes
    ----------
    paper
        The column of the paper's tables to show beside ours, if there is one.
    note
        How comparable the figures are with the paper's.
    folder
        The folder of the study's file; other files of the study are beside it.
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
    quick: QuickPlan = QuickPlan()
    folder: str = "."

    @classmethod
    def read(cls, path: str | Path) -> "Study":
        """Read and check a TOML file."""
        path = Path(path)
        with plan_file(path) as (given, _):
            study = validate(cls, _complete(given, path))
            _check_references(study)
        return study

    @property
    def dial_teaser(self) -> ModelPlan | None:
        """The model whose fixed parameters the dial takes."""
        named = [plan for plan in self.models if plan.name == self.dial.model]
        return next(iter(named or [p for p in self.models[::-1] if p.kind == "Teaser"]), None)

    def smaller(self) -> "Study":
        """Return the quick version: fewer users, cells and draws, as its [quick] table says."""
        sizes = {name: getattr(self.quick, name) for name in ("validation", "test", "training")}
        return replace(
            self,
            split=replace(self.split, **{k: v for k, v in sizes.items() if v is not None}),
            models=tuple(replace(m, grid=_thinned(m.grid, self.quick.cells)) for m in self.models),
            simulate=tuple(replace(plan, draws=self.quick.draws) for plan in self.simulate),
            dial=self.dial.smaller(),
        )


@contextmanager
def plan_file(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Give what a TOML file says, and its text; errors that are raised meanwhile name the file."""
    try:
        found = read_toml(path)
    except OSError as error:
        raise ParameterError(f"The study {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ParameterError(f"{path} is not a TOML file: {error}.") from error
    try:
        yield found
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from error


def validate(kind: type[T], given: Any) -> T:
    """Return plain data as a plan; raise `ParameterError` with the first thing that is wrong."""
    try:
        # As JSON: there, a strict tuple may be a list. A date becomes text.
        return TypeAdapter(kind).validate_json(json.dumps(given, default=str), strict=True)
    except ValidationError as error:
        raise ParameterError(describe_error(error, given)) from error


def describe_error(error: ValidationError, given: Any) -> str:
    """Return the first mistake as a sentence: where it is, what was found, what is allowed."""
    first, *others = error.errors()
    # All members of a union report a mistake: the last, which is the widest, is taken.
    union = [
        e for e in others if e["type"].endswith("_type") and e["loc"][:-1] == first["loc"][:-1]
    ]
    mistake, names = [first, *(e for e in union if e["input"] == first["input"])][-1], list[str]()
    for part in mistake["loc"]:
        if isinstance(given, Mapping) and isinstance(part, str):
            names.append(part)
            given = given.get(part)
        elif isinstance(given, list | tuple) and isinstance(part, int):
            given = given[part]
            names += [str(given["name"])] if isinstance(given, Mapping) and "name" in given else []
    table = f"[{'.'.join(names[:-1])}]" if len(names) > 1 else "It"
    if mistake["type"] == "unexpected_keyword_argument":
        known = {each for plan in Strict.__subclasses__() for each in get_type_hints(plan)}
        near = closest(names[-1], sorted(known)) or " Leave it out."
        return f"{table} has no entry {names[-1]!r}.{near}"
    if mistake["type"] == "missing":
        return f"{table} lacks {names[-1]}."
    subject = f"{table} {names[-1]}" if len(names) > 1 else "".join(names) or "It"
    wanted = mistake["msg"].partition(" should ")[2]
    return f"{subject} must {wanted}, found {mistake['input']!r:.80}."


def _complete(given: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the tables of a file with the names that it implies, and dotted parameters."""
    if "folder" in given:
        raise ParameterError("It has no entry 'folder'; that of the data is in [data].")
    for name in ("data", "split"):
        if not isinstance(given.get(name, {}), dict):
            raise ParameterError(f"{name} must be a table, found {given[name]!r}.")
    name, simulate = given.get("name", path.stem), given.get("simulate", [])
    _check_split(given.get("split", {}))
    models = [
        {**model, **{k: _dotted(model[k]) for k in ("parameters", "grid") if k in model}}
        for model in named_tables(given, "models")
    ]
    return {
        "name": name,
        "title": name,
        **given,
        "data": complete_data(given.get("data", {})),
        "models": models,
        # One table [simulate], or several [[simulate]].
        "simulate": [simulate] if isinstance(simulate, dict) else simulate,
        "folder": str(path.parent),
    }


def named_tables(given: Mapping[str, Any], what: str) -> list[dict[str, Any]]:
    """Return the tables [WHAT.NAME] of a file, each with its name."""
    tables = given.get(what, {})
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        raise ParameterError(f"{what} must be tables [{what}.NAME].")
    return [{"name": name, **table} for name, table in tables.items()]


def complete_data(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of [data] as `DataPlan` has them; refuse those that do not fit."""
    found = [kind for kind in _DATA_ENTRIES if kind in given]
    if len(found) != 1:
        raise ParameterError(
            "[data] needs one of source (a public data set), prepared (a folder that teaser "
            f"prepare wrote) and interactions (a table); found {' and '.join(found) or 'none'}."
        )
    known = (*found, "min_items", *_DATA_ENTRIES[found[0]])
    for name, value in given.items():
        if name not in known:
            near = closest(name, known) or " Leave it out."
            raise ParameterError(f"[data] {name} does not go with {found[0]}.{near}")
        if name in FILE_ARGUMENTS and not isinstance(value, str):
            raise ParameterError(f"[data] {name} must be a text, found {value!r}.")
    tables = {name: value for name, value in given.items() if name in TABLE_ARGUMENTS}
    return {**{name: given[name] for name in given if name not in tables}, "tables": tables}


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
    """Refuse entries of [split] that another kind has."""
    kind = given.get("kind", "users")
    others = {name for names in SPLITS.values() for name in names} - set(SPLITS.get(kind, given))
    for name in given:
        if name in others:
            raise ParameterError(f"[split] {name} does not go with kind = {kind!r}. Leave it out.")


def _check_references(study: Study) -> None:
    """Check what refers to something else: metrics, models by name, parts, grids."""
    Metric.parse(study.search.metric)
    missing = [name for name in ("validation", "test") if getattr(study.split, name) is None]
    if study.split.kind == "users" and missing:
        raise ParameterError(f"[split] lacks {', '.join(missing)}.")
    names = [model.name for model in study.models]
    named = [("[simulate] models", n) for plan in study.simulate for n in plan.models + plan.bonus]
    for where, name in (*named, ("[dial] model", study.dial.model)):
        if name and name not in names:
            raise ParameterError(
                f"{where} must be one of {', '.join(names)}, found {name!r}.{closest(name, names)}"
            )
    for place, plan in enumerate(study.models):
        where, above = f"[models.{plan.name}]", names[:place]
        for part in plan.parts:
            if part not in above:
                raise ParameterError(
                    f"{where} is made of {part!r}, which is not above it.{closest(part, above)}"
                )
        if len(plan.parts) != 2 * (plan.kind == "Product") or (plan.parts and plan.grid):
            raise ParameterError(
                f"{where} needs two parts and cannot have a grid if its kind is Product, and else "
                f"no parts; found the kind {plan.kind} and {len(plan.parts)} parts."
            )
        for name in plan.grid.keys() & plan.parameters.keys():
            raise ParameterError(f"{where} names {name} both as a parameter and in the grid.")


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
