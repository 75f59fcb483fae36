"""The commands that list items: recommend, also for all users, and similar."""

from pathlib import Path
from typing import Annotated, Any, cast

import polars as pl
import typer

from teaser.cli import output
from teaser.cli.options import (
    About,
    AsJson,
    Balance,
    Boost,
    History,
    ModelFolder,
    Press,
    Scale,
    Unknown,
    read_boosts,
    read_history,
    read_presses,
    refuse_unused,
)
from teaser.cli.output import err, out, print_json, write_frame
from teaser.data.dataset import Dataset
from teaser.errors import ParameterError, counted
from teaser.guide.similarity import similar as similar_items
from teaser.model import load
from teaser.model.item_table import History as Viewed
from teaser.model.tagged import TaggedModel
from teaser.profile import Steering

commands = typer.Typer()

K = Annotated[int, typer.Option("--k", "-k", help="Number of items.")]
OutFile = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="A file to write to: .parquet, .csv or .jsonl; --all takes .parquet."
    ),
]


@commands.command()
def recommend(
    model: ModelFolder,
    *,
    history: History = None,
    user: Annotated[
        str | None, typer.Option(help="Take the history of this user of --data instead.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="The folder that prepare wrote, for --user.")
    ] = None,
    every: Annotated[
        Path | None,
        typer.Option("--all", help="List all users of this folder that prepare wrote, to --out."),
    ] = None,
    press: Press = None,
    about: About = None,
    k: K = 10,
    items: Annotated[
        list[str] | None,
        typer.Option(help="An item id that may be listed, no other; repeat, or use commas."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="An item id that may not be listed; repeat, or use commas."),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Only items for which this holds: column=value, column>=value, "
            "'column in a,b'; signs = != >= <= > <; repeat."
        ),
    ] = None,
    boost: Boost = None,
    unknown: Unknown = "raise",
    exclude_history: Annotated[
        bool,
        typer.Option(
            "--exclude-history/--include-history", help="Whether to leave out viewed items."
        ),
    ] = True,
    negative: Annotated[bool, typer.Option(help="Whether to show reasons against too.")] = True,
    reasons: Annotated[
        bool, typer.Option("--reasons", help="With --all: write the reasons of each item too.")
    ] = False,
    device: Annotated[
        str | None, typer.Option(help="With --all: cpu, or cuda to score on a GPU.")
    ] = None,
    scale: Scale = "robust",
    balance: Balance = 0.5,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """List the best items for a person, each with its signed reasons, or for all users."""
    fitted: Any = load(model)
    filters: Any = {
        "items": _ids(fitted, items),
        "exclude": _ids(fitted, exclude),
        "where": where,
        "boost": read_boosts(boost),
        "unknown": unknown,
    }
    steered: dict[str, Any] = {}
    if isinstance(fitted, TaggedModel):
        steering = Steering(scale=scale, balance=balance)
        steered = {"negative_reasons": negative, "steering": steering}
    filters |= {"k": k, "exclude_history": exclude_history}
    if every is not None:
        one = {"history": history, "user": user, "data": data, "press": press, "about": about}
        refuse_unused("--all: it takes the histories of a data set", **one)
        _list_all(fitted, every, out_file, filters | steered, reasons=reasons, device=device)
        return
    refuse_unused("one list, which has reasons", reasons=reasons or None)
    refuse_unused("one list, which is scored on the processor", device=device)
    seen = _history(fitted, history, user, data)
    if isinstance(fitted, TaggedModel):
        found = fitted.recommend(seen, read_presses(press), about=about, **steered, **filters)
    else:
        refuse_unused("a model without tags", press=press, about=about)
        found = fitted.recommend(seen, **filters)
    if found.ignored:
        err.print(f"{counted(found.ignored, 'unknown name')} ignored.", highlight=False)
    if out_file is not None:
        write_frame(found.to_frame(), out_file)
    if as_json:
        print_json([output.as_recommendation(r) for r in found])
    elif out_file is None:
        out.print(output.draw_recommendations(found))


def _list_all(
    model: Any,
    data: Path,
    path: Path | None,
    options: dict[str, Any],
    *,
    reasons: bool,
    device: str | None,
) -> None:
    if path is None:
        raise ParameterError("--all writes a file. Give --out lists.parquet.")
    dataset = Dataset.load(data)
    written = model.recommend_all(
        dataset,
        out=path,
        reasons=reasons,
        device=device or "cpu",
        progress=err.is_terminal,
        **options,
    )
    counts = cast(
        pl.DataFrame,
        written.select(pl.len(), pl.col("user_id").n_unique().alias("users")).collect(),
    )
    rows, users = counts.row(0)
    out.print(f"{counted(rows, 'row')} of {counted(users, 'user')} in {path}", highlight=False)


@commands.command()
def similar(
    model: ModelFolder,
    item: Annotated[str, typer.Argument(help="The item that others should resemble.")],
    *,
    k: K = 10,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """List the items that share most tags with one; rare tags count more."""
    fitted = load(model)
    if not isinstance(fitted, TaggedModel):
        raise ParameterError(
            f"Items are similar by their tags, and a {type(fitted).__name__} has none. "
            "Fit a model with tags: teaser fit."
        )
    found = similar_items(fitted, item, k=k)
    if out_file is not None:
        write_frame(found.to_frame(), out_file)
    if as_json:
        print_json([output.as_similar(each) for each in found])
    elif out_file is None:
        out.print(output.draw_similar(found))


def _history(model: Any, history: list[str] | None, user: str | None, data: Path | None) -> Viewed:
    if (user is None) != (data is None):
        raise ParameterError("--user and --data belong together: the user, and the folder.")
    if user is None or data is None:
        return read_history(model.items_, history)
    refuse_unused("--user, who has a history", history=history)
    return Dataset.load(data).history(user)


def _ids(model: Any, given: list[str] | None) -> list[str] | None:
    return None if given is None else read_history(model.items_, given)
