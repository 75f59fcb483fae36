"""How a benchmark says what it measured: a table for readers, json for later."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from teaser.evaluate.study.results import environment

RESULTS = Path(__file__).parent / "results"


def report(name: str, rows: Sequence[Mapping[str, Any]], **facts: Any) -> None:
    """Print the rows as a table, and write them with machine, versions and commit."""
    table = Table(title=name, title_justify="left")
    for column in rows[0]:
        table.add_column(column, justify="left" if isinstance(rows[0][column], str) else "right")
    for row in rows:
        table.add_row(*(_said(value) for value in row.values()))
    console = Console()
    console.print(table)
    for key, value in facts.items():
        console.print(f"{key}: {_said(value)}", highlight=False)
    RESULTS.mkdir(exist_ok=True)
    content = {"benchmark": name, "rows": list(rows), **facts, **machine()}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


def machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {"cores": os.cpu_count(), "memory_gb": round(memory, 1), **environment()}


def _said(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
