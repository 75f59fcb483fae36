"""The command that writes the card of a model."""

from pathlib import Path
from typing import Annotated

import typer

from teaser.cli.options import ModelFolder, Seed
from teaser.cli.output import err, print_lines, progress_bar
from teaser.data.dataset import Dataset
from teaser.errors import ArtifactError
from teaser.evaluate.card import card as make_card
from teaser.model import load
from teaser.model.teaser import Teaser

commands = typer.Typer()


@commands.command()
def card(
    model: ModelFolder,
    *,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The data set of the fit, for its report and a check; found by itself where the "
            "model still knows it.",
            show_default=False,
        ),
    ] = None,
    path: Annotated[
        Path | None, typer.Option("--out", "-o", help="The Markdown file to write.")
    ] = None,
    stability: Annotated[
        bool, typer.Option(help="Whether to fit two halves of the people, which takes longest.")
    ] = False,
    seed: Seed = 0,
) -> None:
    """Write the card of a model as Markdown: data, recipe, accuracy, parts of scores, limits."""
    fitted = load(model, Teaser)
    with progress_bar(err, "reading the data set, and the lists of people"):
        dataset = _dataset(fitted, data)
        text = make_card(fitted, dataset, folder=model, stability=stability, rng=seed)
    if path is None:
        print_lines(text.splitlines())
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ArtifactError(f"The card could not be written to {path}: {error}.") from error
    print_lines([f"{path} has the card of {model}."])


def _dataset(model: Teaser, given: Path | None) -> Dataset | None:
    """Return the data set that is given, or that of the fit where it is still the same."""
    if given is not None:
        return Dataset.load(given)
    kept = model.dataset_path_
    if kept is None or not Path(kept).exists():
        return None
    found = Dataset.load(kept)
    same = tuple(model.items_[: model.encoder_.shape[0]]) == tuple(found.items)
    return found if same else None
