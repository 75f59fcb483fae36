"""The tables of a report: models in rows, as in the paper a block of columns for each study."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from teaser.evaluate.report.paper import METRICS
from teaser.evaluate.report.press_tables import (
    beside,
    feedback_table,
    labels,
    paper_notes,
    steering_table,
)
from teaser.evaluate.report.results import Results
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
    memory,
    seconds,
    value_cell,
)

REFERENCE = "EASE"


def accuracy_table(studies: Sequence[Results]) -> Table:
    """Return the paper's first table: accuracy without feedback, and the data below."""
    rows = _model_rows(studies)
    return Table(
        name="accuracy",
        caption="Accuracy without feedback, on people that no model has seen. "
        "Best of each column in bold; ± is the standard error over people.",
        first="models",
        blocks=tuple(Block(each.title, tuple(HEADS[m] for m in METRICS)) for each in studies),
        rows=(*mark_best(rows), *_properties(studies)),
        notes=(*_reference_notes(studies), *paper_notes(studies, reasons=True)),
    )


def beyond_table(studies: Sequence[Results]) -> Table:
    """Return what the lists are like, and the metrics with the plain denominators."""
    metrics = [m for m in HEADS if m not in METRICS]
    have = [m for m in metrics if any(s.value(x, m) for s in studies for x in s.models)]
    rows: list[Row] = []
    for study in studies:
        rows.append(Row(study.title, is_group=True))
        rows += [
            Row(
                study.labels[model["name"]],
                tuple(value_cell(study.value(model, m)) for m in have),
            )
            for model in study.models
        ]
    return Table(
        name="beyond",
        caption="What the lists are like, and accuracy by the plain denominators. Coverage: share "
        "of the catalogue that is in anybody's first 20. Diversity: mean distance in tags between "
        "two items of a list, from 0 to 1. Long tail: share of a list outside the most popular "
        "items that together make half of all choices. Uncapped: divided by all held-out items, "
        "not by at most k of them as Liang et al. (2018) do, and as the first table does.",
        first="models",
        blocks=(Block("", tuple(HEADS[m] for m in have)),),
        rows=tuple(rows),
    )


def cost_table(study: Results) -> Table:
    """Return the parameters that were chosen, and what fitting and scoring took."""
    users = study.content["split"]["test_users"]
    rows = []
    for model in study.models:
        fit = model["fit"]
        cells = (
            Cell(_parameters(model)),
            Cell(f"{len(model['trials'])}" if model["trials"] else NONE),
            Cell(seconds(fit["seconds"])),
            Cell(memory(fit["peak_memory"])),
            Cell(f"{fit['iterations']}" if fit.get("iterations") is not None else NONE),
            Cell(f"{1000 * model.get('scoring_seconds', 0) / max(1, users):.2f}"),
        )
        rows.append(Row(study.labels[model["name"]], cells))
    heads = ("parameters chosen", "cells tried", "fit", "memory", "iterations", "ms a person")
    return Table(
        name="cost",
        caption="Parameters chosen by the validation people, and what the chosen fit took. Memory "
        "is the peak of the whole process; ms a person is scoring, ranking and measuring.",
        first="models",
        blocks=(Block(study.title, heads),),
        rows=tuple(rows),
    )


def tables(studies: Sequence[Results]) -> list[Table]:
    """Return all tables that compare models, those that have something to show."""
    made = (accuracy_table(studies), feedback_table(studies), steering_table(studies))
    return [table for table in (*made, beyond_table(studies)) if table is not None and table.width]


def _model_rows(studies: Sequence[Results]) -> list[Row]:
    rows: list[Row] = []
    for title, interactive in (("static baselines", False), ("interactive models", True)):
        found = [
            Row(label, tuple(_model_cell(s, label, m) for s in studies for m in METRICS))
            for label in labels(studies, interactive=interactive)
        ]
        rows += [Row(title, is_group=True), *found] if found else []
    return rows


def _model_cell(study: Results, label: str, metric: str) -> Cell:
    model = study.labelled(label)
    if model is None:
        return Cell(NONE)
    cell = value_cell(study.value(model, metric))
    reference = study.of_kind(REFERENCE)
    if reference is not None and reference is not model:
        cell = replace(cell, mark=mark_of(study.gap(reference["name"], model["name"], metric)))
    return replace(cell, beside=beside(study, model, metric))


def _properties(studies: Sequence[Results]) -> list[Row]:
    """Return the properties of the data sets, one cell for each study."""

    def row(head: str, text: Callable[[Results], str]) -> Row:
        return Row(head, tuple(Cell(text(each), span=len(METRICS)) for each in studies))

    def data(name: str) -> Callable[[Results], str]:
        return lambda each: f"{each.content['data'][name]:,}"

    def share(name: str) -> Callable[[Results], str]:
        return lambda each: f"{100 * each.content['data'][name]:.3f} %"

    return [
        Row("data", is_group=True),
        row("# users", data("users")),
        row("# items", data("items")),
        row("interaction density", share("interaction_density")),
        row("# tags", data("tags")),
        row("tag density", share("tag_density")),
        row("features", lambda each: ", ".join(each.content["data"]["features"])),
        row("# test users", lambda each: f"{each.content['split']['test_users']:,}"),
    ]


def _reference_notes(studies: Sequence[Results]) -> list[str]:
    if not any(each.of_kind(REFERENCE) and len(each.models) > 1 for each in studies):
        return []
    return [
        f"{BETTER} clearly better and {WORSE} clearly worse than {REFERENCE}: the 95 % interval of "
        "the paired bootstrap over the same people leaves out zero. Not corrected for the number "
        "of comparisons."
    ]


def _parameters(model: Mapping[str, Any]) -> str:
    if model.get("parts"):
        return "those of its parts"
    return (
        ", ".join(
            f"{k} = {v:g}"
            if isinstance(v, int | float) and not isinstance(v, bool)
            else f"{k} = {v}"
            for k, v in model["parameters"].items()
        )
        or "the defaults"
    )
