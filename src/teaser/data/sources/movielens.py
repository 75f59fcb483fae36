"""MovieLens: ratings, movies, user tags and user features, with credits from IMDb."""

from pathlib import Path

import polars as pl

from teaser.data.reading import need_columns, read_table
from teaser.data.rules import Category, Number, Rule, Rules, Year
from teaser.data.sources.folder import (
    LOG,
    MIN_ITEMS,
    Folder,
    Source,
    add_list,
    as_numbers,
    list_rules,
    make_rules,
    read_csv,
    read_dat,
    reader,
)
from teaser.data.sources.imdb import read_imdb
from teaser.errors import ParameterError

_ARTICLES = "The|A|An|La|Le|Les|L'|Il|Lo|Gli|El|Los|Las|Das|Der|Die|Den|Det|De|Het|Un|Une|Una"
_CREDITS = {"directors": "director", "writers": "writer", "actors": "actor"}
_RATING = {"userId": pl.Int64, "movieId": pl.Int64, "rating": pl.Float64}
_MOVIE = {"movieId": pl.Int64, "title": pl.String, "genres": pl.String}
_EXTRAS = (
    *("movieId", "title", "year", "certificate", "release_date", "genres"),
    *(*_CREDITS, "plot", "poster"),
)
_AGES = {
    "1": "under 18", "18": "18-24", "25": "25-34", "35": "35-44", "45": "45-49", "50": "50-55",
    "56": "56 and over",
}  # fmt: skip
_OCCUPATIONS = (
    "other or not specified", "academic/educator", "artist", "clerical/admin",
    "college/grad student", "customer service", "doctor/health care", "executive/managerial",
    "farmer", "homemaker", "K-12 student", "lawyer", "programmer", "retired", "sales/marketing",
    "scientist", "self-employed", "technician/engineer", "tradesman/craftsman", "unemployed",
    "writer",
)  # fmt: skip


# A value that fewer than ten users share may identify them.
_USER_RULES = Rules(
    tuple(Category(column, min_items=10) for column in ("age", "gender", "occupation")),
    skipped={"zip": "a post code with age and gender can identify a user, and few share one"},
)


@reader("ml-1m", ("movies.dat",), ("ratings.dat", "ratings.csv"))
def read_movielens_1m(folder: str | Path) -> Source:
    """Read MovieLens 1M, with movies_extrainfos.dat if the folder has it.

    Ratings are ratings.dat (`UserID::MovieID::Rating::Timestamp`) or ratings.csv.
    """
    files = Folder(Path(folder))
    path = files.need("ratings", "ratings.dat", "ratings.csv")
    if ".dat" in path.suffixes:
        columns = [*_RATING, "timestamp"]
        ratings = as_numbers(read_dat(path, columns, wide="timestamp"), *columns)
    else:
        ratings = read_csv(path, "ratings", _RATING)
    path = files.need("movies", "movies.dat")
    items = _tidy_movies(as_numbers(read_dat(path, [*_MOVIE], wide="title"), "movieId"))
    roles = {"title": "title"}
    tags = _common_rules()
    if files.find("movies_extrainfos.dat"):
        items = _add_extras(items, files)
        tags += [Category("certificate", min_items=MIN_ITEMS), *list_rules(**_CREDITS)]
        roles |= {"description": "plot", "picture": "poster"}
    rules = make_rules(items, tags, roles, {"release_date": "the year says as much"})
    users = _read_users(files)
    user_rules = None if users is None else _USER_RULES
    return Source(
        "ml-1m", ratings, items, "userId", "movieId", rules, users=users, user_rules=user_rules
    )


@reader("movielens", ("movies.csv",), ("ratings.csv",))
def read_movielens(
    folder: str | Path, *, imdb: str | Path | None = None, actors: bool = False
) -> Source:
    """Read MovieLens 20M, 25M, 32M or latest: ratings.csv, movies.csv, tags.csv, links.csv.

    Parameters
    ----------
    folder
        Has ratings.csv and movies.csv; tags.csv and links.csv are optional.
    imdb
        A folder with IMDb's title.basics, name.basics and title.crew or title.principals, as .tsv
        or .tsv.gz. Adds directors, writers and the runtime by way of links.csv.
    actors
        Whether to add actors too, from IMDb's title.principals.
    """
    files = Folder(Path(folder))
    if actors and imdb is None:
        raise ParameterError("Actors come from IMDb's tables. Give their folder with imdb=.")
    ratings = read_csv(files.need("ratings", "ratings.csv"), "ratings", _RATING)
    items = _tidy_movies(read_csv(files.need("movies", "movies.csv"), "movies", _MOVIE))
    roles = {"title": "title"}
    tags = _common_rules()
    if files.find("tags.csv"):
        items = _add_user_tags(items, files)
        tags += list_rules(tags="tag")
    if imdb is not None or files.find("links.csv"):
        links = _read_links(files, items["movieId"].dtype)
        address = pl.format("https://www.imdb.com/title/{}/", "tconst")
        items = _join(items, links.select("movieId", link=address))
        roles["link"] = "link"
    if imdb is not None:
        items = _join(items, read_imdb(links, Folder(Path(imdb)), actors=actors), suffix="_imdb")
        items = items.with_columns(pl.coalesce("year", "year_imdb").alias("year")).drop("year_imdb")
        credited = {column: _CREDITS[column] for column in _CREDITS if column in items.columns}
        tags += [*list_rules(**credited), Number("runtime", bins=10, unit="minutes")]
    rules = make_rules(items, tags, roles)
    return Source("movielens", ratings, items, "userId", "movieId", rules)


def _common_rules() -> list[Rule]:
    return [*list_rules(genres="genre"), Year("year", min_items=MIN_ITEMS)]


def _join(movies: pl.DataFrame, more: pl.DataFrame, suffix: str = "_right") -> pl.DataFrame:
    return movies.join(more, on="movieId", how="left", suffix=suffix, maintain_order="left")


def _read_users(folder: Folder) -> pl.DataFrame | None:
    """Return the users with codes turned into words, or None without users.dat."""
    path = folder.find("users.dat")
    if path is None:
        return None
    users = read_dat(path, ["userId", "gender", "age", "occupation", "zip"], wide="zip")
    return as_numbers(users, "userId").with_columns(
        pl.col("gender").replace({"F": "female", "M": "male"}),
        pl.col("age").replace(_AGES),
        pl.col("occupation").replace({str(i): name for i, name in enumerate(_OCCUPATIONS)}),
    )


def _add_extras(movies: pl.DataFrame, folder: Folder) -> pl.DataFrame:
    """Add certificate, release date, credits, plot, poster and genres from the extra file.

    What the extra file lacks for a movie stays as movies.dat has it.
    """
    path = folder.need("extra information", "movies_extrainfos.dat")
    extras = as_numbers(read_dat(path, _EXTRAS, wide="plot"), "movieId")
    extras = extras.with_columns(pl.col(pl.String).replace(["N/A", ""], None)).with_columns(
        pl.col("year").str.extract(r"(\d{4})").cast(pl.Int64),
        pl.col("release_date").str.to_date("%d %b %Y", strict=False),
        _listed("genres"),
        *(_listed(column) for column in _CREDITS),
    )
    if extras["movieId"].dtype != movies["movieId"].dtype:
        extras = extras.with_columns(pl.col("movieId").cast(pl.String))
        movies = movies.with_columns(pl.col("movieId").cast(pl.String))
    known = movies["movieId"].is_in(extras["movieId"].implode())
    LOG.info(f"{known.sum():,} of {movies.height:,} movies have extra information.")
    # Some copies of movies.dat have the replacement character in place of accented letters.
    whole = pl.when(~pl.col("title").str.contains("\ufffd")).then(pl.col("title"))
    return _join(movies, extras, suffix="_extra").select(
        "movieId",
        pl.coalesce(whole, "title_extra", "title").alias("title"),
        pl.coalesce("year_extra", "year").alias("year"),
        pl.coalesce("genres_extra", "genres").alias("genres"),
        *("certificate", "release_date", *_CREDITS, "plot", "poster"),
    )


def _tidy_movies(movies: pl.DataFrame) -> pl.DataFrame:
    """Return movieId, title with its article first, year from the title, and lists of genres."""
    title = pl.col("title").str.strip_chars()
    # A year, or the years of a series: (1995), (2006-2007), (2011- ).
    ending = r"\s*\((\d{4})(?:\s*[\u2013-]\s*\d{0,4}\s*)?\)$"
    genres = pl.col("genres").replace("(no genres listed)", None).str.split("|")
    return movies.select(
        "movieId",
        _article_first(title.str.replace(ending, "")).alias("title"),
        title.str.extract(ending).cast(pl.Int64).alias("year"),
        genres.alias("genres"),
    )


def _add_user_tags(movies: pl.DataFrame, folder: Folder) -> pl.DataFrame:
    """Add the list of distinct tags that users gave each movie, in lower case."""
    path = folder.need("user tags", "tags.csv")
    given = read_csv(path, "user tags", {"movieId": pl.Int64, "tag": pl.String})
    if given["movieId"].dtype != movies["movieId"].dtype:
        given = given.with_columns(pl.col("movieId").cast(movies["movieId"].dtype, strict=False))
    tags = given.select("movieId", pl.col("tag").str.to_lowercase().str.strip_chars())
    filled = tags.filter(pl.col("movieId").is_not_null() & (pl.col("tag") != ""))
    if filled.height < tags.height:
        LOG.warning(f"{tags.height - filled.height:,} rows of {path} have no movie or no tag.")
    return add_list(movies, filled, "tags")


def _read_links(folder: Folder, ids: pl.DataType) -> pl.DataFrame:
    """Return movieId, of the type of `ids`, and tconst, the id of the title in IMDb."""
    links = read_table(folder.need("links to IMDb", "links.csv"), what="links to IMDb")
    need_columns(links, ("movieId", "imdbId"), "the links to IMDb")
    number = pl.col("imdbId").cast(pl.Int64, strict=False).cast(pl.String)
    movies = pl.col("movieId").cast(ids, strict=False)
    linked = links.select(movies, tconst=pl.lit("tt") + number.str.zfill(7))
    return linked.unique("movieId", keep="first", maintain_order=True)


def _listed(column: str) -> pl.Expr:
    """Return the distinct values between commas, without notes in parentheses."""
    bare = pl.col(column).str.replace_all(r"\([^()]*\)", "").str.split(",")
    return bare.list.eval(
        pl.element().str.strip_chars().filter(pl.element().str.strip_chars() != "")
    ).list.unique(maintain_order=True)


def _article_first(title: pl.Expr) -> pl.Expr:
    """Write `Matrix, The` as `The Matrix`, also in alternative titles in parentheses."""
    for before, after in (("^()", r"( \(.*)?$"), (r"(\((?:a\.k\.a\. )?)", r"(\))")):
        moved = title.str.replace_all(
            rf"{before}([^()]+?), ({_ARTICLES}){after}", "${1}${3} ${2}${4}"
        )
        title = moved.str.replace_all(r"(^|\(|a\.k\.a\. )L' ", "${1}L'")
    return title
