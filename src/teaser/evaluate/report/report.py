"""Reports of studies: findings in sentences, a page with everything, tables, pictures."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from teaser.evaluate.metrics import METRIC_TITLES
from teaser.evaluate.report import tables
from teaser.evaluate.report.pictures import Picture, colour_rules, draw_dial, draw_pictures
from teaser.evaluate.simulation import AMONG
from teaser.evaluate.study.results import (
    TARGET,
    DialResults,
    ModelResult,
    Scenario,
    SplitSummary,
    default_step,
    write_text,
)
from teaser.files import say_bytes
from teaser.profile import DEFAULT_STEERING
from teaser.templates import environment

# The titles of the tables; the first four stand before the pictures.
TITLES = {
    "accuracy": "Accuracy",
    "advantage": "The recommended model against the others",
    "parts": "Where scores come from",
    "feedback": "Simulated feedback",
    "truth": "Whether what is said of people is true",
    "dial": "The dial between tags and viewed items",
    "beyond": "Beyond accuracy",
}
_FIRST = tuple(TITLES)[:4]
_TITLE = METRIC_TITLES[TARGET]


def write_report(results: Sequence[tables.ResultsLike], out: str | Path) -> Path:
    """Write a report of one or several studies, and return the path of its page.

    Parameters
    ----------
    results
        What `run_study` returned, the JSON files of studies and dials, or folders of them.
    out
        A folder; it gets `index.html`, which needs no other file, `tables.md`, and the pictures
        one by one under `pictures/`.
    """
    studies = tables.read_studies(results)
    pictures = [draw_pictures(study) for study in studies]
    page = render_page(studies, pictures)
    folder = Path(out)
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    for picture in (picture for drawn in pictures for picture in drawn):
        write_text(folder / "pictures" / f"{picture.name}.svg", picture.standalone())
    write_text(folder / "tables.md", render_tables(studies))
    write_text(folder / "index.html", page)
    return folder / "index.html"


def write_dial(dial: DialResults, path: str | Path) -> Path:
    """Write the picture of a dial, and return its path."""
    write_text(Path(path), draw_dial(dial).standalone())
    return Path(path)


def write_tables(results: Sequence[tables.ResultsLike], path: str | Path) -> Path:
    """Write the tables of one or several studies as Markdown; see `write_report`."""
    path, text = Path(path), render_tables(tables.read_studies(results))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    return path


def render_tables(studies: Sequence[tables.ReportedStudy]) -> str:
    """Return all tables as Markdown."""
    parts = ["<!-- Written by `teaser report` from the results; changes here are lost. -->"]
    quick = [tables.literal(each.title) for each in studies if each.results.quick]
    if quick:
        parts.append(
            f"> {', '.join(quick)}: few users and few cells, to check that everything runs; "
            "do not rely on these figures."
        )
    named = {TITLES[table.name]: table for table in tables.make_tables(studies)}
    named |= {f"{each.title}: parameters and cost": tables.cost_table(each) for each in studies}
    parts += [
        f"## {tables.literal(title)}\n\n{table.to_markdown().rstrip()}"
        for title, table in named.items()
    ]
    return "\n\n".join(parts) + "\n"


def render_page(
    studies: Sequence[tables.ReportedStudy], pictures: Sequence[Sequence[Picture]]
) -> str:
    """Return the page of several studies, with the pictures of each: one file without links."""
    sections = [
        {
            "study": study,
            "headlines": headlines(study),
            "pictures": drawn,
            "cost": tables.cost_table(study),
            "facts": _facts(study),
        }
        for study, drawn in zip(studies, pictures, strict=True)
    ]
    values: dict[str, Any] = {
        "sections": sections,
        "tables": tables.make_tables(studies),
        "splits": tables.splits_in_words(studies),
        "titles": TITLES,
        "first": _FIRST,
        "variables": colour_rules(),
        "paper": tables.PAPER if any(each.paper for each in studies) else "",
    }
    return _templates().get_template("report.html").render(values)


def _cell_html(text: str | None) -> str:
    """Return a cell of a table, which has Markdown, as HTML."""
    html = (text or "").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    html = re.sub(r"(?<!\\)\*\*(.+?)\*\*", r"<b>\1</b>", html)
    html = re.sub(r"(?<!\\)\*(\(.+?\))\*", r'<span class="paper">\1</span>', html)
    html = re.sub(r"(± \S+|\[[^]]*\])", r'<span class="error">\1</span>', html)
    html = html.replace("▲", '<span class="mark up">▲</span>')
    html = html.replace("▼", '<span class="mark down">▼</span>')
    return re.sub(r"\\(?=[\\`*\[|]|&lt;)", "", html)


def _facts(study: tables.ReportedStudy) -> tuple[tuple[str, str], ...]:
    """Return what the figures depend on: users, grid search, seed, time, machine, versions."""
    results = study.results
    split, search, versions = results.split, results.search, dict(results.versions)
    teaser = versions.pop("teaser", "?")
    memory = say_bytes(results.peak_memory)
    found = {
        "users": f"{split.training_users:,} to fit to, {split.validation_users:,} to choose "
        f"parameters, {split.test_users:,} to test on",
        "held out": _held_out(split),
        "grid search": f"by {METRIC_TITLES.get(search.metric, search.metric)}",
        "seed": str(split.seed),
        "cost": f"{tables.format_seconds(results.seconds)}, at most {memory} of memory",
        "TEASER": f"{teaser}, commit {results.commit or 'unknown'}",
        "packages": ", ".join(f"{name} {text}" for name, text in versions.items()),
        "machine": results.machine,
    }
    return tuple((name, text) for name, text in found.items() if text)


def _held_out(split: SplitSummary) -> str:
    """Return what the models had to find."""
    if split.kind == "users":
        return f"{100 * split.held_out:.0f} % of each history"
    kind = "the last interaction of each user" if split.kind == "last" else "all from a time on"
    return " ".join([f"{kind}.", *split.notes])


def headlines(study: tables.ReportedStudy) -> list[str]:
    """Return the sentences for the top of a report."""
    found = [(v.mean, m) for m in study.models if (v := m.value(TARGET)) is not None]
    text = (
        _templates()
        .get_template("headlines.txt")
        .render(
            results=study.results,
            dial=study.dial,
            ranked=sorted(found, key=lambda pair: -pair[0]),
            presses=lambda model: _presses(study, model),
            target=TARGET,
            title=_TITLE,
        )
    )
    sentences = (" ".join(part.split()) for part in text.split("\n\n"))
    return [sentence for sentence in sentences if sentence]


def _presses(study: tables.ReportedStudy, model: ModelResult | None) -> str:
    """Return what three presses of + change, on the default scale and on the paper's."""
    if model is None:
        return ""

    def change(n_tags: int, scale: str, among: str) -> str:
        scenario = Scenario(n_tags, tables.PAPER_STRENGTH, scale, default_step(scale), among)
        found = study.results.simulation(model.name, scenario)
        change = found.improvement() if found else None
        if change is None:
            return ""
        interval = f"{tables.format_signed(change.low)} to {tables.format_signed(change.high)}"
        doubt = "" if change.is_clear else ", which may be chance"
        return f"{tables.format_signed(change.mean)} % ({interval}{doubt})"

    parts, paper = [], ""
    for among in AMONG:
        # Of a model without discovered tags, all tags are declared.
        kind = f"{among} " if among != "all" and model.discovered else ""
        for n, tags in ((1, f"one {kind}tag"), (2, f"two {kind}tags")):
            if text := change(n, DEFAULT_STEERING.scale, among):
                parts.append(f"on {tags} {text}")
        paper = paper or change(1, "paper", among)
    beside = f"; on the paper's scale one tag {paper}" if paper else ""
    return f"{', '.join(parts)}{beside}" if parts else ""


def _templates() -> Environment:
    templates = environment(Path(__file__).parent / "templates")
    templates.filters |= {
        "cell": lambda text: Markup(_cell_html(text)),  # noqa: S704, escaped there
        "percent": tables.format_percent,
        "signed": tables.format_signed,
        "value": tables.format_value,
    }
    return templates
