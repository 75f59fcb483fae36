"""The reference of the Python library: which public name is on which page, and the pages."""

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any

from teaser import errors
from website.bridges import Described, read_bridges

# The packages that people import from. A name that several have is shown under the first.
PACKAGES = (
    "teaser",
    "teaser.extensions",
    "teaser.baselines",
    "teaser.model",
    "teaser.steer",
    "teaser.words",
    "teaser.evaluate",
    "teaser.data.sources",
    "teaser.data.demo",
)
# Public names of modules that have more names than people need.
FURTHER = (
    "teaser.data.matrix.Ids",
    "teaser.data.split.split",
    "teaser.data.split.Split",
    "teaser.data.split.Fold",
    "teaser.data.partitions.write_partitions",
    "teaser.data.partitions.Partitions",
    "teaser.data.sources.movielens.read_imdb",
    "teaser.profile.Profile",
    "teaser.recommend.Recommendation",
    "teaser.recommend.Recommendations",
    "teaser.recommend.RecommendationBatch",
    "teaser.explain.Reason",
    "teaser.explain.ViewedReason",
    "teaser.explain.BoostReason",
    "teaser.explain.Explanation",
    "teaser.explain.Difference",
    "teaser.explain.DifferencePart",
    "teaser.transparency.Transparency",
    "teaser.model.all_lists.AllOptions",
    "teaser.model.filters.Filters",
    "teaser.model.solve.Solution",
    "teaser.model.estimate.FitSize",
    "teaser.model.estimate.estimate",
    "teaser.model.estimate.Estimate",
    "teaser.evaluate.study.plan.Study",
    "teaser.evaluate.study.run.run_study",
    "teaser.evaluate.study.run.simulate_study",
    "teaser.evaluate.study.dial.dial_study",
    "teaser.evaluate.study.results.StudyResults",
    "teaser.evaluate.study.results.DialResults",
    "teaser.evaluate.study.results.read_results",
    "teaser.evaluate.report.write_report",
    "teaser.testing.ModelContract",
    "teaser.testing.TaggedModelContract",
    "teaser.testing.example_tables",
    "teaser.testing.example_dataset",
    *(
        f"teaser.errors.{name}"
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception)
    ),
)
CONSTANTS = {
    "teaser.__version__": "The version of the package.",
    "teaser.model.KINDS": "The classes of models by the name that a saved folder has of them.",
    "teaser.evaluate.ALL_METRICS": "The metrics that a study reports.",
    "teaser.evaluate.PAPER_METRICS": "The metrics of the paper.",
    "teaser.data.demo.RULES": "The tag rules of the generated events.",
}


@dataclass(frozen=True)
class Page:
    """One page: its file name, title, an introduction, and the rooms whose names it has."""

    name: str
    title: str
    text: str
    rooms: tuple[str, ...]


PAGES = (
    Page(
        "data",
        "Data sets",
        "From tables to a data set: interactions, items, splits, and data larger than memory.",
        ("data.dataset", "data.reading", "data.split", "data"),
    ),
    Page(
        "tags",
        "Tags and rules",
        "A rule says how a column becomes tags. The [rule file]({users}data.md) has the same "
        "fields.",
        ("data.rules", "data.tags", "data.infer"),
    ),
    Page(
        "sources",
        "Public and generated data sets",
        "Readers of public data sets, and the events that the demonstration generates.",
        ("data.sources", "data.demo"),
    ),
    Page(
        "fit",
        "Fit a model",
        "`fit` chooses a recipe. `Teaser` is the model itself, and takes the options of its "
        "extensions as objects. [The model]({users}model.md) explains them.",
        (
            *(
                "evaluate.choose",
                "model.teaser",
                "model.recipe",
                "evaluate.card",
                "evaluate.check",
            ),
            *("model.extensions", "model.solve", "model.estimate", "_version"),
        ),
    ),
    Page(
        "lists",
        "Profiles, lists and reasons",
        "What a fitted model returns: the affinities of a person, recommended items, and why. "
        "`Teaser` has the methods that make them, on the page [fit a model]({fit}).",
        (
            *("profile", "recommend", "explain", "transparency"),
            *("frame", "notebook"),
        ),
    ),
    Page(
        "guide",
        "Help people steer",
        "Similar items, the fewest presses that bring an item up, a quick start, statements, and "
        "[requests in words]({users}steering.md).",
        ("steer", "words"),
    ),
    Page(
        "models",
        "Other models",
        "The contract of all models, and the baselines that TEASER is compared with.",
        ("model.base", "model.tagged", "model.tables", "model.baselines", "model"),
    ),
    Page(
        "evaluate",
        "Evaluate",
        "Accuracy on users that a model was not fitted to, simulated presses, and studies.",
        (
            *("evaluate.protocol", "evaluate.metrics", "evaluate.simulation", "evaluate.study"),
            *("evaluate.report", "evaluate"),
        ),
    ),
    Page(
        "testing",
        "Test your own model",
        "The checks that every model must pass, for pytest.",
        ("testing",),
    ),
    Page(
        "bridges",
        "Other frameworks",
        "TEASER inside LensKit and RecTools; see [the guide]({users}bridges.md).",
        ("bridges",),
    ),
    Page(
        "errors",
        "Errors",
        "Every error that the package raises on purpose is a `TeaserError`. Its message says what "
        "was wrong, what was found and what to do.",
        ("errors",),
    ),
)


def public_names() -> dict[str, Any]:
    """Return what is public, by the path from which people import it."""
    found: dict[str, Any] = {}
    for package in PACKAGES:
        loaded = importlib.import_module(package)
        _add(found, {f"{package}.{name}": getattr(loaded, name) for name in loaded.__all__})
    for path in FURTHER:
        module, _, name = path.rpartition(".")
        _add(found, {path: getattr(importlib.import_module(module), name)})
    return found | read_bridges()


def _add(found: dict[str, Any], more: dict[str, Any]) -> None:
    known = {id(value) for value in found.values()}
    found.update((path, value) for path, value in more.items() if id(value) not in known)


def names_by_page() -> dict[Page, list[str]]:
    """Return the names of each page, in the order of its rooms and of their sources."""
    placed: dict[Page, list[tuple[int, str, int, str]]] = {page: [] for page in PAGES}
    for path, value in public_names().items():
        room = _home(path, value)
        fits = [
            (len(known), page, place)
            for page in PAGES
            for place, known in enumerate(page.rooms)
            if room == known or room.startswith(f"{known}.")
        ]
        if not fits:
            raise LookupError(
                f"{path} is public and on no page of the reference. Add its room {room!r} to a "
                "page in docs/website/python_reference.py."
            )
        _, page, place = max(fits, key=lambda fit: fit[0])
        placed[page].append((place, room, _place(value), path))
    return {page: [path for *_, path in sorted(names)] for page, names in placed.items() if names}


def _home(path: str, value: Any) -> str:
    """Return the room in which a name is defined, such as `data.dataset`."""
    is_defined = inspect.isclass(value) or inspect.isroutine(value) or hasattr(value, "__wrapped__")
    home = value.__module__ if is_defined else path.rpartition(".")[0]
    return "_version" if path == "teaser.__version__" else str(home).removeprefix("teaser.")


def _place(value: Any) -> int:
    """Return how many names its module defines before this one."""
    module = sys.modules.get(getattr(value, "__module__", ""))
    names = list(vars(module)) if module else []
    name = getattr(value, "__name__", "")
    return names.index(name) if name in names else 0


def summary(path: str, value: Any) -> str:
    """Return the first sentence on a name, as Markdown."""
    if path in CONSTANTS:
        return CONSTANTS[path]
    whole = value.text if isinstance(value, Described) else inspect.getdoc(value)
    text = " ".join((whole or "").partition("\n\n")[0].split())
    sentence = re.split(r"(?<=\.)\s+(?=[A-Z`])", text)[0].replace("``", "`")
    return sentence.replace("*", "\\*").replace("<", "\\<")


def is_record(path: str, value: Any) -> bool:
    """Whether a name is a dataclass that functions return or pass on."""
    if not inspect.isclass(value) or not is_dataclass(value) or path.count(".") == 1:
        return False
    first, *_ = fields(value)
    return first.default is MISSING and first.default_factory is MISSING


def shown(path: str, linked: bool) -> str:
    """Return a name as the index has it."""
    return f"{{py:obj}}`{path}`" if linked else f"`{path}`"


def index_page(*, linked: bool = False) -> str:
    """Return the page that lists every public name, as Markdown.

    Parameters
    ----------
    linked
        Whether names lead to their descriptions, which only the site has.
    """
    values = public_names()
    out = [
        "# The Python library",
        "",
        "<!-- Made from the docstrings by `make references`. -->",
        "",
        "Every public class and function, with the path from which to import it. *Records* are the "
        "dataclasses that functions take and return.",
        "Each name leads to its description."
        if linked
        else "`help(teaser.Teaser)` and the documentation site (`make docs`) have parameters and "
        "methods.",
    ]
    for page, names in names_by_page().items():
        title = f"[{page.title}](../reference/{page.name}.md)" if linked else page.title
        fit = "../reference/fit.md" if linked else "#fit-a-model"
        text = page.text.format(users="", fit=fit)
        out += ["", f"## {title}", "", text, ""]
        records = [path for path in names if is_record(path, values[path])]
        for path in names:
            if path not in records:
                out.append(f"- {shown(path, linked)}: {summary(path, values[path])}")
        if records:
            out.append(f"- Records: {', '.join(shown(path, linked) for path in records)}.")
    return "\n".join(out) + "\n"


def reference_pages() -> dict[str, str]:
    """Return the pages of the site that describe the names, by file name."""
    values = public_names()
    return {
        f"{page.name}.md": "\n".join(_page(page, names, values))
        for page, names in names_by_page().items()
    }


def _page(page: Page, names: list[str], values: dict[str, Any]) -> Iterator[str]:
    text = page.text.format(users="../users/", fit="fit.md")
    yield from (f"# {page.title}", "", text, "")
    if page.name == "errors":
        tree = (errors.__doc__ or "").partition("\n\n")[2].rpartition("\n\n")[0]
        yield from ("```text", tree, "```", "")
    if page.name == "testing":
        yield from ("```{eval-rst}", ".. automodule:: teaser.testing", "   :no-members:", "```", "")
    yield "```{eval-rst}"
    for path in names:
        yield from _directive(path, values)
    yield from ("```", "")


def _directive(path: str, values: dict[str, Any]) -> Iterator[str]:
    value = values[path]
    if isinstance(value, Described):
        yield from value.directive()
    elif inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
        yield from (f".. auto{kind}:: {path}", "   :members:")
        if any(base is known for base in value.__bases__ for known in values.values()):
            yield "   :show-inheritance:"
        if path in ("teaser.Teaser", "teaser.model.TaggedModel", "teaser.baselines.Product"):
            yield "   :inherited-members:"
    elif path in CONSTANTS:
        yield from (f".. py:data:: {path}", "", f"   {CONSTANTS[path]}")
    else:
        yield f".. autofunction:: {path}"
    yield ""
