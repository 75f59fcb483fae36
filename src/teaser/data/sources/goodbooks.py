"""The books of goodbooks-10k: languages in words, and those shelves that are genres."""

import polars as pl

from teaser.data.reading.interactions import need_column, read_table
from teaser.data.sources.folder import LOG, Folder, read_columns

_LANGUAGES = {
    **dict.fromkeys(("eng", "en", "en-US", "en-GB", "en-CA"), "English"),
    "ara": "Arabic",
    "dan": "Danish",
    "fil": "Filipino",
    "fre": "French",
    "ger": "German",
    "ind": "Indonesian",
    "ita": "Italian",
    "jpn": "Japanese",
    "mul": "several languages",
    "nl": "Dutch",
    "nor": "Norwegian",
    "per": "Persian",
    "pol": "Polish",
    "por": "Portuguese",
    "rum": "Romanian",
    "rus": "Russian",
    "spa": "Spanish",
    "swe": "Swedish",
    "tur": "Turkish",
    "vie": "Vietnamese",
}
# Any of these words in its name, or a number of four digits, makes a shelf one about its owner.
_OWNER = (
    "read|reading|reread|tbr|own|owned|bought|buy|purchased|borrowed|library|wishlist|wish|want|"
    "favou?rites?|favs?|faves|my|mine|default|shelf|shelves|bookshelf|currently|finished|unfinished|"
    "abandoned|dnf|kindle|ebooks?|nook|audible|audio|audiobooks?|paperback|hardcover|calibre|"
    "bookclub|recommended|recommendations|stars"
)
# A name made of these words alone says that the book is a book.
_EMPTY = "a|all|and|books?|club|e|have|i|in|novels?|of|series|the|time|to"
_POPULAR = ("average_rating", "ratings_count")
_MIN_PEOPLE = 20
_MIN_BOOKS = 20
_NEEDED = (
    "book_id",
    "goodreads_book_id",
    "title",
    "authors",
    "original_publication_year",
    "language_code",
    "image_url",
)


def read_books(folder: Folder) -> pl.DataFrame:
    """Return the books: authors in lists, language in words, a picture where there is one."""
    path = folder.need("books", "books.csv")
    books = read_table(path, what="books")
    if "goodreads_book_id" not in books.columns and "id" in books.columns:
        # The first release called the number of the ratings `id`, and Goodreads' own `book_id`.
        books = books.rename({"book_id": "goodreads_book_id", "id": "book_id"})
    for column in _NEEDED:
        need_column(books, column, f"the books of {path}")
    year = pl.col("original_publication_year").cast(pl.Float64, strict=False).cast(pl.Int64)
    ancient = int(books.select((year < 1).sum()).item())
    if ancient:
        LOG.info("%s books from before the year 1 get no decade.", f"{ancient:,}")
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
        *(column for column in _POPULAR if column in books.columns),
    )


def add_genres(books: pl.DataFrame, folder: Folder) -> pl.DataFrame:
    """Add a list of genres to each book, from book_genres.csv or from the shelves of readers."""
    chosen = folder.find("book_genres.csv")
    if chosen is not None:
        told = read_columns(chosen, "genres", {"book_id": pl.Int64, "genres": pl.String})
        shelves = told.select("book_id", pl.col("genres").str.split(",")).explode("genres")
        shelves = shelves.rename({"genres": "genre"}).drop_nulls()
        key = "book_id"
    else:
        shelves = _popular_shelves(folder)
        key = "goodreads_book_id"
    genres = shelves.filter(is_genre(pl.col("genre")))
    before, after = shelves["genre"].n_unique(), genres["genre"].n_unique()
    LOG.info("%s of %s shelves are taken as genres.", f"{after:,}", f"{before:,}")
    lists = (
        genres.unique(maintain_order=True).group_by(key, maintain_order=True).agg(genres="genre")
    )
    return books.join(lists, on=key, how="left", maintain_order="left")


def is_genre(shelf: pl.Expr) -> pl.Expr:
    """Tell the shelves that say something of the book from those that speak of their owner."""
    owner = rf"(^|-)({_OWNER}|\d{{4}})(-|$)"
    empty = rf"^((^|-+)({_EMPTY}|\d+))*-*$"
    return ~shelf.str.contains(owner) & ~shelf.str.contains(empty)


def _popular_shelves(folder: Folder) -> pl.DataFrame:
    """Return goodreads_book_id and genre of the shelves that enough people and books are on."""
    path = folder.need("genres", "book_genres.csv", "book_tags.csv")
    counts = {"goodreads_book_id": pl.Int64, "tag_id": pl.Int64, "count": pl.Int64}
    given = read_columns(path, "shelves", counts)
    at_names = folder.need("names of shelves", "tags.csv")
    names = read_columns(at_names, "names of shelves", {"tag_id": pl.Int64, "tag_name": pl.String})
    named = given.join(names, on="tag_id", how="inner", maintain_order="left")
    if named.height < given.height:
        LOG.warning(
            "%s rows of %s are of shelves without a name.", f"{given.height - named.height:,}", path
        )
    crowded = named.filter(pl.col("count") >= _MIN_PEOPLE).filter(
        pl.col("goodreads_book_id").n_unique().over("tag_id") >= _MIN_BOOKS
    )
    return crowded.select("goodreads_book_id", genre="tag_name")
