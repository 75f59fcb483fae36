"""The commands that look at a folder: check, groups, card, info."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import typer

from teaser import artifact
from teaser.cli import options as cli
from teaser.cli.output import (
    draw_content,
    draw_recipe,
    err,
    out,
    print_json,
    print_lines,
    print_next,
    progress_bar,
)
from teaser.data.dataset import Dataset
from teaser.data.tags import Tag
from teaser.errors import ParameterError
from teaser.evaluate.card import card as make_card
from teaser.evaluate.check import check_model
from teaser.model import load
from teaser.model.recipe import Recipe, percent
from teaser.model.teaser import Teaser
from teaser.words.phrases import fold

commands = typer.Typer()

_LISTED = 10


@commands.command()
@cli.expand_options
def check(
    model: cli.ModelFolder,
    dataset: Path | None = None,
    *,
    stability: bool = True,
    seed: cli.Seed = 0,
    as_json: cli.AsJson = False,
) -> None:
    """Say what the reasons of a model are made of, with advice, before people see them.

    Parameters
    ----------
    dataset
        The data set; that of the fit when left out.
    stability
        Whether to fit two halves of the people, which takes longest.
    """
    fitted = load(model, Teaser)
    data = Dataset.load(cli.find_dataset(model, fitted, dataset, "teaser check MODEL DATA"))
    with progress_bar(err, "reading the lists of people, and fitting two halves of them"):
        found = check_model(fitted, data, rng=seed, stability=stability)
    if as_json:
        print_json(found.as_dict())
        return
    print_lines(found.lines())


@commands.command()
@cli.expand_options
def groups(
    model: cli.ModelFolder,
    *,
    path: Path | None = None,
    as_json: cli.AsJson = False,
) -> None:
    """List discovered groups, and with --out write the file in which you rename or drop them.

    Parameters
    ----------
    path
        The TOML file to write, to rename or drop groups in.
    """
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
        names = ("grain", "size", "exemplars", "label_share")
        rows = [{n: getattr(group, n) for n in names} for group in found.groups]
        pairs = zip(found.groups, rows, strict=True)
        print_json([{"name": g.tag.value, "label": g.label_tag, **row} for g, row in pairs])
        return
    shown = sorted(found.groups, key=lambda group: -group.size)[:_LISTED]
    for group in shown:
        label = f", {percent(group.label_share)} {group.label_tag}" if group.label_tag else ""
        named = ", ".join(titles.get(e, str(e)) for e in group.exemplars[:5])
        print_lines([f"{group.tag.value}", f"  {group.size:,} items{label}: {named}"])
    if len(found) > len(shown):
        print_lines([f"and {len(found) - len(shown):,} more"])
    if path is not None:
        print_next(f"edit {path}, then teaser fit DATA --out {model} --discovered-names {path}")


@commands.command()
@cli.expand_options
def card(
    model: cli.ModelFolder,
    *,
    data: Path | None = None,
    path: Path | None = None,
    stability: bool = False,
    seed: cli.Seed = 0,
) -> None:
    """Write the card of a model as Markdown: data, recipe, accuracy, parts of scores, limits.

    Parameters
    ----------
    data
        The data set of the fit, for its report and a check; found by itself where the model
        still knows it.
    path
        The Markdown file to write.
    stability
        Whether to fit two halves of the people, which takes longest.
    """
    fitted = load(model, Teaser)
    with progress_bar(err, "reading the data set, and the lists of people"):
        dataset = _dataset(fitted, data)
        text = make_card(fitted, dataset, folder=model, stability=stability, rng=seed)
    if path is None:
        print_lines(text.splitlines())
        return
    path.write_text(text, encoding="utf-8")
    print_lines([f"{path} has the card of {model}."])


def _dataset(model: Teaser, given: Path | None) -> Dataset | None:
    """Return the data set that is given, or that of the fit where it is still the same."""
    if given is not None:
        return Dataset.load(given)
    path = model.dataset_path_
    if path is None or not Path(path).exists():
        return None
    found = Dataset.load(path)
    same = tuple(model.items_[: model.encoder_.shape[0]]) == tuple(found.items)
    return found if same else None


@commands.command()
@cli.expand_options
def info(
    folder: cli.Folder,
    *,
    find: str | None = None,
    as_json: cli.AsJson = False,
) -> None:
    """Describe a saved folder; with --find, look up items and tags by name.

    Parameters
    ----------
    find
        List items and tags whose name contains this text.
    """
    if artifact.read_manifest(folder)["kind"] == "dataset":
        data = Dataset.load(folder)
        content, items, tags, rules = data.describe(), data.table, data.tags, data.rules
    else:
        model = load(folder)
        content, items, tags, rules = model.describe(), model.table_, model.tags_, model.rules_
    if find is not None:
        content = _find_names(find, items, tags, rules.roles.get("title"))
    if as_json:
        print_json(content)
        return
    if find is not None and not any(content.values()):
        out.print(f"Nothing found: no item and no tag contains {find!r}.", markup=False)
        return
    recipe = content.pop("recipe", None)
    for line in draw_content(content):
        out.print(line, soft_wrap=True)
    if recipe is not None:
        out.print("[bold]recipe[/]")
        out.print(draw_recipe(Recipe.from_dict(recipe)))


def _find_names(
    text: str, items: pl.DataFrame, tags: Sequence[Tag], title: str | None
) -> dict[str, Any]:
    """Return the items and tags whose id, title or name contains a text, by its letters alone."""
    names = items.to_series(0).cast(str).to_list()
    titles = items[title].cast(str).fill_null("").to_list() if title else [""] * len(names)
    wanted = fold(text)
    return {
        "items": {
            name: shown
            for name, shown in zip(names, titles, strict=True)
            if wanted in fold(f"{name} {shown}")
        },
        "tags": [str(tag) for tag in tags if wanted in fold(str(tag))],
    }
