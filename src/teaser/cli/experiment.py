"""The commands of the experiments: evaluate a study, simulate feedback on it, report."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

if TYPE_CHECKING:
    from teaser.evaluate.study.run import Progress as Told

out = Console()
err = Console(stderr=True)

StudyFile = Annotated[Path, typer.Argument(help="A study, such as experiments/events.toml.")]
Data = Annotated[
    Path, typer.Option(envvar="TEASER_DATA", help="Folder that holds the public data sets.")
]
Results = Annotated[
    Path | None, typer.Option("--out", "-o", help="Folder of the results [results beside it].")
]
Quick = Annotated[bool, typer.Option("--quick", help="A small honest run, under NAME-quick.")]


def evaluate(
    study: StudyFile, *, data: Data = Path("data"), folder: Results = None, quick: Quick = False
) -> None:
    """Tune, test and compare the models of a study; a run that was stopped goes on."""
    from teaser.evaluate.study.plan import Study
    from teaser.evaluate.study.run import run_study

    plan = Study.read(study)
    place = folder or study.parent / "results"
    with _bars() as progress:
        results = run_study(plan, data=data, out=place, quick=quick, progress=progress)
    _show_models(results)
    _show_simulations(results["simulations"])
    name = f"{plan.name}-quick" if quick else plan.name
    _say(f"{results['seconds']:.0f} s; results in {place / name}.json")
    _say(f"Next: teaser report {place / name}.json --out REPORT")


def tune(
    study: StudyFile,
    *,
    data: Data = Path("data"),
    folder: Results = None,
    quick: Quick = False,
    k: Annotated[
        list[float] | None, typer.Option("--k", help="Penalties on the remainder; repeat.")
    ] = None,
    l1: Annotated[
        list[float] | None, typer.Option("--l1", help="Penalties on weights; repeat.")
    ] = None,
    l2: Annotated[
        list[float] | None, typer.Option("--l2", help="Penalties on the encoder; repeat.")
    ] = None,
    within: Annotated[
        float, typer.Option(help="How near to the best the recommended setting must be.")
    ] = 0.01,
) -> None:
    """Turn the dial between TEASER and EASE: accuracy against the share of scores from tags."""
    from teaser.evaluate.report.write import write_dial
    from teaser.evaluate.study.dial import tune_study
    from teaser.evaluate.study.plan import Study

    plan = Study.read(study)
    given = {"k": k, "l1": l1, "l2": l2}
    grid = replace(plan.dial, **{name: tuple(v) for name, v in given.items() if v})
    place = folder or study.parent / "results"
    with _bars() as progress:
        dial = tune_study(
            plan, data=data, out=place, grid=grid, within=within, quick=quick, progress=progress
        )
    _show_dial(dial)
    name = f"{plan.name}-quick" if quick else plan.name
    drawn = write_dial(dial, place / f"{name}.dial.svg")
    _say(f"results in {place / name}.dial.json, the picture in {drawn}")


def simulate(
    study: StudyFile,
    *,
    data: Data = Path("data"),
    folder: Results = None,
    quick: Quick = False,
    tags: Annotated[list[int] | None, typer.Option(help="Tags to press [1 2]; repeat.")] = None,
    strength: Annotated[
        list[int] | None, typer.Option(help="Presses on each, -5 to 5 [3]; repeat.")
    ] = None,
    scale: Annotated[list[str] | None, typer.Option(help="robust or paper; repeat.")] = None,
    step: Annotated[
        list[float] | None, typer.Option(help="How far a press moves [0.2]; repeat.")
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="Draws of tags to average.")] = 3,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 1,
) -> None:
    """Let the test people of a study press tags, and see what that does to their lists."""
    from teaser.evaluate.study.plan import SimulationPlan, Study
    from teaser.evaluate.study.run import simulate_study

    read = Study.read(study)
    plan = read.simulate or SimulationPlan()
    given: dict[str, Any] = {"tags": tags, "strengths": strength, "scales": scale, "steps": step}
    chosen: dict[str, Any] = {k: tuple(v) for k, v in given.items() if v}
    plan = replace(plan, **chosen, draws=draws, seed=seed)
    place = folder or study.parent / "results"
    with _bars() as progress:
        rows = simulate_study(read, plan, data=data, out=place, quick=quick, progress=progress)
    _show_simulations(rows)


@contextmanager
def _bars() -> Iterator["Told"]:
    """A bar for each stage, with an estimate of what is left of it, on stderr."""
    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[doing]}"),
    )
    with Progress(*columns, console=err) as bars:
        tasks: dict[str, Any] = {}

        def told(stage: str, done: int, total: int, doing: str) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total, doing=doing)
            bars.update(tasks[stage], completed=done, total=total, doing=doing)

        yield told


def _show_models(results: dict[str, Any]) -> None:
    metrics = ("recall@20", "recall@100", "ndcg@100", "coverage@20", "diversity@20", "long_tail@20")
    split = results["split"]
    table = Table(
        title=f"{results['title']}: {split['test_users']:,} test people", title_justify="left"
    )
    table.add_column("model")
    for metric in metrics:
        table.add_column(metric, justify="right")
    table.add_column("fit", justify="right")
    for model in results["models"]:
        values = [_said(model["metrics"][metric]) for metric in metrics]
        table.add_row(model["name"], *values, f"{model['fit']['seconds']:.1f} s")
    out.print(table)


def _show_dial(dial: dict[str, Any]) -> None:
    title = f"{dial['title']}: the dial, {dial['people']:,} validation people"
    table = Table(title=title, title_justify="left")
    for name in ("model", "k", "l1", "l2", dial["metric"], "from tags", "fit"):
        table.add_column(name, justify="left" if name == "model" else "right")
    for each in sorted(dial["settings"], key=lambda s: (-s["tag_share"], -s["value"])):
        given = each["parameters"]
        is_ease = each["kind"] == "EASE"
        names = ("", "l2_weights", "") if is_ease else ("remainder.l2", "l2_weights", "l2_encoder")
        table.add_row(
            each["kind"],
            *(f"{given[name]:g}" if name in given else "" for name in names),
            f"{each['value']:.4f} ± {each['error']:.4f}",
            f"{100 * each['tag_share']:.0f} %",
            f"{each['seconds']:.1f} s",
            style="bold" if each == dial["recommended"] else None,
        )
    out.print(table)
    chosen = dial["recommended"]
    said = ", ".join(f"{name}={value:g}" for name, value in chosen["parameters"].items())
    _say(
        f"Recommended: Teaser({said}): {chosen['value']:.4f}, {100 * chosen['tag_share']:.0f} % "
        f"from tags, the most of all within {100 * dial['within']:g} % of the best."
    )


def _show_simulations(rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    table = Table(title="Simulated feedback, nDCG@100", title_justify="left")
    for name in ("model", "scale", "step", "tags", "presses", "after", "gain", "95 % interval"):
        table.add_column(name, justify="left" if name in ("model", "scale") else "right")
    for row in rows:
        gain = row["gain"]["ndcg@100"]
        table.add_row(
            row["model"],
            row["scale"],
            f"{row['step']:g}",
            str(row["n_tags"]),
            f"{row['strength']:+d}",
            _said(row["metrics"]["ndcg@100"]),
            f"{gain['mean']:+.4f}",
            f"{gain['low']:+.4f} to {gain['high']:+.4f}",
        )
    out.print(table)


def _said(summary: dict[str, Any]) -> str:
    mean, error = summary["mean"], summary["error"]
    if mean is None or mean != mean:
        return "-"
    return f"{mean:.4f}" if error is None or error != error else f"{mean:.4f} ± {error:.4f}"


def _say(line: str) -> None:
    out.print(line, soft_wrap=True, highlight=False, markup=False)


def report(
    results: Annotated[
        list[Path], typer.Argument(help="Results (NAME.json) of studies, or folders of them.")
    ],
    *,
    folder: Annotated[
        Path, typer.Option("--out", "-o", help="The folder to write: page, tables, pictures.")
    ] = Path("report"),
    tables: Annotated[
        bool, typer.Option("--tables", help="Write the tables alone; --out is then a .md file.")
    ] = False,
) -> None:
    """Make tables, pictures and a page of the results of studies."""
    from teaser.evaluate.report import write_report, write_tables

    _say(str((write_tables if tables else write_report)(results, folder)))
