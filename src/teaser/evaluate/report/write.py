"""Reports of studies: the tables as Markdown, the pictures, and a page with everything."""

from collections.abc import Sequence
from pathlib import Path

from teaser.evaluate.report.page import TITLES, render_page
from teaser.evaluate.report.pictures.dial import draw_dial
from teaser.evaluate.report.pictures.drawing import style
from teaser.evaluate.report.pictures.study import draw_pictures
from teaser.evaluate.report.tables.model_tables import comparison_tables, cost_table
from teaser.evaluate.report.tables.reported import ReportedStudy, Source, read_studies
from teaser.evaluate.report.tables.table import to_markdown
from teaser.evaluate.study.json_file import write_whole
from teaser.evaluate.study.results import DialResults

PAGE, TABLES, PICTURES = "index.html", "tables.md", "pictures"


def write_report(results: Sequence[Source], out: str | Path) -> Path:
    """Write a report of one or several studies, and return the path of its page.

    Parameters
    ----------
    results
        What `run_study` returned, the JSON files of studies and dials, or folders of them.
    out
        A folder; it gets `index.html`, which needs no other file, `tables.md`, and the pictures
        one by one under `pictures/`.
    """
    studies = read_studies(results)
    drawn = [draw_pictures(study) for study in studies]
    page = render_page(studies, drawn)
    folder = Path(out)
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    for each in (picture for pictures in drawn for picture in pictures):
        write_whole(folder / PICTURES / f"{each.name}.svg", each.standalone())
    write_whole(folder / TABLES, tables_text(studies))
    write_whole(folder / PAGE, page)
    return folder / PAGE


def write_dial(dial: DialResults, path: str | Path) -> Path:
    """Write the picture of a dial, and return its path."""
    path = Path(path)
    with style(f"{dial.key}-draw_dial"):
        write_whole(path, draw_dial(dial).standalone())
    return path


def write_tables(results: Sequence[Source], path: str | Path) -> Path:
    """Write the tables of one or several studies as Markdown; see `write_report`."""
    path = Path(path)
    text = tables_text(read_studies(results))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
    return path


def tables_text(studies: Sequence[ReportedStudy]) -> str:
    """Return all tables as Markdown."""
    parts = ["<!-- Written by `teaser report` from the results; changes here are lost. -->"]
    quick = [each.title for each in studies if each.results.quick]
    if quick:
        parts.append(
            f"> {', '.join(quick)}: few users and few cells, to check that everything runs; "
            "do not rely on these figures."
        )
    for table in comparison_tables(studies):
        parts.append(f"## {TITLES[table.name]}\n\n{to_markdown(table).rstrip()}")
    for each in studies:
        cost = to_markdown(cost_table(each)).rstrip()
        parts.append(f"## {each.title}: parameters and cost\n\n{cost}")
    return "\n\n".join(parts) + "\n"
