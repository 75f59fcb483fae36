"""The tables of simulated feedback: the paper's second table, and scales and steps compared."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from teaser.evaluate.metrics import METRIC_TITLES
from teaser.evaluate.report.tables.number import (
    MINUS,
    format_presses,
    format_signed,
)
from teaser.evaluate.report.tables.paper import METRICS, SCALE, STRENGTH
from teaser.evaluate.report.tables.reported import (
    ReportedStudy,
    model_labels,
    one_step,
    paper_notes,
)
from teaser.evaluate.report.tables.table import (
    BETTER,
    NONE,
    WORSE,
    Block,
    Cell,
    Row,
    Table,
    mark_best,
    mark_best_rows,
    mark_of,
    value_cell,
)
from teaser.evaluate.simulation import AMONG
from teaser.evaluate.study.results import ModelResult, Scenario, SimulationResult, measured
from teaser.profile import DEFAULT_STEERING

Cells = Callable[[ReportedStudy, ModelResult], tuple[Cell, ...]]

_WIDTH = len(METRICS) + 1
_EMPTY = (Cell(NONE),) * _WIDTH


def feedback_table(studies: Sequence[ReportedStudy]) -> Table | None:
    """Return the paper's second table: accuracy after simulated presses; None without any."""
    studies = [study for study in studies if study.results.simulations]
    if not studies:
        return None
    rows = _block_of_rows("no simulation", studies, _static_cells)
    for scenario in sorted(one_step(studies), key=_paper_order):
        rows += _block_of_rows(_heading(scenario), studies, _simulated_cells(scenario))
    columns = (*(METRIC_TITLES[m] for m in METRICS), "change in %")
    return Table(
        name="feedback",
        caption="Accuracy when each user presses tags of the held-out items (+) or tags of "
        f"recommended items that no held-out item has ({MINUS}), mean of the draws; and the "
        "relative change of nDCG@100 with its 95 % interval. Best of each column and block in "
        "bold.",
        first="models",
        blocks=tuple(Block(study.title, columns) for study in studies),
        rows=tuple(rows),
        notes=(*_feedback_notes(studies), *paper_notes(studies, reasons=False)),
    )


def steering_table(studies: Sequence[ReportedStudy]) -> Table | None:
    """Return the change of nDCG@100 by every scale and step; None if only one was run."""
    found = {(s.scale, s.step) for study in studies for s in study.results.scenarios}
    steerings = sorted(found, key=lambda each: (each[0] != DEFAULT_STEERING.scale, *each))
    if len(steerings) < 2:
        return None
    rows: list[Row] = []
    for study in studies:
        ways = ((s.n_tags, s.strength, s.among) for s in study.results.scenarios)
        for n_tags, strength, among in dict.fromkeys(ways):
            scenarios = [Scenario(n_tags, strength, *each, among) for each in steerings]
            if found_rows := _steering_rows(study, scenarios):
                head = f"{study.title}, {format_presses(n_tags, strength, among)}"
                rows += [Row(head, is_group=True), *found_rows]
    return Table(
        name="steering",
        caption="Relative change of nDCG@100 in percent by scale and step of a press, with 95 % "
        "intervals. Best of each row in bold.",
        first="models",
        blocks=(Block("scale and step", tuple(f"{scale}, {step:g}" for scale, step in steerings)),),
        rows=tuple(rows),
    )


def _block_of_rows(title: str, studies: Sequence[ReportedStudy], cells: Cells) -> list[Row]:
    rows = []
    for label in model_labels(studies, interactive=True):
        row: list[Cell] = []
        for study in studies:
            model = study.labelled(label)
            row += _EMPTY if model is None else cells(study, model)
        if any(cell != _EMPTY[0] for cell in row):
            rows.append(Row(label, tuple(row)))
    return [Row(title, is_group=True), *map(_without_bold_changes, mark_best_rows(rows))]


def _without_bold_changes(row: Row) -> Row:
    """Return a row with bold accuracies only, as in the paper, and no bold changes."""
    cells = enumerate(row.cells)
    kept = (replace(cell, best=cell.best and i % _WIDTH < len(METRICS)) for i, cell in cells)
    return replace(row, cells=tuple(kept))


def _static_cells(study: ReportedStudy, model: ModelResult) -> tuple[Cell, ...]:
    if all(simulated.model != model.name for simulated in study.results.simulations):
        return _EMPTY
    values = (
        replace(value_cell(model.value(m)), beside=study.paper_value(model, m)) for m in METRICS
    )
    return (*values, Cell())


def _simulated_cells(scenario: Scenario) -> Cells:
    # The paper's tags are all declared.
    is_declared = scenario.among != "discovered"
    in_paper = scenario.strength == STRENGTH and scenario.scale == SCALE and is_declared

    def cells(study: ReportedStudy, model: ModelResult) -> tuple[Cell, ...]:
        found = study.results.simulation(model.name, scenario)
        if found is None:
            return _EMPTY
        values = (
            replace(
                value_cell(measured(found.metrics, m)),
                beside=study.paper_value(model, m, scenario.n_tags) if in_paper else "",
            )
            for m in METRICS
        )
        return (*values, _change_cell(found))

    return cells


def _change_cell(simulated: SimulationResult | None) -> Cell:
    change = simulated.improvement() if simulated else None
    if change is None:
        return Cell(NONE)
    interval = f"[{format_signed(change.low)}, {format_signed(change.high)}]"
    return Cell(format_signed(change.mean), error=interval, mark=mark_of(change))


def _paper_order(scenario: Scenario) -> tuple[Any, ...]:
    s = scenario
    return AMONG.index(s.among), s.strength < 0, s.scale == SCALE, abs(s.strength), s.n_tags


def _heading(scenario: Scenario) -> str:
    scales = {"paper": ", on the paper's scale", DEFAULT_STEERING.scale: ""}
    scale = scales.get(scenario.scale, f", scale {scenario.scale}")
    step = "" if scenario.step == DEFAULT_STEERING.step else f", step {scenario.step:g}"
    return format_presses(scenario.n_tags, scenario.strength, scenario.among) + scale + step


def _steering_rows(study: ReportedStudy, scenarios: Sequence[Scenario]) -> list[Row]:
    rows = []
    for model in study.models:
        found = [study.results.simulation(model.name, scenario) for scenario in scenarios]
        if sum(each is not None for each in found) > 1:
            cells = mark_best([_change_cell(each) for each in found])
            rows.append(Row(study.labels[model.name], cells))
    return rows


def _feedback_notes(studies: Sequence[ReportedStudy]) -> list[str]:
    notes = [
        f"{BETTER} clear gain, {WORSE} clear loss: the 95 % interval of the paired bootstrap "
        "leaves out zero."
    ]
    for study in studies:
        without = {
            format_presses(s.n_tags, s.strength, s.among): s.without_tags
            for s in study.results.simulations
            if s.without_tags
        }
        users = f"{study.results.split.test_users:,}"
        counts = "; ".join(f"{text}: {n:,} of {users}" for text, n in without.items())
        if counts:
            notes.append(f"{study.title}: users without a tag to press keep their list ({counts}).")
    return notes
