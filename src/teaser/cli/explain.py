"""The commands that say why: profile, explain, compare, transparency."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from teaser.cli import options as cli
from teaser.cli.output import (
    draw_origins,
    draw_profile,
    draw_steps,
    out,
    print_json,
    print_lines,
    to_plain,
)
from teaser.data.tags import Tag
from teaser.errors import ArtifactError, ParameterError
from teaser.model import load
from teaser.model.teaser import Teaser
from teaser.profile import Steering

commands = typer.Typer()


@dataclass(frozen=True)
class SteeredPerson(cli.Person):
    """A person, and how scores are made for them."""

    boost: cli.Boost = None
    unknown: cli.Unknown = "raise"
    scale: cli.Scale = "robust"
    balance: cli.Balance = 0.5

    def arguments(self, model: Teaser, folder: Path) -> dict[str, Any]:
        """Return the arguments of `Teaser.explain` and `Teaser.compare` after the items."""
        return {
            "history": self.viewed(model, folder, self.unknown),
            "presses": cli.read_presses(self.press),
            "about": self.about,
            "steering": Steering(scale=self.scale, balance=self.balance),
            "boost": cli.read_boosts(model, self.boost),
            "unknown": self.unknown,
        }


@commands.command()
@cli.expand_options
def profile(
    model: cli.ModelFolder,
    *,
    person: Annotated[cli.Person, cli.OptionsOf()],
    top: Annotated[int, typer.Option(min=1, help="Number of tags of each feature.")] = 4,
    scale: cli.Scale = "robust",
    as_json: cli.AsJson = False,
) -> None:
    """Show the profile of a person: what can be said, impacts of features, leanings, affinities."""
    fitted = load(model, Teaser)
    seen, presses = person.viewed(fitted, model), cli.read_presses(person.press)
    found = fitted.profile(seen, presses, about=person.about, steering=Steering(scale=scale))
    if not as_json:
        out.print(draw_profile(found, per_feature=top))
        return
    names = ("history", "strengths", "presses", "about", "certainty", "general", "impacts")
    plain = {name: getattr(found, name) for name in (*names, "affinities", "leanings")}
    print_json({name: value for name, value in plain.items() if value or name != "strengths"})


@commands.command()
@cli.expand_options
def explain(
    model: cli.ModelFolder,
    item: str | None = None,
    *,
    tag: str | None = None,
    person: Annotated[SteeredPerson, cli.OptionsOf()],
    as_json: cli.AsJson = False,
) -> None:
    """Show every part of an item's score, or with --tag the origins of an affinity.

    Parameters
    ----------
    item
        The item to explain, by id or title.
    tag
        Explain the affinity with this tag (feature=value) instead.
    """
    if (item is None) == (tag is None):
        raise ParameterError("Give an item to explain, or a tag as --tag feature=value, not both.")
    fitted = load(model, Teaser)
    if tag is not None:
        unused = {"press": person.press, "boost": person.boost}
        cli.refuse_unused("--tag: they do not change the origins", **unused)
        origins = fitted.origins(tag, person.viewed(fitted, model), about=person.about)
        if as_json:
            print_json([_origin(name, part) for name, part in origins.items()])
            return
        items = [name for name in origins if not isinstance(name, Tag)]
        titles = {name: fitted.title(fitted.items_.index_of(name)) for name in items}
        out.print(draw_origins(origins, titles))
        return
    found = fitted.explain(
        cli.ItemNames.of(fitted).item_id(str(item)), **person.arguments(fitted, model)
    )
    if as_json:
        print_json({**to_plain(found), "general_share": found.general_share})
        return
    out.print(f"[bold]{escape(found.title or str(found.item_id))}[/]", highlight=False)
    last = ("", f"{found.score:+.3f}", f"match {100 * found.match:.0f} %")
    out.print(draw_steps(found.steps(), last))
    for sentence in found.sentences()[:6]:
        out.print(f"  {sentence}", highlight=False, markup=False)


def _origin(name: Any, part: float) -> dict[str, Any]:
    return {"about" if isinstance(name, Tag) else "item_id": name, "part": part}


@commands.command()
@cli.expand_options
def compare(
    model: cli.ModelFolder,
    item: str,
    other: str,
    *,
    person: Annotated[SteeredPerson, cli.OptionsOf()],
    as_json: cli.AsJson = False,
) -> None:
    """Show why one item stands above another: the difference of their scores, part by part.

    Parameters
    ----------
    item
        The item, by id or title.
    other
        The item to compare it with.
    """
    fitted = load(model, Teaser)
    names = cli.ItemNames.of(fitted)
    both = names.item_id(item), names.item_id(other)
    found = fitted.compare(*both, **person.arguments(fitted, model))
    if as_json:
        parts = found.to_frame().rows(named=True)
        print_json({**to_plain(found), "difference": found.difference, "parts": parts})
        return
    scores = (*found.explained, found.explained[0] - found.explained[1])
    out.print(draw_steps(found.steps(), [f"{score:+.3f}" for score in scores], found.names()))
    print_lines([found.sentence()])


@commands.command()
def transparency(model: cli.ModelFolder, *, as_json: cli.AsJson = False) -> None:
    """Show what decides in lists, measured at the fit, and where the data come from."""
    found = load(model, Teaser).transparency_
    if found is None:
        raise ArtifactError(f"{model} was not measured: no history was at hand. Fit it again.")
    if as_json:
        print_json(found.as_dict())
        return
    print_lines(found.sentences())
