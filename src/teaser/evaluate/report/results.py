"""The results of a study, read back from the json that it wrote, with what reports ask of them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from teaser.errors import DataError, ParameterError, closest
from teaser.evaluate.metrics import Difference, Summary
from teaser.evaluate.report.paper import COLUMNS, INTERACTIVE, STATIC, Column
from teaser.profile import DEFAULT_STEERING

Source = str | Path | Mapping[str, Any]

MINUS = "\N{MINUS SIGN}"

_NEEDED = (
    "study", "title", "quick", "data", "split", "models", "comparisons", "simulations",
    "by_tags", "convergence", "seconds", "peak_memory", "versions", "commit",
)  # fmt: skip
_OF_MODEL = ("name", "kind", "interactive", "parameters", "trials", "fit", "metrics")
_ORDER = (*STATIC, *INTERACTIVE)


@dataclass(frozen=True)
class Scenario:
    """A way to press: so many tags, each so often, on a scale and with a step."""

    n_tags: int
    strength: int
    scale: str
    step: float

    @property
    def text(self) -> str:
        """How a table calls it, without scale and step."""
        count = {1: "one tag", 2: "two tags", 3: "three tags"}.get(
            self.n_tags, f"{self.n_tags} tags"
        )
        return f"{count} {signed(self.strength, 0)}"

    @property
    def is_default(self) -> bool:
        """Whether scale and step are those of the application."""
        return (self.scale, self.step) == (DEFAULT_STEERING.scale, DEFAULT_STEERING.step)


@dataclass(frozen=True, eq=False)
class Results:
    """One study's results."""

    content: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, source: Source) -> "Results":
        """Read a json file, or take its content; raise if it is not of a study."""
        if isinstance(source, Mapping):
            return cls(_checked(source, "The results"))
        try:
            content = json.loads(Path(source).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise DataError(
                f"There are no results {source}. Run the study: teaser evaluate STUDY.toml"
            ) from error
        except (OSError, ValueError) as error:
            raise DataError(f"{source} cannot be read as json: {error}.") from error
        return cls({**_checked(content, str(source)), **_dial(Path(source))})

    @property
    def key(self) -> str:
        """A name that is good for files and anchors."""
        quick = "-quick" if self.quick else ""
        return re.sub(r"[^A-Za-z0-9]+", "-", str(self.content["study"])).strip("-") + quick

    @property
    def title(self) -> str:
        """The title of the study; a quick run says so."""
        return f"{self.content['title']}{' (quick run)' if self.quick else ''}"

    @property
    def quick(self) -> bool:
        """Whether this was the small version of the study."""
        return bool(self.content["quick"])

    @property
    def paper(self) -> Column | None:
        """The paper's column to show beside, if the study names one."""
        name = self.content.get("paper")
        if not name:
            return None
        if name not in COLUMNS:
            raise ParameterError(
                f"The study {self.content['study']!r} names the paper's column {name!r}, and there "
                f"is none. Known: {', '.join(COLUMNS)}.{closest(name, COLUMNS)}"
            )
        return COLUMNS[name]

    @cached_property
    def models(self) -> tuple[Mapping[str, Any], ...]:
        """The models, baselines first, each group in the order of the paper."""
        return tuple(sorted(self.content["models"], key=self._place))

    @cached_property
    def labels(self) -> dict[str, str]:
        """How tables call each model, by its name in the study."""
        out: dict[str, str] = {}
        for model in self.content["models"]:
            out[model["name"]] = _label(model, out)
        return out

    def labelled(self, label: str) -> Mapping[str, Any] | None:
        """Return the model that tables call so, if the study has it."""
        return next((m for m in self.models if self.labels[m["name"]] == label), None)

    def of_kind(self, kind: str) -> Mapping[str, Any] | None:
        """Return the first model of a kind, as the study lists them."""
        return next((m for m in self.content["models"] if m["kind"] == kind), None)

    def paper_name(self, model: Mapping[str, Any]) -> str | None:
        """Return the row of the paper that is the same model, for one model of the study only."""
        names = {m["name"]: _paper_row(m, self.content["models"]) for m in self.content["models"]}
        row = names[model["name"]]
        first = next((name for name, other in names.items() if other == row), None)
        return row if first == model["name"] else None

    def value(self, model: Mapping[str, Any], metric: str) -> Summary | None:
        """Return what a model reached on the test people, if that was measured."""
        return summary(model["metrics"].get(metric))

    def gap(self, a: str, b: str, metric: str) -> Difference | None:
        """Return how much better model b is than model a, with its interval."""
        for found in self.content["comparisons"]:
            if found["metric"] != metric or None in (found["mean"], found["low"], found["high"]):
                continue
            if (found["a"], found["b"]) == (a, b):
                return Difference(found["mean"], found["low"], found["high"], found["n"])
            if (found["a"], found["b"]) == (b, a):
                return Difference(-found["mean"], -found["high"], -found["low"], found["n"])
        return None

    @cached_property
    def scenarios(self) -> tuple[Scenario, ...]:
        """All ways to press that were run: + before -, default scale first, few tags first."""
        found = {_scenario(s) for s in self.content["simulations"]}
        return tuple(
            sorted(
                found,
                key=lambda s: (
                    s.strength < 0,
                    abs(s.strength),
                    s.n_tags,
                    s.scale != DEFAULT_STEERING.scale,
                    s.scale,
                    abs(s.step - DEFAULT_STEERING.step),
                ),
            )
        )

    def pressed(self, name: str, scenario: Scenario) -> Mapping[str, Any] | None:
        """Return what a model reached when people pressed in this way."""
        return next(
            (
                s
                for s in self.content["simulations"]
                if s["model"] == name and _scenario(s) == scenario
            ),
            None,
        )

    def _place(self, model: Mapping[str, Any]) -> tuple[bool, int]:
        row = _paper_row(model, self.content["models"])
        return bool(model["interactive"]), _ORDER.index(row) if row else len(_ORDER)


def summary(given: Mapping[str, Any] | None) -> Summary | None:
    """Return a mean with its error as json holds it; None where there is no mean."""
    if given is None or given["mean"] is None:
        return None
    error = given["error"]
    return Summary(given["mean"], float("nan") if error is None else error, given["n"])


def improvement(simulated: Mapping[str, Any], metric: str = "ndcg@100") -> Difference | None:
    """Return the gain by presses in percent of what the model reaches without them."""
    after, gain = summary(simulated["metrics"].get(metric)), simulated["gain"].get(metric)
    if after is None or gain is None or None in (gain["mean"], gain["low"], gain["high"]):
        return None
    before = after.mean - gain["mean"]
    if before <= 0:
        return None
    share = 100 / before
    return Difference(gain["mean"] * share, gain["low"] * share, gain["high"] * share, gain["n"])


def is_clear(gap: Difference | None) -> bool:
    """Whether the interval of a difference leaves out zero."""
    return gap is not None and (gap.low > 0 or gap.high < 0)


def signed(value: float, digits: int = 1) -> str:
    """Return a number with its sign, + or a real minus; nothing before what rounds to zero."""
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{'+' if value > 0 else MINUS}{text}"


def read_all(sources: Sequence[Source]) -> list[Results]:
    """Read the results of several studies; a folder stands for the json files in it."""
    found: list[Results] = []
    for source in sources:
        if not isinstance(source, Mapping) and Path(source).is_dir():
            files = sorted(set(Path(source).glob("*.json")) - set(Path(source).glob("*.dial.json")))
            if not files:
                raise DataError(f"There are no results (*.json) in {source}.")
            found += [Results.read(path) for path in files]
        else:
            found.append(Results.read(source))
    if not found:
        raise ParameterError("A report needs the results of at least one study.")
    keys = [each.key for each in found]
    for key in keys:
        if keys.count(key) > 1:
            raise ParameterError(f"The study {key} is given {keys.count(key)} times; give it once.")
    return found


def _dial(path: Path) -> dict[str, Any]:
    """Return what `teaser tune` wrote beside the results of a study, if it did."""
    beside = path.with_suffix(".dial.json")
    try:
        return {"dial": json.loads(beside.read_text(encoding="utf-8"))}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DataError(f"{beside} cannot be read as json: {error}.") from error


def _checked(content: Any, where: str) -> Mapping[str, Any]:
    missing = [k for k in _NEEDED if not isinstance(content, Mapping) or k not in content]
    if not missing and not content["models"]:
        raise DataError(f"{where}: no model was tested.")
    missing += [
        f"models.{k}" for k in _OF_MODEL if not missing and k not in content["models"][0]
    ]  # fmt: skip
    if missing:
        raise DataError(
            f"{where}: not the results of a study, or of another version; without "
            f"{', '.join(missing)}. Run the study again: teaser evaluate STUDY.toml"
        )
    return dict(content)


def _scenario(simulated: Mapping[str, Any]) -> Scenario:
    return Scenario(
        int(simulated["n_tags"]),
        int(simulated["strength"]),
        str(simulated["scale"]),
        float(simulated["step"]),
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _paper_row(model: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the paper's name of this kind of model, if it is in its tables."""
    if model.get("parts"):
        kinds = [m["kind"] for part in model["parts"] for m in models if m["name"] == part]
        return INTERACTIVE[2] if kinds == ["Teaser", "EASE"] else None
    return next((row for row in _ORDER if _plain(row) == _plain(model["kind"])), None)


def _label(model: Mapping[str, Any], known: Mapping[str, str]) -> str:
    """Return the paper's spelling of a name such as `teaser` or `product`; else the name."""
    name = str(model["name"])
    if model.get("parts") and _plain(name) in ("product", _plain("".join(model["parts"]))):
        return " ⊙ ".join(known.get(part, part) for part in model["parts"])
    return next((row for row in _ORDER if _plain(row) == _plain(name)), name)
