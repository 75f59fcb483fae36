"""The drawing of pictures: one style, colours that follow the page, SVG to stand in a page."""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from teaser.errors import MissingPackageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# matplotlib writes colours as fixed numbers. These stand for names while it draws; in the svg
# they become variables that the page sets for a light or a dark ground.
INK, SOFT, LINE, GROUND = "#010203", "#020304", "#030405", "#040506"
_VARIABLES = {INK: "ink", SOFT: "soft", LINE: "line", GROUND: "ground"}
_SERIES = {f"#0a0b{n:02x}": f"series-{n}" for n in range(8)}

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
SERIES = tuple(_SERIES)

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
    "axes.titleweight": "normal",
    "axes.labelsize": 10,
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
    "lines.solid_capstyle": "round",
}


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
        style = f"<style>{variables()}</style>"
        return re.sub(r"(<svg[^>]*>)", lambda m: m[1] + style, self.svg, count=1) + "\n"


def variables() -> str:
    """Return the style rules that give the colours of pictures their values."""
    light = "".join(f"--{name}:{pair[0]};" for name, pair in PALETTE.items())
    dark = "".join(f"--{name}:{pair[1]};" for name, pair in PALETTE.items())
    return f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"


@contextmanager
def style(name: str) -> Iterator[None]:
    """Draw in the style of the reports; matplotlib's own settings come back afterwards."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingPackageError("A report", "matplotlib", extra="evaluate") from error
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        yield


def new_figure(height: float = 3.4, *, width: float = 5.0) -> "Figure":
    """Return an empty figure of this size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def picture(figure: "Figure", *, name: str, title: str, caption: str, alt: str) -> Picture:
    """Return a figure as a picture for a page."""
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return Picture(name, title, caption, alt, _inline(written.getvalue(), name, alt))


def simplify(axes: "Axes", *, grid: Literal["both", "x", "y"] | None = "both") -> None:
    """Remove the ticks, and the grid lines but those across one axis or both."""
    axes.tick_params(length=0)
    axes.grid(visible=False)
    if grid is not None:
        axes.grid(visible=True, axis=grid)


def line_style(kind: str) -> tuple[str, Any]:
    """Return colour and dash of a kind of model."""
    place, dash = _LINES.get(kind, (7, "-."))
    return SERIES[place], dash


def error_dot(
    axes: "Axes", x: float, y: float, error: tuple[float, float], colour: str, *, full: bool = True
) -> None:
    """Draw a dot with the interval from x - error[0] to x + error[1]."""
    axes.errorbar(
        x, y, xerr=[[error[0]], [error[1]]], color=colour, marker="o", markersize=5.5,
        markerfacecolor=colour if full else GROUND, elinewidth=1.4,
    )  # fmt: skip


def legend_below(figure: "Figure", handles: Any, *, columns: int) -> None:
    """Put a legend under all axes."""
    figure.legend(handles=handles, loc="outside lower left", ncols=columns, handlelength=2.4)


def _inline(svg: str, name: str, alt: str) -> str:
    """Return the svg element alone, with variables for colours and names of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", svg, count=1, flags=re.S)
    svg = re.sub(r"\bid=\"", f'id="{name}-', svg)
    svg = re.sub(r"(href=\"#|url\(#)", rf"\g<1>{name}-", svg)
    svg = re.sub(r"'DejaVu Sans'(, sans-serif)?", "system-ui, sans-serif", svg)
    for number, variable in (_VARIABLES | _SERIES).items():
        svg = svg.replace(number, f"var(--{variable})")
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    width = f"{float(size[1]):.0f}" if size else "400"
    head = f'<svg role="img" aria-label="{escape(alt)}" style="max-width:{width}pt"'
    root = svg[: svg.index(">")]
    kept = re.sub(r'\s(width|height)="[^"]*"', "", root.removeprefix("<svg"))
    svg = head + kept + svg[len(root) :]
    return svg.strip()
