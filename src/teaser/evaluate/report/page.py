"""The html page of a report: one file that needs nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from teaser.errors import MissingPackageError
from teaser.evaluate.report.headlines import headlines
from teaser.evaluate.report.paper import SOURCE
from teaser.evaluate.report.pictures.drawing import Picture, variables
from teaser.evaluate.report.results import Results
from teaser.evaluate.report.table import Table, memory, seconds
from teaser.evaluate.report.tables import cost_table, tables

TITLES = {
    "accuracy": "Accuracy",
    "feedback": "Simulated feedback",
    "steering": "Scales and steps",
    "beyond": "Beyond accuracy",
}
_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Section:
    """What the page shows of one study."""

    study: Results
    headlines: tuple[str, ...]
    pictures: tuple[Picture, ...]
    cost: Table
    facts: tuple[tuple[str, str], ...]


def render_page(studies: Sequence[Results], pictures: Sequence[Sequence[Picture]]) -> str:
    """Return the page of several studies, with the pictures of each."""
    sections = [
        Section(study, tuple(headlines(study)), tuple(drawn), cost_table(study), facts(study))
        for study, drawn in zip(studies, pictures, strict=True)
    ]
    template = _environment().get_template("report.html")
    return str(
        template.render(
            sections=sections,
            tables=tables(studies),
            titles=TITLES,
            variables=variables(),
            paper=SOURCE if any(each.paper for each in studies) else "",
        )
    )


def facts(study: Results) -> tuple[tuple[str, str], ...]:
    """Return what the figures depend on: people, search, seed, time, machine, versions."""
    content = study.content
    split, search = content["split"], content.get("search", {})
    versions = content["versions"]
    users = (
        f"{split['training_users']:,} to learn from, {split['validation_users']:,} to choose "
        f"parameters, {split['test_users']:,} to test on"
    )
    packages = ", ".join(f"{name} {text}" for name, text in versions.items() if name != "teaser")
    found = [
        ("people", users),
        (
            "held out",
            f"{100 * split['held_out']:.0f} % of each history" if split.get("held_out") else "",
        ),
        ("search", f"{search['sampler']}, by {search['metric']}" if search else ""),
        ("seed", str(split.get("seed", ""))),
        (
            "took",
            f"{seconds(content['seconds'])}, at most {memory(content['peak_memory'])} of memory",
        ),
        ("TEASER", f"{versions.get('teaser', '?')}, commit {content['commit'] or 'unknown'}"),
        ("with", packages),
        ("machine", str(content.get("machine", ""))),
    ]
    return tuple((name, text) for name, text in found if text)


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
