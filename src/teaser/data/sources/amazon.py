"""Amazon: reviews and products as published in 2014, 2018 and 2023, and a copy of Video Games."""

import ast
import html
import json
import math
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
_REVIEW = {"user_id": pl.String, "item_id": pl.String, "rating": pl.Float64, "timestamp": pl.Int64}
_PRODUCT = {
    "item_id": pl.String,
    "title": pl.String,
    "description": pl.String,
    "price": pl.Float64,
    "brand": pl.String,
    "categories": pl.List(pl.String),
    "picture": pl.String,
    "link": pl.String,
}
_MARKUP = re.compile(
    r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|</?[a-z][^<>]*>", re.DOTALL | re.IGNORECASE
)
_PRICE = re.compile(
    r"(?:from\s+)?\$?\s*(\d[\d,]*(?:\.\d+)?)(?:\s*-\s*\$?\s*\d[\d,]*(?:\.\d+)?)?", re.IGNORECASE
)


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
        path = Path(given)
        if not path.is_file():
            raise TableError(f"There is no file {path} to read the {kind} from.")
        return path
    if folder is None:
        raise ParameterError(f"Give a folder, or the file of the {kind} as {kind}=.")
    files = Folder(Path(folder))
    found = _files(files, kind)
    if len(found) != 1:
        looked = "meta*.json" if kind == "meta" else "*.json not called meta"
        names = f"{len(found)} files fit" if found else "no file fits"
        raise TableError(
            f"The {kind} were looked for in {files.path} as {looked} (or .jsonl, also .gz), "
            f"and {names}. Found: {files.listing()}. Name the file with {kind}=."
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
    frame = _read(path, _review, _REVIEW)
    for column in ("user_id", "item_id", "rating"):
        if frame[column].null_count() == frame.height:
            first = next((record for _, record in _records(path) if record), {})
            raise TableError(
                f"No line of {path} has a {column} under a name of 2014, 2018 or 2023. "
                f"The first line has: {', '.join(map(str, first))}. Are these reviews?"
            )
    return frame


def _read_products(path: Path, wanted: pl.Series) -> pl.DataFrame:
    """Return the products that were reviewed; most of the file is not."""
    known = set(wanted.drop_nulls().to_list())
    odd_prices: list[Any] = []

    def product(record: Mapping[str, Any]) -> tuple[Any, ...] | None:
        return _product(record, odd_prices) if _item_id(record) in known else None

    frame = _read(path, product, _PRODUCT)
    if frame.height == 0:
        LOG.warning(f"None of the {len(known):,} reviewed items is described in {path}.")
    described = frame["item_id"].n_unique()
    LOG.info(f"{described:,} of {len(known):,} reviewed items are described in {path}.")
    if odd_prices:
        few = ", ".join(repr(cell)[:40] for cell in odd_prices[:3])
        LOG.info(f"{len(odd_prices):,} prices of {path} could not be read, such as {few}.")
    return frame


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
        for number, record in _records(path):
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


def _records(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    """Yield each line that is not blank, numbered from 1, as an object, or None for a bad one."""
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            yield number, _parse(line)


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
    user = _first(record, "reviewerID", "user_id")
    time = _number(_first(record, "unixReviewTime", "timestamp"))
    if time is not None and time > _MILLISECONDS:
        time /= 1000
    return (
        None if user is None else str(user),
        _item_id(record),
        _number(_first(record, "overall", "rating")),
        None if time is None else int(time),
    )


def _product(record: Mapping[str, Any], odd_prices: list[Any]) -> tuple[Any, ...]:
    """Return the cells of `_PRODUCT`; prices that cannot be read are added to `odd_prices`."""
    item_id = _item_id(record)
    raw_price = _first(record, "price")
    price = _price(raw_price)
    if raw_price is not None and price is None:
        odd_prices.append(raw_price)
    return (
        item_id,
        clean_text(_first(record, "title")),
        clean_text(_first(record, "description")),
        price,
        _brand(_first(record, "brand", "store")),
        _leaves(_first(record, "categories", "category")),
        _picture(record),
        f"https://www.amazon.com/dp/{item_id}",
    )


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _price(value: Any) -> float | None:
    """Return a price in dollars, the lower end of a range; None for anything else."""
    if isinstance(value, str):
        found = _PRICE.fullmatch(value.strip())
        value = found[1].replace(",", "") if found else None
    price = None if isinstance(value, bool) else _number(value)
    return price if price is not None and price >= 0 else None


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
