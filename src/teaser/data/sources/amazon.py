"""Amazon: reviews and products as published in 2014, 2018 and 2023, and a copy of Video Games."""

import ast
import html
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from teaser.data.reading import need_columns, read_table
from teaser.data.rules import Category, Number, Text
from teaser.data.sources.folder import (
    LOG,
    MIN_ITEMS,
    POPULAR,
    Folder,
    Source,
    list_rules,
    make_rules,
    read_csv,
    read_lines,
    reader,
    report_bad,
)
from teaser.errors import ParameterError, TableError

# A larger time is in milliseconds: in seconds it would be after the year 5000.
_MILLISECONDS = 10**11
_REVIEW = dict.fromkeys(("user_id", "item_id", "rating", "timestamp"), pl.String())
_PRODUCT = {
    **dict.fromkeys(("item_id", "title", "description", "price", "brand"), pl.String()),
    "categories": pl.List(pl.String),
    "picture": pl.String(),
}
_MARKUP = re.compile(
    r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|</?[a-z][^<>]*>", re.DOTALL | re.IGNORECASE
)
_PRICE = r"(?i)^(?:from\s+)?\$?\s*(\d[\d,]*(?:\.\d+)?)(?:\s*-\s*\$?\s*\d[\d,]*(?:\.\d+)?)?$"


def _files(folder: Folder, kind: str) -> list[Path]:
    """Return the files that may be the reviews, or the products (`meta`)."""
    found = [n for n in folder.names if re.search(r"\.(json|jsonl|ndjson)(\.gz)?$", n)]
    is_meta = kind == "meta"
    return [folder.path / n for n in found if n.lower().startswith("meta") == is_meta]


def _has_sales_rank(folder: Folder) -> bool:
    """Whether this is the copy of Video Games: other tables are called items.csv too."""
    path = folder.find("items.csv")
    return path is not None and b"sales_rank" in next(read_lines(path), b"")


@reader(
    "amazon",
    fits=lambda folder: bool(_files(folder, "reviews") and _files(folder, "meta")),
    layout="meta*.json and another .json",
)
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
        Has one file of reviews and one of products, whose name begins with `meta`; both .json
        or .jsonl, plain or .gz, one object a line.
    reviews, meta
        The two files, if they are elsewhere or the folder has several.
    """
    at_reviews = _choose_file(folder, reviews, "reviews")
    at_meta = _choose_file(folder, meta, "meta")
    given = _read_reviews(at_reviews)
    items = _read_products(at_meta, given["item_id"].unique())
    tags = [
        Number("price", bins=10, unit="dollars"),
        Category("brand", min_items=MIN_ITEMS),
        *list_rules(categories="category"),
        Text(("title", "description"), feature="keyword", min_share=0.01, max_share=0.3),
    ]
    roles = {role: role for role in ("title", "description", "picture", "link")}
    rules = make_rules(items, tags, roles)
    return Source("amazon", given, items, "user_id", "item_id", rules)


@reader("amazon-video-games", ("items.csv",), ("interactions.csv",), fits=_has_sales_rank)
def read_amazon_video_games(folder: str | Path) -> Source:
    """Read the anonymous copy of Amazon Video Games: interactions.csv and items.csv.

    It has no ratings, so every interaction counts.
    """
    files = Folder(Path(folder))
    path = files.need("interactions", "interactions.csv")
    pairs = read_csv(path, "interactions", {"user_id": pl.Int64, "item_id": pl.Int64})
    path = files.need("items", "items.csv")
    items = read_table(path, what="items")
    columns = ("item_id", "price", "categories", "brand", "title")
    need_columns(items, columns, f"the items of {path}")
    items = items.with_columns(
        pl.col("title", "brand").cast(pl.String).map_elements(clean_text, return_dtype=pl.String),
        _without_shared(items["categories"].str.split("|")),
    )
    tags = [
        Number("price", bins=10, unit="dollars"),
        *list_rules(categories="category"),
        Category("brand", min_items=MIN_ITEMS),
    ]
    skipped = {
        "sales_rank": POPULAR,
        "sales_type": "it is the list that the sales rank belongs to",
        "asin_rank": "it only orders the items",
    }
    rules = make_rules(items, tags, {"title": "title"}, skipped)
    return Source("amazon-video-games", pairs, items, "user_id", "item_id", rules, None)


def _choose_file(folder: str | Path | None, given: str | Path | None, kind: str) -> Path:
    """Return the file of reviews or products: the one given, or the only one in the folder."""
    if given is not None:
        if not Path(given).is_file():
            raise TableError(f"There is no file {given} to read the {kind} from.")
        return Path(given)
    if folder is None:
        raise ParameterError(f"Give a folder, or the file of the {kind} as {kind}=.")
    files = Folder(Path(folder))
    found = _files(files, kind)
    if len(found) != 1:
        looked = "meta*.json" if kind == "meta" else "*.json not called meta"
        raise TableError(
            f"The {kind} were looked for in {files.path} as {looked} (or .jsonl, also .gz), and "
            f"{len(found)} files fit. Found: {files.listing()}. Name the file with {kind}=."
        )
    return found[0]


def _without_shared(lists: pl.Series) -> pl.Series:
    """Leave out the values that every row has: they do not distinguish items."""
    counts = lists.list.unique().explode().drop_nulls().value_counts()
    shared = counts.filter(pl.col("count") == len(lists))[lists.name].to_list()
    if not shared or len(lists) == 1:
        return lists
    LOG.info(f"{', '.join(shared)} is left out of {lists.name}: every item has it.")
    return lists.list.eval(pl.element().filter(~pl.element().is_in(shared)))


def _read_reviews(path: Path) -> pl.DataFrame:
    """Return user_id, item_id, rating and timestamp (seconds) of each review."""
    time = pl.col("timestamp").cast(pl.Float64, strict=False)
    seconds = pl.when(time > _MILLISECONDS).then(time / 1000).otherwise(time)
    frame = _read(path, _review, _REVIEW).with_columns(
        pl.col("rating").cast(pl.Float64, strict=False).fill_nan(None),
        seconds.cast(pl.Int64, strict=False),
    )
    for column in ("user_id", "item_id", "rating"):
        if frame[column].null_count() == frame.height:
            first = next(filter(None, _records(path)), {})
            raise TableError(
                f"No line of {path} has a {column} under a name of 2014, 2018 or 2023. "
                f"The first line has: {', '.join(map(str, first))}. Are these reviews?"
            )
    return frame


def _read_products(path: Path, wanted: pl.Series) -> pl.DataFrame:
    """Return the products that were reviewed; most of the file is not."""
    known = set(wanted.drop_nulls().to_list())
    frame = _read(path, lambda each: _product(each) if _item_id(each) in known else None, _PRODUCT)
    if frame.height == 0:
        LOG.warning(f"None of the {len(known):,} reviewed items is described in {path}.")
    described = frame["item_id"].n_unique()
    LOG.info(f"{described:,} of {len(known):,} reviewed items are described in {path}.")
    written = frame["price"].str.strip_chars()
    prices = written.str.extract(_PRICE).str.replace_all(",", "").cast(pl.Float64)
    odd = written.filter(prices.is_null() & written.is_not_null())
    if len(odd):
        few = ", ".join(repr(cell)[:40] for cell in odd.head(3))
        LOG.info(f"{len(odd):,} prices of {path} could not be read, such as {few}.")
    link = pl.format("https://www.amazon.com/dp/{}", "item_id")
    return frame.with_columns(prices, link.alias("link"))


def _read(
    path: Path,
    row: Callable[[Mapping[str, Any]], tuple[Any, ...] | None],
    schema: Mapping[str, Any],
) -> pl.DataFrame:
    """Make a table of what `row` takes from each line."""
    bad: list[int] = []
    number = 0

    def rows() -> Iterator[tuple[Any, ...]]:
        nonlocal number
        for number, record in enumerate(_records(path), 1):
            if record is None:
                bad.append(number)
            elif (cells := row(record)) is not None:
                yield cells

    # A generator is read in chunks, which bounds the memory.
    frame = pl.DataFrame(rows(), schema=schema, orient="row")
    if number == 0:
        raise TableError(f"{path} is empty.")
    report_bad(path, bad, number, "are neither JSON nor a Python literal of an object")
    return frame


def _records(path: Path) -> Iterator[Mapping[str, Any] | None]:
    """Yield each line that is not blank as an object, or None for a bad one."""
    for line in read_lines(path):
        if line.strip():
            yield _parse(line)


def _parse(line: bytes) -> Mapping[str, Any] | None:
    try:
        text = line.decode("utf-8").strip()
        try:
            record = json.loads(text)
        except ValueError:
            record = _literal(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _literal(text: str) -> Any:
    """Read a Python literal, the format of 2014; invalid escapes are accepted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.literal_eval(text)


def _first(record: Mapping[str, Any], *names: str) -> Any:
    """Return the first non-empty value among these keys."""
    return next((record[n] for n in names if record.get(n) not in (None, "", [], {})), None)


def _item_id(record: Mapping[str, Any]) -> str | None:
    # Since 2023 the metadata describe the parent of a product's variants.
    found = _first(record, "parent_asin", "asin")
    return None if found is None else str(found).strip()


def _review(record: Mapping[str, Any]) -> tuple[Any, ...]:
    cells = (
        _first(record, "reviewerID", "user_id"),
        _item_id(record),
        _first(record, "overall", "rating"),
        _first(record, "unixReviewTime", "timestamp"),
    )
    return tuple(None if cell is None else str(cell) for cell in cells)


def _product(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the cells of `_PRODUCT`."""
    price = _first(record, "price")
    return (
        _item_id(record),
        clean_text(_first(record, "title")),
        clean_text(_first(record, "description")),
        None if price is None else str(price),
        _brand(_first(record, "brand", "store")),
        _leaves(_first(record, "categories", "category")),
        _picture(record),
    )


def clean_text(value: Any) -> str | None:
    """Return text without markup and entities, on one line; lists are joined; None for nothing."""
    if isinstance(value, list | tuple):
        value = " ".join(str(part) for part in value if part)
    if not isinstance(value, str):
        return None
    plain = _MARKUP.sub(" ", html.unescape(value))
    return " ".join(plain.split()) or None


def _brand(value: Any) -> str | None:
    # In 2018 a brand may begin with "by" and a line break.
    return clean_text(re.sub(r"^\s*by\s*\n", "", value)) if isinstance(value, str) else None


def _leaves(value: Any) -> list[str] | None:
    """Return the last of each path of categories, or of the only path."""
    if not isinstance(value, list):
        return None
    paths = value if any(isinstance(part, list) for part in value) else [value]
    leaves = [_leaf(path) for path in paths if isinstance(path, list)]
    return list(dict.fromkeys(leaf for leaf in leaves if leaf)) or None


def _leaf(path: list[Any]) -> str | None:
    # Some lists of 2018 end in markup and advertising.
    end = next((i for i, part in enumerate(path) if "</" in str(part)), len(path))
    names = [name for part in path[:end] if (name := clean_text(part))]
    return names[-1] if names else None


def _picture(record: Mapping[str, Any]) -> str | None:
    found = _first_part(_first(record, "imUrl", "imageURLHighRes", "imageURL", "images"))
    if isinstance(found, dict):
        found = _first_part(_first(found, "large", "hi_res", "thumb"))
    return found if isinstance(found, str) else None


def _first_part(value: Any) -> Any:
    return next(filter(None, value), None) if isinstance(value, list) else value
