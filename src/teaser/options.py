"""The options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(help="The folder that prepare or fit wrote.")]
ModelFolder = Annotated[Path, typer.Argument(help="A folder that fit wrote.")]
DataFolder = Annotated[Path, typer.Argument(help="A folder that prepare wrote.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print json for a program to read.")]
History = Annotated[
    list[str] | None,
    typer.Option(
        "--history", "-i", help="An item id that was viewed; repeat, or separate by commas."
    ),
]
Press = Annotated[
    list[str] | None,
    typer.Option("--press", "-p", help="Presses on a tag, as feature=value:+3; repeat."),
]
Scale = Annotated[str, typer.Option(help="How affinities are scaled: robust or paper.")]
L2Weights = Annotated[float, typer.Option(help="Penalty on item-to-item weights.")]
L2Encoder = Annotated[float, typer.Option(help="Penalty on the encoder.")]
ContentWeight = Annotated[float, typer.Option(help="How much shared tags count beside choices.")]
SolverName = Annotated[str, typer.Option(help="cg or admm.")]
GramName = Annotated[str, typer.Option(help="auto, dense or sparse.")]
Tol = Annotated[float, typer.Option(help="Relative residual to stop at.")]
MaxIter = Annotated[int, typer.Option(help="Iterations to give up after.")]
Dtype = Annotated[str, typer.Option(help="float32 or float64.")]
Seed = Annotated[int, typer.Option(help="Seed of whatever is drawn at random.")]
Scheduler = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, for data sets in partitions.")
]
LocalCluster = Annotated[
    int | None,
    typer.Option(min=1, help="Processes of a Dask cluster on this machine, likewise."),
]
MemoryLimit = Annotated[
    str | None, typer.Option(help="What a fit of partitions on this machine may take: 2GB.")
]
