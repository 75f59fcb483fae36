"""The commands that say why: compare, of two items, and transparency, of all lists."""

from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from teaser.cli.options import (
    AsJson,
    Balance,
    Boost,
    ModelFolder,
    OptionsOf,
    Person,
    Scale,
    Unknown,
    expand_options,
    read_boosts,
    read_presses,
)
from teaser.cli.output import QUIET, out, part_cells, print_json, print_lines
from teaser.errors import ArtifactError
from teaser.explain import Difference, DifferencePart
from teaser.model import load
from teaser.model.teaser import Teaser
from teaser.profile import Steering

commands = typer.Typer()


@commands.command()
@expand_options
def compare(
    model: ModelFolder,
    item: Annotated[str, typer.Argument(help="The item.")],
    other: Annotated[str, typer.Argument(help="The item to compare it with.")],
    *,
    person: Annotated[Person, OptionsOf()],
    boost: Boost = None,
    unknown: Unknown = "raise",
    scale: Scale = "robust",
    balance: Balance = 0.5,
    as_json: AsJson = False,
) -> None:
    """Show why one item stands above another: the difference of their scores, part by part."""
    fitted = load(model, Teaser)
    found = fitted.compare(
        item,
        other,
        person.viewed(fitted, model),
        read_presses(person.press),
        about=person.about,
        steering=Steering(scale=scale, balance=balance),
        boost=read_boosts(boost),
        unknown=unknown,
    )
    if as_json:
        print_json(as_difference(found))
        return
    out.print(draw_difference(found))
    print_lines([found.sentence()])


@commands.command()
def transparency(model: ModelFolder, *, as_json: AsJson = False) -> None:
    """Show what decides in lists, measured at the fit, and where the data come from."""
    found = load(model, Teaser).transparency_
    if found is None:
        raise ArtifactError(
            f"{model} was not measured: it is of an earlier version, or no history was at hand. "
            "Fit it again."
        )
    if as_json:
        print_json(found.as_dict())
        return
    print_lines(found.sentences())


def draw_difference(found: Difference) -> RenderableType:
    """Draw every part of a difference that is not 0; the scores and the difference follow."""
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for _ in range(4):
        table.add_column(justify="right")
    heads = ("feature", "part", *found.names(), "difference", "share")
    table.add_row(*(Text(head, style=QUIET) for head in heads))
    for part in found.parts:
        if part.difference:
            table.add_row(*_cells(part))
    same = [part for part in found.parts if not part.difference]
    if same:
        sums = (sum(part.contribution for part in same), sum(p.other_contribution for p in same))
        told = ("", f"{len(same):,} the same for both", *(f"{x:+.3f}" for x in sums), "", "")
        table.add_row(*(Text(cell, style=QUIET) for cell in told))
    score, other = found.explained
    ends = (f"{score:+.3f}", f"{other:+.3f}", f"{score - other:+.3f}", "")
    table.add_row(*(Text(cell, style="bold") for cell in ("score", "", *ends)))
    return table


def as_difference(found: Difference) -> dict[str, Any]:
    """Return a difference for JSON."""
    return {
        "item_id": found.item_id,
        "other_id": found.other_id,
        "title": found.title,
        "other_title": found.other_title,
        "score": found.score,
        "other_score": found.other_score,
        "difference": found.difference,
        "parts": found.to_frame().rows(named=True),
    }


def _cells(part: DifferencePart) -> tuple[Text, ...]:
    added = (f"{part.contribution:+.3f}", f"{part.other_contribution:+.3f}")
    group = part.group[:1].upper() + part.group[1:]
    return (*map(Text, (group, part.label, *added)), *part_cells(part.difference, part.share))
