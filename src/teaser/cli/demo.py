"""The demo command: the generated events, one person, and three presses of +."""

import shutil
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import typer
from platformdirs import user_cache_path
from rich.rule import Rule as Line

from teaser._version import __version__
from teaser.cli import options as cli
from teaser.cli.output import (
    draw_profile,
    draw_recommendations,
    err,
    out,
    print_lines,
    progress_bar,
)
from teaser.cli.serve import check_packages, print_address
from teaser.data import demo as events
from teaser.data.dataset import Dataset
from teaser.data.tags import Tag
from teaser.errors import ArtifactError
from teaser.evaluate.choose import fit
from teaser.model import Teaser, load
from teaser.profile import Presses

commands = typer.Typer()

_MAX_AGE = timedelta(weeks=1)  # of the events of a demonstration
_LENGTH = 10
_PRESSED = ("type", "theme", "setting")


@commands.command()
@cli.expand_options
def demo(
    *,
    folder: Path | None = None,
    port: int | None = None,
    seed: cli.Seed = 0,
) -> None:
    """Fit the generated events, and show a profile, a list, and what presses change.

    Parameters
    ----------
    folder
        Save the model in this folder.
    port
        Serve the site on the events at this port instead.
    """
    if port is not None:
        cli.refuse_unused("a demo with --port, which saves no model", out=folder)
        check_packages()
        from teaser.app.run import serve
        from teaser.app.settings import Settings

        serve(Settings(model=demo_model(seed), port=port, log_level="warning"), ready=print_address)
        return
    with out.status("generating a year of events in Belgium"):
        dataset = events.dataset(seed=seed)
    _print_title("The data")
    print_lines(dataset.lines())
    with progress_bar(err, "preparing") as update:
        model = fit(dataset, callback=update)
    print_lines([] if model.recipe_ is None else [model.recipe_.why])
    history = choose_person(dataset)
    _print_title(f"A person who chose {len(history)} events")
    for item_id in history:
        row = dataset.table.row(dataset.items.index_of(item_id), named=True)
        text = f"  {row['title']} · {row['type']} · {row['town']} · {row['date']}"
        out.print(text, highlight=False)
    before = model.profile(history)
    first = model.recommend(history, k=_LENGTH)
    _print_title("What the model learned")
    out.print(draw_profile(before, per_feature=3))
    _print_title("What it recommends, and why")
    out.print(draw_recommendations(first))
    tag = choose_tag(model, history)
    presses = Presses().press(tag, 3)
    old, new = before.affinities[tag], model.profile(history, presses).affinities[tag]
    _print_title(f"Three presses of + on {tag.value}")
    print_lines([f"The affinity with {tag.value} goes from {old:+.2f} to {new:+.2f}."])
    out.print(draw_recommendations(model.recommend(history, presses, k=_LENGTH), before=first))
    if folder is not None:
        model.save(folder)
        print_lines(["", f"The model is in {folder}: try teaser info {folder} --find Ghent"])


def demo_model(seed: int) -> Path:
    """Return the folder of a cached model of the generated events.

    It is fitted at the first call, and again when some of its events are a week old.
    """
    folder = user_cache_path("teaser") / f"events-{__version__}-{seed}"
    try:
        model = load(folder, Teaser)
        if (model.table_["date"] >= date.today() - _MAX_AGE).all():
            return folder
    except ArtifactError:
        shutil.rmtree(folder, ignore_errors=True)
    with progress_bar(err, "preparing") as update:
        fit(events.dataset(seed=seed), callback=update).save(folder)
    return folder


def choose_person(dataset: Dataset) -> list[int | str]:
    """Return the first history of five to eight events."""
    lengths = np.diff(dataset.X.indptr)
    user = int(np.argmax((lengths >= 5) & (lengths <= 8)))
    return [*dataset.history(dataset.users[user])]


def choose_tag(model: Teaser, history: list[int | str]) -> Tag:
    """Return the type, theme or setting whose three presses bring most new items."""
    before = {r.item_id for r in model.recommend(history, k=_LENGTH)}

    def count_new(tag: Tag) -> int:
        after = model.recommend(history, {tag: 3}, k=_LENGTH)
        return sum(r.item_id not in before for r in after)

    return max((tag for tag in model.tags_ if tag.feature in _PRESSED), key=count_new)


def _print_title(text: str) -> None:
    out.print()
    out.print(Line(text, align="left", style="grey50"))
