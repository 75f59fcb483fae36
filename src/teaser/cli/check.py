"""The commands that look at a model's reasons and at its discovered groups: check, groups."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from teaser.cli.options import AsJson, ModelFolder, Seed, find_dataset
from teaser.cli.output import err, print_json, print_lines, print_next, progress_bar
from teaser.data.dataset import Dataset
from teaser.errors import ParameterError
from teaser.evaluate.check import check_model
from teaser.model import load
from teaser.model.extensions.groups import Group
from teaser.model.recipe import percent
from teaser.model.teaser import Teaser

commands = typer.Typer()

_LISTED = 10


@commands.command()
def check(
    model: ModelFolder,
    dataset: Annotated[
        Path | None,
        typer.Argument(help="The data set; that of the fit when left out.", show_default=False),
    ] = None,
    *,
    stability: Annotated[
        bool, typer.Option(help="Whether to fit two halves of the people, which takes longest.")
    ] = True,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Say what the reasons of a model are made of, with advice, before people see them."""
    fitted = load(model, Teaser)
    data = Dataset.load(find_dataset(model, fitted, dataset, "teaser check MODEL DATA"))
    with progress_bar(err, "reading the lists of people, and fitting two halves of them"):
        found = check_model(fitted, data, rng=seed, stability=stability)
    if as_json:
        print_json(found.as_dict())
        return
    print_lines(found.lines())


@commands.command()
def groups(
    model: ModelFolder,
    *,
    path: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The TOML file to write, to rename or drop groups in."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List discovered groups, and with --out write the file in which you rename or drop them."""
    fitted = load(model, Teaser)
    found = fitted.groups_
    if found is None:
        raise ParameterError(
            f"{model} has no discovered groups. Fit with --discovered or --recipe discovered."
        )
    titles = {name: t for i, name in enumerate(fitted.items_) if (t := fitted.title(i))}
    if path is not None:
        found.write(path, titles)
    if as_json:
        print_json([_as_dict(group) for group in found.groups])
        return
    shown = _spread(found.groups)
    for group in shown:
        label = f", {percent(group.label_share)} {group.label_tag}" if group.label_tag else ""
        named = ", ".join(titles.get(e, str(e)) for e in group.exemplars[:5])
        print_lines([f"{group.tag.value}", f"  {group.size:,} items{label}: {named}"])
    if len(found) > len(shown):
        print_lines([f"and {len(found) - len(shown):,} more"])
    if path is not None:
        print_next(f"edit {path}, then teaser fit DATA --out {model} --discovered-names {path}")


def _spread(groups: Sequence[Group]) -> list[Group]:
    """Return ten groups from the largest to the smallest, evenly spaced."""
    ordered = sorted(groups, key=lambda group: -group.size)
    n = min(_LISTED, len(ordered))
    return [ordered[i * (len(ordered) - 1) // max(1, n - 1)] for i in range(n)]


def _as_dict(group: Group) -> dict[str, object]:
    return {
        "name": group.tag.value,
        "grain": group.grain,
        "size": group.size,
        "exemplars": list(group.exemplars),
        "label": None if group.label_tag is None else str(group.label_tag),
        "label_share": group.label_share,
    }
