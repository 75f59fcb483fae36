"""The catalogues of the test set: generated events, some known films, and three foreign ones."""

import json
import random
import tomllib
from datetime import date
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from teaser import Dataset, Teaser
from teaser.app.i18n.texts import LANGUAGES, texts_in
from teaser.data import demo
from teaser.data.rules import Category, ListOf, Rules
from teaser.data.tags import Tag
from teaser.model.tagged import TaggedModel
from teaser.words.vocabulary import Translations, Vocabulary

TODAY = date(2026, 11, 16)
FOLDER = Path(__file__).parent
FOREIGN = ("board_games", "books", "anime")


def translations(model: TaggedModel) -> Translations:
    """Return the names of a model's tags and features in the languages of the site."""
    found: dict[str, dict[Tag | str, str]] = {}
    for language in LANGUAGES:
        texts = texts_in(language)
        named: dict[Tag | str, str] = {tag: texts.tag(tag) for tag in model.tags_}
        named |= {tag.feature: texts.feature(tag.feature) for tag in model.tags_}
        found[language] = named
    return found


@cache
def event_model() -> Teaser:
    return Teaser(tol=0.1).fit(demo.dataset(start=TODAY))


@cache
def film_model() -> Teaser:
    table = pl.DataFrame(json.loads((FOLDER / "films.json").read_text()))
    ids = table["item_id"].to_list()
    # Neighbours in time are chosen together: enough for a fit, and the same at every run.
    pairs = [(f"u{i % 40}", ids[j]) for i, two in enumerate(combinations(range(len(ids)), 2))
             for j in two if abs(two[0] - two[1]) < 5]  # fmt: skip
    interactions = pl.DataFrame(pairs, schema=["user_id", "item_id"], orient="row").unique(
        maintain_order=True
    )
    names = ("decade", "director", "country", "language")
    rules = Rules(
        (ListOf("genre", min_items=1), *(Category(name, min_items=1) for name in names)),
        roles={"title": "title"},
    )
    return Teaser().fit(Dataset.from_tables(interactions, table, rules=rules))


@cache
def year_model(column: bool) -> Teaser:
    """Return films of single years, which are numbers in a column or only tags."""
    films = [("Pulp Fiction", 1994, "Crime", "Karen Black"), ("Heat", 1995, "Crime", "Noni White")]
    films += [(f"Film {year}", year, "Western", "Ingmar Bergman") for year in range(1940, 2002)]
    names = ["title", "year", "genre", "actor"]
    table = pl.DataFrame(films, schema=names, orient="row").with_row_index("item_id")
    table = table.with_columns(pl.format("m{}", "item_id").alias("item_id"))
    if not column:
        table = table.with_columns(pl.col("year").cast(pl.String))
    ids = table["item_id"].to_list()
    pairs = [(f"u{i}", ids[i + j]) for i in range(len(ids) - 2) for j in range(3)]
    interactions = pl.DataFrame(pairs, schema=["user_id", "item_id"], orient="row")
    tags = tuple(Category(name, min_items=1) for name in names[1:])
    rules = Rules(tags, roles={"title": "title"})
    return Teaser().fit(Dataset.from_tables(interactions, table, rules=rules))


@cache
def foreign_model(name: str) -> Teaser:
    """Return a model of 240 board games, books or anime, with tags as they are inferred."""
    given = tomllib.loads((FOLDER / "foreign" / "catalogues.toml").read_text("utf-8"))[name]
    draw, rows = random.Random(name), []  # noqa: S311
    pairs = [f"{one} {other}" for one in given["words"] for other in given["words"] if one != other]
    for n, title in enumerate([*given["titles"], *draw.sample(pairs, 110)] * 2):
        row: dict[str, Any] = {
            "item_id": f"x{n:03d}",
            "title": title if n < 120 else f"{title} 2",
        }
        for column, values in given["lists"].items():
            row[column] = "|".join(draw.sample(values, draw.randint(2, 4)))
        for part in ("one", "numbers"):
            row |= {column: draw.choice(values) for column, values in given[part].items()}
        if "max_players" in row:
            row["max_players"] = max(row["min_players"], row["max_players"])
        rows.append(row)
    table = pl.DataFrame(rows)
    viewed = [(f"u{u}", f"x{i:03d}") for u in range(150) for i in draw.sample(range(240), 12)]
    interactions = pl.DataFrame(viewed, schema=["user_id", "item_id"], orient="row")
    return Teaser().fit(Dataset.from_tables(interactions, table))


@cache
def vocabulary(catalogue: str) -> Vocabulary:
    """Return the vocabulary of events, films, year_numbers or year_tags."""
    if catalogue.startswith("year"):
        return Vocabulary.from_model(year_model(column=catalogue == "year_numbers"))
    if catalogue in FOREIGN:
        return Vocabulary.from_model(foreign_model(catalogue))
    model = event_model() if catalogue == "events" else film_model()
    return Vocabulary.from_model(model, translations=translations(model))
