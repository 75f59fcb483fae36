"""The pictures of a report: one style, colours that follow the page, SVG to stand in a page."""

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from teaser.errors import MissingPackageError
from teaser.evaluate.metrics import METRIC_TITLES, PairedDifference
from teaser.evaluate.report import tables
from teaser.evaluate.study.results import (
    TARGET,
    DialResults,
    DialSetting,
    ModelResult,
    Scenario,
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

# A kind keeps its colour in every picture.
_NUMBERS = {"Teaser": 0, "EASE": 1, "NeighbourEASE": 1, "WMFS": 2, "Product": 3, "EDLAE": 4}
_COLOURS = {kind: SERIES[n] for kind, n in {**_NUMBERS, "ItemKNN": 5, "WMF": 6}.items()}
_STYLE = Path(__file__).with_name("report.mplstyle")
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


def draw_pictures(study: tables.ReportedStudy) -> list[Picture]:
    """Return the pictures for which the study has figures."""
    drawn = [draw_accuracy(study), draw_parts(study), draw_gain(study)]
    drawn.append(None if study.dial is None else draw_dial(study.dial))
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
    with mpl.rc_context({"svg.hashsalt": name}, fname=_STYLE):
        figure = Figure(figsize=(5.0, height), layout="constrained")
        figure.set_label(name)
        yield figure


def finish(figure: "Figure", *, title: str, caption: str, alt: str) -> Picture:
    """Return a figure as a picture for a page."""
    written, name = io.StringIO(), str(figure.get_label())
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return Picture(name, title, caption, alt, _inline(written.getvalue(), name, alt))


def draw_accuracy(study: tables.ReportedStudy) -> Picture:
    """Draw the accuracy of every model, with 95 % intervals."""
    models = study.models[::-1]
    found = [(value.mean, m) for m in study.models if (value := m.value(TARGET)) is not None]
    ranked = sorted(found, key=lambda pair: -pair[0])
    ranking = "; ".join(f"{m.name} {tables.format_value(value)}" for value, m in ranked)
    with new_figure(f"{study.key}-accuracy", 0.9 + 0.27 * len(models)) as figure:
        panels = figure.subplots(1, len(tables.METRICS), sharey=True, gridspec_kw={"wspace": 0.12})
        for axes, metric in zip(panels, tables.METRICS, strict=True):
            for place, model in enumerate(models):
                if (value := model.value(metric)) is not None:
                    half = 0.0 if math.isnan(value.error) else _INTERVAL * value.error
                    _error_dot(
                        axes, value.mean, place, (half, half), _COLOURS.get(model.kind, SERIES[7])
                    )
            axes.set_title(METRIC_TITLES[metric])
            axes.locator_params(axis="x", nbins=3, prune="both")
            axes.margins(x=0.12)
            _simplify(axes, grid="x")
        panels[0].set_ylim(-0.6, len(models) - 0.4)
        _name_rows(panels[0], range(len(models)), [m.name for m in models])
        return finish(
            figure,
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


def draw_parts(study: tables.ReportedStudy) -> Picture | None:
    """Draw the share of each part in the scores of recommended items, a bar for each model."""
    models = [model for model in study.models if model.shares][::-1]
    if not models:
        return None
    with new_figure(f"{study.key}-parts", 1.1 + 0.3 * len(models)) as figure:
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
        _name_rows(axes, range(len(models)), [m.name for m in models])
        axes.set(xlim=(0, 100), xlabel="share of the scores of the first 20 items, %")
        _simplify(axes, grid="x")
        figure.legend(handles=handles, loc="outside lower left", ncols=3)
        return finish(
            figure,
            title="Where scores come from",
            caption="Mean share of each part of a score, over the first 20 recommendations of all "
            "test users. General appeal is the same for everybody and no reason of anybody's own.",
            alt=" ".join(f"{m.name}: {_shares_text(m)}." for m in models[::-1]),
        )


def _shares_text(model: ModelResult) -> str:
    shares = ((name, model.shares.get(part, 0.0)) for part, (name, _) in _PARTS.items())
    return ", ".join(
        f"{name} {tables.format_percent(share)}" for name, share in shares if share >= 0.005
    )


def draw_gain(study: tables.ReportedStudy) -> Picture | None:
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
    with new_figure(f"{study.key}-gain", 1.0 + 0.25 * place - 0.05 * len(rows)) as figure:
        axes = figure.subplots()
        for model, scenario, gain in gains:
            order = scales.index(scenario.scale)
            y = rows[_presses(scenario)][model.name] - 0.22 * order
            error = gain.mean - gain.low, gain.high - gain.mean
            _error_dot(
                axes, gain.mean, y, error, _COLOURS.get(model.kind, SERIES[7]), full=order == 0
            )
        for presses, places in rows.items():
            axes.annotate(
                presses, (0, max(places.values()) + 0.62), xycoords=("axes fraction", "data"),
                xytext=(-4, 0), textcoords="offset points", ha="right", va="center", color=SOFT,
            )  # fmt: skip
        axes.axvline(0, color=SOFT, linewidth=1)
        named = [(y, n) for places in rows.values() for n, y in places.items()]
        _name_rows(axes, [y for y, _ in named], [label for _, label in named])
        axes.set_ylim(-0.7, place - 0.9)
        axes.set_xlabel(f"gain in {_TITLE}")
        axes.locator_params(axis="x", nbins=5)
        _simplify(axes, grid="x")
        figure.legend(handles=_scale_marks(scales), loc="outside lower left", ncols=2)
        return finish(
            figure,
            title="The effect of presses",
            caption=f"Change of {_TITLE} when each user presses, against the same model without "
            "presses; 95 % intervals of the paired bootstrap.",
            alt=f"Gain in {_TITLE} by presses. {_gains_text(gains)}",
        )


def _presses(scenario: Scenario) -> str:
    return tables.format_presses(scenario.n_tags, scenario.strength, scenario.among)


def _gains(study: tables.ReportedStudy) -> list[tuple[ModelResult, Scenario, PairedDifference]]:
    return [
        (model, scenario, gain)
        for scenario in tables.one_step([study])
        for model in study.models
        if (result := study.results.simulation(model.name, scenario)) is not None
        and (gain := result.gain_in(TARGET)) is not None
    ]


def _gains_text(gains: Sequence[tuple[ModelResult, Scenario, PairedDifference]]) -> str:
    lines: dict[str, list[str]] = {}
    for model, scenario, gain in gains:
        text = f"{tables.format_signed(gain.mean, 3)} on the {scenario.scale} scale"
        lines.setdefault(f"{model.name}, {_presses(scenario)}", []).append(text)
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
    metric = METRIC_TITLES.get(dial.metric, dial.metric)
    square = "" if dial.at_ease is None else (
        " The square is around the one with most from tags, "
        f"{100 * dial.at_ease.tag_share:.0f} %, at EASE's accuracy or better."
    )  # fmt: skip
    given = ", ".join(f"{key} = {value:g}" for key, value in chosen.parameters.items())
    with new_figure(f"{dial.key}-dial", 3.9) as figure:
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
        figure.legend(handles=handles, loc="outside lower left", ncols=2)
        return finish(
            figure,
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


def _simplify(axes: "Axes", *, grid: Literal["both", "x"] = "both") -> None:
    """Remove the ticks, and the grid lines but those across one axis or both."""
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.grid(visible=True, axis=grid)


def _name_rows(axes: "Axes", places: Sequence[int], names: Sequence[str]) -> None:
    axes.set_yticks(places, names)
    for text in axes.get_yticklabels():
        text.set_color(INK)


def _error_dot(
    axes: "Axes", x: float, y: float, error: tuple[float, float], colour: str, *, full: bool = True
) -> None:
    """Draw a dot with the interval from x - error[0] to x + error[1]."""
    axes.errorbar(
        x, y, xerr=[[error[0]], [error[1]]], color=colour, marker="o", markersize=5.5,
        markerfacecolor=colour if full else GROUND, elinewidth=1.4,
    )  # fmt: skip


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
