"""Public data sets on disk become tables, with tag rules that suit them."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from teaser.data.reading.interactions import need_column, read_table
from teaser.data.sources.amazon import clean_text, find_amazon, read_products, read_reviews
from teaser.data.sources.folder import LOG, Folder, as_numbers, read_columns, read_dat, read_lines
from teaser.data.sources.goodbooks import add_genres, read_books
from teaser.data.sources.imdb import read_imdb
from teaser.data.sources.movielens import (
    USER_RULES,
    add_extras,
    add_user_tags,
    read_links,
    read_movies_csv,
    read_movies_dat,
    read_users_dat,
)
from teaser.data.tagging.rule_set import Category, ListOf, Number, Rule, Rules, Text, Year
from teaser.errors import DataError, ParameterError, TableError, closest

_POPULAR = "it tells how popular the item is, which the model learns by itself"
_LIKED = "rating >= 4"
_MIN_ITEMS = 3
_RATING = {"userId": pl.Int64, "movieId": pl.Int64, "rating": pl.Float64}


@dataclass(frozen=True)
class Source:
    """Tables of one data set, with what is needed to make a `Dataset` of them.

    Attributes
    ----------
    name
        Of the reader that made it.
    interactions, items
        Who chose what, and what is known of each item.
    user, item
        The columns of the ids; `item` is the same in both tables.
    positive
        Which interactions count, or None when all do.
    rules
        How metadata become tags, and which columns are shown as what.
    users
        What is known of the users, where the data say.
    user_rules
        How that becomes tags of people.
    """

    name: str
    interactions: pl.DataFrame
    items: pl.DataFrame
    user: str
    item: str
    positive: str | None
    rules: Rules
    users: pl.DataFrame | None = None
    user_rules: Rules | None = None


def read_movielens_1m(folder: str | Path) -> Source:
    """Read MovieLens 1M, with movies_extrainfos.dat where that lies beside it.

    Ratings are ratings.dat (`UserID::MovieID::Rating::Timestamp`) or ratings.csv.
    """
    place = Folder(Path(folder))
    path = place.need("ratings", "ratings.dat", "ratings.csv")
    if ".dat" in path.suffixes:
        columns = ["userId", "movieId", "rating", "timestamp"]
        ratings = as_numbers(read_dat(path, columns, wide="timestamp"), *columns)
    else:
        ratings = read_columns(path, "ratings", _RATING)
    items = read_movies_dat(place)
    roles = {"title": "title"}
    tags: list[Rule] = [_list("genres", "genre"), Year("year", min_items=_MIN_ITEMS)]
    skipped = {}
    if place.find("movies_extrainfos.dat"):
        items = add_extras(items, place)
        tags += [
            Category("certificate", min_items=_MIN_ITEMS),
            *_people("directors", "writers", "actors"),
        ]
        roles |= {"description": "plot", "picture": "poster"}
        skipped["release_date"] = "the year says as much"
    rules = _rules(items, tags, roles, skipped)
    users = read_users_dat(place)
    user_rules = None if users is None else USER_RULES
    return Source("ml-1m", ratings, items, "userId", "movieId", _LIKED, rules, users, user_rules)


def read_movielens(
    folder: str | Path, *, imdb: str | Path | None = None, actors: bool = False
) -> Source:
    """Read MovieLens 20M, 25M, 32M or latest: ratings.csv, movies.csv, tags.csv, links.csv.

    Parameters
    ----------
    folder
        Holds ratings.csv and movies.csv; tags.csv and links.csv are used where they are there.
    imdb
        A folder with IMDb's title.basics, name.basics and title.crew or title.principals, as .tsv
        or .tsv.gz: adds directors, writers and the runtime by way of links.csv.
    actors
        Whether to add actors too, from IMDb's title.principals.
    """
    place = Folder(Path(folder))
    if actors and imdb is None:
        raise ParameterError("Actors come from IMDb's tables: say where they are with imdb=.")
    path = place.need("ratings", "ratings.csv")
    ratings = read_columns(path, "ratings", _RATING)
    items = read_movies_csv(place)
    roles = {"title": "title"}
    tags: list[Rule] = [_list("genres", "genre"), Year("year", min_items=_MIN_ITEMS)]
    if place.find("tags.csv"):
        items = add_user_tags(items, place)
        tags.append(_list("tags", "tag"))
    if imdb is not None or place.find("links.csv"):
        links = read_links(place, items["movieId"].dtype)
        address = links.select(
            "movieId", link=pl.format("https://www.imdb.com/title/{}/", "tconst")
        )
        items = items.join(address, on="movieId", how="left", maintain_order="left")
        roles["link"] = "link"
    if imdb is not None:
        known = read_imdb(links, Folder(Path(imdb)), actors=actors)
        items = items.join(known, on="movieId", how="left", suffix="_imdb", maintain_order="left")
        items = items.with_columns(pl.coalesce("year", "year_imdb").alias("year")).drop("year_imdb")
        tags += [
            *_people("directors", "writers", *(["actors"] if actors else [])),
            Number("runtime", bins=10, unit="minutes"),
        ]
    rules = _rules(items, tags, roles, {})
    return Source("movielens", ratings, items, "userId", "movieId", _LIKED, rules)


def read_amazon(
    folder: str | Path | None = None,
    *,
    reviews: str | Path | None = None,
    meta: str | Path | None = None,
) -> Source:
    """Read reviews and products of Amazon, as they were published in 2014, 2018 or 2023.

    Parameters
    ----------
    folder
        Holds one file of reviews and one of products, its name beginning with `meta`; both .json
        or .jsonl, plain or .gz, an object a line.
    reviews, meta
        The two files themselves, where they lie elsewhere or several are in the folder.
    """
    at_reviews = _amazon_file(folder, reviews, "reviews")
    at_meta = _amazon_file(folder, meta, "meta")
    given = read_reviews(at_reviews)
    items = read_products(at_meta, given["item_id"].unique())
    tags: list[Rule] = [
        Number("price", bins=10, unit="dollars"),
        Category("brand", min_items=_MIN_ITEMS),
        _list("categories", "category"),
        Text(("title", "description"), feature="keyword", min_share=0.01, max_share=0.3),
    ]
    roles = {"title": "title", "description": "description", "picture": "picture", "link": "link"}
    rules = _rules(items, tags, roles, {})
    return Source("amazon", given, items, "user_id", "item_id", _LIKED, rules)


def read_amazon_video_games(folder: str | Path) -> Source:
    """Read the copy of Amazon Video Games without names: interactions.csv and items.csv.

    It has no stars, so that every interaction counts.
    """
    place = Folder(Path(folder))
    path = place.need("interactions", "interactions.csv")
    pairs = read_columns(path, "interactions", {"user_id": pl.Int64, "item_id": pl.Int64})
    path = place.need("items", "items.csv")
    items = read_table(path, what="items")
    for column in ("item_id", "price", "categories", "brand", "title"):
        need_column(items, column, f"the items of {path}")
    items = items.with_columns(
        pl.col("title", "brand").cast(pl.String).map_elements(clean_text, return_dtype=pl.String),
        _telling(items["categories"].str.split("|")),
    )
    tags: list[Rule] = [
        Number("price", bins=10, unit="dollars"),
        _list("categories", "category"),
        Category("brand", min_items=_MIN_ITEMS),
    ]
    skipped = {
        "sales_rank": _POPULAR,
        "sales_type": "it is the list that the sales rank belongs to",
        "asin_rank": "it only orders the items",
    }
    rules = _rules(items, tags, {"title": "title"}, skipped)
    return Source("amazon-video-games", pairs, items, "user_id", "item_id", None, rules)


def read_goodbooks(folder: str | Path) -> Source:
    """Read goodbooks-10k: ratings.csv (or a sample, ratings_random.csv), books.csv and genres.

    Genres are book_genres.csv or, without it, the shelves of book_tags.csv and tags.csv that at
    least 20 people put a book on and at least 20 books are on, but for those that tell of their
    owner, such as to-read.
    """
    place = Folder(Path(folder))
    path = place.need("ratings", "ratings.csv", "ratings_random.csv")
    types = {"user_id": pl.Int64, "book_id": pl.Int64, "rating": pl.Float64}
    ratings = read_columns(path, "ratings", types)
    items = add_genres(read_books(place), place)
    tags: list[Rule] = [
        _list("genres", "genre"),
        _list("authors", "author"),
        Year("year", width=10, min_items=_MIN_ITEMS),
        Category("language", min_items=_MIN_ITEMS),
    ]
    skipped = dict.fromkeys(("average_rating", "ratings_count"), _POPULAR)
    roles = {"title": "title", "picture": "picture", "link": "link"}
    rules = _rules(items, tags, roles, skipped)
    return Source("goodbooks", ratings, items, "user_id", "book_id", _LIKED, rules)


READERS: dict[str, Callable[..., Source]] = {
    "ml-1m": read_movielens_1m,
    "movielens": read_movielens,
    "amazon": read_amazon,
    "amazon-video-games": read_amazon_video_games,
    "goodbooks": read_goodbooks,
}
_LAYOUTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "ml-1m": (("movies.dat",), ("ratings.dat", "ratings.csv")),
    "movielens": (("movies.csv",), ("ratings.csv",)),
    "amazon-video-games": (("items.csv",), ("interactions.csv",)),
    "goodbooks": (("books.csv",), ("ratings.csv", "ratings_random.csv")),
}


def read_source(name: str, folder: str | Path, **options: Any) -> Source:
    """Read a folder by the reader of that name; `options` are the reader's own."""
    if name not in READERS:
        raise DataError(
            f"Unknown source {name!r}. Known: {', '.join(READERS)}.{closest(name, READERS)}"
        )
    known = [p for p in inspect.signature(READERS[name]).parameters if p != "folder"]
    for option in options:
        if option not in known:
            raise ParameterError(
                f"The reader {name!r} has no option {option!r}. "
                f"Known: {', '.join(known) or 'none'}.{closest(option, known)}"
            )
    return READERS[name](folder, **options)


def detect(folder: str | Path) -> str:
    """Return the name of the reader that fits the files in the folder."""
    place = Folder(Path(folder))
    fitting = [
        name for name, needs in _LAYOUTS.items() if all(place.find(*names) for names in needs)
    ]
    if "amazon-video-games" in fitting and not _ranks_sales(place):
        fitting.remove("amazon-video-games")
    if all(find_amazon(place)):
        fitting.append("amazon")
    if len(fitting) == 1:
        return fitting[0]
    looked = "; ".join(
        f"{name}: {' and '.join(' or '.join(names) for names in needs)}"
        for name, needs in _LAYOUTS.items()
    )
    said = f"fits {' and '.join(fitting)}" if fitting else "fits no reader"
    raise TableError(
        f"{place.path} {said}. Looked for {looked}; amazon: meta*.json and another .json "
        f"(all also .gz). Found: {place.listing()}. Say which reader is meant by its name."
    )


def _ranks_sales(place: Folder) -> bool:
    """Tell that copy from other tables that are called items and interactions too."""
    header = next(read_lines(place.need("items", "items.csv")), b"")
    return b"sales_rank" in header


def _amazon_file(folder: str | Path | None, given: str | Path | None, kind: str) -> Path:
    """Return the file of reviews or products: the one given, or the only one in the folder."""
    if given is not None:
        path = Path(given)
        if not path.is_file():
            raise TableError(f"There is no file {path} to read the {kind} from.")
        return path
    if folder is None:
        raise ParameterError(f"Give a folder, or the file of the {kind} as {kind}=.")
    place = Folder(Path(folder))
    found = find_amazon(place)[kind == "meta"]
    if len(found) != 1:
        looked = "meta*.json" if kind == "meta" else "*.json not called meta"
        names = f"{len(found)} files fit" if found else "no file fits"
        raise TableError(
            f"The {kind} were looked for in {place.path} as {looked} (or .jsonl, also .gz), "
            f"and {names}. Found: {place.listing()}. Say which file it is with {kind}=."
        )
    return found[0]


def _list(column: str, feature: str) -> ListOf:
    return ListOf(column, feature=feature, min_items=_MIN_ITEMS)


def _people(*columns: str) -> list[Rule]:
    return [_list(column, column.removesuffix("s")) for column in columns]


def _rules(
    items: pl.DataFrame, tags: Sequence[Rule], roles: dict[str, str], skipped: dict[str, str]
) -> Rules:
    """Put rules together, without those whose columns hold nothing."""
    kept = []
    for rule in tags:
        if all(items[column].null_count() == items.height for column in rule.columns):
            skipped = {**skipped, **dict.fromkeys(rule.columns, "it is empty")}
        else:
            kept.append(rule)
    return Rules(tuple(kept), roles, {c: why for c, why in skipped.items() if c in items.columns})


def _telling(lists: pl.Series) -> pl.Series:
    """Leave out the values that every row has: they tell no two items apart."""
    counts = lists.list.unique().explode().drop_nulls().value_counts()
    shared = counts.filter(pl.col("count") == len(lists))[lists.name].to_list()
    if not shared or len(lists) == 1:
        return lists
    LOG.info("%s is left out of %s: every item has it.", ", ".join(shared), lists.name)
    return lists.list.eval(pl.element().filter(~pl.element().is_in(shared)))
