"""One server under visitors and programs, while models are replaced and faults are made."""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soak.actor import at_work
from soak.faults import Fault, faults_of
from soak.ledger import Comparison
from soak.memory import megabytes
from soak.models import Models
from soak.postgres import Postgres
from soak.programs import Program
from soak.records import COMPARED, CROWD, REPLACED, Record
from soak.servers import Server
from soak.visitors import Visitor

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
