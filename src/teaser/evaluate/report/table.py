"""A table as data, its figures as they are printed, and the table as Markdown."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from teaser.evaluate.metrics import Difference, Summary
from teaser.evaluate.report.results import MINUS, is_clear

BETTER, WORSE, NONE = "▲", "▼", "–"
HEADS = {
    "recall@20": "Recall@20",
    "recall@100": "Recall@100",
    "ndcg@100": "nDCG@100",
    "recall_uncapped@20": "Recall@20, uncapped",
    "recall_uncapped@100": "Recall@100, uncapped",
    "ndcg_uncapped@100": "nDCG@100, uncapped",
    "coverage@20": "coverage@20",
    "diversity@20": "diversity@20",
    "long_tail@20": "long tail@20",
}
_DECIMALS = 3


@dataclass(frozen=True)
class Cell:
    """What stands in one place.

    Attributes
    ----------
    text
        The number, printed.
    error
        Its standard error or interval, printed.
    mark
        `BETTER` or `WORSE` where a difference is clear.
    beside
        The paper's figure, printed.
    best
        Whether it is set in bold.
    span
        Over how many columns it goes.
    """

    text: str = ""
    error: str = ""
    mark: str = ""
    beside: str = ""
    best: bool = False
    span: int = 1


@dataclass(frozen=True)
class Row:
    """A line of a table: of figures, of a heading (`is_group`), or of a property of the data."""

    head: str
    cells: tuple[Cell, ...] = ()
    is_group: bool = False


@dataclass(frozen=True)
class Block:
    """A study's columns."""

    title: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table with what explains it."""

    name: str
    caption: str
    first: str
    blocks: tuple[Block, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """How many columns there are beside the first."""
        return sum(len(block.columns) for block in self.blocks)

    @property
    def slots(self) -> tuple[tuple[bool, bool], ...]:
        """Whether any cell of each column has a mark, and a figure of the paper, to leave room."""
        rows = [row.cells for row in self.rows if len(row.cells) == self.width]
        return tuple(
            (any(cell.mark for cell in column), any(cell.beside for cell in column))
            for column in zip(*rows, strict=True)
        )


def to_markdown(table: Table) -> str:
    """Return a table with its caption and notes as Markdown."""
    heads = [
        f"**{_escaped(block.title)}**<br>{_escaped(column)}"
        if block.title and i == 0
        else _escaped(column)
        for block in table.blocks
        for i, column in enumerate(block.columns)
    ]
    lines = [
        table.caption,
        "",
        _line([f"**{table.first}**", *heads]),
        _line(["---", *["---:"] * table.width]),
    ]
    for row in table.rows:
        if row.is_group:
            lines.append(_line([f"**{_escaped(row.head)}:**", *[""] * table.width]))
        else:
            lines.append(_line([_escaped(row.head), *_markdown_cells(row.cells)]))
    lines += [line for note in table.notes for line in ("", note)]
    return "\n".join(lines) + "\n"


def printed(value: float) -> str:
    """Return a figure as the tables print it."""
    return f"{value:.{_DECIMALS}f}".replace("-", MINUS)


def seconds(value: float) -> str:
    """Return a time in words."""
    if value < 100:
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 6000 else f"{value / 3600:.1f} h"


def memory(value: float) -> str:
    """Return bytes in words."""
    return f"{value / 1e9:.1f} GB" if value >= 1e9 else f"{value / 1e6:.0f} MB"


def value_cell(found: Summary | None) -> Cell:
    """Return a mean with its standard error."""
    if found is None:
        return Cell(NONE)
    return Cell(printed(found.mean), error=_error(found.error))


def _error(error: float) -> str:
    if math.isnan(error):
        return ""
    return f"± {error:.3f}" if error >= 0.0005 or error == 0 else f"± {error:.1g}"


def mark_of(gap: Difference | None) -> str:
    """Return a mark where a difference is clear."""
    if gap is None or not is_clear(gap):
        return ""
    return BETTER if gap.low > 0 else WORSE


def mark_best(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with bold on the highest printed figure of every column."""
    figures = [row.cells for row in rows if not row.is_group]
    if len(figures) < 2:
        return list(rows)
    tops = [max(number_of(cell.text) for cell in column) for column in zip(*figures, strict=True)]
    return [
        replace(
            row,
            cells=tuple(
                replace(cell, best=number_of(cell.text) == top > -math.inf)
                for cell, top in zip(row.cells, tops, strict=True)
            ),
        )
        if row.cells
        else row
        for row in rows
    ]


def number_of(text: str) -> float:
    """Return what a cell prints, as a number; below all numbers where it prints none."""
    try:
        return float(text.replace(MINUS, "-"))
    except ValueError:
        return -math.inf


def _markdown_cells(cells: Iterable[Cell]) -> list[str]:
    out = []
    for cell in cells:
        text = _escaped(cell.text)
        parts = [f"**{text}**" if cell.best else text, cell.error, cell.mark]
        parts.append(f"*({cell.beside})*" if cell.beside else "")
        out += [" ".join(part for part in parts if part), *[""] * (cell.span - 1)]
    return out


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return text.replace("|", r"\|").replace("*", r"\*")
