"""The table at the end of a soak, and its verdict."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from soak.records import FAILED, QUIET, REPLACED
from soak.stage import Outcome

MAX_GROWTH = 0.10


def verdict(outcomes: Sequence[Outcome], *, max_p99: float | None = None) -> list[str]:
    """Return what is wrong, in sentences; none if all is as it must be.

    `max_p99` is in milliseconds, and bounds what visitors waited in quiet times and while a model
    was replaced. Without it no time is judged: times depend on the machine.
    """
    return [f"{o.database}: {text}" for o in outcomes for text in _wrong(o, max_p99)]


def _wrong(outcome: Outcome, max_p99: float | None) -> Iterator[str]:
    compared = outcome.compared
    if outcome.broken:
        yield f"The server did not recover after {outcome.broken}"
    if compared.lost:
        yield f"{compared.lost:,} of {compared.acknowledged:,} acknowledged actions are lost."
    if compared.unexplained:
        yield f"{compared.unexplained:,} actions are stored that nobody sent."
    if failed := outcome.record.total(FAILED):
        yield f"{failed:,} answers were 5xx other than 503, such as {outcome.record.failures[:3]}."
    for name, (before, after) in outcome.memory.items():
        if after > (1 + MAX_GROWTH) * before:
            yield f"The memory of {name} grew from {before:.0f} to {after:.0f} MB."
    for row in outcome.record.rows():
        if max_p99 is not None and row["phase"] in (QUIET, REPLACED) and row["p99 ms"] > max_p99:
            yield f"p99 in the phase {row['phase']!r} is {row['p99 ms']:.0f} ms, over {max_p99:g}."


def show(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print answers and times by phase, then what was acknowledged, lost and used."""
    for outcome in outcomes:
        _print(console, f"{outcome.database}: answers and times of visitors", outcome.record.rows())
    _print(console, "what was acknowledged, and memory", [summary(o) for o in outcomes])
    for outcome in outcomes:
        for said in outcome.record.failures[:5]:
            console.print(f"{outcome.database}: {said}", highlight=False, markup=False)


def summary(outcome: Outcome) -> dict[str, Any]:
    """Return the one row of a stage."""
    compared, facts = outcome.compared, outcome.facts
    row = {
        "database": outcome.database,
        "acknowledged": compared.acknowledged,
        "lost": compared.lost,
        "5xx": outcome.record.total(FAILED),
        "requests": outcome.record.n_requests,
        "models replaced": facts.get("models replaced", 0),
        "models mapped at once": facts.get("models mapped at once", 0),
    }
    for name, (before, after) in outcome.memory.items():
        row[f"{name}, MB"] = f"{before:.0f} -> {after:.0f}"
    return row


def content(outcomes: Sequence[Outcome], wrong: Sequence[str]) -> dict[str, Any]:
    """Return all that was found, for JSON."""
    stages = [
        {
            **summary(o),
            "unexplained": o.compared.unexplained,
            "memory_mb": o.memory,
            "phases": o.record.rows(),
            "failures": o.record.failures,
            **o.facts,
        }
        for o in outcomes
    ]
    return {"benchmark": "soak", "wrong": list(wrong), "stages": stages}


def _print(console: Console, title: str, rows: Sequence[dict[str, Any]]) -> None:
    table = Table(title=title, title_justify="left")
    for column, value in rows[0].items():
        table.add_column(column, justify="left" if isinstance(value, str) else "right")
    for row in rows:
        table.add_row(*(_said(value) for value in row.values()))
    console.print(table)


def _said(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
