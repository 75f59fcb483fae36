"""The options that several commands share."""

import re
from collections.abc import Container
from pathlib import Path
from typing import Annotated, Any

import typer

from teaser.cli.prepare import refuse_unused

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
Person = Annotated[
    list[str] | None,
    typer.Option("--person", help="What is known of the person, as feature=value; repeat."),
]
Users = Annotated[
    str | None,
    typer.Option(help="Table of what is known of users; 'source' for that of a public data set."),
]
UserRules = Annotated[
    Path | None, typer.Option(help="TOML file of rules for users; inferred without it.")
]
LearnUserFeatures = Annotated[
    bool,
    typer.Option(
        "--user-features/--no-user-features", help="Learn from features of people, if there are."
    ),
]
Scale = Annotated[str, typer.Option(help="How affinities are scaled: robust or paper.")]
L2Weights = Annotated[float, typer.Option(help="Penalty on item-to-item weights.")]
L2Encoder = Annotated[float, typer.Option(help="Penalty on the encoder.")]
DecoderName = Annotated[
    str, typer.Option(help="tags, or learned: how much each tag matters for each item.")
]
L2Decoder = Annotated[
    float | None, typer.Option(help="Penalty on learned weights for being away from 1.")
]
Rounds = Annotated[
    int | None, typer.Option(help="How often encoder and weights are learned in turn.")
]
Density = Annotated[
    float | None, typer.Option(help="Share of the encoder's entries to keep, such as 0.05.")
]
L2Remainder = Annotated[
    float | None, typer.Option(help="Penalty on a remainder beside the tags; none without it.")
]
RemainderShare = Annotated[
    float, typer.Option(help="Below 1, keep a sparse remainder: this share of each row's squares.")
]
Balance = Annotated[
    float, typer.Option(help="From 0, tags alone, to 1, viewed items alone; with a remainder.")
]
ContentWeight = Annotated[float, typer.Option(help="How much shared tags count beside choices.")]
SolverName = Annotated[str, typer.Option(help="cg or admm.")]
GramName = Annotated[str, typer.Option(help="auto, dense or sparse.")]
Tol = Annotated[float, typer.Option(help="Relative residual to stop at; 1e-6 or more in float32.")]
MaxIter = Annotated[int, typer.Option(help="Iterations to give up after.")]
Device = Annotated[str, typer.Option(help="cpu, or cuda for a GPU.")]
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


def read_history(items: Container[object], given: list[str] | None) -> list[str]:
    """Return item ids; a text with commas that is no id itself is a list of them."""
    found = []
    for text in given or []:
        found += [text] if text in items else [part for part in text.split(",") if part.strip()]
    return [text.strip() for text in found]


def read_presses(given: list[str] | None) -> dict[str, int]:
    """Read presses written as feature=value:+3, or feature=value for one press of +."""
    presses: dict[str, int] = {}
    for text in given or []:
        written = re.fullmatch(r"(.+):([+-]\d+)", text)
        tag, steps = (written[1], int(written[2])) if written else (text, 1)
        presses[tag] = presses.get(tag, 0) + steps
    return presses


def read_decoder(decoder: str, l2_decoder: float | None, rounds: int | None) -> dict[str, Any]:
    """Return the settings of the decoder that were given; those of weights need weights."""
    given = {"l2_decoder": l2_decoder, "rounds": rounds}
    if decoder == "tags":
        named = {name.replace("_", "-"): value for name, value in given.items()}
        refuse_unused("tags that count alike: it needs --decoder learned", **named)
    return {"decoder": decoder, **{k: v for k, v in given.items() if v is not None}}
