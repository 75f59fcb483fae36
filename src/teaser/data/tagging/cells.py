"""Convert cells of metadata to words, numbers and years, and numbers to labelled bins."""

import html
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from teaser.errors import RuleError

_WORD = r"\p{L}[\p{L}\p{M}\p{N}]*(?:-[\p{L}\p{M}\p{N}]+)*"
_MARKUP = r"</?[A-Za-z][^<>]*>|<!--.*?-->"
_MOVED = 0.2  # largest share of a bin that may change bins when its edge is rounded


def as_words(column: pl.Series) -> pl.Series:
    """Return cells as text, lists as lists of text; 3.0 becomes 3, true becomes yes."""
    kind: Any = column.dtype
    is_list = isinstance(kind, pl.List | pl.Array)
    kind = kind.inner if is_list else kind
    if kind.is_nested():
        raise _unfit(column, "texts")
    try:
        if is_list:
            return column.cast(pl.List(kind)).list.eval(_as_word(pl.element(), kind))
        return column.to_frame("cell").select(_as_word(pl.col("cell"), kind)).to_series()
    except pl.exceptions.PolarsError as error:
        raise _unfit(column, "texts") from error


def _as_word(cell: pl.Expr, kind: pl.DataType) -> pl.Expr:
    if kind == pl.Boolean:
        return pl.when(cell).then(pl.lit("yes")).when(~cell).then(pl.lit("no"))
    if kind.is_float():
        text = cell.cast(pl.String).str.replace(r"\.0$", "").str.replace(r"^-0$", "0")
        return pl.when(cell.is_finite()).then(text)
    return cell.cast(pl.String)


def as_text(column: pl.Series) -> pl.Series:
    """Return cells as text, the elements of lists joined."""
    words = as_words(column)
    return words.list.join(" ", ignore_nulls=True) if words.dtype == pl.List else words


def split_words(texts: pl.Series) -> pl.Series:
    """Return the words of each text in lower case, without markup.

    An apostrophe ends a word, so that l'amour and king's become amour and king.
    """
    plain = [html.unescape(text) for text in texts.str.replace_all(_MARKUP, " ")]
    lower = pl.Series(plain, dtype=pl.String).str.normalize("NFC").str.to_lowercase()
    return lower.str.replace_all(r"n['’]t\b", " ").str.extract_all(_WORD)


def _unfit(column: pl.Series, what: str) -> RuleError:
    return RuleError(
        f"Column {column.name!r} has type {column.dtype}, which cannot be read as {what}. "
        "Use another kind of rule for it, or none."
    )


def as_numbers(column: pl.Series) -> pl.Series:
    """Return finite numbers, null where a cell has none."""
    if column.dtype.is_nested() or column.dtype.is_temporal():
        raise _unfit(column, "numbers")
    try:
        if not column.dtype.is_numeric() and column.dtype != pl.Boolean:
            column = column.cast(pl.String).str.strip_chars()
        numbers = column.cast(pl.Float64, strict=False)
    except pl.exceptions.PolarsError as error:
        raise _unfit(column, "numbers") from error
    return numbers.set(~numbers.is_finite().fill_null(False), None)


def as_years(column: pl.Series) -> pl.Series:
    """Return years from numbers, dates or texts that contain one."""
    if column.dtype in (pl.Date, pl.Datetime):
        return column.dt.year().cast(pl.Int64)
    numbers = as_numbers(column)
    if not column.dtype.is_numeric() and column.dtype != pl.Boolean:
        texts = column.cast(pl.String)
        # The year of "2001: A Space Odyssey (1968)" is the one in brackets at the end.
        patterns = (r"\((\d{4})\)\s*$", r"\b(\d{4})\b")
        found = (texts.str.extract(pattern).cast(pl.Float64) for pattern in patterns)
        numbers = pl.select(pl.coalesce(pl.lit(numbers), *map(pl.lit, found))).to_series()
    numbers = numbers.set((numbers.abs() > 9999).fill_null(False), None)
    return numbers.floor().cast(pl.Int64)


def quantile_edges(numbers: NDArray[Any], bins: int) -> tuple[float, ...]:
    """Return the inner edges of bins of about equal counts, rounded as far as possible."""
    distinct = np.unique(numbers)
    # No interpolation: the difference of two numbers may overflow.
    inner = np.quantile(numbers, np.linspace(0, 1, bins + 1)[1:-1], method="higher")
    edges = np.unique(inner[inner > distinct[0]])
    if len(edges) == 0:
        edges = distinct[1:2]
    exact = _fill(numbers, edges)
    for digits in range(2, 16):
        rounded = np.array([float(f"{e:.{digits}g}") for e in edges])
        moved = np.abs(_fill(numbers, rounded) - exact).max()
        apart = np.isfinite(rounded).all() and (np.diff(rounded) > 0).all()
        if apart and moved <= _MOVED * len(numbers) / bins:
            return tuple(rounded.tolist())
    return tuple(edges.tolist())


def _fill(numbers: NDArray[Any], edges: NDArray[Any]) -> NDArray[Any]:
    """Return the count of numbers in each bin."""
    return np.bincount(np.searchsorted(edges, numbers, side="right"), minlength=len(edges) + 1)


def bin_labels(edges: tuple[float, ...], unit: str) -> tuple[str, ...]:
    """Return labels of the bins: under 10, 10 to 20, 20 and over."""
    short = [f"{e:.15g}" for e in edges]
    plain = [s if float(s) == e else repr(float(e)) for s, e in zip(short, edges, strict=True)]
    with_unit = [f"{number} {unit}".strip() for number in plain]
    if not with_unit:
        return ("any",)
    middle = [f"{low} to {high}" for low, high in zip(plain, with_unit[1:], strict=False)]
    return (f"under {with_unit[0]}", *middle, f"{with_unit[-1]} and over")
