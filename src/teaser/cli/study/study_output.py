"""What the commands of experiments print: progress, tables of results, best parameters."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from teaser.cli.output import err, out, print_lines
from teaser.cli.study.fit_command import fit_commands

if TYPE_CHECKING:
    from teaser.evaluate.metrics import Summary
    from teaser.evaluate.study.plan import Study
    from teaser.evaluate.study.results import (
        DialResults,
        DialSetting,
        SimulationResult,
        StudyResults,
    )
    from teaser.evaluate.study.run import Progress as StudyProgress


# Narrower terminals get fewer columns; the files of results have all of them.
WIDE = 120


@contextmanager
def study_bars() -> Iterator["StudyProgress"]:
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


def say(line: str) -> None:
    """Print a line of plain text."""
    print_lines([line])


def show_models(results: "StudyResults") -> None:
    """Print what each model reached on the test users, and how they were split."""
    from teaser.evaluate.metrics import METRIC_TITLES

    metrics = ["recall@20", "recall@100", "ndcg@100", "coverage@20"]
    wide = out.width >= WIDE
    if wide:
        metrics += ["diversity@20", "long_tail@20"]
    users = results.split.test_users
    table = Table(title=f"{results.title}: {users:,} test users", title_justify="left")
    table.add_column("model", no_wrap=True)
    for metric in metrics:
        table.add_column(METRIC_TITLES[metric], justify="right")
    table.add_column("fit", justify="right", no_wrap=True)
    for model in results.models:
        values = [_format_summary(model.value(metric), error=wide) for metric in metrics]
        table.add_row(model.name, *values, f"{model.fit.seconds:.1f} s")
    out.print(table)
    print_lines(results.split.notes)


def show_parts(results: "StudyResults") -> None:
    """Print where the scores of models with tags come from."""
    from teaser.explain import PARTS

    models = [model for model in results.models if model.shares]
    if not models:
        return
    table = _table("Where scores come from, first 20 of each list")
    parts = [
        part
        for part in PARTS
        if out.width >= WIDE or any(model.shares.get(part, 0.0) >= 0.05 for model in models)
    ]
    for name in ("model", *parts, "from tags"):
        table.add_column(name, justify="left" if name == "model" else "right", overflow="fold")
    for model in models:
        shares = [_percent(model.shares.get(part)) for part in parts]
        table.add_row(model.name, *shares, _percent(model.tag_share))
    out.print(table)


def _table(title: str) -> Table:
    """Return an empty table, without lines between columns in a narrow terminal."""
    table = Table(title=title, title_justify="left")
    if out.width < WIDE:
        table.box, table.padding, table.show_edge = SIMPLE_HEAD, (0, 1, 0, 0), False
    return table


def show_dial(dial: "DialResults") -> None:
    """Print the settings of the dial, and which is recommended."""
    from teaser.evaluate.metrics import METRIC_TITLES

    metric = METRIC_TITLES.get(dial.metric, dial.metric)
    title = f"{dial.title}: the dial, {dial.users:,} validation users"
    table = _table(title)
    wide = out.width >= WIDE
    varied = ("remainder.l2", "remainder.neighbours", "l2_weights", "l2_encoder")
    parts = ("declared", "discovered", "general", "viewed")
    further = (*parts, "of personal", "fit") if wide else ()
    names = ("model", *(v.removeprefix("remainder.") for v in varied), metric, "from tags")
    for name in (*names, *further):
        table.add_column(name, justify="left" if name == "model" else "right", no_wrap=True)
    for each in sorted(dial.settings, key=lambda s: (-s.tag_share, -s.value)):
        given = each.parameters
        shares = [*(each.shares.get(part) for part in parts), each.personal_share]
        more = [*map(_percent, shares), f"{each.seconds:.1f} s"]
        table.add_row(
            each.kind,
            *(f"{given[name]:g}" if name in given else "" for name in varied),
            f"{each.value:.4f}" + (f" ± {each.error:.4f}" if wide else ""),
            _percent(each.tag_share),
            *more[: len(further)],
            style="bold" if each == dial.recommended else None,
        )
    out.print(table)
    say(f"Recommended: {_setting(dial.recommended)}, the most of all {dial.near}.")
    if dial.ease is not None:
        most = dial.at_ease
        told_most = "no setting with tags reaches it" if most is None else _setting(most)
        say(f"EASE: {dial.ease:.4f}. At its accuracy or better, most from tags: {told_most}.")


def _setting(chosen: "DialSetting") -> str:
    parameters = ", ".join(f"{name}={value:g}" for name, value in chosen.parameters.items())
    return f"Teaser({parameters}): {chosen.value:.4f}, {100 * chosen.tag_share:.0f} % from tags"


def show_best(results: "StudyResults", study: "Study", data: Path) -> None:
    """Print the best parameters of each model, and for a Teaser how to fit it to all users."""
    table = Table(title="Best parameters", title_justify="left")
    table.add_column("model")
    table.add_column("parameters", overflow="fold")
    for model in results.models:
        chosen = ", ".join(f"{name}={_plain(v)}" for name, v in model.parameters.items())
        table.add_row(model.name, " × ".join(model.parts) or chosen or "-")
    out.print(table)
    commands = {
        model.name: fit_commands(study, data, model.parameters)
        for model in results.models
        if model.kind == "Teaser"
    }
    if not commands:
        return
    say("To fit one of these to all users:")
    first = next(iter(commands.values()))
    print_lines(f"  {command}" for command in first[:-1])
    for name, (*_, fit) in commands.items():
        print_lines([f"{name}:", f"  {fit}"])


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def show_simulations(simulations: "Sequence[SimulationResult]") -> None:
    """Print what simulated feedback gained."""
    if not simulations:
        return
    table = Table(title="Simulated feedback, nDCG@100", title_justify="left")
    wide = out.width >= WIDE
    texts = ("model", "scale", "among")
    columns = ("step", "tags", "presses", "after", "gain", "95 % interval", "among")
    left_out = () if wide else ("scale", "step", "after")
    names = [name for name in ("model", "scale", *columns) if name not in left_out]
    for name in names:
        table.add_column(
            name, justify="left" if name in texts else "right", no_wrap=name == "model"
        )
    for each in simulations:
        gain = each.gain["ndcg@100"]
        cells = {
            "model": each.model,
            "scale": each.scale,
            "step": f"{each.step:g}",
            "tags": str(each.n_tags),
            "presses": f"{each.strength:+d}",
            "after": _format_summary(each.metrics["ndcg@100"]),
            "gain": f"{gain.mean:+.4f}",
            "95 % interval": f"{gain.low:+.4f} to {gain.high:+.4f}",
            "among": each.among,
        }
        table.add_row(*(cells[name] for name in names))
    out.print(table)


def _format_summary(summary: "Summary | None", *, error: bool = True) -> str:
    if summary is None or math.isnan(summary.mean):
        return "-"
    if not error or math.isnan(summary.error):
        return f"{summary.mean:.4f}"
    return f"{summary.mean:.4f} ± {summary.error:.4f}"
