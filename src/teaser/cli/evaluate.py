"""The commands of studies: evaluate, tune, simulate, report."""

import logging
import math
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from teaser.cli import options as cli
from teaser.cli.output import err, log_level, new_table, out, print_lines, print_next, progress_bar
from teaser.errors import ParameterError
from teaser.explain import PARTS
from teaser.model.shared_fit import make_model
from teaser.model.teaser import Teaser
from teaser.parameters import options_of

if TYPE_CHECKING:
    from teaser.evaluate.metrics import Summary
    from teaser.evaluate.study.plan import Study
    from teaser.evaluate.study.results import (
        DialResults,
        DialSetting,
        SimulationResult,
        StudyResults,
    )

commands = typer.Typer()

StudyFile = Annotated[
    Path,
    typer.Argument(
        help="A study, such as experiments/events.toml; or a folder that prepare wrote, which "
        "gets a study."
    ),
]


@dataclass(frozen=True)
class RunOptions:
    """Where the data of a study are, where its results go, and how much of it is run.

    Parameters
    ----------
    folder
        Folder of the results; beside the study if not given.
    quick
        A small run, named NAME-quick.
    split
        With a prepared folder: users, last or time; users if not given.
    """

    data: Annotated[
        Path, typer.Option(envvar="TEASER_DATA", help="Folder that holds the public data sets.")
    ] = Path("data")
    folder: Path | None = None
    quick: bool = False
    split: str | None = None

    def open(self, path: Path) -> tuple["Study", Path]:
        """Return a study and the folder of its results; a prepared data set gets a study first."""
        from teaser.evaluate.study.plan import Study
        from teaser.evaluate.study.propose import open_study, study_path

        if not path.is_dir():
            if self.split is not None:
                raise ParameterError(
                    f"--split is for a prepared folder. {path} is a study: write kind = "
                    f'"{self.split}" into its table [split].'
                )
            return Study.read(path), self.folder or path.parent / "results"
        file = study_path(path, self.folder, kind=self.split or "users")
        done = "is taken as it stands" if file.exists() else "was written"
        plan = open_study(path, self.folder, kind=self.split or "users")
        print_lines([f"The study {file} {done}. Edit it, and give it in place of {path}."])
        return plan, self.folder or file.parent / "results"

    def results(self, study: "Study", place: Path) -> Path:
        """Return the path of results, without its suffix."""
        return place / (f"{study.name}-quick" if self.quick else study.name)


@commands.command()
@cli.expand_options
def evaluate(
    study: StudyFile,
    *,
    options: Annotated[RunOptions, cli.OptionsOf()],
    new_items: float | None = None,
) -> None:
    """Choose parameters, test and compare the models of a study; a stopped run is resumed.

    Parameters
    ----------
    new_items
        Hide the choices of this share of the items, and measure how they are ranked as new
        ones, in place of the usual study.
    """
    from teaser.evaluate.study.run import run_study

    if new_items is not None:
        _need_users(options.split or "users")
    plan, place = options.open(study)
    results_in = options.results(plan, place)
    if new_items is not None:
        _need_users(plan.split.kind)
        _compare_new_items(plan, new_items, options, results_in)
        return
    with progress_bar(err, "reading the data") as report:
        results = run_study(plan, data=options.data, out=place, quick=options.quick, report=report)
    show_models(results)
    show_simulations(results.simulations)
    show_best(results, plan)
    print_lines([f"{results.seconds:.0f} s; results in {results_in}.json"])
    print_next(f"teaser report {shlex.quote(f'{results_in}.json')} --out REPORT")


def _need_users(kind: str) -> None:
    """Raise for a split that new items do not go with."""
    if kind != "users":
        raise ParameterError(
            f"--new-items holds out items and users, and this study splits by {kind}. "
            "Leave --split out: where there are times, a table by time is made too."
        )


def _compare_new_items(study: "Study", share: float, options: RunOptions, results_in: Path) -> None:
    """Run the protocol for new items on the data of a study; print and write its tables."""
    from teaser.evaluate.new_items import evaluate_new_items
    from teaser.evaluate.study.data import make_split, read_data
    from teaser.evaluate.study.results import NEW_ITEMS_SUFFIX

    study = study.smaller() if options.quick else study
    dataset = read_data(study, options.data)
    # Every model would say again which tags of new items it does not know.
    with log_level("teaser", logging.ERROR), err.status("new items") as status:
        results = evaluate_new_items(
            dataset,
            make_split(dataset, study.split),
            share,
            name=results_in.name,
            seed=study.split.seed,
            progress=lambda doing: status.update(f"new items: {doing}"),
        )
    for each in results.tables:
        table = new_table("model", ">nDCG@100", ">against tf-idf", ">95 % interval")
        base = each.rows[0].value.mean
        for row in each.rows:
            cells = [row.name, _with_error(row.value)]
            if row.gain is not None:
                gain = row.gain.times(100 / base)
                cells += [f"{gain.mean:+.1f} %", f"{gain.low:+.1f} to {gain.high:+.1f} %"]
            table.add_row(*cells, style="bold" if row == each.best else None)
        print_lines([f"{each.title}: {each.items:,} new items, {each.users:,} test users"])
        out.print(table)
        if each.best is not None:
            print_lines([f"Best by validation users: {each.best.name}."])
    print_lines(results.notes)
    results_in.parent.mkdir(parents=True, exist_ok=True)
    file = results_in.with_name(f"{results_in.name}{NEW_ITEMS_SUFFIX}")
    results.write(file)
    print_lines([f"results in {file}"])


@commands.command()
@cli.expand_options
def tune(
    study: StudyFile,
    *,
    options: Annotated[RunOptions, cli.OptionsOf()],
    remainder_l2: list[float] | None = None,
    l2_weights: list[float] | None = None,
    l2_encoder: list[float] | None = None,
    neighbours: list[int] | None = None,
    within: float = 0.01,
) -> None:
    """Compare tags alone and tags then neighbours; a stopped run is resumed.

    Parameters
    ----------
    remainder_l2
        Penalties on the remainder; repeat.
    l2_weights
        Penalties on item-to-item weights; repeat.
    l2_encoder
        Penalties on the encoder; repeat.
    neighbours
        Numbers of neighbours of an item; repeat.
    within
        How much accuracy the recommended setting may lose.
    """
    from teaser.evaluate.report import write_dial
    from teaser.evaluate.study.dial import dial_study
    from teaser.evaluate.study.plan import DialPlan, validate

    plan, place = options.open(study)
    given = {"remainder_l2": remainder_l2, "l2_weights": l2_weights, "l2_encoder": l2_encoder}
    chosen = {n: values for n, values in (*given.items(), ("neighbours", neighbours)) if values}
    plan = replace(plan, dial=validate(DialPlan, {**asdict(plan.dial), **chosen}))
    where: dict[str, Any] = {"data": options.data, "out": place, "quick": options.quick}
    with progress_bar(err, "reading the data") as report:
        dial = dial_study(plan, **where, within=within, report=report)
    show_dial(dial)
    results_in = options.results(plan, place)
    drawn = write_dial(dial, Path(f"{results_in}.dial.svg"))
    print_lines([f"results in {results_in}.dial.json, the picture in {drawn}"])
    print_lines(["To fit the recommended setting to all users:"])
    found = {**dial.fixed, **dial.recommended.parameters}
    print_lines([f"  {fit_command(plan, found)}"])


@commands.command()
@cli.expand_options
def simulate(
    study: StudyFile,
    *,
    options: Annotated[RunOptions, cli.OptionsOf()],
    tags: list[int] | None = None,
    strength: list[int] | None = None,
    scale: list[str] | None = None,
    step: list[float] | None = None,
    among: list[str] | None = None,
    model: list[str] | None = None,
    draws: Annotated[int | None, typer.Option(min=1)] = None,
    seed: int | None = None,
) -> None:
    """Simulate presses by the test users of a study, and measure their lists.

    Parameters
    ----------
    tags
        How many tags to press; repeat.
    strength
        Presses on each, -5 to 5; repeat.
    scale
        robust or paper; repeat.
    step
        How far one press moves; repeat.
    among
        Which tags to press: all, declared or discovered; repeat.
    model
        A model of the study; repeat, all by default.
    draws
        Number of random draws of tags.
    seed
        Seed of the draws.
    """
    from teaser.evaluate.study.plan import SimulationPlan, validate
    from teaser.evaluate.study.run import simulate_study

    whole, place = options.open(study)
    plan = whole.simulate[0] if whole.simulate else SimulationPlan()
    given: dict[str, Any] = {"tags": tags, "strengths": strength, "scales": scale, "steps": step}
    given |= {"among": among, "models": model, "draws": draws, "seed": seed}
    chosen = {name: value for name, value in given.items() if value not in (None, [])}
    plan = validate(SimulationPlan, {**asdict(plan), **chosen})
    where: dict[str, Any] = {"data": options.data, "out": place, "quick": options.quick}
    with progress_bar(err, "reading the data") as report:
        rows = simulate_study(whole, plan, **where, report=report)
    show_simulations(rows)


@commands.command()
@cli.expand_options
def report(
    results: list[Path],
    *,
    folder: Path = Path("report"),
    tables: bool = False,
) -> None:
    """Write a page, tables and pictures of the results of studies.

    Parameters
    ----------
    results
        Results (NAME.json) of studies, or folders of them.
    folder
        The folder to write: page, tables, pictures.
    tables
        Write the tables alone; --out is then a .md file.
    """
    from teaser.evaluate.report import write_report, write_tables

    print_lines([str((write_tables if tables else write_report)(results, folder))])


def show_models(results: "StudyResults") -> None:
    """Print what each model reached on the test users, and where its scores come from."""
    from teaser.evaluate.metrics import METRIC_TITLES

    metrics = ("recall@20", "recall@100", "coverage@20")
    heads = (METRIC_TITLES["ndcg@100"], *(METRIC_TITLES[m] for m in metrics), "fit")
    table = new_table("model", *(f">{head}" for head in heads))
    for model in results.models:
        values = [_number(model.value(m)) for m in metrics]
        reached = _with_error(model.value("ndcg@100"))
        table.add_row(model.name, reached, *values, f"{model.fit.seconds:.1f} s")
    print_lines([f"{results.title}: {results.split.test_users:,} test users"])
    out.print(table)
    print_lines(results.split.notes)
    models = [model for model in results.models if model.shares]
    parts = [part for part in PARTS if any(m.shares.get(part, 0.0) >= 0.005 for m in models)]
    table = new_table("model", *(f">{part}" for part in parts), ">from tags")
    for model in models:
        shares = (*(model.shares.get(part) for part in parts), model.tag_share)
        table.add_row(model.name, *map(_percent, shares))
    if models:
        print_lines(["Where scores come from, first 20 of each list"])
        out.print(table)


def show_simulations(simulations: "Sequence[SimulationResult]") -> None:
    """Print what simulated feedback gained."""
    if not simulations:
        return
    heads = ("step", "tags", "presses", "after", "gain", "95 % interval")
    table = new_table("model", "scale", *(f">{head}" for head in heads), "among")
    for each in simulations:
        gain = each.gain["ndcg@100"]
        pressed = (each.scenario.step_text, str(each.n_tags), f"{each.strength:+d}")
        interval = f"{gain.low:+.4f} to {gain.high:+.4f}"
        after = _number(each.metrics["ndcg@100"])
        cells = (*pressed, after, f"{gain.mean:+.4f}", interval, each.among)
        table.add_row(each.model, each.scale, *cells)
    print_lines(["Simulated feedback, nDCG@100"])
    out.print(table)


def show_best(results: "StudyResults", study: "Study") -> None:
    """Print the best parameters of each model, and for a Teaser how to fit it to all users."""
    table = new_table("model", "parameters")
    for model in results.models:
        given = model.parameters.items()
        chosen = ", ".join(f"{n}={f'{v:g}' if isinstance(v, float) else v}" for n, v in given)
        table.add_row(model.name, " × ".join(model.parts) or chosen or "-")
    print_lines(["Best parameters"])
    out.print(table)
    teasers = [model for model in results.models if model.kind == "Teaser"]
    print_lines(["To fit one of these to all users:"] if teasers else [])
    for model in teasers:
        print_lines([f"{model.name}:", f"  {fit_command(study, model.parameters)}"])


def show_dial(dial: "DialResults") -> None:
    """Print the settings of the dial, and which is recommended."""
    from teaser.evaluate.metrics import METRIC_TITLES

    varied = ("remainder.l2", "remainder.neighbours", "l2_weights", "l2_encoder")
    names = (*(name.removeprefix("remainder.") for name in varied),)
    metric = METRIC_TITLES.get(dial.metric, dial.metric)
    table = new_table("model", *(f">{name}" for name in (*names, metric, "from tags")))
    for each in sorted(dial.settings, key=lambda s: (-s.tag_share, -s.value)):
        given = (f"{each.parameters[n]:g}" if n in each.parameters else "" for n in varied)
        cells = (*given, f"{each.value:.4f}", _percent(each.tag_share))
        table.add_row(each.kind, *cells, style="bold" if each == dial.recommended else None)
    print_lines([f"{dial.title}: the dial, {dial.users:,} validation users"])
    out.print(table)
    print_lines([f"Recommended: {_setting(dial.recommended)}, the most of all {dial.near}."])
    if dial.ease is not None:
        most = dial.at_ease
        found = "no setting with tags reaches it" if most is None else _setting(most)
        print_lines([f"EASE: {dial.ease:.4f}. At its accuracy or better, most from tags: {found}."])


def _setting(chosen: "DialSetting") -> str:
    parameters = ", ".join(f"{name}={value:g}" for name, value in chosen.parameters.items())
    return f"Teaser({parameters}): {chosen.value:.4f}, {_percent(chosen.tag_share)} from tags"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def _number(summary: "Summary | None") -> str:
    return "-" if summary is None or math.isnan(summary.mean) else f"{summary.mean:.4f}"


def _with_error(summary: "Summary | None") -> str:
    known = summary and not math.isnan(summary.error)
    return _number(summary) + (f" ± {summary.error:.4f}" if summary and known else "")


# Given always: without them, `teaser fit` would choose a recipe of its own.
_ALWAYS = ("l2_weights", "l2_encoder")


def fit_command(study: "Study", parameters: Mapping[str, Any]) -> str:
    """Return the command that fits a Teaser of these parameters to all data of a study.

    DATA stands for the prepared folder, where the study reads tables or a public data set.

    Parameters
    ----------
    parameters
        As a study has them, also dotted.
    """
    plan = study.data
    folder = os.path.normpath(Path(study.folder) / plan.prepared) if plan.prepared else "DATA"
    words = ["teaser", "fit", folder, "--out", f"{study.name}-model", *_options(parameters)]
    return shlex.join(words)


def _options(parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options of `teaser fit` for the parameters that are not defaults."""
    given, default = make_model("Teaser", parameters).parameters(), Teaser().parameters()
    for name, value in given.items():
        if name in options_of(Teaser):
            yield from () if value is None else _extension(name, value)
        elif name in _ALWAYS or value != default[name]:
            flag = cli.FLAGS.get(name, (f"--{name.replace('_', '-')}",))[0]
            if isinstance(value, bool):
                yield flag if value else f"--no-{flag.removeprefix('--')}"
            elif value is not None:
                yield from (flag, _written(value))


def _extension(name: str, options: Any) -> Iterator[str]:
    """Yield the entries of an options object that are not its defaults, or the switch alone."""
    default, words = type(options)(), []
    for each in fields(options):
        value = getattr(options, each.name)
        if value != getattr(default, each.name):
            flag = f"--{name}-{each.name}".replace("_", "-")
            # A command line cannot write None: 0 stands for it.
            words += [flag, _written(0 if value is None else value)]
    yield from words or [f"--{name}"]


def _written(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ",".join(map(_written, value))
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)
