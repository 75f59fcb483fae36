"""The picture of simulated feedback: how much presses raise accuracy."""

from collections.abc import Sequence
from typing import Any

from teaser.evaluate.metrics import METRIC_TITLES, Difference
from teaser.evaluate.report.pictures import drawing
from teaser.evaluate.report.tables.number import format_presses, format_signed
from teaser.evaluate.report.tables.reported import ReportedStudy, one_step
from teaser.evaluate.study.results import TARGET, ModelResult, Scenario

Press = tuple[int, int, str]

_TITLE = METRIC_TITLES[TARGET]


def draw_gain(study: ReportedStudy) -> drawing.Picture | None:
    """Draw how much presses raise accuracy, by model, on both scales."""
    gains = _gains(study)
    if not gains:
        return None
    scales = list(dict.fromkeys(scenario.scale for _, scenario, _ in gains))
    presses = list(dict.fromkeys(_press(s) for _, s, _ in gains))[::-1]
    names = [m.name for m in study.models if any(m is model for model, _, _ in gains)][::-1]
    # A row for each model that was pressed so, and an empty one after each group of models.
    pressed = {(_press(s), model.name) for model, s, _ in gains}
    places: dict[tuple[Press, str], int] = {}
    tops: dict[Press, int] = {}
    height = 0
    for press in presses:
        for name in (name for name in names if (press, name) in pressed):
            places[press, name] = tops[press] = height
            height += 1
        height += 1
    figure = drawing.new_figure(1.2 + 0.25 * len(places) + 0.2 * len(presses))
    axes = figure.subplots()
    for model, scenario, gain in gains:
        order = scales.index(scenario.scale)
        place = places[_press(scenario), model.name] - 0.22 * order
        error = gain.mean - gain.low, gain.high - gain.mean
        drawing.error_dot(
            axes, gain.mean, place, error, drawing.line_style(model.kind)[0], full=order == 0
        )
    for press in presses:
        axes.annotate(
            format_presses(*press), (0, tops[press] + 0.62),
            xycoords=("axes fraction", "data"), xytext=(-4, 0), textcoords="offset points",
            ha="right", va="center", color=drawing.SOFT,
        )  # fmt: skip
    axes.axvline(0, color=drawing.SOFT, linewidth=1)
    axes.set_yticks(list(places.values()), [study.labels[name] for _, name in places])
    axes.set_ylim(-0.7, max(places.values()) + 1.1)
    for tick in axes.get_yticklabels():
        tick.set_color(drawing.INK)
    axes.set_xlabel(f"gain in {_TITLE}")
    axes.locator_params(axis="x", nbins=5)
    drawing.simplify(axes, grid="x")
    drawing.legend_below(figure, _scale_marks(scales), columns=2)
    return drawing.picture(
        figure,
        name=f"{study.key}-gain",
        title="The effect of presses",
        caption=f"Change of {_TITLE} when each user presses, against the same model without "
        "presses; 95 % intervals of the paired bootstrap.",
        alt=f"Gain in {_TITLE} by presses. {_description(study, gains)}",
    )


def _press(scenario: Scenario) -> Press:
    return scenario.n_tags, scenario.strength, scenario.among


def _gains(study: ReportedStudy) -> list[tuple[ModelResult, Scenario, Difference]]:
    found = [
        (model, scenario, study.results.simulation(model.name, scenario))
        for scenario in one_step([study])
        for model in study.models
    ]
    return [
        (model, scenario, gain)
        for model, scenario, result in found
        if result is not None and (gain := result.gain_in(TARGET)) is not None
    ]


def _description(
    study: ReportedStudy, gains: Sequence[tuple[ModelResult, Scenario, Difference]]
) -> str:
    lines: dict[str, list[str]] = {}
    for model, scenario, gain in gains:
        presses = format_presses(*_press(scenario))
        text = f"{format_signed(gain.mean, 3)} on the {scenario.scale} scale"
        lines.setdefault(f"{study.labels[model.name]}, {presses}", []).append(text)
    return " ".join(f"{head}: {', '.join(texts)}." for head, texts in lines.items())


def _scale_marks(scales: Sequence[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    names = {"robust": "robust scale (default)", "paper": "the paper's scale"}
    return [
        Line2D(
            [], [], color=drawing.INK, marker="o", linestyle="none",
            markerfacecolor=drawing.GROUND if order else drawing.INK, label=names.get(scale, scale),
        )
        for order, scale in enumerate(scales)
    ]  # fmt: skip
