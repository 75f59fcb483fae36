"""The commands of the experiments: evaluate, tune, simulate, report."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from teaser.cli.output import err, print_lines
from teaser.cli.study.fit_command import fit_commands
from teaser.cli.study.study_output import (
    say,
    show_best,
    show_dial,
    show_models,
    show_parts,
    show_simulations,
    study_bars,
)
from teaser.errors import ParameterError

if TYPE_CHECKING:
    from teaser.evaluate.study.plan import Study

commands = typer.Typer()

StudyFile = Annotated[
    Path,
    typer.Argument(
        help="A study, such as experiments/events.toml; or a folder that prepare wrote, which "
        "gets a study."
    ),
]
Data = Annotated[
    Path, typer.Option(envvar="TEASER_DATA", help="Folder that holds the public data sets.")
]
Results = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder of the results; beside the study if not given."),
]
Kind = Annotated[
    str | None,
    typer.Option(help="With a prepared folder: users, last or time; users if not given."),
]
Quick = Annotated[bool, typer.Option("--quick", help="A small run, named NAME-quick.")]


@commands.command()
def evaluate(
    study: StudyFile,
    *,
    data: Data = Path("data"),
    folder: Results = None,
    quick: Quick = False,
    split: Kind = None,
) -> None:
    """Choose parameters, test and compare the models of a study; a stopped run is resumed."""
    from teaser.evaluate.study.run import run_study

    plan, place = _open(study, folder, split)
    with study_bars() as progress:
        results = run_study(plan, data=data, out=place, quick=quick, progress=progress)
    show_models(results)
    show_parts(results)
    show_simulations(results.simulations)
    show_best(results, plan, data)
    name = f"{plan.name}-quick" if quick else plan.name
    say(f"{results.seconds:.0f} s; results in {place / name}.json")
    _say_file(study, plan, "evaluate", folder)
    say(f"Next: teaser report {shlex.quote(f'{place / name}.json')} --out REPORT")


def _open(path: Path, folder: Path | None, kind: str | None) -> tuple["Study", Path]:
    """Return a study and the folder of its results; a prepared data set gets a study first."""
    from teaser.evaluate.proposal import open_study, study_path
    from teaser.evaluate.study.plan import Study

    if not path.is_dir():
        if kind is not None:
            raise ParameterError(
                f'--split is for a prepared folder. {path} is a study: write kind = "{kind}" '
                "into its table [split]."
            )
        return Study.read(path), folder or path.parent / "results"
    file = study_path(path, folder, kind=kind or "users")
    known = file.exists()
    plan = open_study(path, folder, kind=kind or "users")
    err.print(
        f"The study {file} {'is taken as it stands' if known else 'was written'}.",
        highlight=False,
        soft_wrap=True,
    )
    return plan, folder or file.parent / "results"


def _say_file(given: Path, study: "Study", command: str, folder: Path | None) -> None:
    """Say how to edit and run a study that was written for a prepared data set."""
    if given.is_dir():
        file = Path(study.folder) / f"{study.name}.toml"
        out_option = "" if folder is None else f" --out {shlex.quote(str(folder))}"
        say(f"Edit {file} and run it again: teaser {command} {shlex.quote(str(file))}{out_option}")


@commands.command()
def tune(
    study: StudyFile,
    *,
    data: Data = Path("data"),
    folder: Results = None,
    quick: Quick = False,
    split: Kind = None,
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
    """Compare tags alone and tags then neighbours; a stopped run is resumed."""
    from teaser.evaluate.report.write import write_dial
    from teaser.evaluate.study.dial import dial_study

    plan, place = _open(study, folder, split)
    given: dict[str, Any] = {"remainder_l2": remainder_l2, "l2_weights": l2_weights}
    given |= {"l2_encoder": l2_encoder, "neighbours": neighbours}
    chosen: dict[str, Any] = {name: tuple(v) for name, v in given.items() if v}
    grid = replace(plan.dial, **chosen)
    with study_bars() as progress:
        dial = dial_study(
            plan, data=data, out=place, grid=grid, within=within, quick=quick, progress=progress
        )
    show_dial(dial)
    name = f"{plan.name}-quick" if quick else plan.name
    drawn = write_dial(dial, place / f"{name}.dial.svg")
    say(f"results in {place / name}.dial.json, the picture in {drawn}")
    say("To fit the recommended setting to all users:")
    found = {**dial.fixed, **dial.recommended.parameters}
    print_lines(f"  {command}" for command in fit_commands(plan, data, found))
    _say_file(study, plan, "tune", folder)


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
    from teaser.evaluate.study.plan import SimulationPlan
    from teaser.evaluate.study.run import simulate_study

    whole, place = _open(study, folder, None)
    plan = whole.simulate[0] if whole.simulate else SimulationPlan()
    given: dict[str, Any] = {"tags": tags, "strengths": strength, "scales": scale, "steps": step}
    given |= {"among": among, "models": model}
    chosen: dict[str, Any] = {k: tuple(v) for k, v in given.items() if v}
    chosen |= {k: v for k, v in (("draws", draws), ("seed", seed)) if v is not None}
    plan = replace(plan, **chosen)
    with study_bars() as progress:
        rows = simulate_study(whole, plan, data=data, out=place, quick=quick, progress=progress)
    show_simulations(rows)


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

    say(str((write_tables if tables else write_report)(results, folder)))
