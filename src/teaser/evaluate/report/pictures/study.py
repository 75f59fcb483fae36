"""The pictures of a report, each drawn from the results of one study."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from teaser.evaluate.report.paper import METRICS
from teaser.evaluate.report.pictures.dial import draw_dial
from teaser.evaluate.report.pictures.drawing import (
    GROUND,
    INK,
    SERIES,
    SOFT,
    Picture,
    bare,
    legend_below,
    new_figure,
    picture,
    style,
)
from teaser.evaluate.report.pictures.surface import draw_surface
from teaser.evaluate.report.results import Results, Scenario, signed, summary
from teaser.evaluate.report.table import HEADS, printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TARGET = "ndcg@100"
_INTERVAL = 1.96
_FULL = 0.995

# A kind keeps its colour in every picture; lines of baselines are broken, so that nobody needs
# the colour to tell the two groups apart.
_LOOKS: Mapping[str, tuple[int, Any]] = {
    "Teaser": (0, "-"),
    "Product": (3, "-"),
    "WMFS": (2, "-"),
    "EASE": (1, "--"),
    "EDLAE": (4, (0, (5, 1.5, 1, 1.5))),
    "ItemKNN": (5, (0, (2, 1.5))),
    "WMF": (6, (0, (7, 2))),
    "Popularity": (7, ":"),
}
_NAMES = {"cg": "conjugate gradients", "admm": "the paper's ADMM"}


def draw_pictures(study: Results) -> list[Picture]:
    """Return the pictures for which the study has figures."""
    made: list[Picture] = []
    for draw in (
        draw_accuracy,
        draw_gain,
        draw_tail,
        draw_by_tags,
        draw_surface,
        draw_dial,
        draw_convergence,
    ):
        with style(f"{study.key}-{draw.__name__}"):
            found = draw(study)
        if found is not None:
            made.append(found)
    return made


def draw_accuracy(study: Results) -> Picture | None:
    """Draw what every model reached, with 95 % intervals."""
    models = study.models[::-1]
    figure = new_figure(0.9 + 0.27 * len(models))
    panels = figure.subplots(1, len(METRICS), sharey=True, gridspec_kw={"wspace": 0.12})
    for axes, metric in zip(panels, METRICS, strict=True):
        for place, model in enumerate(models):
            found = study.value(model, metric)
            if found is not None:
                error = 0 if found.error != found.error else _INTERVAL * found.error
                _dot(axes, found.mean, place, (error, error), looks(model)[0])
        axes.set_title(HEADS[metric])
        axes.locator_params(axis="x", nbins=3, prune="both")
        axes.margins(x=0.12)
        bare(axes, grid="x")
    panels[0].set_yticks(range(len(models)), [study.labels[m["name"]] for m in models])
    panels[0].set_ylim(-0.6, len(models) - 0.4)
    for text in panels[0].get_yticklabels():
        text.set_color(INK)
    return picture(
        figure,
        name=f"{study.key}-accuracy",
        title="Accuracy by model",
        caption="Mean over the test people with 95 % intervals. The intervals are of one model "
        "each; differences between models are told apart more finely, person by person, by the "
        "marks in the table.",
        alt=f"{HEADS[TARGET]} of {len(models)} models: {_ranking(study)}.",
    )


def draw_tail(study: Results) -> Picture | None:
    """Draw which share of recommendations goes to the most popular items."""
    models = [m for m in study.models if m.get("popularity_curve")]
    if not models:
        return None
    figure = new_figure(3.9)
    axes = figure.subplots()
    lines = []
    for model in models:
        curve = model["popularity_curve"]
        colour, dash = looks(model)
        label = study.labels[model["name"]]
        lines += axes.plot(
            _shares(curve), [100 * y for y in curve], color=colour, linestyle=dash, label=label
        )
    end = max(_filled(m["popularity_curve"]) for m in models)
    lines += axes.plot([0, end], [0, end], color=SOFT, linewidth=0.9, label="all items alike")
    axes.set(xlim=(0, end), ylim=(0, 102))
    axes.set_xlabel("most popular items, % of the catalogue")
    axes.set_ylabel("% of recommendations")
    bare(axes)
    legend_below(figure, lines, columns=3)
    told = "; ".join(
        f"{study.labels[m['name']]} {100 * _at(m['popularity_curve'], 0.1):.0f} %" for m in models
    )
    return picture(
        figure,
        name=f"{study.key}-tail",
        title="The long tail",
        caption="Share of all recommendations (the first 20 of each person) that the most popular "
        "items take. The nearer to the thin line, the more of the catalogue is shown.",
        alt=f"Share of recommendations that go to the most popular tenth of the items: {told}.",
    )


def draw_by_tags(study: Results) -> Picture | None:
    """Draw accuracy against the number of tags, for the first Teaser."""
    model = study.of_kind("Teaser")
    if model is None:
        return None
    points = [
        (each["n_tags"], found)
        for each in study.content["by_tags"]
        if (found := summary(each["metrics"].get(TARGET))) is not None
    ]
    whole = study.value(model, TARGET)
    if not points or whole is None:
        return None
    points = sorted([*points, (study.content["data"]["tags"], whole)], key=lambda point: point[0])
    figure = new_figure(3.2)
    axes = figure.subplots()
    places = [n for n, _ in points]
    colour = looks(model)[0]
    label = study.labels[model["name"]]
    lines = axes.plot(
        places, [found.mean for _, found in points], color=colour, marker="o", label=label
    )
    for n, found in points:
        error = 0 if found.error != found.error else _INTERVAL * found.error
        axes.errorbar(n, found.mean, yerr=error, color=colour, elinewidth=1.2)
    legend_below(figure, [*lines, *_reference_line(axes, study)], columns=2)
    _count_axis(axes, places)
    axes.set_xlabel("number of tags")
    axes.set_ylabel(HEADS[TARGET])
    bare(axes)
    told = ", ".join(f"{found.mean:.3f} with {n:,} tags" for n, found in points)
    return picture(
        figure,
        name=f"{study.key}-tags",
        title="Accuracy against the number of tags",
        caption=f"{label} fitted again with only the tags that enough items "
        "carry, at the parameters chosen for all tags; 95 % intervals.",
        alt=f"{HEADS[TARGET]} of {label}: {told}.",
    )


def draw_gain(study: Results) -> Picture | None:
    """Draw how much presses raise accuracy, by model, on both scales."""
    shown = _scenarios_shown(study)
    rows = [
        (n_tags, strength, model)
        for n_tags, strength in dict.fromkeys((s.n_tags, s.strength) for s in shown)
        for model in study.models
        if any(study.pressed(model["name"], s) for s in shown)
    ][::-1]
    if not rows:
        return None
    scales = list(dict.fromkeys(s.scale for s in shown))
    groups = len({row[:2] for row in rows})
    figure = new_figure(1.2 + 0.25 * len(rows) + 0.2 * groups)
    axes = figure.subplots()
    told, places, labels, place = [], [], [], 0.0
    for index, (n_tags, strength, model) in enumerate(rows):
        places.append(place)
        labels.append(study.labels[model["name"]])
        told.append(_draw_gains(axes, study, place, model, n_tags, strength, shown, scales))
        last = index + 1 == len(rows) or rows[index + 1][:2] != (n_tags, strength)
        if last:
            text = Scenario(n_tags, strength, "", 0).text
            axes.annotate(
                text, (0, place + 0.62), xycoords=("axes fraction", "data"),
                xytext=(-4, 0), textcoords="offset points", ha="right", va="center", color=SOFT,
            )  # fmt: skip
        place += 2.0 if last else 1.0
    axes.axvline(0, color=SOFT, linewidth=1)
    axes.set_yticks(places, labels)
    axes.set_ylim(-0.7, places[-1] + 1.1)
    for tick in axes.get_yticklabels():
        tick.set_color(INK)
    axes.set_xlabel(f"gain in {HEADS[TARGET]}")
    axes.locator_params(axis="x", nbins=5)
    bare(axes, grid="x")
    legend_below(figure, _scale_marks(scales), columns=2)
    return picture(
        figure,
        name=f"{study.key}-gain",
        title="What presses do",
        caption=f"Change of {HEADS[TARGET]} when each person presses, against the same model "
        "without presses; 95 % intervals of the paired bootstrap.",
        alt=f"Gain in {HEADS[TARGET]} by presses. {' '.join(t for t in reversed(told) if t)}",
    )


def draw_convergence(study: Results) -> Picture | None:
    """Draw the residual of each solver by iteration and by second."""
    runs = [run for run in study.content["convergence"] if run["residuals"]]
    if not runs:
        return None
    figure = new_figure(2.9)
    left, right = figure.subplots(1, 2, sharey=True)
    lines = []
    for run, place, dash in zip(runs, (0, 1, 2, 3), ("-", "--", "-.", ":"), strict=False):
        name = _NAMES.get(run["solver"], run["solver"])
        count = range(1, len(run["residuals"]) + 1)
        look = {"color": SERIES[place], "linestyle": dash, "marker": "o", "markersize": 3}
        lines += left.plot(count, run["residuals"], label=name, **look)
        right.plot(run["seconds"], run["residuals"], **look)
    left.set_yscale("log")
    left.set_xlabel("iteration")
    right.set_xlabel("seconds")
    left.set_ylabel("relative residual")
    for axes in (left, right):
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", nbins=5, integer=axes is left)
        axes.minorticks_off()
        bare(axes)
    legend_below(figure, lines, columns=2)
    told = "; ".join(
        f"{_NAMES.get(run['solver'], run['solver'])} reaches {run['residuals'][-1]:.1g} after "
        f"{len(run['residuals'])} iterations and {run['seconds'][-1]:.2g} seconds"
        for run in runs
    )
    return picture(
        figure,
        name=f"{study.key}-convergence",
        title="Convergence",
        caption="What is left of the same equation while the chosen TEASER is fitted, relative to "
        "its right-hand side. Seconds count from the start of the fit, preparations included.",
        alt=f"Convergence: {told}.",
    )


def looks(model: Mapping[str, Any]) -> tuple[str, Any]:
    """Return colour and dash of a model."""
    place, dash = _LOOKS.get(model["kind"], (7, "-."))
    return SERIES[place], dash


def _dot(
    axes: "Axes", x: float, y: float, error: tuple[float, float], colour: str, *, full: bool = True
) -> None:
    axes.errorbar(
        x, y, xerr=[[error[0]], [error[1]]], color=colour, marker="o", markersize=5.5,
        markerfacecolor=colour if full else GROUND, elinewidth=1.4,
    )  # fmt: skip


def _draw_gains(
    axes: "Axes",
    study: Results,
    place: float,
    model: Mapping[str, Any],
    n_tags: int,
    strength: int,
    shown: Sequence[Scenario],
    scales: Sequence[str],
) -> str:
    """Draw one line of gains; return it in words."""
    told = []
    for scenario in shown:
        found = study.pressed(model["name"], scenario)
        if (scenario.n_tags, scenario.strength) != (n_tags, strength) or found is None:
            continue
        gain = found["gain"].get(TARGET)
        if gain is None or None in (gain["mean"], gain["low"], gain["high"]):
            continue
        order = scales.index(scenario.scale)
        error = gain["mean"] - gain["low"], gain["high"] - gain["mean"]
        height = place - 0.22 * order
        _dot(axes, gain["mean"], height, error, looks(model)[0], full=order == 0)
        told.append(f"{signed(gain['mean'], 3)} on the {scenario.scale} scale")
    text = Scenario(n_tags, strength, "", 0).text
    return f"{study.labels[model['name']]}, {text}: {', '.join(told)}." if told else ""


def _scenarios_shown(study: Results) -> list[Scenario]:
    """Return the ways to press with one step each, the default one if it was run."""
    first: dict[tuple[int, int, str], Scenario] = {}
    for scenario in study.scenarios:
        first.setdefault((scenario.n_tags, scenario.strength, scenario.scale), scenario)
    return list(first.values())


def _scale_marks(scales: Sequence[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    names = {"robust": "robust scale (default)", "paper": "the paper's scale"}
    return [
        Line2D(
            [], [], color=INK, marker="o", linestyle="none",
            markerfacecolor=INK if order == 0 else GROUND, label=names.get(scale, scale),
        )
        for order, scale in enumerate(scales)
    ]  # fmt: skip


def _reference_line(axes: "Axes", study: Results) -> list[Any]:
    """Draw a level line where EASE is, which knows no tags."""
    ease = study.of_kind("EASE")
    found = None if ease is None else study.value(ease, TARGET)
    if ease is None or found is None:
        return []
    colour, dash = looks(ease)
    label = f"{study.labels[ease['name']]}, which uses no tags"
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
    """Return the share of items, in percent, with which a curve has reached the top."""
    return next(
        x for x, y in zip(_shares(curve), curve, strict=True) if y >= _FULL or y == curve[-1]
    )


def _ranking(study: Results) -> str:
    found = [(value.mean, m) for m in study.models if (value := study.value(m, TARGET)) is not None]
    found.sort(key=lambda pair: -pair[0])
    return "; ".join(f"{study.labels[m['name']]} {printed(value)}" for value, m in found)
