"""MovieLens: ratings, movies, user tags and user features, with credits from IMDb."""

import logging
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
    list_rules,
    make_rules,
    read_csv,
    read_dat,
    reader,
)
from teaser.errors import ParameterError, TableError, closest

_ARTICLES = "The|A|An|La|Le|Les|L'|Il|Lo|Gli|El|Los|Las|Das|Der|Die|Den|Det|De|Het|Un|Une|Una"
_CREDITS = {"directors": "director", "writers": "writer", "actors": "actor"}
_RATING = {"userId": pl.Int64, "movieId": pl.Int64, "rating": pl.Float64}
_MOVIE = {"movieId": pl.Int64, "title": pl.String, "genres": pl.String}
_EXTRAS = (
    *("movieId", "title", "year", "certificate", "release_date", "genres"),
    *(*_CREDITS, "plot", "poster"),
)
_AGES = {
    1: "under 18", 18: "18-24", 25: "25-34", 35: "35-44", 45: "45-49", 50: "50-55",
    56: "56 and over",
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
        ratings = read_dat(path, [*_RATING, "timestamp"])
    else:
        ratings = read_csv(path, "ratings", _RATING)
    items = _tidy_movies(read_dat(files.need("movies", "movies.dat"), [*_MOVIE]))
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
    users = read_dat(path, ["userId", "gender", "age", "occupation", "zip"])
    occupations = dict(enumerate(_OCCUPATIONS))
    return users.with_columns(
        pl.col("gender").replace({"F": "female", "M": "male"}),
        pl.col("age").replace_strict(_AGES, default=None),
        pl.col("occupation").replace_strict(occupations, default=None),
    )


def _add_extras(movies: pl.DataFrame, folder: Folder) -> pl.DataFrame:
    """Add certificate, release date, credits, plot, poster and genres from the extra file.

    What the extra file lacks for a movie stays as movies.dat has it.
    """
    path = folder.need("extra information", "movies_extrainfos.dat")
    extras = read_dat(path, _EXTRAS)
    extras = extras.with_columns(pl.col(pl.String).replace(["N/A", ""], None)).with_columns(
        pl.col("year").cast(pl.String).str.extract(r"(\d{4})").cast(pl.Int64),
        pl.col("release_date").str.to_date("%d %b %Y", strict=False),
        _listed("genres"),
        *(_listed(column) for column in _CREDITS),
    )
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


_CREW = {"director": "directors", "writer": "writers"}
_CAST = {"actor": "actors", "actress": "actors"}


def read_imdb(links: pl.DataFrame, folder: Folder, *, actors: bool = False) -> pl.DataFrame:
    """Return the credits, year and runtime of the linked movies.

    Parameters
    ----------
    links
        movieId and tconst, one row a movie.
    folder
        Has title.basics, name.basics and title.crew or title.principals, as .tsv or .tsv.gz.
    actors
        Whether actors are wanted too, which takes title.principals.

    Returns
    -------
    frame
        movieId, year, runtime, directors, writers and, when asked for, actors.
    """
    wanted = links.select("tconst").drop_nulls().unique()
    titles = _imdb_titles(folder.need("titles", "title.basics.tsv"), wanted)
    credited = _name_credited(_imdb_credits(wanted, folder, actors), folder)
    _report_matches(links, titles, folder)
    found = links.join(titles, on="tconst", how="left", maintain_order="left")
    for role in ("directors", "writers", *(["actors"] if actors else [])):
        names = credited.filter(pl.col("role") == role).select("tconst", "primaryName")
        found = add_list(found, names, role)
    return found.drop("tconst")


def _imdb_titles(path: Path, wanted: pl.DataFrame) -> pl.DataFrame:
    """Return tconst, year and runtime; zero minutes mean an unknown runtime."""
    found = _read_imdb_table(path, ["tconst", "startYear", "runtimeMinutes"], wanted)
    runtime = pl.col("runtimeMinutes").cast(pl.Int64, strict=False)
    return found.select(
        "tconst",
        year=pl.col("startYear").cast(pl.Int64, strict=False),
        runtime=pl.when(runtime > 0).then(runtime),
    ).unique("tconst", keep="first")


def _imdb_credits(wanted: pl.DataFrame, folder: Folder, actors: bool) -> pl.DataFrame:
    """Return tconst, role and nconst in IMDb's order; title.crew is preferred to principals."""
    crew = folder.find("title.crew.tsv")
    if crew is None:
        path = folder.need("directors and writers", "title.crew.tsv", "title.principals.tsv")
        return _principals(path, wanted, {**_CREW, **(_CAST if actors else {})})
    parts = [_crew(crew, wanted)]
    if actors:
        parts.append(_principals(folder.need("actors", "title.principals.tsv"), wanted, _CAST))
    return pl.concat(parts)


def _crew(path: Path, wanted: pl.DataFrame) -> pl.DataFrame:
    found = _read_imdb_table(path, ["tconst", "directors", "writers"], wanted)
    long = found.unpivot(index="tconst", variable_name="role", value_name="nconst").drop_nulls()
    return long.with_columns(pl.col("nconst").str.split(",")).explode("nconst")


def _principals(path: Path, wanted: pl.DataFrame, roles: dict[str, str]) -> pl.DataFrame:
    found = _read_imdb_table(path, ["tconst", "ordering", "nconst", "category"], wanted)
    rows = found.filter(pl.col("category").is_in(list(roles)))
    rows = rows.sort("tconst", pl.col("ordering").cast(pl.Int64, strict=False), maintain_order=True)
    role = pl.col("category").replace_strict(roles, return_dtype=pl.String)
    return rows.select("tconst", role.alias("role"), "nconst")


def _name_credited(credited: pl.DataFrame, folder: Folder) -> pl.DataFrame:
    """Add the names of the credited; who has none in IMDb's table is left out."""
    path = folder.need("names", "name.basics.tsv")
    wanted = credited.select("nconst").drop_nulls().unique()
    names = _read_imdb_table(path, ["nconst", "primaryName"], wanted)
    known = names.drop_nulls().unique("nconst", keep="first")
    return credited.join(known, on="nconst", how="inner", maintain_order="left")


def _report_matches(links: pl.DataFrame, titles: pl.DataFrame, folder: Folder) -> None:
    """Log how many movies were found, and some of the others."""
    unmatched = links.join(titles, on="tconst", how="anti", maintain_order="left")
    matched = links.height - unmatched.height
    few = ", ".join(map(str, unmatched["movieId"].head(5)))
    LOG.log(
        logging.INFO if matched else logging.WARNING,
        f"{matched:,} of {links.height:,} movies were found in the IMDb tables of {folder.path}"
        + (f"; not found were such as {few}." if few else "."),
    )


def _read_imdb_table(path: Path, columns: list[str], wanted: pl.DataFrame) -> pl.DataFrame:
    r"""Read the wanted rows of a table that is too large for memory.

    Fields are separated by tabs and never quoted; `\N` means no value. The one column of
    `wanted` has the keys of the rows.
    """
    try:
        frame = pl.scan_csv(
            path, separator="\t", quote_char=None, infer_schema=False, null_values="\\N"
        )
        found = frame.collect_schema().names()
        for column in columns:
            if column not in found:
                near = closest(column, found)
                raise TableError(
                    f"{path} lacks column {column!r}. Found: {', '.join(found)}.{near}"
                )
        rows = frame.select(columns).join(wanted.lazy(), on=wanted.columns, how="semi")
        return rows.collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise TableError(f"{path} could not be read: {error}.") from error
