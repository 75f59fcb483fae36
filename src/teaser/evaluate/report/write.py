"""Reports of studies: the tables as Markdown, the pictures, and a page with everything."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from teaser.errors import ParameterError
from teaser.evaluate.report.page import TITLES, render_page
from teaser.evaluate.report.pictures.dial import draw_dial
from teaser.evaluate.report.pictures.drawing import style
from teaser.evaluate.report.pictures.study import draw_pictures
from teaser.evaluate.report.results import Results, Source, read_all
from teaser.evaluate.report.table import to_markdown
from teaser.evaluate.report.tables import cost_table, tables

PAGE, TABLES, PICTURES = "index.html", "tables.md", "pictures"


def write_report(results: Sequence[Source], out: str | Path) -> Path:
    """Write a report of one or several studies, and return the path of its page.

    Parameters
    ----------
    results
        What `run_study` returned, the json files that it wrote, or folders of those.
    out
        A folder; it gets `index.html`, which needs no other file, `tables.md`, and the pictures
        one by one under `pictures/`.
    """
    studies = read_all(results)
    drawn = [draw_pictures(study) for study in studies]
    page = render_page(studies, drawn)
    folder = Path(out)
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    for each in (picture for pictures in drawn for picture in pictures):
        _write(folder / PICTURES / f"{each.name}.svg", each.standalone())
    _write(folder / TABLES, tables_text(studies))
    _write(folder / PAGE, page)
    return folder / PAGE


def write_dial(dial: Mapping[str, Any], path: str | Path) -> Path:
    """Write the picture of what `tune_study` returned, and return its path."""
    path = Path(path)
    if not dial.get("settings"):
        raise ParameterError("There is nothing to draw: the dial was not turned.")
    study = Results({**dial, "dial": dial})
    with style(f"{study.key}-draw_dial"):
        drawn = draw_dial(study)
    if drawn is not None:
        _write(path, drawn.standalone())
    return path


def write_tables(results: Sequence[Source], path: str | Path) -> Path:
    """Write the tables of one or several studies as Markdown; see `write_report`."""
    path = Path(path)
    text = tables_text(read_all(results))
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, text)
    return path


def tables_text(studies: Sequence[Results]) -> str:
    """Return all tables as Markdown."""
    parts = ["<!-- Written by `teaser report` from the results; changes here are lost. -->"]
    quick = [each.title for each in studies if each.quick]
    if quick:
        parts.append(
            f"> {', '.join(quick)}: few people and few cells, to see that all works; "
            "no figures to rely on."
        )
    for table in tables(studies):
        parts.append(f"## {TITLES[table.name]}\n\n{to_markdown(table).rstrip()}")
    for each in studies:
        cost = to_markdown(cost_table(each)).rstrip()
        parts.append(f"## {each.title}: parameters and cost\n\n{cost}")
    return "\n\n".join(parts) + "\n"


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
