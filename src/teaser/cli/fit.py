"""The commands that fit a model, and that estimate the memory and time of a fit."""

import logging
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from teaser import artifact
from teaser.cli.options import (
    AsJson,
    DataFolder,
    LocalCluster,
    MemoryLimit,
    ModelOptions,
    Out,
    Scheduler,
    expand_options,
)
from teaser.cli.output import err, fit_with_progress, out, print_json, print_lines, print_next
from teaser.data.dataset import Dataset
from teaser.errors import ResourceError, counted
from teaser.model import load
from teaser.model.gram.open import placed
from teaser.model.gram.partitioned import as_bytes
from teaser.model.teaser import Teaser

commands = typer.Typer()


# The options of a model are the parameters of Teaser's constructor: see `OptionsOf` in options.py.
@commands.command()
@expand_options
def fit(
    dataset: DataFolder,
    *,
    folder: Out,
    model: ModelOptions,
    start: Annotated[
        Path | None,
        typer.Option(
            help="An earlier model to start from; takes fewer iterations.",
            rich_help_panel="Running",
        ),
    ] = None,
    scheduler: Scheduler = None,
    local_cluster: LocalCluster = None,
    memory_limit: MemoryLimit = None,
    as_json: AsJson = False,
) -> None:
    """Fit a model to a data set, after printing an estimate of memory and time."""
    artifact.check_target(folder, "Teaser")
    data = Dataset.load(dataset)
    earlier = None if start is None else load(start, Teaser)
    # Estimate first: it refuses bad parameters before a cluster is started.
    expected = model.estimate(data)
    limit = None if memory_limit is None else as_bytes(memory_limit)
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
    with held as model.gram:
        # Our own error reports a lost scheduler; Dask's log would repeat it.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        fit_with_progress(model, data, err, start=earlier, limit=limit)
    model.save(folder)
    if as_json:
        print_json(model.describe())
        return
    found = f"{counted(model.iterations_, 'iteration')}, residual {model.residual_:.1e}"
    out.print(found, highlight=False)
    print_next(f"teaser recommend {shlex.quote(str(folder))} --history ITEM")


@commands.command()
@expand_options
def estimate(dataset: DataFolder, *, model: ModelOptions, as_json: AsJson = False) -> None:
    """Print the memory and time that a fit will take, without fitting."""
    expected = model.estimate(Dataset.load(dataset))
    if as_json:
        print_json({**asdict(expected), "total_memory": expected.total_memory})
        return
    print_lines(expected.lines())
