"""The commands that ask a saved model: profile, explain, info, and say, a request in words."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from teaser import artifact
from teaser.cli import output
from teaser.cli.options import (
    AsJson,
    Balance,
    Boost,
    Folder,
    ModelFolder,
    OptionsOf,
    Person,
    Scale,
    Unknown,
    expand_options,
    read_boosts,
    read_history,
    read_presses,
    refuse_unused,
)
from teaser.cli.output import QUIET, err, out, print_json, print_lines
from teaser.data.dataset import Dataset
from teaser.data.tags import Tag
from teaser.errors import ParameterError
from teaser.model import load
from teaser.model.recipe import Recipe
from teaser.model.tables import History as ItemHistory
from teaser.model.teaser import Teaser
from teaser.profile import Steering
from teaser.words.interpreter import interpret
from teaser.words.vocabulary import Vocabulary
from teaser.words.wishes import Reading, Wish, recommend_for

commands = typer.Typer()


@commands.command()
@expand_options
def profile(
    model: ModelFolder,
    *,
    person: Annotated[Person, OptionsOf()],
    top: Annotated[int, typer.Option(min=1, help="Number of tags of each feature.")] = 4,
    scale: Scale = "robust",
    as_json: AsJson = False,
) -> None:
    """Show the profile of a person: general appeal, impacts of features, affinities."""
    fitted = load(model, Teaser)
    seen, presses = person.viewed(fitted, model), read_presses(person.press)
    found = fitted.profile(seen, presses, about=person.about, steering=Steering(scale=scale))
    if as_json:
        print_json(output.as_profile(found))
        return
    out.print(output.draw_profile(found, per_feature=top))


@commands.command()
@expand_options
def explain(
    model: ModelFolder,
    item: Annotated[str | None, typer.Argument(help="The item to explain.")] = None,
    *,
    tag: Annotated[
        str | None, typer.Option(help="Explain the affinity with this tag (feature=value) instead.")
    ] = None,
    person: Annotated[Person, OptionsOf()],
    boost: Boost = None,
    unknown: Unknown = "raise",
    scale: Scale = "robust",
    balance: Balance = 0.5,
    as_json: AsJson = False,
) -> None:
    """Show every part of an item's score, or with --tag the origins of an affinity."""
    if item is None and tag is None:
        raise ParameterError("Give the item to explain, or a tag: --tag feature=value.")
    if item is not None and tag is not None:
        raise ParameterError("Give either an item or --tag, not both.")
    fitted = load(model, Teaser)
    seen, about = person.viewed(fitted, model), person.about
    if tag is not None:
        refuse_unused("--tag: presses do not change the origins of an affinity", press=person.press)
        refuse_unused("--tag: boosts do not change the origins of an affinity", boost=boost)
        _explain_tag(fitted, tag, seen, about, as_json=as_json)
        return
    steering = Steering(scale=scale, balance=balance)
    found = fitted.explain(
        str(item),
        seen,
        read_presses(person.press),
        about=about,
        steering=steering,
        boost=read_boosts(boost),
        unknown=unknown,
    )
    if as_json:
        print_json(output.as_explanation(found))
        return
    out.print(f"[bold]{escape(found.title or str(found.item_id))}[/]", highlight=False)
    out.print(output.draw_explanation(found))
    for sentence in found.sentences()[:6]:
        out.print(f"  {sentence}", highlight=False, markup=False)


def _explain_tag(
    model: Teaser, tag: str, history: ItemHistory, about: list[str] | None, *, as_json: bool
) -> None:
    origins = model.origins(tag, history, about=about)
    if as_json:
        print_json([output.as_origin(name, part) for name, part in origins.items()])
        return
    out.print(output.draw_origins(origins, output.origin_titles(model, origins)))


@commands.command()
def info(
    folder: Folder,
    *,
    find: Annotated[
        str | None, typer.Option(help="List items and tags whose name contains this text.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a saved folder; with --find, look up items and tags by name."""
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
    for line in output.draw_content(content):
        out.print(line, soft_wrap=True)
    if recipe is not None:
        out.print("[bold]recipe[/]")
        out.print(output.draw_recipe(Recipe.from_dict(recipe)))


def _find_names(
    text: str, items: pl.DataFrame, tags: Sequence[Tag], title: str | None
) -> dict[str, Any]:
    """Return the items and tags whose id, title or name contains a text, in any case."""
    names = items.to_series(0).cast(str).to_list()
    titles = items[title].cast(str).fill_null("").to_list() if title else [""] * len(names)
    wanted = text.casefold()
    return {
        "items": {
            name: shown
            for name, shown in zip(names, titles, strict=True)
            if wanted in f"{name} {shown}".casefold()
        },
        "tags": [str(tag) for tag in tags if wanted in str(tag).casefold()],
    }


@commands.command()
def say(
    model: ModelFolder,
    text: Annotated[str, typer.Argument(help="What is asked for, in your own words.")],
    *,
    language: Annotated[
        str, typer.Option(help="The language it is most likely written in: en, nl or fr.")
    ] = "en",
    today: Annotated[
        str | None, typer.Option(help="The day that dates count from, as 2026-11-20.")
    ] = None,
    synonyms: Annotated[
        Path | None, typer.Option(help="A TOML file of further words for tags.")
    ] = None,
    interpreter: Annotated[
        str, typer.Option(help="The name of an installed interpreter, in place of the own reader.")
    ] = "",
    apply: Annotated[
        bool, typer.Option("--apply", help="List the items that the wishes lead to as well.")
    ] = False,
    history: Annotated[
        list[str] | None,
        typer.Option("--history", "-i", help="With --apply: a viewed item; repeat, or use commas."),
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", help="With --apply: number of items.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Read a request in words as wishes, and with --apply list what they lead to."""
    fitted, day = load(model, Teaser), _day(today)
    vocabulary = Vocabulary.from_model(fitted, synonyms=synonyms)
    if vocabulary.unmatched:
        err.print(
            f"Synonyms for what is no tag: {', '.join(vocabulary.unmatched)}",
            highlight=False, markup=False,
        )  # fmt: skip
    reading = interpret(text, vocabulary, language=language, today=day, interpreter=interpreter)
    found = None
    if apply:
        seen = read_history(fitted.items_, history or [])
        found = recommend_for(fitted, reading.wishes, seen, k=k, today=day)
    if as_json:
        shown = as_reading(reading)
        if found is not None:
            shown["recommendations"] = [output.as_recommendation(r) for r in found]
        print_json(shown)
        return
    if reading.wishes:
        out.print(draw_reading(reading))
    print_lines(remarks(reading))
    if found is not None:
        out.print(output.draw_recommendations(found))


def draw_reading(reading: Reading) -> RenderableType:
    """Return the wishes as a table: what each was read from, and its text form."""
    table = Table(box=None, pad_edge=False, header_style=QUIET)
    table.add_column("read from")
    table.add_column("wish")
    for wish in reading.wishes:
        table.add_row(Text(wish.words), Text(str(wish)))
    return table


def remarks(reading: Reading) -> list[str]:
    """Return what is to be said about a reading besides its wishes."""
    said = []
    if not reading.wishes:
        said.append("Nothing to change was found in this request.")
    if reading.unknown:
        said.append(f"Not understood: {', '.join(reading.unknown)}")
    for one, other in reading.contradictions:
        said.append(f"These cannot both be: {one} and {other}. Which is meant?")
    return said


def as_reading(reading: Reading) -> dict[str, Any]:
    """Return a reading as JSON has it."""
    return {
        "wishes": [_as_wish(wish) for wish in reading.wishes],
        "unknown": list(reading.unknown),
        "contradictions": [[str(one), str(other)] for one, other in reading.contradictions],
    }


def _as_wish(wish: Wish) -> dict[str, Any]:
    return {
        "wish": str(wish),
        "kind": wish.kind,
        "name": wish.name,
        "steps": wish.steps,
        "number": wish.number,
        "lasts": wish.lasts,
        "words": wish.words,
    }


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ParameterError(f"--today must be a day such as 2026-11-20, found {text!r}.") from None
