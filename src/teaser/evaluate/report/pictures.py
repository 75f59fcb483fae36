"""The pictures of a report: one style, colours that follow the page, SVG to stand in a page."""

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from teaser.errors import MissingPackageError
from teaser.evaluate.metrics import METRIC_TITLES, PairedDifference, Summary
from teaser.evaluate.report.tables import (
    METRICS,
    ReportedStudy,
    format_parameter,
    format_percent,
    format_presses,
    format_signed,
    format_value,
    one_step,
)
from teaser.evaluate.study.results import (
    TARGET,
    DialResults,
    DialSetting,
    GridTrial,
    ModelResult,
    Scenario,
    find_value,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# matplotlib writes colours as fixed numbers. These stand for names while it draws; in the svg
# they become variables that the page sets for a light or a dark ground.
INK, SOFT, LINE, GROUND = "#010203", "#020304", "#030405", "#040506"
_SERIES = {f"#0a0b{n:02x}": f"series-{n}" for n in range(8)}
_VARIABLES = {INK: "ink", SOFT: "soft", LINE: "line", GROUND: "ground"} | _SERIES
SERIES = tuple(_SERIES)

# Light and dark; distinct with every common kind of colour blindness (after Okabe and Ito,
# darkened or lightened to stand out from the ground).
PALETTE: Mapping[str, tuple[str, str]] = {
    "ink": ("#18202c", "#e9edf2"),
    "soft": ("#565f6d", "#a7b1be"),
    "line": ("#dcd9cf", "#323c49"),
    "ground": ("#ffffff", "#191f27"),
    "series-0": ("#c94f00", "#f58b3f"),
    "series-1": ("#0069a8", "#56b4e9"),
    "series-2": ("#007a59", "#2fc398"),
    "series-3": ("#a8447c", "#e796bf"),
    "series-4": ("#4d7fb8", "#9cc9f0"),
    "series-5": ("#7d6a00", "#e0cb3c"),
    "series-6": ("#18202c", "#e9edf2"),
    "series-7": ("#6b7280", "#98a2af"),
}

# A kind keeps its colour in every picture; lines of baselines are dashed, so that the two groups
# differ without colour too.
_LINES: Mapping[str, tuple[int, Any]] = {
    "Teaser": (0, "-"),
    "Product": (3, "-"),
    "WMFS": (2, "-"),
    "EASE": (1, "--"),
    "NeighbourEASE": (1, (0, (3, 1, 1, 1))),
    "EDLAE": (4, (0, (5, 1.5, 1, 1.5))),
    "ItemKNN": (5, (0, (2, 1.5))),
    "WMF": (6, (0, (7, 2))),
    "Popularity": (7, ":"),
}

_STYLE: Any = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "axes.titlecolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "text.color": INK,
    "xtick.color": LINE,
    "xtick.labelcolor": SOFT,
    "ytick.color": LINE,
    "ytick.labelcolor": SOFT,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
}
# Half of a 95 % interval, in standard errors.
_INTERVAL = 1.96
_TITLE = METRIC_TITLES[TARGET]


@dataclass(frozen=True)
class Picture:
    """A drawing with its text alternative.

    Attributes
    ----------
    svg
        One `svg` element; its colours are variables named as in `PALETTE`, with `--` before.
    alt
        What it shows, with the figures that matter.
    """

    name: str
    title: str
    caption: str
    alt: str
    svg: str

    def standalone(self) -> str:
        """Return an SVG file with its own colours, for light and dark."""
        style = f"<style>{colour_rules()}</style>"
        return re.sub(r"(<svg[^>]*>)", lambda m: m[1] + style, self.svg, count=1) + "\n"


def draw_pictures(study: ReportedStudy) -> list[Picture]:
    """Return the pictures for which the study has figures."""
    draw = (draw_accuracy, draw_parts, draw_gain, draw_tail, draw_by_tags, draw_surface)
    drawn = [each(study) for each in draw]
    drawn.append(None if study.dial is None else draw_dial(study.dial))
    drawn.append(draw_convergence(study))
    return [each for each in drawn if each is not None]


def colour_rules() -> str:
    """Return the style rules that give the colours of pictures their values."""
    light = "".join(f"--{name}:{pair[0]};" for name, pair in PALETTE.items())
    dark = "".join(f"--{name}:{pair[1]};" for name, pair in PALETTE.items())
    return f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"


@contextmanager
def new_figure(name: str, height: float) -> Iterator["Figure"]:
    """Yield an empty figure in the style of the reports; matplotlib's settings come back."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackageError("A report", "matplotlib", extra="evaluate") from error
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        yield Figure(figsize=(5.0, height), layout="constrained")


def finish(figure: "Figure", *, name: str, title: str, caption: str, alt: str) -> Picture:
    """Return a figure as a picture for a page."""
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return Picture(name, title, caption, alt, _inline(written.getvalue(), name, alt))


def draw_accuracy(study: ReportedStudy) -> Picture:
    """Draw the accuracy of every model, with 95 % intervals."""
    models = study.models[::-1]
    name = f"{study.key}-accuracy"
    found = [(value.mean, m) for m in study.models if (value := m.value(TARGET)) is not None]
    ranked = sorted(found, key=lambda pair: -pair[0])
    ranking = "; ".join(f"{study.labels[m.name]} {format_value(value)}" for value, m in ranked)
    with new_figure(name, 0.9 + 0.27 * len(models)) as figure:
        panels = figure.subplots(1, len(METRICS), sharey=True, gridspec_kw={"wspace": 0.12})
        for axes, metric in zip(panels, METRICS, strict=True):
            for place, model in enumerate(models):
                if (value := model.value(metric)) is not None:
                    half = _half_interval(value)
                    _error_dot(axes, value.mean, place, (half, half), _line_style(model.kind)[0])
            axes.set_title(METRIC_TITLES[metric])
            axes.locator_params(axis="x", nbins=3, prune="both")
            axes.margins(x=0.12)
            _simplify(axes, grid="x")
        panels[0].set_ylim(-0.6, len(models) - 0.4)
        _name_rows(panels[0], range(len(models)), [study.labels[m.name] for m in models])
        return finish(
            figure,
            name=name,
            title="Accuracy by model",
            caption="Mean over the test users with 95 % intervals of each model alone. The marks "
            "in the table compare models user by user, which finds smaller differences.",
            alt=f"{_TITLE} of {len(models)} models: {ranking}.",
        )


# Parts of scores as they are stacked, with their names and colours: tags first, so that they can
# be compared.
_PARTS = {
    "declared": ("declared tags", 0),
    "discovered": ("discovered tags", 3),
    "viewed": ("viewed items", 1),
    "popularity": ("popularity", 5),
    "general": ("general appeal", 7),
}


def draw_parts(study: ReportedStudy) -> Picture | None:
    """Draw the share of each part in the scores of recommended items, a bar for each model."""
    models = [model for model in study.models if model.shares][::-1]
    if not models:
        return None
    name = f"{study.key}-parts"
    with new_figure(name, 1.1 + 0.3 * len(models)) as figure:
        axes = figure.subplots()
        ends = [0.0] * len(models)
        handles = []
        for part, (label, number) in _PARTS.items():
            widths = [100 * model.shares.get(part, 0.0) for model in models]
            if not any(widths):
                continue
            handles.append(
                axes.barh(range(len(models)), widths, left=ends, height=0.62,
                    color=SERIES[number], edgecolor=GROUND, linewidth=0.8, label=label)
            )  # fmt: skip
            ends = [end + width for end, width in zip(ends, widths, strict=True)]
        _name_rows(axes, range(len(models)), [study.labels[m.name] for m in models])
        axes.set(xlim=(0, 100), xlabel="share of the scores of the first 20 items, %")
        _simplify(axes, grid="x")
        _legend_below(figure, handles, columns=3)
        return finish(
            figure,
            name=name,
            title="Where scores come from",
            caption="Mean share of each part of a score, over the first 20 recommendations of all "
            "test users. General appeal is the same for everybody and no reason of anybody's own.",
            alt=" ".join(f"{study.labels[m.name]}: {_shares_text(m)}." for m in models[::-1]),
        )


def _shares_text(model: ModelResult) -> str:
    shares = ((name, model.shares.get(part, 0.0)) for part, (name, _) in _PARTS.items())
    return ", ".join(f"{name} {format_percent(share)}" for name, share in shares if share >= 0.005)


def draw_gain(study: ReportedStudy) -> Picture | None:
    """Draw how much presses raise accuracy, by model, on both scales."""
    gains = _gains(study)
    if not gains:
        return None
    scales = list(dict.fromkeys(scenario.scale for _, scenario, _ in gains))
    rows: dict[str, dict[str, int]] = {}  # the place of each model, by presses
    place = 0
    for presses in list(dict.fromkeys(_presses(s) for _, s, _ in gains))[::-1]:
        pressed = {model.name for model, s, _ in gains if _presses(s) == presses}
        names = [model.name for model in study.models[::-1] if model.name in pressed]
        rows[presses] = {name: place + i for i, name in enumerate(names)}
        place += len(names) + 1
    name = f"{study.key}-gain"
    with new_figure(name, 1.0 + 0.25 * place - 0.05 * len(rows)) as figure:
        axes = figure.subplots()
        for model, scenario, gain in gains:
            order = scales.index(scenario.scale)
            y = rows[_presses(scenario)][model.name] - 0.22 * order
            error = gain.mean - gain.low, gain.high - gain.mean
            _error_dot(axes, gain.mean, y, error, _line_style(model.kind)[0], full=order == 0)
        for presses, places in rows.items():
            axes.annotate(
                presses, (0, max(places.values()) + 0.62), xycoords=("axes fraction", "data"),
                xytext=(-4, 0), textcoords="offset points", ha="right", va="center", color=SOFT,
            )  # fmt: skip
        axes.axvline(0, color=SOFT, linewidth=1)
        named = [(y, study.labels[n]) for places in rows.values() for n, y in places.items()]
        _name_rows(axes, [y for y, _ in named], [label for _, label in named])
        axes.set_ylim(-0.7, place - 0.9)
        axes.set_xlabel(f"gain in {_TITLE}")
        axes.locator_params(axis="x", nbins=5)
        _simplify(axes, grid="x")
        _legend_below(figure, _scale_marks(scales), columns=2)
        return finish(
            figure,
            name=name,
            title="The effect of presses",
            caption=f"Change of {_TITLE} when each user presses, against the same model without "
            "presses; 95 % intervals of the paired bootstrap.",
            alt=f"Gain in {_TITLE} by presses. {_gains_text(study, gains)}",
        )


def _presses(scenario: Scenario) -> str:
    return format_presses(scenario.n_tags, scenario.strength, scenario.among)


def _gains(study: ReportedStudy) -> list[tuple[ModelResult, Scenario, PairedDifference]]:
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


def _gains_text(
    study: ReportedStudy, gains: Sequence[tuple[ModelResult, Scenario, PairedDifference]]
) -> str:
    lines: dict[str, list[str]] = {}
    for model, scenario, gain in gains:
        text = f"{format_signed(gain.mean, 3)} on the {scenario.scale} scale"
        lines.setdefault(f"{study.labels[model.name]}, {_presses(scenario)}", []).append(text)
    return " ".join(f"{head}: {', '.join(texts)}." for head, texts in lines.items())


def _scale_marks(scales: Sequence[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    names = {"robust": "robust scale (default)", "paper": "the paper's scale"}
    return [
        Line2D(
            [], [], color=INK, marker="o", linestyle="none",
            markerfacecolor=GROUND if order else INK, label=names.get(scale, scale),
        )
        for order, scale in enumerate(scales)
    ]  # fmt: skip


def draw_tail(study: ReportedStudy) -> Picture | None:
    """Draw which share of recommendations goes to the most popular items."""
    results = study.results
    # The first model of a kind and the one recommended; others look alike.
    models = [
        m
        for m in study.models
        if m.popularity_curve and (m is results.first(m.kind) or m is results.recommended)
    ]
    if not models:
        return None
    name = f"{study.key}-tail"
    with new_figure(name, 3.9) as figure:
        axes = figure.subplots()
        lines = []
        end = 0.0
        for model in models:
            curve = model.popularity_curve
            shares = [100 * place / (len(curve) - 1) for place in range(len(curve))]
            full = (x for x, y in zip(shares, curve, strict=True) if y >= 0.995 or y == curve[-1])
            end = max(end, next(full))
            colour, dash = _line_style(model.kind)
            lines += axes.plot(
                shares, [100 * y for y in curve], color=colour, linestyle=dash,
                label=study.labels[model.name],
                linewidth=3.2 if model is results.recommended else None,
            )  # fmt: skip
        lines += axes.plot([0, end], [0, end], color=SOFT, linewidth=0.9, label="all items equally")
        axes.set(xlim=(0, end), ylim=(0, 102))
        axes.set_xlabel("most popular items, % of all items")
        axes.set_ylabel("% of recommendations")
        _simplify(axes)
        _legend_below(figure, lines, columns=3)
        tenths = "; ".join(
            f"{study.labels[m.name]} {100 * c[round(0.1 * (len(c) - 1))]:.0f} %"
            for m in models
            if (c := m.popularity_curve)
        )
        return finish(
            figure,
            name=name,
            title="The long tail",
            caption="Share of all recommendations (the first 20 of each user) that the most "
            "popular items take. The nearer to the thin line, the more items are shown.",
            alt="Share of recommendations that go to the most popular tenth of the items: "
            f"{tenths}.",
        )


def draw_by_tags(study: ReportedStudy) -> Picture | None:
    """Draw accuracy against the number of tags, for the first Teaser."""
    model, results = study.results.first("Teaser"), study.results
    whole = None if model is None else model.value(TARGET)
    points = [(cut.n_tags, v) for cut in results.by_tags if (v := find_value(cut.metrics, TARGET))]
    if model is None or whole is None or not points:
        return None
    points = sorted([*points, (results.data.tags, whole)], key=lambda point: point[0])
    places, label = [n for n, _ in points], study.labels[model.name]
    name, colour = f"{study.key}-tags", _line_style(model.kind)[0]
    with new_figure(name, 3.2) as figure:
        axes = figure.subplots()
        means = [found.mean for _, found in points]
        lines = axes.plot(places, means, color=colour, marker="o", label=label)
        for n, found in points:
            axes.errorbar(n, found.mean, yerr=_half_interval(found), color=colour, elinewidth=1.2)
        ease = results.first("EASE")
        if ease is not None and (reached := ease.value(TARGET)) is not None:
            line, dash = _line_style(ease.kind)
            lines.append(
                axes.axhline(reached.mean, color=line, linestyle=dash, linewidth=1.2,
                    label=f"{study.labels[ease.name]}, which uses no tags")
            )  # fmt: skip
        _legend_below(figure, lines, columns=2)
        axes.set_xscale("log")
        ticks: list[int] = []
        for place in sorted(set(places), reverse=True):
            if not ticks or place < ticks[-1] / 1.35:
                ticks.append(place)
        axes.set_xticks(ticks, [f"{place:,}" for place in ticks])
        axes.minorticks_off()
        axes.set_xlabel("number of tags")
        axes.set_ylabel(_TITLE)
        _simplify(axes)
        values = ", ".join(f"{found.mean:.3f} with {n:,} tags" for n, found in points)
        return finish(
            figure,
            name=name,
            title="Accuracy against the number of tags",
            caption=f"{label} fitted again with only the tags that enough items carry, at the "
            "parameters chosen for all tags; 95 % intervals.",
            alt=f"{_TITLE} of {label}: {values}.",
        )


def draw_surface(study: ReportedStudy) -> Picture | None:
    """Draw the trials of the first Teaser: a heat map of two parameters, or a line of one."""
    model = study.results.first("Teaser")
    trials = [t for t in model.trials if not math.isnan(t.value)] if model else []
    names = trials[0].parameters if trials else {}
    varied = [name for name in names if len({str(t.parameters.get(name)) for t in trials}) > 1]
    if model is None or not varied:
        return None
    metric = METRIC_TITLES.get(study.results.search.metric, study.results.search.metric)
    across, up = (varied[0], None) if len(varied) == 1 else (varied[1], varied[0])
    columns, rows = _values(trials, across), _values(trials, up)
    best: dict[tuple[Any, Any], float] = {}
    for trial in trials:
        key = (None if up is None else trial.parameters[up], trial.parameters[across])
        best[key] = max(trial.value, best.get(key, trial.value))
    name = f"{study.key}-surface"
    with new_figure(name, 3.0 if up is None else 1.3 + 0.42 * len(rows)) as figure:
        axes = figure.subplots()
        if up is None:
            values = [best[None, x] for x in columns]
            axes.plot(range(len(values)), values, color=SERIES[0], marker="o", markersize=4)
            top = max(range(len(values)), key=lambda place: values[place])
            axes.plot(top, values[top], marker="s", markersize=11, markerfacecolor="none",
                markeredgecolor=INK, linestyle="none")  # fmt: skip
            axes.set_ylabel(f"validation {metric}")
        else:
            _draw_cells(axes, best, rows, columns)
            axes.set_yticks(range(len(rows)), [format_parameter(y) for y in rows])
            axes.set_ylabel(up)
        axes.set_xticks(range(len(columns)), [format_parameter(x) for x in columns])
        axes.set_xlabel(across)
        _simplify(axes, grid="y" if up is None else None)
        first = max(trials, key=lambda trial: trial.value)
        chosen = ", ".join(f"{n} = {format_parameter(first.parameters[n])}" for n in varied)
        more = f" Of {', '.join(varied[2:])} the best value is shown." if len(varied) > 2 else ""
        return finish(
            figure,
            name=name,
            title=f"The grid search for {study.labels[model.name]}",
            caption=f"{metric} on the validation users by cell; the chosen one is framed.{more}",
            alt=f"{len(trials)} cells from {min(t.value for t in trials):.3f} to "
            f"{first.value:.3f}; the best is {chosen}.",
        )


def _values(trials: Sequence[GridTrial], name: str | None) -> list[Any]:
    if name is None:
        return [None]
    found = {trial.parameters[name] for trial in trials}
    return sorted(found, key=lambda value: (isinstance(value, str), value))


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
        colour = colormaps["cividis"]((value - low) / (high - low) if high > low else 1.0)
        axes.add_patch(Rectangle((j - 0.48, i - 0.48), 0.96, 0.96, color=colour, linewidth=0))
        brightness = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]
        text = "#ffffff" if brightness < 0.4 else "#000000"
        axes.text(j, i, f"{value:.4f}", ha="center", va="center", color=text)
    j, i = places[max(best, key=lambda key: best[key])]
    axes.add_patch(Rectangle((j - 0.48, i - 0.48), 0.96, 0.96, fill=False, edgecolor=INK, lw=2.2))
    axes.set(xlim=(-0.55, len(columns) - 0.45), ylim=(-0.55, len(rows) - 0.45))
    for spine in axes.spines.values():
        spine.set_visible(False)


# The marks and names of the kinds of settings of a dial.
_SETTINGS = {
    "EASE": (1, "s", "EASE"),
    "NeighbourEASE": (4, "D", "EASE on neighbours"),
    "remainder": (0, "o", "tags and viewed items"),
    "TEASER": (2, "^", "tags alone"),
}


def draw_dial(dial: DialResults) -> Picture:
    """Draw the settings of a dial, and a ring around the recommended one."""
    settings, chosen = dial.settings, dial.recommended
    metric, name = METRIC_TITLES.get(dial.metric, dial.metric), f"{dial.key}-dial"
    square = "" if dial.at_ease is None else (
        " The square is around the one with most from tags, "
        f"{100 * dial.at_ease.tag_share:.0f} %, at EASE's accuracy or better."
    )  # fmt: skip
    given = ", ".join(f"{key} = {value:g}" for key, value in chosen.parameters.items())
    with new_figure(name, 3.9) as figure:
        axes = figure.subplots()
        handles = []
        for kind, (number, marker, label) in _SETTINGS.items():
            some = [(100 * s.tag_share, s.value) for s in settings if s.kind == kind]
            if some:
                handles += axes.plot(*zip(*some, strict=True), color=SERIES[number], marker=marker,
                    markersize=5, linestyle="none", label=label)  # fmt: skip
        edge = frontier(settings)
        axes.plot([100 * s.tag_share for s in edge], [s.value for s in edge], color=SERIES[0],
            linewidth=1.2)  # fmt: skip
        least = (1 - dial.within) * max(s.value for s in settings)
        axes.axhline(least, color=SOFT, linewidth=0.9, linestyle=":")
        if dial.ease is not None:
            handles.append(axes.axhline(dial.ease, color=SERIES[1], linewidth=1.2,
                linestyle="--", label="EASE's accuracy"))  # fmt: skip
        for setting, marker in ((chosen, "o"), (dial.at_ease, "s")):
            if setting is not None:
                axes.plot(100 * setting.tag_share, setting.value, marker=marker, markersize=13,
                    markerfacecolor="none", markeredgecolor=INK, linestyle="none")  # fmt: skip
        axes.set(xlim=(-4, 104))
        axes.set_xlabel(f"share of the first {dial.shown} items' scores from tags, %")
        axes.set_ylabel(f"validation {metric}")
        _simplify(axes)
        _legend_below(figure, handles, columns=2)
        return finish(
            figure,
            name=name,
            title="The dial between tags and viewed items",
            caption=f"Each mark is a fit, measured on {dial.users:,} validation users; the line "
            "joins the settings that no other beats in both. Dotted: "
            f"{100 * dial.within:g} % below the best. The ring is around the setting recommended: "
            f"{given}.{square} Tags are declared and discovered ones; general appeal is not "
            "counted.",
            alt=f"{metric} from {_highest(settings, 'EASE')} for EASE without tags to "
            f"{_highest(settings, 'TEASER')} for "
            f"TEASER by tags alone; recommended is {chosen.value:.3f} with "
            f"{100 * chosen.tag_share:.0f} % from tags.",
        )


def _highest(settings: Sequence[DialSetting], kind: str) -> str:
    values = [setting.value for setting in settings if setting.kind == kind]
    return f"at most {max(values):.3f}" if values else "nothing"


def frontier(settings: Sequence[DialSetting]) -> list[DialSetting]:
    """Return the settings that no other beats in both value and tag share, by tag share."""
    out: list[DialSetting] = []
    for setting in sorted(settings, key=lambda s: (-s.tag_share, -s.value)):
        if not out or setting.value > out[-1].value:
            out.append(setting)
    return out[::-1]


def draw_convergence(study: ReportedStudy) -> Picture | None:
    """Draw the residual of each solver by iteration and by second."""
    names = {"cg": "conjugate gradients", "admm": "the paper's ADMM"}
    runs = {names.get(r.solver, r.solver): r for r in study.results.convergence if r.residuals}
    if not runs:
        return None
    name = f"{study.key}-convergence"
    with new_figure(name, 2.9) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        lines = []
        for place, (label, run) in enumerate(runs.items()):
            dash = ("-", "--", "-.", ":")[place % 4]
            look = {"color": SERIES[place], "linestyle": dash, "marker": "o", "markersize": 3}
            count = range(1, len(run.residuals) + 1)
            lines += left.plot(count, run.residuals, label=label, **look)
            right.plot(run.seconds, run.residuals, **look)
        left.set_yscale("log")
        left.set_xlabel("iteration")
        right.set_xlabel("seconds")
        left.set_ylabel("relative residual")
        for axes in (left, right):
            axes.set_xlim(left=0)
            axes.locator_params(axis="x", nbins=5, integer=axes is left)
            axes.minorticks_off()
            _simplify(axes)
        _legend_below(figure, lines, columns=2)
        ends = "; ".join(
            f"{label} reaches {run.residuals[-1]:.1g} after {len(run.residuals)} iterations and "
            f"{run.seconds[-1]:.2g} seconds"
            for label, run in runs.items()
        )
        return finish(
            figure,
            name=name,
            title="Convergence",
            caption="Residual of the equation while the chosen TEASER is fitted, relative to its "
            "right-hand side. Seconds count from the start of the fit, preparation included.",
            alt=f"Convergence: {ends}.",
        )


def _simplify(axes: "Axes", *, grid: Literal["both", "x", "y"] | None = "both") -> None:
    """Remove the ticks, and the grid lines but those across one axis or both."""
    axes.tick_params(length=0)
    axes.grid(visible=False)
    if grid is not None:
        axes.grid(visible=True, axis=grid)


def _name_rows(axes: "Axes", places: Sequence[int], names: Sequence[str]) -> None:
    axes.set_yticks(places, names)
    for text in axes.get_yticklabels():
        text.set_color(INK)


def _line_style(kind: str) -> tuple[str, Any]:
    """Return colour and dash of a kind of model."""
    place, dash = _LINES.get(kind, (7, "-."))
    return SERIES[place], dash


def _error_dot(
    axes: "Axes", x: float, y: float, error: tuple[float, float], colour: str, *, full: bool = True
) -> None:
    """Draw a dot with the interval from x - error[0] to x + error[1]."""
    axes.errorbar(
        x, y, xerr=[[error[0]], [error[1]]], color=colour, marker="o", markersize=5.5,
        markerfacecolor=colour if full else GROUND, elinewidth=1.4,
    )  # fmt: skip


def _legend_below(figure: "Figure", handles: Any, *, columns: int) -> None:
    figure.legend(handles=handles, loc="outside lower left", ncols=columns, handlelength=2.4)


def _half_interval(found: Summary) -> float:
    return 0.0 if math.isnan(found.error) else _INTERVAL * found.error


def _inline(svg: str, name: str, alt: str) -> str:
    """Return the svg element alone, with variables for colours and names of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", svg, count=1, flags=re.S)
    svg = re.sub(r"\bid=\"", f'id="{name}-', svg)
    svg = re.sub(r"(href=\"#|url\(#)", rf"\g<1>{name}-", svg)
    svg = re.sub(r"'DejaVu Sans'(, sans-serif)?", "system-ui, sans-serif", svg)
    for number, variable in _VARIABLES.items():
        svg = svg.replace(number, f"var(--{variable})")
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    width = f"{float(size[1]):.0f}" if size else "400"
    head = f'<svg role="img" aria-label="{escape(alt)}" style="max-width:{width}pt"'
    root = svg[: svg.index(">")]
    kept = re.sub(r'\s(width|height)="[^"]*"', "", root.removeprefix("<svg"))
    return (head + kept + svg[len(root) :]).strip()
