"""A table as data, and as Markdown."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from teaser.evaluate.metrics import Difference, Summary
from teaser.evaluate.report.tables.number import format_value, parse_value

BETTER, WORSE, NONE = "▲", "▼", "–"


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    text
        The figure, printed.
    error
        Its standard error or interval, printed.
    mark
        `BETTER` or `WORSE` where a difference is clear.
    beside
        The paper's figure, printed.
    best
        Whether it is set in bold.
    span
        How many columns it covers.
    """

    text: str = ""
    error: str = ""
    mark: str = ""
    beside: str = ""
    best: bool = False
    span: int = 1


@dataclass(frozen=True)
class Row:
    """A row of figures, a heading (`is_group`), or a property of the data."""

    head: str
    cells: tuple[Cell, ...] = ()
    is_group: bool = False


@dataclass(frozen=True)
class Block:
    """The columns of one study."""

    title: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table with its caption and notes."""

    name: str
    caption: str
    first: str
    blocks: tuple[Block, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """The number of columns, without the first."""
        return sum(len(block.columns) for block in self.blocks)

    @property
    def slots(self) -> tuple[tuple[bool, bool], ...]:
        """Whether any cell of each column has a mark, and a figure of the paper, to align them."""
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


def value_cell(found: Summary | None) -> Cell:
    """Return a mean with its standard error."""
    if found is None:
        return Cell(NONE)
    return Cell(format_value(found.mean), error=_error(found.error))


def mark_of(gap: Difference | None) -> str:
    """Return a mark where a difference is clear."""
    if gap is None or not gap.is_clear:
        return ""
    return BETTER if gap.low > 0 else WORSE


def mark_best(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Return the cells of a column (or row) with the highest printed figure in bold."""
    top = max((parse_value(cell.text) for cell in cells), default=-math.inf)
    return tuple(replace(c, best=parse_value(c.text) == top > -math.inf) for c in cells)


def mark_best_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with the highest printed figure of every column in bold."""
    figures = [row.cells for row in rows if not row.is_group]
    if len(figures) < 2:
        return list(rows)
    columns = [mark_best(column) for column in zip(*figures, strict=True)]
    marked = iter(zip(*columns, strict=True))
    return [row if row.is_group else replace(row, cells=next(marked, ())) for row in rows]


def _error(error: float) -> str:
    if math.isnan(error):
        return ""
    return f"± {error:.3f}" if error >= 0.0005 or error == 0 else f"± {error:.1g}"


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
