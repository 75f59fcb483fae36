"""The commands that list items: recommend, also for all users, and similar."""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from teaser import artifact
from teaser.cli import options as cli
from teaser.cli.output import (
    draw_recommendations,
    draw_similar,
    err,
    out,
    print_json,
    progress_bar,
    to_plain,
    write_frame,
)
from teaser.data.dataset import Dataset
from teaser.data.matrix import ItemId
from teaser.errors import ParameterError, counted
from teaser.model import load
from teaser.model.base import Model
from teaser.model.filters import Filters
from teaser.model.tagged import TaggedModel
from teaser.profile import Steering
from teaser.steer.similarity import similar as similar_items

commands = typer.Typer()

K = Annotated[int, typer.Option("--k", "-k", help="Number of items.")]
OutFile = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="A file to write to: .parquet, .csv or .jsonl; --all takes .parquet."
    ),
]


@dataclass(frozen=True)
class FilterOptions:
    """Which items may be listed, and what is added to their scores.

    Parameters
    ----------
    items
        An item that may be listed, no other, by id or title; repeat, or use commas.
    exclude
        An item that may not be listed, by id or title; repeat, or use commas.
    where
        Only items for which this holds: column=value (also != >= <= > <) or 'column in a,b';
        repeat: all must hold; values of one column are alternatives.
    """

    items: list[str] | None = None
    exclude: list[str] | None = None
    where: list[str] | None = None
    boost: cli.Boost = None
    unknown: cli.Unknown = "raise"

    def read(self, model: Model) -> Filters:
        """Return the filters as the library takes them."""
        names = cli.ItemNames.of(model)

        def ids(option: str, given: list[str] | None) -> list[ItemId] | None:
            found = None if given is None else cli.read_history(names, given, self.unknown)
            if isinstance(found, dict):
                raise ParameterError(
                    f"--{option} takes items alone, found {' '.join(given or [])!r}. "
                    "Strengths belong to --history."
                )
            return None if found is None else [*found]

        return {
            "items": ids("items", self.items),
            "exclude": ids("exclude", self.exclude),
            "where": self.where,
            "boost": cli.read_boosts(model, self.boost),
            "unknown": self.unknown,
        }


@commands.command()
@cli.expand_options
def recommend(
    model: cli.ModelFolder,
    *,
    person: Annotated[cli.Person, cli.OptionsOf()],
    every: Path | None = None,
    k: K = 10,
    filters: Annotated[FilterOptions, cli.OptionsOf()],
    exclude_history: Annotated[bool, typer.Option("--exclude-history/--include-history")] = True,
    negative: bool = True,
    reasons: bool = False,
    device: str | None = None,
    scale: cli.Scale = "robust",
    balance: cli.Balance = 0.5,
    out_file: OutFile = None,
    as_json: cli.AsJson = False,
) -> None:
    """List the best items for a person, each with its signed reasons, or for all users.

    Parameters
    ----------
    every
        List all users to --out: those of a folder that prepare wrote, or of a parquet file, or
        a folder of them, of histories with the columns user_id and item_id.
    exclude_history
        Whether to leave out viewed items.
    negative
        Whether to show reasons against too.
    reasons
        With --all: write the reasons of each item too.
    device
        With --all: cpu, or cuda to score on a GPU.
    """
    fitted: Any = load(model)
    options: Any = {**filters.read(fitted), "k": k, "exclude_history": exclude_history}
    if isinstance(fitted, TaggedModel):
        steering = Steering(scale=scale, balance=balance)
        options |= {"negative_reasons": negative, "steering": steering}
    if every is not None:
        cli.refuse_unused("--all: it takes the histories of a data set", **vars(person))
        cli.refuse_unused("--all: it writes a table", json=as_json or None)
        _list_all(fitted, every, out_file, options | {"reasons": reasons}, device=device)
        return
    cli.refuse_unused("one list, which has reasons", reasons=reasons or None)
    cli.refuse_unused("one list, which is scored on the processor", device=device)
    if isinstance(fitted, TaggedModel):
        options |= {"presses": cli.read_presses(person.press), "about": person.about}
    else:
        cli.refuse_unused("a model without tags", press=person.press, about=person.about)
    found = fitted.recommend(person.viewed(fitted, model, filters.unknown), **options)
    if found.ignored:
        err.print(f"{counted(found.ignored, 'unknown name')} ignored.", highlight=False)
    if out_file is not None:
        write_frame(found.to_frame(), out_file)
    if as_json:
        print_json(list(found))
    elif out_file is None:
        out.print(draw_recommendations(found))


def _list_all(
    model: Model, data: Path, path: Path | None, options: dict[str, Any], *, device: str | None
) -> None:
    if path is None:
        raise ParameterError("--all writes a file. Give --out lists.parquet.")
    is_saved = (data / artifact.MANIFEST).exists()
    has_tables = data.suffix == ".parquet" or any(data.glob("*.parquet"))
    source: Any = data if has_tables and not is_saved else Dataset.load(data)
    show = err.is_terminal
    with nullcontext() if show else progress_bar(err, "listing"):
        written = model.recommend_all(
            source, out=path, device=device or "cpu", progress=show, **options
        )
    # Every list begins with rank 1; the ids themselves might not fit into memory.
    counts = written.select(pl.len(), (pl.col("rank") == 1).sum().alias("users"))
    rows, users = counts.collect(engine="streaming").row(0)
    out.print(f"{counted(rows, 'row')} of {counted(users, 'user')} in {path}", highlight=False)


@commands.command()
@cli.expand_options
def similar(
    model: cli.ModelFolder,
    item: str,
    *,
    k: K = 10,
    out_file: OutFile = None,
    as_json: cli.AsJson = False,
) -> None:
    """List the items that share most tags with one; rare tags count more.

    Parameters
    ----------
    item
        The item that others should resemble, by id or title.
    """
    fitted = load(model)
    if not isinstance(fitted, TaggedModel):
        raise ParameterError(
            f"Items are similar by their tags, and a {type(fitted).__name__} has none. "
            "Fit a model with tags: teaser fit."
        )
    found = similar_items(fitted, cli.ItemNames.of(fitted).item_id(item), k=k)
    if out_file is not None:
        write_frame(found.to_frame(), out_file)
    if as_json:
        print_json([{**to_plain(each), "shared": dict(each.shared)} for each in found])
    elif out_file is None:
        out.print(draw_similar(found))
