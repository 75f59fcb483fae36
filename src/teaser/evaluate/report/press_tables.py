"""The tables of simulated feedback: the paper's second table, and scales and steps compared."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from teaser.evaluate.report.paper import METRICS, SCALE, STRENGTH
from teaser.evaluate.report.results import Results, Scenario, improvement, signed, summary
from teaser.evaluate.report.table import (
    BETTER,
    HEADS,
    NONE,
    WORSE,
    Block,
    Cell,
    Row,
    Table,
    mark_best,
    mark_of,
    number_of,
    printed,
    value_cell,
)
from teaser.profile import DEFAULT_STEERING


def feedback_table(studies: Sequence[Results]) -> Table | None:
    """Return the paper's second table: accuracy after simulated presses; None without any."""
    studies = [each for each in studies if each.content["simulations"]]
    if not studies:
        return None
    rows = _block_of_rows("no simulation", studies, _static_cells)
    for scenario in _shown(studies):
        heading = scenario.text + _how(scenario)
        rows += _block_of_rows(heading, studies, _pressed_cells(scenario))
    return Table(
        name="feedback",
        caption="Accuracy when each person presses tags of what was held out (+) or tags that are "
        "listed and not wanted (\N{MINUS SIGN}), mean of the draws; and the relative change of "
        "nDCG@100 with its 95 % interval. Best of each column and block in bold.",
        first="models",
        blocks=tuple(
            Block(each.title, (*(HEADS[m] for m in METRICS), "change in %")) for each in studies
        ),
        rows=tuple(rows),
        notes=(*_feedback_notes(studies), *paper_notes(studies, reasons=False)),
    )


def steering_table(studies: Sequence[Results]) -> Table | None:
    """Return the change of nDCG@100 by every scale and step; None if only one was run."""
    found = {(s.scale, s.step) for each in studies for s in each.scenarios}
    ways = sorted(found, key=lambda way: (way[0] != DEFAULT_STEERING.scale, *way))
    if len(ways) < 2:
        return None
    rows: list[Row] = []
    for study in studies:
        for n_tags, strength in dict.fromkeys((s.n_tags, s.strength) for s in study.scenarios):
            named = Scenario(n_tags, strength, "", 0).text
            rows.append(Row(f"{study.title}, {named}", is_group=True))
            rows += _steering_rows(study, n_tags, strength, ways)
    return Table(
        name="steering",
        caption="Relative change of nDCG@100 in percent by scale and step of a press, with 95 % "
        "intervals. Best of each row in bold.",
        first="models",
        blocks=(Block("scale and step", tuple(f"{scale}, {step:g}" for scale, step in ways)),),
        rows=tuple(rows),
    )


def beside(study: Results, model: Mapping[str, Any], metric: str, n_tags: int = 0) -> str:
    """Return the paper's figure of the same model, printed; nothing where it has none."""
    row = study.paper_name(model)
    if study.paper is None or row is None:
        return ""
    figure = study.paper.figure(row, metric, n_tags)
    return "" if figure is None else printed(figure)


def labels(studies: Sequence[Results], *, interactive: bool) -> list[str]:
    """Return the names of all models of a group, in the order of the first study that has them."""
    return list(
        dict.fromkeys(
            study.labels[model["name"]]
            for study in sorted(studies, key=lambda each: -len(each.models))
            for model in study.models
            if bool(model["interactive"]) == interactive
        )
    )


def paper_notes(studies: Sequence[Results], *, reasons: bool) -> list[str]:
    """Say what stands in brackets, and with `reasons` how comparable that is."""
    notes = []
    for each in studies:
        if each.paper is not None:
            other = each.paper
            notes.append(
                f"{each.title}: in brackets the paper's figures for {other.title} "
                f"({other.users:,} users, {other.items:,} items, {other.tags:,} tags)."
            )
        if reasons and each.content.get("note"):
            notes.append(f"{each.title}: {each.content['note']}")
    return notes


def _block_of_rows(
    title: str,
    studies: Sequence[Results],
    cells: Callable[[Results, Mapping[str, Any]], tuple[Cell, ...]],
) -> list[Row]:
    rows = []
    for label in labels(studies, interactive=True):
        row: list[Cell] = []
        for study in studies:
            model = study.labelled(label)
            row += [Cell(NONE)] * (len(METRICS) + 1) if model is None else cells(study, model)
        rows.append(Row(label, tuple(row)))
    # As in the paper, the accuracies are set in bold, not their changes.
    width = len(METRICS) + 1
    bold = [
        replace(
            row,
            cells=tuple(
                replace(cell, best=cell.best and i % width < len(METRICS))
                for i, cell in enumerate(row.cells)
            ),
        )
        for row in mark_best(rows)
    ]
    return [Row(title, is_group=True), *bold]


def _static_cells(study: Results, model: Mapping[str, Any]) -> tuple[Cell, ...]:
    found = [
        replace(value_cell(study.value(model, m)), beside=beside(study, model, m)) for m in METRICS
    ]
    return (*found, Cell())


def _pressed_cells(
    scenario: Scenario,
) -> Callable[[Results, Mapping[str, Any]], tuple[Cell, ...]]:
    def cells(study: Results, model: Mapping[str, Any]) -> tuple[Cell, ...]:
        found = study.pressed(model["name"], scenario)
        if found is None:
            return (Cell(NONE),) * (len(METRICS) + 1)
        ours = scenario.strength == STRENGTH and scenario.scale == SCALE
        return (
            *(
                replace(
                    value_cell(summary(found["metrics"].get(m))),
                    beside=beside(study, model, m, scenario.n_tags) if ours else "",
                )
                for m in METRICS
            ),
            _change_cell(found),
        )

    return cells


def _change_cell(simulated: Mapping[str, Any]) -> Cell:
    change = improvement(simulated)
    if change is None:
        return Cell(NONE)
    interval = f"[{signed(change.low)}, {signed(change.high)}]"
    return Cell(signed(change.mean), error=interval, mark=mark_of(change))


def _shown(studies: Sequence[Results]) -> list[Scenario]:
    """Return the ways to press of the second table: every scale, but one step of each."""
    every = list(dict.fromkeys(s for each in studies for s in each.scenarios))
    first: dict[tuple[int, int, str], Scenario] = {}
    for scenario in every:
        first.setdefault((scenario.n_tags, scenario.strength, scenario.scale), scenario)
    return sorted(
        first.values(),
        key=lambda s: (s.strength < 0, s.scale == SCALE, abs(s.strength), s.n_tags, s.scale),
    )


def _how(scenario: Scenario) -> str:
    if scenario.is_default:
        return ""
    step = "" if Scenario(1, 1, "robust", scenario.step).is_default else f", step {scenario.step:g}"
    scale = {"paper": ", on the paper's scale", "robust": ""}
    return scale.get(scenario.scale, f", scale {scenario.scale}") + step


def _steering_rows(
    study: Results, n_tags: int, strength: int, ways: Sequence[tuple[str, float]]
) -> list[Row]:
    rows = []
    for model in study.models:
        found = [
            study.pressed(model["name"], Scenario(n_tags, strength, scale, step))
            for scale, step in ways
        ]
        if any(found):
            cells = [Cell(NONE) if f is None else _change_cell(f) for f in found]
            top = max(number_of(cell.text) for cell in cells)
            best = [replace(c, best=number_of(c.text) == top > -math.inf) for c in cells]
            rows.append(Row(study.labels[model["name"]], tuple(best)))
    return rows


def _feedback_notes(studies: Sequence[Results]) -> list[str]:
    notes = [
        f"{BETTER} clear gain, {WORSE} clear loss: the 95 % interval of the paired bootstrap "
        "leaves out zero."
    ]
    for each in studies:
        without = {
            Scenario(s["n_tags"], s["strength"], "", 0).text: s["without_tags"]
            for s in each.content["simulations"]
            if s.get("without_tags")
        }
        users = f"{each.content['split']['test_users']:,}"
        counts = "; ".join(f"{text}: {n:,} of {users}" for text, n in without.items())
        if counts:
            notes.append(
                f"{each.title}: people who had no tag to press keep their list ({counts})."
            )
    return notes
