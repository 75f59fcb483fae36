"""The command that reads a request in words."""

from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from teaser.cli import options as cli
from teaser.cli.output import (
    draw_recommendations,
    err,
    new_table,
    out,
    print_json,
    print_lines,
    to_plain,
)
from teaser.model import load
from teaser.model.teaser import Teaser
from teaser.words.interpreter import interpret
from teaser.words.vocabulary import Vocabulary
from teaser.words.wishes import Reading, recommend_for

commands = typer.Typer()


@commands.command()
@cli.expand_options
def say(
    model: cli.ModelFolder,
    text: str,
    *,
    language: str = "en",
    today: str | None = None,
    synonyms: Path | None = None,
    interpreter: str = "",
    apply: bool = False,
    history: list[str] | None = None,
    k: int = 10,
    as_json: cli.AsJson = False,
) -> None:
    """Read a request in words as wishes, and with --apply list what they lead to.

    Parameters
    ----------
    text
        What is asked for, in your own words.
    history
        With --apply: a viewed item; repeat, or use commas.
    k
        With --apply: number of items.
    language
        The language it is most likely written in: en, nl or fr.
    today
        The day that dates count from, as 2026-11-20.
    synonyms
        A TOML file of further words for tags.
    interpreter
        The name of an installed interpreter, in place of the own reader.
    apply
        List the items that the wishes lead to as well.
    """
    fitted, day = load(model, Teaser), cli.read_date("today", today)
    vocabulary = Vocabulary.from_model(fitted, synonyms=synonyms)
    if vocabulary.unmatched:
        err.print(
            f"Synonyms for what is no tag: {', '.join(vocabulary.unmatched)}",
            highlight=False, markup=False,
        )  # fmt: skip
    reading = interpret(text, vocabulary, language=language, today=day, interpreter=interpreter)
    found = None
    if apply:
        seen = cli.read_history(cli.ItemNames.of(fitted), history)
        found = recommend_for(fitted, reading.wishes, seen, k=k, today=day)
    if as_json:
        print_json(_plain(reading) | ({} if found is None else {"recommendations": list(found)}))
        return
    if reading.wishes:
        table = new_table("read from", "wish")
        for wish in reading.wishes:
            table.add_row(Text(wish.words), Text(str(wish)))
        out.print(table)
    print_lines(_remarks(reading))
    if found is not None:
        out.print(draw_recommendations(found))


def _remarks(reading: Reading) -> list[str]:
    """Return remarks on a reading besides its wishes."""
    remarks = []
    if not reading.wishes:
        remarks.append("Nothing to change was found in this request.")
    if reading.unknown:
        remarks.append(f"Not understood: {', '.join(reading.unknown)}")
    for one, other in reading.contradictions:
        remarks.append(f"These cannot both be: {one} and {other}. Which is meant?")
    return remarks


def _plain(reading: Reading) -> dict[str, Any]:
    return {
        "wishes": [{"wish": str(wish), **to_plain(wish)} for wish in reading.wishes],
        "unknown": reading.unknown,
        "contradictions": [[str(one), str(other)] for one, other in reading.contradictions],
    }
