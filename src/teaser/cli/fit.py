"""The commands that learn: fit a model, and say beforehand what that will take."""

import logging
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from teaser import artifact
from teaser.cli import output as terminal
from teaser.cli.options import (
    AsJson,
    ContentWeight,
    DataFolder,
    DecoderName,
    Density,
    Device,
    Dtype,
    GramName,
    L2Decoder,
    L2Encoder,
    L2Remainder,
    L2Weights,
    LearnUserFeatures,
    LocalCluster,
    MaxIter,
    MemoryLimit,
    Out,
    RemainderShare,
    Rounds,
    Scheduler,
    Seed,
    SolverName,
    Tol,
    read_decoder,
    read_remainder,
)
from teaser.data.dataset import Dataset
from teaser.errors import ResourceError
from teaser.model import load
from teaser.model.extensions.sparse_encoder import SparseEncoder
from teaser.model.gram.open import placed
from teaser.model.gram.partitioned import as_bytes
from teaser.model.teaser import Teaser

out = Console()
err = Console(stderr=True)


def fit(
    dataset: DataFolder,
    *,
    folder: Out,
    l2_weights: L2Weights = 200.0,
    l2_encoder: L2Encoder = 500.0,
    content_weight: ContentWeight = 0.0,
    decoder: DecoderName = "tags",
    l2_decoder: L2Decoder = None,
    rounds: Rounds = None,
    density: Density = None,
    l2_remainder: L2Remainder = None,
    remainder_share: RemainderShare = 1.0,
    user_features: LearnUserFeatures = True,
    solver: SolverName = "cg",
    gram: GramName = "auto",
    tol: Tol = 1e-3,
    max_iter: MaxIter = 200,
    dtype: Dtype = "float32",
    device: Device = "cpu",
    seed: Seed = 0,
    start: Annotated[
        Path | None, typer.Option(help="An earlier model to begin from: fewer iterations.")
    ] = None,
    scheduler: Scheduler = None,
    local_cluster: LocalCluster = None,
    memory_limit: MemoryLimit = None,
    as_json: AsJson = False,
) -> None:
    """Fit a model to a data set, after saying what it will take."""
    artifact.check_target(folder, "Teaser")
    data = Dataset.load(dataset)
    earlier = None if start is None else load(start, Teaser)
    model = Teaser(
        l2_weights=l2_weights,
        l2_encoder=l2_encoder,
        content_weight=content_weight,
        **read_decoder(decoder, l2_decoder, rounds),
        **read_remainder(l2_remainder, remainder_share),
        sparse=None if density is None else SparseEncoder(density=density),
        user_features=user_features,
        solver=solver,
        gram=gram,
        tol=tol,
        max_iter=max_iter,
        dtype=dtype,
        device=device,
        rng=seed,
    )
    # A setting that makes no sense is refused before a cluster is reached.
    expected = model.estimate(data)
    where: dict[str, Any] = {
        "scheduler": scheduler,
        "n_workers": local_cluster,
        "memory_limit": memory_limit,
    }
    limit = None if memory_limit is None else as_bytes(memory_limit)
    if limit is not None and l2_remainder is not None and expected.total_memory > limit:
        raise ResourceError(
            f"A fit with a remainder takes {expected.lines(limit)[0].removeprefix('memory ')}. "
            "Raise the limit, or leave the remainder out."
        )
    with placed(data, gram, dtype=dtype, solver=solver, **where) as model.gram:
        # What Dask logs of a scheduler that is gone, our own error says.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        terminal.fit_visibly(model, data, err, start=earlier, limit=limit)
    model.save(folder)
    if as_json:
        terminal.print_json(model.describe())
        return
    out.print(f"{model.iterations_} iterations, residual {model.residual_:.1e}", highlight=False)
    terminal.say_next(out, f"teaser recommend {shlex.quote(str(folder))} --history ITEM")


def estimate(
    dataset: DataFolder,
    *,
    decoder: DecoderName = "tags",
    l2_decoder: L2Decoder = None,
    rounds: Rounds = None,
    density: Density = None,
    l2_remainder: L2Remainder = None,
    remainder_share: RemainderShare = 1.0,
    user_features: LearnUserFeatures = True,
    solver: SolverName = "cg",
    gram: GramName = "auto",
    tol: Tol = 1e-3,
    dtype: Dtype = "float32",
    as_json: AsJson = False,
) -> None:
    """Say what a fit will take in memory and time, without doing it."""
    data = Dataset.load(dataset)
    expected = Teaser(
        **read_decoder(decoder, l2_decoder, rounds),
        **read_remainder(l2_remainder, remainder_share),
        sparse=None if density is None else SparseEncoder(density=density),
        user_features=user_features,
        solver=solver,
        gram=gram,
        tol=tol,
        dtype=dtype,
    ).estimate(data)
    if as_json:
        terminal.print_json({**asdict(expected), "total_memory": expected.total_memory})
        return
    for line in expected.lines():
        out.print(line, highlight=False, soft_wrap=True)
