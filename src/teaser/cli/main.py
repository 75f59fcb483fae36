"""The command line: parse, one library call, print. Results go to stdout, the rest to stderr."""

import io
import shlex
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from teaser import artifact
from teaser._version import __version__
from teaser.cli import demo as demonstration
from teaser.cli import experiment as experiments
from teaser.cli import fit as fitting
from teaser.cli import output as terminal
from teaser.cli import serve as commands
from teaser.cli.options import (
    AsJson,
    Balance,
    Folder,
    History,
    LocalCluster,
    ModelFolder,
    Out,
    Person,
    Press,
    Scale,
    Scheduler,
    Seed,
    UserRules,
    Users,
    read_history,
    read_presses,
)
from teaser.cli.prepare import USER_RULES, prepare_data, refuse_unused
from teaser.data.dataset import Dataset
from teaser.data.reading.partition_writer import write_partitions
from teaser.errors import ParameterError, TeaserError
from teaser.model import load
from teaser.model.teaser import Teaser
from teaser.profile import Steering

out = Console()
err = Console(stderr=True)


class _Commands(TyperGroup):
    """Commands whose foreseen errors are one sentence and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (TeaserError, OSError, MemoryError) as error:
            said = escape(str(error)) or "out of memory."
            err.print(f"[bold red]error:[/] {said}", soft_wrap=True, highlight=False)
            raise typer.Exit(2) from error


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_show_locals=False,
    help="A recommender that people can read and steer.",
)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        out.print(f"teaser {__version__}")
        raise typer.Exit


@app.command()
def prepare(
    tables: Annotated[
        list[str] | None,
        typer.Argument(help="Interactions and items; or the folder of a public data set."),
    ] = None,
    *,
    folder: Out,
    source: Annotated[
        str | None, typer.Option(help="ml-1m, movielens, amazon, goodbooks, events, ... or auto.")
    ] = None,
    user: Annotated[str | None, typer.Option(help="Column of the user ids [user_id].")] = None,
    item: Annotated[str | None, typer.Option(help="Column of the item ids [item_id].")] = None,
    positive: Annotated[
        str | None, typer.Option(help="Which rows count, such as 'rating >= 4'.")
    ] = None,
    rules: Annotated[
        Path | None, typer.Option(help="TOML file of tag rules; inferred without it.")
    ] = None,
    users: Users = None,
    user_rules: UserRules = None,
    imdb: Annotated[Path | None, typer.Option(help="Folder of IMDb tables, for movielens.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of text tables [utf-8].")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the generated events.")] = None,
    scheduler: Scheduler = None,
    local_cluster: LocalCluster = None,
    as_json: AsJson = False,
) -> None:
    """Turn interactions and metadata into a data set; report, and write the rules used."""
    with err.status("reading"):
        dataset, written = prepare_data(
            [text if "://" in text else Path(text) for text in tables or []],
            folder,
            err,
            source=source,
            rules=rules,
            positive=positive,
            user=user,
            item=item,
            encoding=encoding,
            users=users,
            user_rules=user_rules,
            imdb=imdb,
            seed=seed,
            scheduler=scheduler,
            n_workers=local_cluster,
        )
    if as_json:
        terminal.print_json(dataset.describe())
        return
    for line in dataset.lines():
        out.print(line, highlight=False, soft_wrap=True)
    if rules is None:
        out.print(f"\n[bold]The rules[/], also in {written}:\n", soft_wrap=True)
        out.print(dataset.rules.to_toml(), markup=False, highlight=False, soft_wrap=True)
    if dataset.user_features is not None and user_rules is None:
        out.print(f"\n[bold]The rules of users[/], also in {folder / USER_RULES}", soft_wrap=True)
    terminal.say_next(out, f"teaser fit {shlex.quote(str(folder))} --out MODEL")


@app.command()
def partition(
    interactions: Annotated[
        Path, typer.Argument(help="A file of interactions, or a folder of parquet files.")
    ],
    *,
    folder: Out,
    user: Annotated[str, typer.Option(help="Column of the user ids.")] = "user_id",
    item: Annotated[str, typer.Option(help="Column of the item ids.")] = "item_id",
    parts: Annotated[int | None, typer.Option(help="How many; a million rows each if not.")] = None,
) -> None:
    """Write interactions as partitions by user, for data larger than memory or a cluster."""
    with err.status("partitioning"):
        written = write_partitions(interactions, folder, user=user, item=item, parts=parts)
    for line in written.lines():
        out.print(line, highlight=False, soft_wrap=True)
    named = "".join(
        f" --{option} {shlex.quote(column)}"
        for option, column in (("user", user), ("item", item))
        if column != f"{option}_id"
    )
    terminal.say_next(out, f"teaser prepare {shlex.quote(str(folder))} ITEMS --out DATA{named}")


app.command()(fitting.fit)
app.command()(fitting.estimate)


@app.command()
def profile(
    model: ModelFolder,
    *,
    history: History = None,
    press: Press = None,
    person: Person = None,
    top: Annotated[int, typer.Option(min=1, help="How many tags of each feature.")] = 4,
    scale: Scale = "robust",
    as_json: AsJson = False,
) -> None:
    """Show what the model believes of a person: impacts of features, affinities with tags."""
    fitted = load(model, Teaser)
    seen, presses = read_history(fitted.items_, history), read_presses(press)
    found = fitted.profile(seen, presses, about=person, steering=Steering(scale=scale))
    if as_json:
        terminal.print_json(
            {
                "history": found.history,
                "presses": {str(tag): n for tag, n in found.presses.items()},
                "about": [str(tag) for tag in found.about],
                "certainty": found.certainty,
                "impacts": found.impacts,
                "affinities": {str(tag): a for tag, a in found.affinities.items()},
            }
        )
        return
    out.print(terminal.draw_profile(found, per_feature=top))


@app.command()
def recommend(
    model: ModelFolder,
    *,
    history: History = None,
    press: Press = None,
    person: Person = None,
    k: Annotated[int, typer.Option("-k", help="How many items.")] = 10,
    with_history: Annotated[bool, typer.Option(help="Also recommend what was viewed.")] = False,
    negative: Annotated[bool, typer.Option(help="Also show reasons against.")] = True,
    scale: Scale = "robust",
    balance: Balance = 0.5,
    as_json: AsJson = False,
) -> None:
    """List the best items for a person, each with its signed reasons."""
    fitted = load(model, Teaser)
    found = fitted.recommend(
        read_history(fitted.items_, history),
        read_presses(press),
        k=k,
        exclude_history=not with_history,
        negative_reasons=negative,
        about=person,
        steering=Steering(scale=scale, balance=balance),
    )
    if as_json:
        terminal.print_json([terminal.as_recommendation(r) for r in found])
        return
    out.print(terminal.draw_recommendations(found))


@app.command()
def explain(
    model: ModelFolder,
    item: Annotated[str | None, typer.Argument(help="The item to explain.")] = None,
    *,
    tag: Annotated[
        str | None, typer.Option(help="Explain the affinity with this tag (feature=value) instead.")
    ] = None,
    history: History = None,
    press: Press = None,
    person: Person = None,
    scale: Scale = "robust",
    balance: Balance = 0.5,
    as_json: AsJson = False,
) -> None:
    """Show the whole score of an item, or with --tag where an affinity comes from."""
    if (item is None) == (tag is None):
        raise ParameterError("Name either an item or --tag, to say what is to be explained.")
    fitted = load(model, Teaser)
    seen = read_history(fitted.items_, history)
    if tag is not None:
        refuse_unused("--tag: presses do not change where an affinity comes from", press=press)
        origins = fitted.origins(tag, seen, about=person)
        if as_json:
            terminal.print_json([terminal.as_origin(name, part) for name, part in origins.items()])
            return
        out.print(terminal.draw_origins(origins, terminal.origin_titles(fitted, origins)))
        return
    steering = Steering(scale=scale, balance=balance)
    found = fitted.explain(str(item), seen, read_presses(press), about=person, steering=steering)
    if as_json:
        terminal.print_json(terminal.as_explanation(found))
        return
    out.print(f"[bold]{escape(found.title or str(found.item_id))}[/]", highlight=False)
    out.print(terminal.draw_explanation(found))
    for sentence in found.sentences()[:5]:
        out.print(f"  {sentence}", highlight=False, markup=False)


@app.command()
def info(
    folder: Folder,
    *,
    find: Annotated[
        str | None, typer.Option(help="List items and tags that hold this text.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a folder holds; with --find, look up items and tags by name."""
    if artifact.read_manifest(folder)["kind"] == "dataset":
        data = Dataset.load(folder)
        about, items, tags = data.describe(), data.table, data.tags
        title = data.rules.roles.get("title")
    else:
        fitted = load(folder)
        about, items, tags = fitted.describe(), fitted.table_, fitted.tags_
        title = fitted.rules_.roles.get("title")
    if find is not None:
        names = items.to_series(0).cast(str).to_list()
        titles = items[title].cast(str).fill_null("").to_list() if title else [""] * len(names)
        wanted = find.casefold()
        about = {
            "items": {
                n: t for n, t in zip(names, titles, strict=True) if wanted in f"{n} {t}".casefold()
            },
            "tags": [str(t) for t in tags if wanted in str(t).casefold()],
        }
    if as_json:
        terminal.print_json(about)
        return
    for line in terminal.about_lines(about):
        out.print(line, soft_wrap=True)


@app.command()
def demo(
    *,
    folder: Annotated[Path | None, typer.Option("--out", "-o", help="Keep the model here.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Serve the site on the events at this port instead.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Prepare the built-in events, fit, and show a profile that is read and steered."""
    if port is not None:
        commands.serve_events(port=port, seed=seed)
        return
    model = demonstration.run(out, err, seed=seed)
    if folder is not None:
        model.save(folder)
        out.print(
            f"\nThe model is in {folder}: try teaser info {folder} --find Ghent", soft_wrap=True
        )


app.command()(commands.serve)
for experiment in ("evaluate", "tune", "simulate", "report"):
    app.command()(getattr(experiments, experiment))
app.add_typer(commands.keys, name="keys")


def main() -> None:
    """Run the command line; a terminal that cannot show a letter shows a question mark.

    A process that is told to end leaves no scratch files behind.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()
