"""The commands of the experiments: evaluate, tune, simulate, report."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from teaser.cli.output import err, out, print_lines

if TYPE_CHECKING:
    from teaser.evaluate.metrics import Summary
    from teaser.evaluate.study.results import (
        DialResults,
        DialSetting,
        SimulationResult,
        StudyResults,
    )
    from teaser.evaluate.study.run import Progress as StudyProgress

commands = typer.Typer()

StudyFile = Annotated[Path, typer.Argument(help="A study, such as experiments/events.toml.")]
Data = Annotated[
    Path, typer.Option(envvar="TEASER_DATA", help="Folder that holds the public data sets.")
]
Results = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder of the results; beside the study if not given."),
]
Quick = Annotated[bool, typer.Option("--quick", help="A small run, named NAME-quick.")]


@commands.command()
def evaluate(
    study: StudyFile, *, data: Data = Path("data"), folder: Results = None, quick: Quick = False
) -> None:
    """Choose parameters, test and compare the models of a study; a stopped run is resumed."""
    from teaser.evaluate.study.plan import Study
    from teaser.evaluate.study.run import run_study

    plan = Study.read(study)
    place = folder or study.parent / "results"
    with _bars() as progress:
        results = run_study(plan, data=data, out=place, quick=quick, progress=progress)
    _show_models(results)
    _show_parts(results)
    _show_simulations(results.simulations)
    name = f"{plan.name}-quick" if quick else plan.name
    _say(f"{results.seconds:.0f} s; results in {place / name}.json")
    _say(f"Next: teaser report {place / name}.json --out REPORT")


@commands.command()
def tune(
    study: StudyFile,
    *,
    data: Data = Path("data"),
    folder: Results = None,
    quick: Quick = False,
    remainder_l2: Annotated[
        list[float] | None, typer.Option(help="Penalties on the remainder; repeat.")
    ] = None,
    l2_weights: Annotated[
        list[float] | None, typer.Option(help="Penalties on item-to-item weights; repeat.")
    ] = None,
    l2_encoder: Annotated[
        list[float] | None, typer.Option(help="Penalties on the encoder; repeat.")
    ] = None,
    neighbours: Annotated[
        list[int] | None, typer.Option(help="Numbers of neighbours of an item; repeat.")
    ] = None,
    within: Annotated[
        float, typer.Option(help="How much accuracy the recommended setting may lose.")
    ] = 0.01,
) -> None:
    """Compare tags alone and tags then neighbours: accuracy against the share from tags."""
    from teaser.evaluate.report.write import write_dial
    from teaser.evaluate.study.dial import dial_study
    from teaser.evaluate.study.plan import Study

    plan = Study.read(study)
    given: dict[str, Any] = {"remainder_l2": remainder_l2, "l2_weights": l2_weights}
    given |= {"l2_encoder": l2_encoder, "neighbours": neighbours}
    chosen: dict[str, Any] = {name: tuple(v) for name, v in given.items() if v}
    grid = replace(plan.dial, **chosen)
    place = folder or study.parent / "results"
    with _bars() as progress:
        dial = dial_study(
            plan, data=data, out=place, grid=grid, within=within, quick=quick, progress=progress
        )
    _show_dial(dial)
    name = f"{plan.name}-quick" if quick else plan.name
    drawn = write_dial(dial, place / f"{name}.dial.svg")
    _say(f"results in {place / name}.dial.json, the picture in {drawn}")


@commands.command()
def simulate(
    study: StudyFile,
    *,
    data: Data = Path("data"),
    folder: Results = None,
    quick: Quick = False,
    tags: Annotated[list[int] | None, typer.Option(help="How many tags to press; repeat.")] = None,
    strength: Annotated[
        list[int] | None, typer.Option(help="Presses on each, -5 to 5; repeat.")
    ] = None,
    scale: Annotated[list[str] | None, typer.Option(help="robust or paper; repeat.")] = None,
    step: Annotated[
        list[float] | None, typer.Option(help="How far one press moves; repeat.")
    ] = None,
    among: Annotated[
        list[str] | None,
        typer.Option(help="Which tags to press: all, declared or discovered; repeat."),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="A model of the study; repeat. All by default.")
    ] = None,
    draws: Annotated[
        int | None, typer.Option(min=1, help="Number of random draws of tags.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the draws.")] = None,
) -> None:
    """Simulate presses by the test users of a study, and measure their lists."""
    from teaser.evaluate.study.plan import SimulationPlan, Study
    from teaser.evaluate.study.run import simulate_study

    whole = Study.read(study)
    plan = whole.simulate[0] if whole.simulate else SimulationPlan()
    given: dict[str, Any] = {"tags": tags, "strengths": strength, "scales": scale, "steps": step}
    given |= {"among": among, "models": model}
    chosen: dict[str, Any] = {k: tuple(v) for k, v in given.items() if v}
    chosen |= {k: v for k, v in (("draws", draws), ("seed", seed)) if v is not None}
    plan = replace(plan, **chosen)
    place = folder or study.parent / "results"
    with _bars() as progress:
        rows = simulate_study(whole, plan, data=data, out=place, quick=quick, progress=progress)
    _show_simulations(rows)


@contextmanager
def _bars() -> Iterator["StudyProgress"]:
    """Show a bar for each stage, with the time left, on stderr."""
    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[doing]}"),
    )
    with Progress(*columns, console=err) as bars:
        tasks: dict[str, Any] = {}

        def update(stage: str, done: int, total: int, doing: str) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total, doing=doing)
            bars.update(tasks[stage], completed=done, total=total, doing=doing)

        yield update


def _show_models(results: "StudyResults") -> None:
    from teaser.evaluate.metrics import METRIC_TITLES

    metrics = ("recall@20", "recall@100", "ndcg@100", "coverage@20", "diversity@20", "long_tail@20")
    users = results.split.test_users
    table = Table(title=f"{results.title}: {users:,} test users", title_justify="left")
    table.add_column("model")
    for metric in metrics:
        table.add_column(METRIC_TITLES[metric], justify="right")
    table.add_column("fit", justify="right")
    for model in results.models:
        values = [_format_summary(model.value(metric)) for metric in metrics]
        table.add_row(model.name, *values, f"{model.fit.seconds:.1f} s")
    out.print(table)


def _show_parts(results: "StudyResults") -> None:
    from teaser.explain import PARTS

    models = [model for model in results.models if model.shares]
    if not models:
        return
    table = Table(title="Where scores come from, first 20 of each list", title_justify="left")
    for name in ("model", *PARTS, "from tags"):
        table.add_column(name, justify="left" if name == "model" else "right")
    for model in models:
        shares = [_percent(model.shares.get(part)) for part in PARTS]
        table.add_row(model.name, *shares, _percent(model.tag_share))
    out.print(table)


def _show_dial(dial: "DialResults") -> None:
    from teaser.evaluate.metrics import METRIC_TITLES

    metric = METRIC_TITLES.get(dial.metric, dial.metric)
    title = f"{dial.title}: the dial, {dial.users:,} validation users"
    table = Table(title=title, title_justify="left")
    varied = ("remainder.l2", "remainder.neighbours", "l2_weights", "l2_encoder")
    shares = ("from tags", "declared", "discovered", "general", "viewed", "of personal")
    for name in ("model", *(v.removeprefix("remainder.") for v in varied), metric, *shares, "fit"):
        table.add_column(name, justify="left" if name == "model" else "right")
    for each in sorted(dial.settings, key=lambda s: (-s.tag_share, -s.value)):
        given, found = each.parameters, each.shares
        told = [found.get(name) for name in ("declared", "discovered", "general", "viewed")]
        table.add_row(
            each.kind,
            *(f"{given[name]:g}" if name in given else "" for name in varied),
            f"{each.value:.4f} ± {each.error:.4f}",
            *(_percent(share) for share in (each.tag_share, *told, each.personal_share)),
            f"{each.seconds:.1f} s",
            style="bold" if each == dial.recommended else None,
        )
    out.print(table)
    _say(
        f"Recommended: {_setting(dial.recommended)}, "
        f"the most of all within {100 * dial.within:g} % of the best."
    )
    if dial.ease is not None:
        most = dial.at_ease
        told_most = "no setting with tags reaches it" if most is None else _setting(most)
        _say(f"EASE: {dial.ease:.4f}. At its accuracy or better, most from tags: {told_most}.")


def _setting(chosen: "DialSetting") -> str:
    parameters = ", ".join(f"{name}={value:g}" for name, value in chosen.parameters.items())
    return f"Teaser({parameters}): {chosen.value:.4f}, {100 * chosen.tag_share:.0f} % from tags"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def _show_simulations(simulations: "Sequence[SimulationResult]") -> None:
    if not simulations:
        return
    table = Table(title="Simulated feedback, nDCG@100", title_justify="left")
    texts = ("model", "scale", "among")
    columns = ("step", "tags", "presses", "after", "gain", "95 % interval", "among")
    for name in ("model", "scale", *columns):
        table.add_column(name, justify="left" if name in texts else "right")
    for each in simulations:
        gain = each.gain["ndcg@100"]
        table.add_row(
            each.model,
            each.scale,
            f"{each.step:g}",
            str(each.n_tags),
            f"{each.strength:+d}",
            _format_summary(each.metrics["ndcg@100"]),
            f"{gain.mean:+.4f}",
            f"{gain.low:+.4f} to {gain.high:+.4f}",
            each.among,
        )
    out.print(table)


def _format_summary(summary: "Summary | None") -> str:
    if summary is None or math.isnan(summary.mean):
        return "-"
    error = "" if math.isnan(summary.error) else f" ± {summary.error:.4f}"
    return f"{summary.mean:.4f}{error}"


def _say(line: str) -> None:
    print_lines([line])


@commands.command()
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
    """Write a page, tables and pictures of the results of studies."""
    from teaser.evaluate.report import write_report, write_tables

    _say(str((write_tables if tables else write_report)(results, folder)))
