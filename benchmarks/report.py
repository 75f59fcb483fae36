"""How a benchmark says what it measured: a table for readers, json for later."""

import json
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from rich.console import Console
from rich.table import Table

import teaser

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


def times(work: Callable[[int], object], repeat: int) -> dict[str, float]:
    """Return the median and the 95th percentile of so many goes, in milliseconds."""
    measured = []
    for i in range(repeat):
        start = time.perf_counter()
        work(i)
        measured.append(1000 * (time.perf_counter() - start))
    return {"median ms": float(np.median(measured)), "p95 ms": float(np.percentile(measured, 95))}


def saved_mb(model: Any) -> float:
    """Return the megabytes of a model's folder."""
    with tempfile.TemporaryDirectory() as scratch:
        model.save(Path(scratch) / "model")
        return sum(f.stat().st_size for f in Path(scratch).rglob("*") if f.is_file()) / 1e6


def machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607
        capture_output=True, text=True, check=False, cwd=Path(__file__).parent,
    ).stdout.strip()  # fmt: skip
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "teaser": teaser.__version__,
        "commit": commit,
    }


def _said(value: Any) -> str:
    return (
        f"{value:.3g}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )
