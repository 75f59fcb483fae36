"""The picture of a grid search: the value of every cell of TEASER's grid on validation."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from teaser.evaluate.metrics import METRIC_TITLES
from teaser.evaluate.report.pictures import drawing
from teaser.evaluate.report.tables.number import format_parameter
from teaser.evaluate.report.tables.reported import ReportedStudy
from teaser.evaluate.study.results import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LIGHT, _DARK = "#ffffff", "#000000"


def draw_surface(study: ReportedStudy) -> drawing.Picture | None:
    """Draw the trials of the first Teaser: a heat map of two parameters, or a line of one."""
    model = study.results.of_kind("Teaser")
    trials = [t for t in model.trials if not math.isnan(t.value)] if model else []
    varied = _varied(trials)
    if model is None or not varied:
        return None
    metric = study.results.search.metric
    title = METRIC_TITLES.get(metric, metric)
    across, up = (varied[0], None) if len(varied) == 1 else (varied[1], varied[0])
    best = _best_of(trials, across, up)
    columns, rows = _values(trials, across), _values(trials, up)
    figure = drawing.new_figure(3.0 if up is None else 1.3 + 0.42 * len(rows))
    axes = figure.subplots()
    if up is None:
        _draw_line(axes, [best[None, x] for x in columns])
        axes.set_ylabel(f"validation {title}")
    else:
        _draw_cells(axes, best, rows, columns)
        axes.set_yticks(range(len(rows)), [format_parameter(y) for y in rows])
        axes.set_ylabel(up)
    axes.set_xticks(range(len(columns)), [format_parameter(x) for x in columns])
    axes.set_xlabel(across)
    drawing.simplify(axes, grid="y" if up is None else None)
    top = max(trials, key=lambda trial: trial.value)
    chosen = ", ".join(f"{name} = {format_parameter(top.parameters[name])}" for name in varied)
    more = f" Of {', '.join(varied[2:])} the best value is shown." if len(varied) > 2 else ""
    return drawing.picture(
        figure,
        name=f"{study.key}-surface",
        title=f"The grid search for {study.labels[model.name]}",
        caption=f"{title} on the validation users by cell; the chosen one is framed.{more}",
        alt=f"{len(trials)} cells from {min(t.value for t in trials):.3f} to "
        f"{top.value:.3f}; the best is {chosen}.",
    )


def _varied(trials: Sequence[Trial]) -> list[str]:
    """Return the parameters that differ between trials."""
    names = trials[0].parameters if trials else {}
    return [name for name in names if len({str(t.parameters.get(name)) for t in trials}) > 1]


def _values(trials: Sequence[Trial], name: str | None) -> list[Any]:
    if name is None:
        return [None]
    found = {trial.parameters[name] for trial in trials}
    return sorted(found, key=lambda value: (isinstance(value, str), value))


def _best_of(trials: Sequence[Trial], across: str, up: str | None) -> dict[tuple[Any, Any], float]:
    best: dict[tuple[Any, Any], float] = {}
    for trial in trials:
        given = trial.parameters
        key = (None if up is None else given[up], given[across])
        best[key] = max(trial.value, best.get(key, trial.value))
    return best


def _draw_line(axes: "Axes", values: Sequence[float]) -> None:
    axes.plot(range(len(values)), values, color=drawing.SERIES[0], marker="o", markersize=4)
    top = max(range(len(values)), key=lambda place: values[place])
    axes.plot(
        top, values[top], marker="s", markersize=11, markerfacecolor="none",
        markeredgecolor=drawing.INK, linestyle="none",
    )  # fmt: skip


def _draw_cells(
    axes: "Axes",
    best: Mapping[tuple[Any, Any], float],
    rows: Sequence[Any],
    columns: Sequence[Any],
) -> None:
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    low, high = min(best.values()), max(best.values())
    places = {(y, x): (j, i) for i, y in enumerate(rows) for j, x in enumerate(columns)}
    for key, value in best.items():
        j, i = places[key]
        share = (value - low) / (high - low) if high > low else 1.0
        colour = colormaps["cividis"](share)
        axes.add_patch(Rectangle((j - 0.48, i - 0.48), 0.96, 0.96, color=colour, linewidth=0))
        text = _LIGHT if _brightness(colour) < 0.4 else _DARK
        axes.text(j, i, f"{value:.4f}", ha="center", va="center", color=text)
    j, i = places[max(best, key=lambda key: best[key])]
    axes.add_patch(
        Rectangle((j - 0.48, i - 0.48), 0.96, 0.96, fill=False, edgecolor=drawing.INK, lw=2.2)
    )
    axes.set(xlim=(-0.55, len(columns) - 0.45), ylim=(-0.55, len(rows) - 0.45))
    for spine in axes.spines.values():
        spine.set_visible(False)


def _brightness(colour: Sequence[float]) -> float:
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]
