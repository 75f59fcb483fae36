"""The commands of the loop: make the next model from data and site; list and bring back models."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from teaser import artifact
from teaser.cli import options as cli
from teaser.cli.output import err, new_table, out, print_json, print_lines, progress_bar
from teaser.cli.serve import Database, check_packages
from teaser.data.dataset import Dataset
from teaser.errors import counted
from teaser.evaluate.model_history import KEEP, REFUSED, Entry, ModelHistory
from teaser.evaluate.refit import MARGIN, MIN_VIEWS, SiteInteractions, gather
from teaser.evaluate.refit import refit as make_next
from teaser.files import say_bytes
from teaser.model import load
from teaser.model.teaser import Teaser

if TYPE_CHECKING:
    from teaser.data.matrix import Ids

commands = typer.Typer()

_REFUSED_CODE = 1


@commands.command()
@cli.expand_options
def refit(
    model: cli.ModelFolder,
    *,
    data: Path | None = None,
    database: Database = "",
    views: bool = True,
    api_people: bool = False,
    min_views: Annotated[int, typer.Option(min=1)] = MIN_VIEWS,
    choose: bool = False,
    margin: Annotated[float, typer.Option(min=0, max=1)] = MARGIN,
    force: bool = False,
    keep: Annotated[int, typer.Option(min=1, help="Models of which copies are kept.")] = KEEP,
    seed: cli.Seed = 0,
    as_json: cli.AsJson = False,
) -> None:
    """Make the next model from data and site, and serve it unless it is worse: then exit with 1.

    Parameters
    ----------
    data
        The data set; that of the fit if not given.
    views
        Whether to learn from the site, which must be served with --learn.
    api_people
        Learn from persons of the API too.
    min_views
        Views below which a visitor is left out.
    choose
        Choose the recipe anew; takes longer.
    margin
        Largest loss of nDCG@100, as a share, that is accepted.
    force
        Serve the next model even if it is worse.
    """
    place = cli.find_dataset(model, load(model, Teaser), data, "--data DATA").resolve()
    with progress_bar(err, "reading the data set") as update:
        dataset = Dataset.load(place)
        site = gather((), dataset.items)
        if views:
            site = _read_site(model, database, dataset.items, min_views, api_people)
        entry, measured = make_next(
            model, dataset, site, dataset_path=str(place), margin=margin, choose=choose,
            force=force, keep=keep, rng=seed, callback=update,
        )  # fmt: skip
    if as_json:
        print_json(asdict(entry))
    else:
        print_lines([*site.lines(), *measured.lines(), *_verdict(model, entry)])
    if entry.verdict == REFUSED:
        raise typer.Exit(_REFUSED_CODE)


@commands.command()
@cli.expand_options
def models(
    model: cli.ModelFolder,
    *,
    rollback: int | None = None,
    as_json: cli.AsJson = False,
) -> None:
    """List the models of a folder, or bring an earlier one back.

    Parameters
    ----------
    rollback
        The number of the model to bring back into the folder.
    """
    history = ModelHistory(model)
    if rollback is not None:
        entry = history.roll_back(rollback)
        print_lines([f"Model {entry.number} is in {model}; a server notices it within a second."])
        return
    entries, served = history.entries(), history.served()
    if not entries:
        artifact.read_manifest(model)  # a folder without a model is an error
    numbers = () if served is None else (served.number,)
    if as_json:
        known = ({"served": e.number in numbers, "kept": history.is_kept(e)} for e in entries)
        print_json([{**asdict(e), **more} for e, more in zip(entries, known, strict=True)])
        return
    if not entries:
        print_lines([f"{model} has no earlier models: teaser refit keeps them."])
        return
    out.print(_table(history, entries, numbers))
    print_lines(f"{e.number} was {e.verdict}: {why}" for e in entries for why in e.reasons)
    kept = sum(history.is_kept(e) for e in entries)
    took = say_bytes(history.disk_bytes())
    print_lines([f"{counted(kept, 'model')} kept in {history.folder}, which take {took}."])


def _read_site(
    model: Path, database: str, items: "Ids", min_views: int, api_people: bool
) -> SiteInteractions:
    """Return what people viewed on the site of a model."""
    check_packages()
    from teaser.app.settings import Settings
    from teaser.app.store import Store

    with closing(Store(Settings(model=model, database_url=database).database)) as store:
        return gather(store.visits(with_api=api_people), items, min_views=min_views)


def _verdict(model: Path, entry: Entry) -> list[str]:
    """Return what was decided, and how to change it."""
    why = [f"  {reason}" for reason in entry.reasons]
    if entry.verdict == REFUSED:
        first = f"Refused: the model in {model} stays. The candidate is number {entry.number}."
        return [first, *why]
    back = f"teaser models {model} lists the earlier ones, and --rollback brings one back."
    return [f"Model {entry.number} is in {model} ({entry.verdict}).", *why, back]


def _table(history: ModelHistory, entries: list[Entry], served: Sequence[int]) -> Table:
    figures = (">users", ">items", ">tags", ">nDCG@100", ">bytes", ">")
    table = new_table(">", "made at, UTC", "verdict", *figures)
    for each in entries:
        facts, pair = each.facts, each.report.get("twins")
        counts = [f"{facts[n]:,}" if n in facts else "" for n in ("users", "items", "tags")]
        accuracy = f"{pair['before']:.3f} > {pair['after']:.3f}" if pair else ""
        size = say_bytes(facts["bytes"]) if history.is_kept(each) else "not kept"
        mark = "served" if each.number in served else ""
        made_at = each.made_at.removesuffix("+00:00").replace("T", " ")
        cells = (str(each.number), made_at, each.verdict, *counts, accuracy, size, mark)
        table.add_row(*cells)
    return table
