"""Amazon's reviews and product lines of 2014, 2018 and 2023, brought to one layout."""

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

from teaser.data.sources.folder import LOG, Folder, read_lines, report_bad
from teaser.errors import TableError

_CHUNK = 100_000
# A time beyond this many seconds lies after the year 5000: it is counted in milliseconds.
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


def find_amazon(folder: Folder) -> tuple[list[Path], list[Path]]:
    """Return the files that may hold reviews, and those that may hold products (meta)."""
    found = [n for n in folder.names if re.search(r"\.(json|jsonl|ndjson)(\.gz)?$", n)]
    meta = [folder.path / n for n in found if n.lower().startswith("meta")]
    return [folder.path / n for n in found if not n.lower().startswith("meta")], meta


def read_reviews(path: Path) -> pl.DataFrame:
    """Return user_id, item_id, rating and timestamp (seconds) of each review."""
    frame = _read(path, _review, _REVIEW)
    for column in ("user_id", "item_id", "rating"):
        if frame[column].null_count() == frame.height:
            first = next((record for _, record in _records(path) if record), {})
            raise TableError(
                f"No line of {path} has a {column} under a name of 2014, 2018 or 2023. "
                f"The first line holds: {', '.join(map(str, first))}. Are these reviews?"
            )
    return frame


def read_products(path: Path, wanted: pl.Series) -> pl.DataFrame:
    """Return the products that are `wanted`; the others, the most by far, are passed over."""
    known = set(wanted.drop_nulls().to_list())
    odd: list[Any] = []

    def product(record: Mapping[str, Any]) -> tuple[Any, ...] | None:
        return _product(record, odd) if _item_id(record) in known else None

    frame = _read(path, product, _PRODUCT)
    if frame.height == 0:
        LOG.warning("None of the %s reviewed items is described in %s.", f"{len(known):,}", path)
    described = frame["item_id"].n_unique()
    LOG.info(
        "%s of %s reviewed items are described in %s.", f"{described:,}", f"{len(known):,}", path
    )
    if odd:
        few = ", ".join(repr(cell)[:40] for cell in odd[:3])
        LOG.info("%s prices of %s could not be read, such as %s.", f"{len(odd):,}", path, few)
    return frame


def _read(
    path: Path,
    row: Callable[[Mapping[str, Any]], tuple[Any, ...] | None],
    schema: Mapping[str, Any],
) -> pl.DataFrame:
    """Make a table of what `row` takes from each line, a chunk at a time to bound the memory."""
    chunks = [pl.DataFrame(schema=schema)]
    rows: list[tuple[Any, ...]] = []
    bad: list[int] = []
    number = 0
    for number, record in _records(path):
        if record is None:
            bad.append(number)
        elif (cells := row(record)) is not None:
            rows.append(cells)
        if len(rows) == _CHUNK:
            chunks.append(pl.DataFrame(rows, schema=schema, orient="row"))
            rows = []
    if number == 0:
        raise TableError(f"{path} is empty.")
    report_bad(path, bad, number, "are neither JSON nor a Python literal of an object")
    return pl.concat([*chunks, pl.DataFrame(rows, schema=schema, orient="row")])


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
    """Read a Python literal, as the lines of 2014 are; a stray backslash in one is no matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.literal_eval(text)


def _first(record: Mapping[str, Any], *names: str) -> Any:
    """Return what stands under the first of the names that holds something."""
    return next((record[n] for n in names if record.get(n) not in (None, "", [], {})), None)


def _item_id(record: Mapping[str, Any]) -> str | None:
    # From 2023 the variants of a product share a parent, and that is what is described.
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


def _product(record: Mapping[str, Any], odd: list[Any]) -> tuple[Any, ...]:
    """Return the cells of `_PRODUCT`; prices that cannot be read are added to `odd`."""
    item_id = _item_id(record)
    told = _first(record, "price")
    price = _price(told)
    if told is not None and price is None:
        odd.append(told)
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
    """Return a price in dollars, of a range its lower end; None for anything else."""
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
    # In 2018 the page's "by" came along, with a line break behind it.
    return clean_text(re.sub(r"^\s*by\s*\n", "", value)) if isinstance(value, str) else None


def _leaves(value: Any) -> list[str] | None:
    """Return the last of each path of categories, or of the only path."""
    if not isinstance(value, list):
        return None
    paths = value if any(isinstance(part, list) for part in value) else [value]
    leaves = [_leaf(path) for path in paths if isinstance(path, list)]
    return list(dict.fromkeys(leaf for leaf in leaves if leaf)) or None


def _leaf(path: list[Any]) -> str | None:
    # Some lists of 2018 run on, behind a piece of markup, into sales talk.
    end = next((i for i, part in enumerate(path) if "</" in str(part)), len(path))
    names = [name for part in path[:end] if (name := clean_text(part))]
    return names[-1] if names else None


def _picture(record: Mapping[str, Any]) -> str | None:
    found = _first(record, "imUrl", "imageURLHighRes", "imageURL", "images")
    if isinstance(found, list):
        found = next((part for part in found if part), None)
    if isinstance(found, dict):
        found = _first(found, "large", "hi_res", "thumb")
    if isinstance(found, list):
        found = next((part for part in found if part), None)
    return found if isinstance(found, str) else None
