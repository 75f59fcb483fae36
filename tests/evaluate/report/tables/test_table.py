"""Which figures are bold and marked, and what the Markdown looks like."""

import math

from teaser.evaluate.metrics import Difference, Summary
from teaser.evaluate.report.tables.number import MINUS
from teaser.evaluate.report.tables.table import (
    BETTER,
    NONE,
    WORSE,
    Block,
    Cell,
    Row,
    Table,
    mark_best_rows,
    mark_of,
    to_markdown,
    value_cell,
)


def bold(rows: list[Row]) -> list[list[bool]]:
    return [[cell.best for cell in row.cells] for row in rows]


def test_bold_is_on_the_highest_of_each_column() -> None:
    rows = [
        Row("group", is_group=True),
        Row("a", (Cell("0.3"), Cell("0.9"))),
        Row("b", (Cell("0.4"), Cell(NONE))),
        Row("c", (Cell(f"{MINUS}0.5"), Cell("0.1"))),
    ]
    assert bold(mark_best_rows(rows)) == [[], [False, True], [True, False], [False, False]]


def test_figures_that_print_alike_are_bold_alike() -> None:
    assert (
        bold(mark_best_rows([Row("a", (Cell("0.4"),)), Row("b", (Cell("0.4"),))])) == [[True]] * 2
    )


def test_nothing_is_best_alone_or_without_figures() -> None:
    assert bold(mark_best_rows([Row("a", (Cell("0.4"),))])) == [[False]]
    assert bold(mark_best_rows([Row("a", (Cell(NONE),)), Row("b", (Cell(),))])) == [[False]] * 2


def test_an_error_never_rounds_to_zero() -> None:
    errors = {0.0123: "± 0.012", 0.00031: "± 0.0003", 0.0: "± 0.000", math.nan: ""}
    for error, text in errors.items():
        assert value_cell(Summary(0.41249, error, 9)) == Cell("0.412", error=text)


def test_no_value_is_a_dash() -> None:
    assert value_cell(None) == Cell(NONE)


def test_marks() -> None:
    assert mark_of(Difference(0.2, 0.1, 0.3, 5)) == BETTER
    assert mark_of(Difference(-0.2, -0.3, -0.1, 5)) == WORSE
    assert mark_of(Difference(0.1, -0.1, 0.3, 5)) == ""
    assert mark_of(None) == ""


def test_markdown() -> None:
    table = Table(
        name="accuracy",
        caption="What it shows.",
        first="models",
        blocks=(Block("A|B", ("x", "y")), Block("", ("z",))),
        rows=(
            Row("group", is_group=True),
            Row("a*b", (Cell("1.0", "± 0.1", BETTER, "0.9", best=True), Cell("2"), Cell("3"))),
            Row("wide", (Cell("all", span=2), Cell("one"))),
        ),
        notes=("A note.",),
    )
    assert to_markdown(table).splitlines() == [
        "What it shows.",
        "",
        r"| **models** | **A\|B**<br>x | y | z |",
        "| --- | ---: | ---: | ---: |",
        "| **group:** |  |  |  |",
        rf"| a\*b | **1.0** ± 0.1 {BETTER} *(0.9)* | 2 | 3 |",
        "| wide | all |  | one |",
        "",
        "A note.",
    ]
    assert table.width == 3
    assert table.slots == ((True, True), (False, False), (False, False))
