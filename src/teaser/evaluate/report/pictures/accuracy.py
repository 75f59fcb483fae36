"""The pictures of models: accuracy, the long tail, and accuracy by the number of tags."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from teaser.evaluate.metrics import METRIC_TITLES, Summary
from teaser.evaluate.report.pictures import drawing
from teaser.evaluate.report.tables.number import format_value
from teaser.evaluate.report.tables.paper import METRICS
from teaser.evaluate.report.tables.reported import ReportedStudy
from teaser.evaluate.study.results import TARGET, ModelResult, measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INTERVAL = 1.96
_FULL = 0.995


def draw_accuracy(study: ReportedStudy) -> drawing.Picture:
    """Draw the accuracy of every model, with 95 % intervals."""
    models = study.models[::-1]
    figure = drawing.new_figure(0.9 + 0.27 * len(models))
    panels = figure.subplots(1, len(METRICS), sharey=True, gridspec_kw={"wspace": 0.12})
    for axes, metric in zip(panels, METRICS, strict=True):
        for place, model in enumerate(models):
            found = model.value(metric)
            if found is not None:
                half = _half_interval(found)
                drawing.error_dot(
                    axes, found.mean, place, (half, half), drawing.line_style(model.kind)[0]
                )
        axes.set_title(METRIC_TITLES[metric])
        axes.locator_params(axis="x", nbins=3, prune="both")
        axes.margins(x=0.12)
        drawing.simplify(axes, grid="x")
    panels[0].set_yticks(range(len(models)), [study.labels[m.name] for m in models])
    panels[0].set_ylim(-0.6, len(models) - 0.4)
    for text in panels[0].get_yticklabels():
        text.set_color(drawing.INK)
    return drawing.picture(
        figure,
        name=f"{study.key}-accuracy",
        title="Accuracy by model",
        caption="Mean over the test users with 95 % intervals of each model alone. The marks in "
        "the table compare models user by user, which finds smaller differences.",
        alt=f"{METRIC_TITLES[TARGET]} of {len(models)} models: {_ranking(study)}.",
    )


def draw_tail(study: ReportedStudy) -> drawing.Picture | None:
    """Draw which share of recommendations goes to the most popular items."""
    models = [m for m in study.models if m.popularity_curve and _has_own_line(study, m)]
    if not models:
        return None
    figure = drawing.new_figure(3.9)
    axes = figure.subplots()
    lines = []
    for model in models:
        curve = model.popularity_curve
        colour, dash = drawing.line_style(model.kind)
        label = study.labels[model.name]
        lines += axes.plot(
            _shares(curve), [100 * y for y in curve], color=colour, linestyle=dash, label=label,
            linewidth=3.2 if model is study.results.recommended else None,
        )  # fmt: skip
    end = max(_filled(m.popularity_curve) for m in models)
    lines += axes.plot(
        [0, end], [0, end], color=drawing.SOFT, linewidth=0.9, label="all items equally"
    )
    axes.set(xlim=(0, end), ylim=(0, 102))
    axes.set_xlabel("most popular items, % of all items")
    axes.set_ylabel("% of recommendations")
    drawing.simplify(axes)
    drawing.legend_below(figure, lines, columns=3)
    shares = "; ".join(
        f"{study.labels[m.name]} {100 * _at(m.popularity_curve, 0.1):.0f} %" for m in models
    )
    return drawing.picture(
        figure,
        name=f"{study.key}-tail",
        title="The long tail",
        caption="Share of all recommendations (the first 20 of each user) that the most popular "
        "items take. The nearer to the thin line, the more items are shown.",
        alt=f"Share of recommendations that go to the most popular tenth of the items: {shares}.",
    )


def draw_by_tags(study: ReportedStudy) -> drawing.Picture | None:
    """Draw accuracy against the number of tags, for the first Teaser."""
    model = study.results.of_kind("Teaser")
    if model is None:
        return None
    points = [
        (each.n_tags, found)
        for each in study.results.by_tags
        if (found := measured(each.metrics, TARGET)) is not None
    ]
    whole = model.value(TARGET)
    if not points or whole is None:
        return None
    points = sorted([*points, (study.results.data.tags, whole)], key=lambda point: point[0])
    figure = drawing.new_figure(3.2)
    axes = figure.subplots()
    places = [n for n, _ in points]
    colour = drawing.line_style(model.kind)[0]
    label = study.labels[model.name]
    lines = axes.plot(
        places, [found.mean for _, found in points], color=colour, marker="o", label=label
    )
    for n, found in points:
        axes.errorbar(n, found.mean, yerr=_half_interval(found), color=colour, elinewidth=1.2)
    drawing.legend_below(figure, [*lines, *_reference_line(axes, study)], columns=2)
    _count_axis(axes, places)
    axes.set_xlabel("number of tags")
    axes.set_ylabel(METRIC_TITLES[TARGET])
    drawing.simplify(axes)
    values = ", ".join(f"{found.mean:.3f} with {n:,} tags" for n, found in points)
    return drawing.picture(
        figure,
        name=f"{study.key}-tags",
        title="Accuracy against the number of tags",
        caption=f"{label} fitted again with only the tags that enough items "
        "carry, at the parameters chosen for all tags; 95 % intervals.",
        alt=f"{METRIC_TITLES[TARGET]} of {label}: {values}.",
    )


def _has_own_line(study: ReportedStudy, model: ModelResult) -> bool:
    """Whether a model is the first of its kind or the one recommended; others look alike."""
    shown = (study.results.of_kind(model.kind), study.results.recommended)
    return any(model is each for each in shown)


def _half_interval(found: Summary) -> float:
    return 0.0 if math.isnan(found.error) else _INTERVAL * found.error


def _reference_line(axes: "Axes", study: ReportedStudy) -> list[Any]:
    """Draw a horizontal line at the accuracy of EASE, which uses no tags."""
    ease = study.results.of_kind("EASE")
    found = None if ease is None else ease.value(TARGET)
    if ease is None or found is None:
        return []
    colour, dash = drawing.line_style(ease.kind)
    label = f"{study.labels[ease.name]}, which uses no tags"
    return [axes.axhline(found.mean, color=colour, linestyle=dash, linewidth=1.2, label=label)]


def _count_axis(axes: "Axes", places: Sequence[int]) -> None:
    axes.set_xscale("log")
    kept: list[int] = []
    for place in sorted(set(places), reverse=True):
        if not kept or place < kept[-1] / 1.35:
            kept.append(place)
    axes.set_xticks(kept, [f"{place:,}" for place in kept])
    axes.minorticks_off()


def _shares(curve: Sequence[float]) -> list[float]:
    return [100 * place / (len(curve) - 1) for place in range(len(curve))]


def _at(curve: Sequence[float], share: float) -> float:
    return curve[round(share * (len(curve) - 1))]


def _filled(curve: Sequence[float]) -> float:
    """Return the share of items, in percent, at which a curve reaches its top."""
    return next(
        x for x, y in zip(_shares(curve), curve, strict=True) if y >= _FULL or y == curve[-1]
    )


def _ranking(study: ReportedStudy) -> str:
    found = [(value.mean, m) for m in study.models if (value := m.value(TARGET)) is not None]
    found.sort(key=lambda pair: -pair[0])
    return "; ".join(f"{study.labels[m.name]} {format_value(value)}" for value, m in found)
