"""The commands that make a model: fit it, estimate memory and time before, add items after."""

import logging
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from teaser import artifact
from teaser.cli import options as cli
from teaser.cli.output import (
    draw_recipe,
    err,
    out,
    print_json,
    print_lines,
    print_next,
    progress_bar,
)
from teaser.data.dataset import Dataset
from teaser.errors import ArtifactError, ResourceError, counted
from teaser.evaluate.choose import AS_GIVEN, AUTO, make_plan, run_plan
from teaser.model import load
from teaser.model.build import placed
from teaser.model.estimate import say_seconds
from teaser.model.extensions.groups import Groups
from teaser.model.partitioned import as_bytes
from teaser.model.teaser import Teaser

commands = typer.Typer()

# Trials, discovered tags and what is measured afterwards take about so many fits of the encoder.
_WITH_TRIALS = 10


# The options of a model are the parameters of Teaser's constructor: see `OptionsOf` in options.py.
@commands.command()
@cli.expand_options
def fit(
    context: typer.Context,
    dataset: cli.DataFolder,
    *,
    folder: cli.Out,
    model: cli.ModelOptions,
    recipe: Annotated[str, typer.Option(rich_help_panel="Recipe")] = AUTO,
    keep_groups: Annotated[bool, typer.Option(rich_help_panel="Recipe")] = True,
    start: Annotated[Path | None, typer.Option(rich_help_panel="Running")] = None,
    scheduler: cli.Scheduler = None,
    local_cluster: cli.LocalCluster = None,
    memory_limit: cli.MemoryLimit = None,
    as_json: cli.AsJson = False,
) -> None:
    """Fit a model to a data set; without penalties, choose its recipe on held-out people.

    Parameters
    ----------
    recipe
        auto, paper, weighted, discovered or neighbours; auto chooses among the others.
    keep_groups
        Whether discovered groups keep the names of a model that is in the folder.
    start
        An earlier model to start from; takes fewer iterations.
    """
    artifact.check_target(folder, "Teaser")
    data = Dataset.load(dataset)
    earlier = None if start is None else load(start, Teaser)
    previous = _earlier_groups(folder) if keep_groups and earlier is None else None
    given = {**cli.given_parameters(context, model), "rng": model.rng}
    # It refuses bad parameters before a cluster is started.
    plan = make_plan(data, recipe=recipe, **given)
    model = plan.model()
    limit = None if memory_limit is None else as_bytes(memory_limit)
    expected = model.estimate(data)
    if limit is not None and model.joint_remainder is not None and expected.total_memory > limit:
        raise ResourceError(
            f"A full remainder takes {expected.lines(limit)[0].removeprefix('memory ')}. "
            "Raise the limit, or use neighbours."
        )
    held = placed(
        data,
        model.gram,
        dtype=model.dtype,
        solver=model.solver,
        scheduler=scheduler,
        n_workers=local_cluster,
        memory_limit=memory_limit,
        user_power=0.0 if model.weights is None else model.weights.user_power,
    )
    with held as gram:
        # Our own error reports a lost scheduler; Dask's log would repeat it.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        prefix = "largest recipe: "
        if plan.split is None:
            prefix, own = "", model.parameters() | {"gram": gram}
            plan = replace(plan, parameters={plan.stated.chosen: own})
        for line in expected.lines(limit):
            err.print(f"{prefix}{line}", highlight=False, soft_wrap=True)
        if plan.split is not None:
            whole = say_seconds(_WITH_TRIALS * expected.seconds)
            err.print(f"all trials and the last fit: about {whole}", highlight=False)
        with progress_bar(err, "preparing") as update:
            model = run_plan(plan, start=earlier, previous=previous, callback=update)
    model.dataset_path_ = str(dataset.resolve())
    model.save(folder)
    if as_json:
        print_json(model.describe())
        return
    if model.recipe_ is not None and model.recipe_.chosen != AS_GIVEN:
        out.print(draw_recipe(model.recipe_))
    found = f"{counted(model.iterations_, 'iteration')}, residual {model.residual_:.1e}"
    out.print(found, highlight=False)
    named = shlex.quote(str(folder))
    print_next(f"teaser serve {named}, or teaser recommend {named} --history ITEM")


def _earlier_groups(folder: Path) -> Groups | None:
    """Return the groups of the model that the folder holds already, or None."""
    if not (folder / artifact.MANIFEST).exists():
        return None
    try:
        with artifact.refusing(f"The groups of {folder} cannot be read"):
            return Groups.unpack(artifact.read(folder))
    except ArtifactError as error:
        err.print(f"[yellow]warning:[/] {escape(str(error))} Its groups are not kept.")
        return None


@commands.command()
@cli.expand_options
def estimate(
    dataset: cli.DataFolder, *, model: cli.ModelOptions, as_json: cli.AsJson = False
) -> None:
    """Print the memory and time that a fit will take, without fitting."""
    expected = model.estimate(Dataset.load(dataset))
    if as_json:
        print_json({**asdict(expected), "total_memory": expected.total_memory})
        return
    print_lines(expected.lines())


@commands.command()
@cli.expand_options
def add(model: cli.ModelFolder, items: Path, *, folder: cli.Out) -> None:
    """Make new items recommendable without fitting again.

    Parameters
    ----------
    items
        A table of new items; columns that it lacks count as 'not stated'.
    """
    artifact.check_target(folder, "Teaser")
    fitted = load(model, Teaser)
    before = len(fitted.items_)
    fitted.add_items(items).save(folder)
    added = counted(len(fitted.items_) - before, "item")
    print_lines([f"{added} added to {counted(before, 'item')}, in {folder}"])
    # General appeal is all that the row of an item without known tags or words has.
    n_blank = int((np.diff(fitted.decoder_.indptr)[before:] == 1).sum())
    if n_blank:
        print_lines([f"{counted(n_blank, 'item')} without a known tag: placed by general appeal"])
    print_next(f"teaser explain {shlex.quote(str(folder))} {fitted.items_[before]} --history ITEM")
