"""goodbooks-10k: ratings, books, and genres chosen from the shelves of readers."""

from pathlib import Path

import polars as pl

from teaser.data.reading import need_columns, read_table
from teaser.data.rules import Category, Year
from teaser.data.sources.folder import (
    LOG,
    MIN_ITEMS,
    POPULAR,
    Folder,
    Source,
    add_list,
    list_rules,
    make_rules,
    read_csv,
    reader,
)

_LANGUAGES = {
    **dict.fromkeys(("eng", "en", "en-US", "en-GB", "en-CA"), "English"),
    "ara": "Arabic", "dan": "Danish", "fil": "Filipino", "fre": "French", "ger": "German",
    "ind": "Indonesian", "ita": "Italian", "jpn": "Japanese", "mul": "several languages",
    "nl": "Dutch", "nor": "Norwegian", "per": "Persian", "pol": "Polish", "por": "Portuguese",
    "rum": "Romanian", "rus": "Russian", "spa": "Spanish", "swe": "Swedish", "tur": "Turkish",
    "vie": "Vietnamese",
}  # fmt: skip
# A shelf with one of these words, or a number of four digits, is about its owner.
_OWNER = (
    "read|reading|reread|tbr|own|owned|bought|buy|purchased|borrowed|library|wishlist|wish|want|"
    "favou?rites?|favs?|faves|my|mine|default|shelf|shelves|bookshelf|currently|finished|unfinished|"
    "abandoned|dnf|kindle|ebooks?|nook|audible|audio|audiobooks?|paperback|hardcover|calibre|"
    "bookclub|recommended|recommendations|stars"
)
# A name of these words alone says nothing about a book.
_EMPTY = "a|all|and|books?|club|e|have|i|in|novels?|of|series|the|time|to"
_COUNTS = ("average_rating", "ratings_count")
_MIN_READERS = 20
_MIN_BOOKS = 20
_NEEDED = (
    *("book_id", "goodreads_book_id", "title", "authors", "original_publication_year"),
    *("language_code", "image_url"),
)


@reader("goodbooks", ("books.csv",), ("ratings.csv", "ratings_random.csv"))
def read_goodbooks(folder: str | Path) -> Source:
    """Read goodbooks-10k: ratings.csv (or a sample, ratings_random.csv), books.csv and genres.

    Genres are book_genres.csv or, without it, shelves of book_tags.csv and tags.csv: those that
    at least 20 readers use for a book and that have at least 20 books, but not shelves about
    their owner, such as to-read.
    """
    files = Folder(Path(folder))
    path = files.need("ratings", "ratings.csv", "ratings_random.csv")
    types = {"user_id": pl.Int64, "book_id": pl.Int64, "rating": pl.Float64}
    ratings = read_csv(path, "ratings", types)
    items = _add_genres(_read_books(files), files)
    tags = [
        *list_rules(genres="genre", authors="author"),
        Year("year", width=10, min_items=MIN_ITEMS),
        Category("language", min_items=MIN_ITEMS),
    ]
    roles = {"title": "title", "picture": "picture", "link": "link"}
    rules = make_rules(items, tags, roles, dict.fromkeys(_COUNTS, POPULAR))
    return Source("goodbooks", ratings, items, "user_id", "book_id", rules)


def _read_books(folder: Folder) -> pl.DataFrame:
    """Return the books: authors in lists, language in words, a picture where there is one."""
    path = folder.need("books", "books.csv")
    books = read_table(path, what="books")
    if "goodreads_book_id" not in books.columns and "id" in books.columns:
        # The first release has the id of the ratings as `id`, and Goodreads' id as `book_id`.
        books = books.rename({"book_id": "goodreads_book_id", "id": "book_id"})
    need_columns(books, _NEEDED, f"the books of {path}")
    year = pl.col("original_publication_year").cast(pl.Float64, strict=False).cast(pl.Int64)
    names = pl.col("authors").str.replace_all(r"\s+", " ").str.split(", ")
    return books.select(
        "book_id",
        "goodreads_book_id",
        pl.col("title").str.replace_all(r"\s+", " ").str.strip_chars(),
        names.list.unique(maintain_order=True).alias("authors"),
        pl.when(year >= 1).then(year).alias("year"),
        pl.col("language_code").replace(_LANGUAGES).alias("language"),
        pl.when(~pl.col("image_url").str.contains("nophoto")).then("image_url").alias("picture"),
        pl.format("https://www.goodreads.com/book/show/{}", "goodreads_book_id").alias("link"),
        *(column for column in _COUNTS if column in books.columns),
    )


def _add_genres(books: pl.DataFrame, folder: Folder) -> pl.DataFrame:
    """Add a list of genres to each book, from book_genres.csv or from the shelves of readers."""
    chosen = folder.find("book_genres.csv")
    if chosen is not None:
        table = read_csv(chosen, "genres", {"book_id": pl.Int64, "genres": pl.String})
        lists = table.select("book_id", genre=pl.col("genres").str.split(","))
        shelves = lists.explode("genre").drop_nulls()
    else:
        shelves = _popular_shelves(folder)
    genres = shelves.filter(_is_genre(pl.col("genre")))
    before, after = shelves["genre"].n_unique(), genres["genre"].n_unique()
    LOG.info(f"{after:,} of {before:,} shelves are taken as genres.")
    return add_list(books, genres, "genres")


def _is_genre(shelf: pl.Expr) -> pl.Expr:
    """Whether a shelf describes its books, and not its owner."""
    owner = rf"(^|-)({_OWNER}|\d{{4}})(-|$)"
    empty = rf"^((^|-+)({_EMPTY}|\d+))*-*$"
    return ~shelf.str.contains(owner) & ~shelf.str.contains(empty)


def _popular_shelves(folder: Folder) -> pl.DataFrame:
    """Return goodreads_book_id and genre of the shelves with enough readers and books."""
    path = folder.need("genres", "book_genres.csv", "book_tags.csv")
    counts = {"goodreads_book_id": pl.Int64, "tag_id": pl.Int64, "count": pl.Int64}
    given = read_csv(path, "shelves", counts)
    at_names = folder.need("names of shelves", "tags.csv")
    names = read_csv(at_names, "names of shelves", {"tag_id": pl.Int64, "tag_name": pl.String})
    named = given.join(names, on="tag_id", how="inner", maintain_order="left")
    if named.height < given.height:
        LOG.warning(f"{given.height - named.height:,} rows of {path} are shelves without a name.")
    crowded = named.filter(pl.col("count") >= _MIN_READERS).filter(
        pl.col("goodreads_book_id").n_unique().over("tag_id") >= _MIN_BOOKS
    )
    return crowded.select("goodreads_book_id", genre="tag_name")
