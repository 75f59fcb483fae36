"""The tables of models: accuracy, parts of scores, properties of lists, parameters and cost."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from teaser.evaluate.metrics import METRIC_TITLES
from teaser.evaluate.report.tables.dial_table import dial_table
from teaser.evaluate.report.tables.feedback_tables import feedback_table, steering_table
from teaser.evaluate.report.tables.number import (
    format_memory,
    format_parameter,
    format_seconds,
    format_signed,
)
from teaser.evaluate.report.tables.paper import METRICS
from teaser.evaluate.report.tables.reported import ReportedStudy, model_labels, paper_notes
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
    value_cell,
)
from teaser.evaluate.study.results import TARGET, DataSummary, ModelResult
from teaser.explain import PARTS

REFERENCE = "EASE"


def accuracy_table(studies: Sequence[ReportedStudy]) -> Table:
    """Return the paper's first table: accuracy without feedback, and the data below."""
    rows = _model_rows(studies)
    titles = tuple(METRIC_TITLES[m] for m in METRICS)
    return Table(
        name="accuracy",
        caption="Accuracy without feedback, on users that no model was fitted to. "
        "Best of each column in bold; ± is the standard error over users.",
        first="models",
        blocks=tuple(Block(study.title, titles) for study in studies),
        rows=(*mark_best_rows(rows), *_properties(studies)),
        notes=(*_reference_notes(studies), *paper_notes(studies, reasons=True)),
    )


def advantage_table(studies: Sequence[ReportedStudy]) -> Table | None:
    """Return how much better the recommended model is than every other; None without one."""
    studies = [study for study in studies if study.results.recommended]
    labels = [label for each in (False, True) for label in model_labels(studies, interactive=each)]
    rows = [
        Row(label, tuple(c for study in studies for c in _advantage_cells(study, label)))
        for label in labels
        if any((model := study.labelled(label)) and not _is_recommended(study, model)
               for study in studies)
    ]  # fmt: skip
    if not rows:
        return None
    title = METRIC_TITLES[TARGET]
    return Table(
        name="advantage",
        caption=f"How much more {title} the recommended model reaches than each other model, in "
        "percent of the other's, with the 95 % interval of the paired bootstrap over the same "
        "users.",
        first="models",
        blocks=tuple(Block(study.title, (title, "recommended, %")) for study in studies),
        rows=tuple(rows),
        notes=(
            f"{BETTER} the recommended model is clearly better, {WORSE} clearly worse: the "
            "interval leaves out zero. Not corrected for the number of comparisons.",
        ),
    )


def parts_table(studies: Sequence[ReportedStudy]) -> Table | None:
    """Return the share of each part of the scores; None where no study has measured them."""
    studies = [study for study in studies if any(model.shares for model in study.models)]
    rows = []
    for label in model_labels(studies, interactive=True):
        found = [study.labelled(label) for study in studies]
        if any(model is not None and model.shares for model in found):
            rows.append(Row(label, tuple(cell for model in found for cell in _share_cells(model))))
    if not rows:
        return None
    return Table(
        name="parts",
        caption="Where the scores of the first 20 recommendations come from, in percent: general "
        "appeal, which is the same for everybody; declared and discovered tags; popularity's own "
        "column; viewed items. From tags: declared and discovered together.",
        first="models",
        blocks=tuple(Block(study.title, (*PARTS, "from tags")) for study in studies),
        rows=tuple(rows),
        notes=_product_notes(studies),
    )


def beyond_table(studies: Sequence[ReportedStudy]) -> Table:
    """Return properties of the lists, and the metrics with the plain denominators."""
    models = [model for study in studies for model in study.models]
    metrics = [
        m for m in METRIC_TITLES if m not in METRICS and any(model.value(m) for model in models)
    ]
    rows: list[Row] = []
    for study in studies:
        rows.append(Row(study.title, is_group=True))
        rows += [
            Row(study.labels[model.name], tuple(value_cell(model.value(m)) for m in metrics))
            for model in study.models
        ]
    return Table(
        name="beyond",
        caption="Properties of the lists, and accuracy by the plain denominators. Coverage: share "
        "of all items that is in any user's first 20. Diversity: mean distance in tags between "
        "two items of a list, from 0 to 1. Long tail: share of a list outside the most popular "
        "items that together make half of all choices. Uncapped: divided by all held-out items, "
        "not by at most k of them as Liang et al. (2018) do, and as the first table does.",
        first="models",
        blocks=(Block("", tuple(METRIC_TITLES[m] for m in metrics)),),
        rows=tuple(rows),
    )


def cost_table(study: ReportedStudy) -> Table:
    """Return the parameters that were chosen, and what fitting and scoring took."""
    users = max(1, study.results.split.test_users)
    rows = []
    for model in study.models:
        fit = model.fit
        texts = (
            _parameters(model),
            f"{len(model.trials) or NONE}",
            format_seconds(fit.seconds),
            format_memory(fit.peak_memory),
            NONE if fit.iterations is None else f"{fit.iterations}",
            f"{1000 * model.scoring_seconds / users:.2f}",
        )
        rows.append(Row(study.labels[model.name], tuple(Cell(text) for text in texts)))
    heads = ("parameters chosen", "cells tried", "fit", "memory", "iterations", "ms per user")
    return Table(
        name="cost",
        caption="Parameters chosen by the validation users, and what the chosen fit took. Memory "
        "is the peak of the whole process; ms per user is scoring, ranking and measuring.",
        first="models",
        blocks=(Block(study.title, heads),),
        rows=tuple(rows),
    )


def comparison_tables(studies: Sequence[ReportedStudy]) -> list[Table]:
    """Return all tables that compare models and have something to show."""
    made = (
        accuracy_table(studies),
        advantage_table(studies),
        parts_table(studies),
        dial_table(studies),
        feedback_table(studies),
        steering_table(studies),
        beyond_table(studies),
    )
    return [table for table in made if table is not None and table.width]


def _model_rows(studies: Sequence[ReportedStudy]) -> list[Row]:
    rows: list[Row] = []
    for title, interactive in (("static baselines", False), ("interactive models", True)):
        found = [
            Row(label, tuple(_model_cell(study, label, m) for study in studies for m in METRICS))
            for label in model_labels(studies, interactive=interactive)
        ]
        rows += [Row(title, is_group=True), *found] if found else []
    return rows


def _model_cell(study: ReportedStudy, label: str, metric: str) -> Cell:
    model = study.labelled(label)
    if model is None:
        return Cell(NONE)
    reference = study.results.of_kind(REFERENCE)
    gap = study.results.gap(reference.name, model.name, metric) if reference else None
    return replace(
        value_cell(model.value(metric)),
        mark=mark_of(gap),
        beside=study.paper_value(model, metric),
    )


def _is_recommended(study: ReportedStudy, model: ModelResult) -> bool:
    best = study.results.recommended
    return best is not None and best.name == model.name


def _advantage_cells(study: ReportedStudy, label: str) -> tuple[Cell, Cell]:
    model, best = study.labelled(label), study.results.recommended
    reached = None if model is None else model.value(TARGET)
    if model is None or best is None or reached is None:
        return Cell(NONE), Cell(NONE)
    gap = study.results.gap(model.name, best.name, TARGET)
    if gap is None or reached.mean <= 0:
        return value_cell(reached), Cell(NONE)
    more = gap.times(100 / reached.mean)
    interval = f"[{format_signed(more.low)}, {format_signed(more.high)}]"
    return value_cell(reached), Cell(format_signed(more.mean), interval, mark_of(more))


def _share_cells(model: ModelResult | None) -> list[Cell]:
    if model is None or not model.shares:
        return [Cell(NONE)] * (len(PARTS) + 1)
    shares = (*(model.shares.get(part, 0.0) for part in PARTS), model.tag_share or 0.0)
    return [Cell(f"{100 * share:.0f}") for share in shares]


def _product_notes(studies: Sequence[ReportedStudy]) -> tuple[str, ...]:
    names = dict.fromkeys(s.labels[m.name] for s in studies for m in s.models if m.parts)
    return tuple(f"{name}: of the part with tags." for name in names)


def _properties(studies: Sequence[ReportedStudy]) -> list[Row]:
    """Return the properties of the data sets, one cell for each study."""

    def row(head: str, text: Callable[[DataSummary], str]) -> Row:
        width = len(METRICS)
        return Row(head, tuple(Cell(text(study.results.data), span=width) for study in studies))

    tested = (f"{study.results.split.test_users:,}" for study in studies)
    return [
        Row("data", is_group=True),
        row("# users", lambda data: f"{data.users:,}"),
        row("# items", lambda data: f"{data.items:,}"),
        row("interaction density", lambda data: f"{100 * data.interaction_density:.3f} %"),
        row("# tags", lambda data: f"{data.tags:,}"),
        row("tag density", lambda data: f"{100 * data.tag_density:.3f} %"),
        row("features", lambda data: ", ".join(data.features)),
        Row("# test users", tuple(Cell(text, span=len(METRICS)) for text in tested)),
    ]


def _reference_notes(studies: Sequence[ReportedStudy]) -> list[str]:
    if not any(s.results.of_kind(REFERENCE) and len(s.models) > 1 for s in studies):
        return []
    return [
        f"{BETTER} clearly better and {WORSE} clearly worse than {REFERENCE}: the 95 % interval of "
        "the paired bootstrap over the same users leaves out zero. Not corrected for the number "
        "of comparisons."
    ]


def _parameters(model: ModelResult) -> str:
    if model.parts:
        return "those of its parts"
    given = [f"{k} = {format_parameter(v)}" for k, v in model.parameters.items()]
    return ", ".join(given) or "the defaults"
