"""The HTML page of a report: one file without links to others."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from teaser.errors import MissingPackageError
from teaser.evaluate.metrics import METRIC_TITLES
from teaser.evaluate.report.headlines import headlines
from teaser.evaluate.report.pictures.drawing import Picture, variables
from teaser.evaluate.report.tables.model_tables import comparison_tables, cost_table
from teaser.evaluate.report.tables.number import format_memory, format_seconds
from teaser.evaluate.report.tables.paper import SOURCE
from teaser.evaluate.report.tables.reported import ReportedStudy
from teaser.evaluate.report.tables.table import Table
from teaser.evaluate.study.results import SplitSummary

TITLES = {
    "accuracy": "Accuracy",
    "advantage": "The recommended model against the others",
    "parts": "Where scores come from",
    "dial": "The dial between tags and viewed items",
    "feedback": "Simulated feedback",
    "steering": "Scales and steps",
    "beyond": "Beyond accuracy",
}
# The tables before the pictures.
_FIRST = ("accuracy", "advantage", "parts", "feedback")
_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Section:
    """The part of the page about one study."""

    study: ReportedStudy
    headlines: tuple[str, ...]
    pictures: tuple[Picture, ...]
    cost: Table
    facts: tuple[tuple[str, str], ...]


def render_page(studies: Sequence[ReportedStudy], pictures: Sequence[Sequence[Picture]]) -> str:
    """Return the page of several studies, with the pictures of each."""
    sections = [
        Section(study, tuple(headlines(study)), tuple(drawn), cost_table(study), facts(study))
        for study, drawn in zip(studies, pictures, strict=True)
    ]
    template = _environment().get_template("report.html")
    return str(
        template.render(
            sections=sections,
            tables=comparison_tables(studies),
            titles=TITLES,
            first=_FIRST,
            variables=variables(),
            paper=SOURCE if any(each.paper for each in studies) else "",
        )
    )


def facts(study: ReportedStudy) -> tuple[tuple[str, str], ...]:
    """Return what the figures depend on: users, grid search, seed, time, machine, versions."""
    results = study.results
    split, search, versions = results.split, results.search, dict(results.versions)
    teaser = versions.pop("teaser", "?")
    found = (
        (
            "users",
            f"{split.training_users:,} to fit to, {split.validation_users:,} to choose "
            f"parameters, {split.test_users:,} to test on",
        ),
        ("held out", _held_out(split)),
        ("grid search", f"{search.sampler}, by {METRIC_TITLES.get(search.metric, search.metric)}"),
        ("seed", str(split.seed)),
        (
            "cost",
            f"{format_seconds(results.seconds)}, at most {format_memory(results.peak_memory)} "
            "of memory",
        ),
        ("TEASER", f"{teaser}, commit {results.commit or 'unknown'}"),
        ("packages", ", ".join(f"{name} {text}" for name, text in versions.items())),
        ("machine", results.machine),
    )
    return tuple((name, text) for name, text in found if text)


def _held_out(split: SplitSummary) -> str:
    """Return what the models had to find."""
    if split.kind == "users":
        return f"{100 * split.held_out:.0f} % of each history"
    kind = "the last interaction of each user" if split.kind == "last" else "all from a time on"
    return " ".join([f"{kind}.", *split.notes])


def _environment() -> Any:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise MissingPackageError("A report", "Jinja2", extra="evaluate") from error
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
