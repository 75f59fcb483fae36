"""MovieLens' ways of writing titles, people, user tags and groups of users, made plain."""

import polars as pl

from teaser.data.reading.interactions import need_column, read_table
from teaser.data.sources.folder import LOG, Folder, as_numbers, read_columns, read_dat
from teaser.data.tagging.rule_set import Category, Rules

_ARTICLES = "The|A|An|La|Le|Les|L'|Il|Lo|Gli|El|Los|Las|Das|Der|Die|Den|Det|De|Het|Un|Une|Una"
_PEOPLE = ("directors", "writers", "actors")
_EXTRAS = (
    *("movieId", "title", "year", "certificate", "release_date", "genres"),
    *(*_PEOPLE, "plot", "poster"),
)
_AGES = {
    "1": "under 18",
    "18": "18-24",
    "25": "25-34",
    "35": "35-44",
    "45": "45-49",
    "50": "50-55",
    "56": "56 and over",
}
_OCCUPATIONS = (
    "other or not specified",
    "academic/educator",
    "artist",
    "clerical/admin",
    "college/grad student",
    "customer service",
    "doctor/health care",
    "executive/managerial",
    "farmer",
    "homemaker",
    "K-12 student",
    "lawyer",
    "programmer",
    "retired",
    "sales/marketing",
    "scientist",
    "self-employed",
    "technician/engineer",
    "tradesman/craftsman",
    "unemployed",
    "writer",
)


# A value that fewer than ten people share tells who they are.
USER_RULES = Rules(
    tuple(Category(column, min_items=10) for column in ("age", "gender", "occupation")),
    skipped={"zip": "a post code with age and gender can tell who somebody is, and few share one"},
)


def read_movies_dat(folder: Folder) -> pl.DataFrame:
    """Return the movies of MovieLens 1M: movieId, title, year, genres."""
    path = folder.need("movies", "movies.dat")
    return tidy_movies(
        as_numbers(read_dat(path, ["movieId", "title", "genres"], wide="title"), "movieId")
    )


def read_users_dat(folder: Folder) -> pl.DataFrame | None:
    """Return the users of MovieLens 1M with codes turned into words, or None without the file."""
    path = folder.find("users.dat")
    if path is None:
        return None
    users = read_dat(path, ["userId", "gender", "age", "occupation", "zip"], wide="zip")
    return as_numbers(users, "userId").with_columns(
        pl.col("gender").replace({"F": "female", "M": "male"}),
        pl.col("age").replace(_AGES),
        pl.col("occupation").replace({str(i): name for i, name in enumerate(_OCCUPATIONS)}),
    )


def add_extras(movies: pl.DataFrame, folder: Folder) -> pl.DataFrame:
    """Add certificate, release date, people, plot and poster, and the genres told with them.

    What the further file does not know of a movie stays as movies.dat has it.
    """
    path = folder.need("extra information", "movies_extrainfos.dat")
    extras = as_numbers(read_dat(path, _EXTRAS, wide="plot"), "movieId")
    extras = extras.with_columns(pl.col(pl.String).replace(["N/A", ""], None)).with_columns(
        pl.col("year").str.extract(r"(\d{4})").cast(pl.Int64),
        pl.col("release_date").str.to_date("%d %b %Y", strict=False),
        _listed("genres"),
        *(_listed(column) for column in _PEOPLE),
    )
    if extras["movieId"].dtype != movies["movieId"].dtype:
        extras = extras.with_columns(pl.col("movieId").cast(pl.String))
        movies = movies.with_columns(pl.col("movieId").cast(pl.String))
    known = movies["movieId"].is_in(extras["movieId"].implode())
    LOG.info("%s of %s movies have extra information.", f"{known.sum():,}", f"{movies.height:,}")
    # Some copies of movies.dat lost their accents: the replacement character stands for them.
    whole = pl.when(~pl.col("title").str.contains("\ufffd")).then(pl.col("title"))
    joined = movies.join(extras, on="movieId", how="left", suffix="_extra", maintain_order="left")
    return joined.select(
        "movieId",
        pl.coalesce(whole, "title_extra", "title").alias("title"),
        pl.coalesce("year_extra", "year").alias("year"),
        pl.coalesce("genres_extra", "genres").alias("genres"),
        *("certificate", "release_date", *_PEOPLE, "plot", "poster"),
    )


def read_movies_csv(folder: Folder) -> pl.DataFrame:
    """Return the movies of the later MovieLens sets: movieId, title, year, genres."""
    path = folder.need("movies", "movies.csv")
    return tidy_movies(
        read_columns(path, "movies", {"movieId": pl.Int64, "title": pl.String, "genres": pl.String})
    )


def tidy_movies(movies: pl.DataFrame) -> pl.DataFrame:
    """Split the year off the title, put its article in front, and the genres into lists."""
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


def add_user_tags(movies: pl.DataFrame, folder: Folder) -> pl.DataFrame:
    """Add the list of distinct tags that people gave each movie, in lower case."""
    path = folder.need("user tags", "tags.csv")
    given = read_columns(path, "user tags", {"movieId": pl.Int64, "tag": pl.String})
    if given["movieId"].dtype != movies["movieId"].dtype:
        given = given.with_columns(pl.col("movieId").cast(movies["movieId"].dtype, strict=False))
    tags = given.select("movieId", pl.col("tag").str.to_lowercase().str.strip_chars())
    said = tags.filter(pl.col("movieId").is_not_null() & (pl.col("tag") != ""))
    if said.height < tags.height:
        LOG.warning(
            "%s rows of %s hold no movie or no tag.", f"{tags.height - said.height:,}", path
        )
    lists = (
        said.unique(maintain_order=True).group_by("movieId", maintain_order=True).agg(tags="tag")
    )
    return movies.join(lists, on="movieId", how="left", maintain_order="left")


def read_links(folder: Folder, ids: pl.DataType) -> pl.DataFrame:
    """Return which IMDb title each movie is: movieId, of the type of `ids`, and tconst."""
    links = read_table(folder.need("links to IMDb", "links.csv"), what="links to IMDb")
    for column in ("movieId", "imdbId"):
        need_column(links, column, "the links to IMDb")
    number = pl.col("imdbId").cast(pl.Int64, strict=False).cast(pl.String)
    movies = pl.col("movieId").cast(ids, strict=False)
    linked = links.select(movies, tconst=pl.lit("tt") + number.str.zfill(7))
    return linked.unique("movieId", keep="first", maintain_order=True)


def _listed(column: str) -> pl.Expr:
    """Split at commas, without the notes in parentheses (which hold commas too), once each."""
    bare = pl.col(column).str.replace_all(r"\([^()]*\)", "").str.split(",")
    return bare.list.eval(
        pl.element().str.strip_chars().filter(pl.element().str.strip_chars() != "")
    ).list.unique(maintain_order=True)


def _article_first(title: pl.Expr) -> pl.Expr:
    """Write `Matrix, The` as `The Matrix`, also for other names in parentheses behind the first."""
    for before, after in (("^()", r"( \(.*)?$"), (r"(\((?:a\.k\.a\. )?)", r"(\))")):
        moved = title.str.replace_all(
            rf"{before}([^()]+?), ({_ARTICLES}){after}", "${1}${3} ${2}${4}"
        )
        title = moved.str.replace_all(r"(^|\(|a\.k\.a\. )L' ", "${1}L'")
    return title
