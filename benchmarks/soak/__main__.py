"""Run a soak and end with a table; the status is 1 if something was lost, failed or grew."""

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from report import RESULTS, machine
from rich.console import Console

from soak.postgres import Postgres
from soak.servers import make_models
from soak.stage import Outcome, Plan, content, run_stage, show, verdict
from teaser.data import demo


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the arguments of the command line say, and return the status to end with."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="of all stages together")
    parser.add_argument(
        "--databases", nargs="+", choices=["sqlite", "postgresql"],
        default=["sqlite", "postgresql"], help="a stage for each",
    )  # fmt: skip
    parser.add_argument("--visitors", type=int, default=32)
    parser.add_argument("--programs", type=int, default=4, help="clients of the API")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--items", type=int, default=2400, help="of the two models")
    parser.add_argument("--max-p99", type=float, help="in ms; no time is judged without it")
    parser.add_argument("--out", type=Path, default=RESULTS / "soak.json")
    parser.add_argument("--only", nargs="+", default=[], help="make only the faults of these names")
    chosen = parser.parse_args(arguments)
    plan = Plan(
        60 * chosen.minutes / len(chosen.databases),
        visitors=chosen.visitors,
        programs=chosen.programs,
        workers=chosen.workers,
        only=tuple(chosen.only),
    )
    outcomes = [_stage(plan, kind, chosen.items) for kind in chosen.databases]
    wrong = verdict(outcomes, max_p99=chosen.max_p99)
    console = Console(width=None if sys.stdout.isatty() else 160)
    show(outcomes, console)
    for text in wrong or ["Nothing was lost, nothing failed, and memory did not grow."]:
        console.print(text, highlight=False, markup=False)
    chosen.out.parent.mkdir(exist_ok=True)
    found = {**content(outcomes, wrong), **machine()}
    chosen.out.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if wrong else 0


def _stage(plan: Plan, kind: str, n_items: int) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="soak-") as scratch:
        folder = Path(scratch)
        dataset = demo.dataset(n_events=n_items, n_users=4 * n_items)
        models = make_models(folder, dataset)
        if kind == "sqlite":
            return run_stage(plan, models, folder / "server", None)
        with Postgres() as database:
            return run_stage(plan, models, folder / "server", database)


if __name__ == "__main__":
    # A soak that is stopped ends its servers, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
