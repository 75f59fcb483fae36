"""Bars; each stands beside the number that it shows, so that readers of text miss nothing."""

from collections.abc import Iterable

from teaser.notebook.markup import Html, element

# Colours where a host takes styles away; both can be seen on white and on black.
_PLAIN = {"up": "#12897d", "down": "#c25a17", "axis": "#8b919b", "total": "#76808d"}
_PLAIN["quiet"] = _PLAIN["total"]


def signed_bar(value: float, *, most: float = 1.0, width: int = 110) -> Html:
    """Return a bar from the middle, to the right if the value is positive.

    Parameters
    ----------
    most
        The value at which the bar is full.
    width
        Its width on screen.
    """
    length = 100 * min(1.0, abs(value) / most) if most > 0 else 0.0
    start = 0.0 if value >= 0 else -length
    rects = [_rect("up" if value >= 0 else "down", start, length, 1, 8), _rect("axis", -1, 2)]
    return _svg(rects, "-100 0 200 10", width, 9)


def share_bar(share: float, *, width: int = 110, kind: str = "quiet") -> Html:
    """Return a bar from the left that is full at 1."""
    return _svg([_rect(kind, 0, 100 * min(1.0, max(0.0, share)))], "0 0 100 10", width, 9)


def step_bar(start: float, end: float, *, low: float, high: float, total: bool = False) -> Html:
    """Return one step of a waterfall, on a scale that all steps share.

    Parameters
    ----------
    start, end
        The sum before and after the step.
    low, high
        The least and the largest sum; 0 lies between them.
    """
    scale = 200 / ((high - low) or 1.0)
    side = "total" if total else "up" if end >= start else "down"
    left, length = scale * (min(start, end) - low), scale * abs(end - start)
    rects = [_rect(side, left, max(length, 1.0), 1, 8), _rect("axis", scale * -low - 0.5, 1)]
    return _svg(rects, "0 0 200 10", 220, 12)


def _rect(kind: str, x: float, width: float, y: int = 0, height: int = 10) -> Html:
    return element(
        "rect", class_=kind, fill=_PLAIN[kind], x=f"{x:.1f}", y=y, width=f"{width:.1f}",
        height=height,
    )  # fmt: skip


def _svg(rects: Iterable[Html], box: str, width: int, height: int) -> Html:
    return element(
        "svg", *rects, class_="bar", viewBox=box, width=width, height=height,
        preserveAspectRatio="none", aria_hidden="true", focusable="false",
    )  # fmt: skip
