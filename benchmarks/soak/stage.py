"""One server under visitors and programs, while things break; the table and its verdict."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from soak.client import COMPARED, CROWD, FAILED, QUIET, REPLACED, Record
from soak.faults import Fault, faults_of
from soak.people import Comparison, Program, Visitor, at_work
from soak.postgres import Postgres
from soak.servers import Models, Server, megabytes

_TO_FILL = 3_000  # requests to one worker, after which its caches are full


@dataclass(frozen=True)
class Plan:
    """How long a stage lasts, and who takes part in it.

    Attributes
    ----------
    seconds
        The length of the stage.
    visitors, pause
        Their number, and the mean seconds between two actions of one.
    programs, program_pause
        The same of programs.
    workers
        The worker processes of the server.
    only
        The names of the faults that are made; none means all.
    """

    seconds: float
    visitors: int = 32
    pause: float = 1.0
    programs: int = 4
    program_pause: float = 0.05
    workers: int = 2
    only: tuple[str, ...] = ()

    @property
    def step(self) -> float:
        """The length of one quiet time or fault."""
        return max(0.5, min(5.0, self.seconds / 20))


@dataclass
class Outcome:
    """What a stage found; `broken` says after what the server did not recover, if so."""

    database: str
    record: Record
    compared: Comparison = field(default_factory=Comparison)
    memory: dict[str, tuple[float, float]] = field(default_factory=dict)  # before, after; MB
    facts: dict[str, Any] = field(default_factory=dict)
    broken: str = ""


def run_stage(plan: Plan, models: Models, folder: Path, database: Postgres | None) -> Outcome:
    """Serve, drive and break one server; compare at the end what it acknowledged and stored."""
    path = folder / "people.db"
    url = database.url if database else f"sqlite:///{path}"
    outcome = Outcome("PostgreSQL" if database else "SQLite", Record())
    record = outcome.record
    faults = [f for f in faults_of(database or str(path)) if f.name in plan.only or not plan.only]
    with Server(models.folder, url, folder, workers=plan.workers) as server:
        crew = _crew(plan, server, models, record)
        begun, before = time.monotonic(), {}
        try:
            models.wait_until_taken_up(server, models.replace())
            with at_work(crew):
                most = plan.workers * min(_TO_FILL, 10 * plan.seconds)
                record.fill_caches(most, 0.3 * plan.seconds)
                before = _memory(server)
                _cycle(plan, server, models, record, faults, begun)
                with record.during(CROWD):
                    time.sleep(max(0.0, begun + plan.seconds - time.monotonic()))
                server.wait_until_ready()
        except RuntimeError as error:  # the server did not recover
            outcome.broken = f"{record.phase}: {error}"
        after = _memory(server)
        outcome.memory = {name: (before[name], after[name]) for name in before}
        outcome.facts |= {
            "seconds": time.monotonic() - begun,
            "models replaced": models.turn,
            "models mapped at once": models.mapped,
        }
        if outcome.broken:
            server.restart()  # what was acknowledged must be stored all the same
        record.phase = COMPARED
        for one in crew:
            outcome.compared += one.compared()
    return outcome


def _crew(plan: Plan, server: Server, models: Models, record: Record) -> list[Visitor | Program]:
    port = server.port
    return [
        *(Visitor(n, port, models, record, plan.pause) for n in range(plan.visitors)),
        *(Program(n, port, models, record, plan.program_pause) for n in range(plan.programs)),
    ]


def _cycle(
    plan: Plan, server: Server, models: Models, record: Record, faults: list[Fault], begun: float
) -> None:
    """Alternate quiet times, replacements of the model, and faults; one quarter is left."""
    turn = 0
    while turn < len(faults) or time.monotonic() < begun + 0.75 * plan.seconds:
        time.sleep(plan.step)
        with record.during(REPLACED):
            models.wait_until_taken_up(server, models.replace())
            time.sleep(min(1.0, plan.step))  # the first visitors of the new model
        time.sleep(plan.step)
        fault = faults[turn % len(faults)]
        print(f"{time.monotonic() - begun:5.0f} s: {fault.name}", file=sys.stderr)
        with record.during(fault.name):
            fault.make(server, plan.step)
            server.wait_until_ready()
            time.sleep(min(1.0, plan.step))  # for those who try again
        turn += 1


def _memory(server: Server) -> dict[str, float]:
    """Return the memory of all processes."""
    return {"all processes": megabytes(*server.pids)}


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
    if compared["lost"]:
        yield f"{compared['lost']:,} of {compared['acknowledged']:,} acknowledged actions are lost."
    if compared["unexplained"]:
        yield f"{compared['unexplained']:,} actions are stored that nobody sent."
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
        "acknowledged": compared["acknowledged"],
        "lost": compared["lost"],
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
            "unexplained": o.compared["unexplained"],
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
