"""The picture of the dial: accuracy against the share of scores that comes from tags."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from teaser.evaluate.metrics import METRIC_TITLES
from teaser.evaluate.report.pictures import drawing
from teaser.evaluate.study.results import DialResults, DialSetting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = {"EASE": (1, "s"), "NeighbourEASE": (4, "D"), "remainder": (0, "o"), "TEASER": (2, "^")}
_NAMES = {
    "EASE": "EASE",
    "NeighbourEASE": "EASE on neighbours",
    "remainder": "tags and viewed items",
    "TEASER": "tags alone",
}


def draw_dial(dial: DialResults) -> drawing.Picture:
    """Draw the settings of a dial, and a ring around the recommended one."""
    settings, chosen = dial.settings, dial.recommended
    metric = METRIC_TITLES.get(dial.metric, dial.metric)
    figure = drawing.new_figure(3.9)
    axes = figure.subplots()
    handles = [_dots(axes, settings, kind) for kind in _MARKS]
    edge = frontier(settings)
    axes.plot([100 * s.tag_share for s in edge], [s.value for s in edge],
        color=drawing.SERIES[0], linewidth=1.2)  # fmt: skip
    least = (1 - dial.within) * max(s.value for s in settings)
    axes.axhline(least, color=drawing.SOFT, linewidth=0.9, linestyle=":")
    if dial.ease is not None:
        handles.append(axes.axhline(dial.ease, color=drawing.SERIES[1], linewidth=1.2,
            linestyle="--", label="EASE's accuracy"))  # fmt: skip
    for setting, marker in ((chosen, "o"), (dial.at_ease, "s")):
        if setting is not None:
            axes.plot(100 * setting.tag_share, setting.value, marker=marker, markersize=13,
                markerfacecolor="none", markeredgecolor=drawing.INK, linestyle="none")  # fmt: skip
    axes.set(xlim=(-4, 104), xlabel=f"share of the first {dial.shown} items' scores from tags, %")
    axes.set_ylabel(f"validation {metric}")
    drawing.simplify(axes)
    drawing.legend_below(figure, [h for h in handles if h is not None], columns=2)
    return drawing.picture(
        figure,
        name=f"{dial.key}-dial",
        title="The dial between tags and viewed items",
        caption=f"Each mark is a fit, measured on {dial.users:,} validation users; the line "
        "joins the settings that no other beats in both. Dotted: "
        f"{100 * dial.within:g} % below the best. The ring is around the setting recommended: "
        f"{format_setting(chosen.parameters)}.{_square(dial)} Tags are declared and discovered "
        "ones; general appeal is not counted.",
        alt=f"{metric} from {_range(settings, 'EASE')} for EASE without tags to "
        f"{_range(settings, 'TEASER')} for TEASER by tags alone; recommended is "
        f"{chosen.value:.3f} with {100 * chosen.tag_share:.0f} % from tags.",
    )


def frontier(settings: Sequence[DialSetting]) -> list[DialSetting]:
    """Return the settings that no other beats in both value and tag share, by tag share."""
    out: list[DialSetting] = []
    for setting in sorted(settings, key=lambda s: (-s.tag_share, -s.value)):
        if not out or setting.value > out[-1].value:
            out.append(setting)
    return out[::-1]


def format_setting(parameters: Mapping[str, float]) -> str:
    """Return parameters as a text."""
    return ", ".join(f"{name} = {value:g}" for name, value in parameters.items())


def _square(dial: DialResults) -> str:
    if dial.at_ease is None:
        return ""
    return (
        " The square is around the one with most from tags, "
        f"{100 * dial.at_ease.tag_share:.0f} %, at EASE's accuracy or better."
    )


def _dots(axes: "Axes", settings: Sequence[DialSetting], kind: str) -> Any:
    some = [s for s in settings if s.kind == kind]
    if not some:
        return None
    number, marker = _MARKS[kind]
    return axes.plot(
        [100 * s.tag_share for s in some], [s.value for s in some],
        color=drawing.SERIES[number], marker=marker, markersize=5, linestyle="none",
        label=_NAMES[kind],
    )[0]  # fmt: skip


def _range(settings: Sequence[DialSetting], kind: str) -> str:
    values = [s.value for s in settings if s.kind == kind]
    return f"at most {max(values):.3f}" if values else "nothing"
