"""Figures as tables, pictures and sentences print them."""

import math

MINUS = "\N{MINUS SIGN}"


def format_value(value: float) -> str:
    """Return a value of a metric."""
    return f"{value:.3f}".replace("-", MINUS)


def format_signed(value: float, digits: int = 1) -> str:
    """Return a number with + or a minus sign; without either if it rounds to zero."""
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{'+' if value > 0 else MINUS}{text}"


def format_seconds(value: float) -> str:
    """Return a duration with its unit."""
    if value < 100:
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 6000 else f"{value / 3600:.1f} h"


def format_memory(value: float) -> str:
    """Return a number of bytes with its unit."""
    return f"{value / 1e9:.1f} GB" if value >= 1e9 else f"{value / 1e6:.0f} MB"


def format_parameter(value: object) -> str:
    """Return the value of a parameter; a number with few digits."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:g}" if is_number else str(value)


def format_presses(n_tags: int, strength: int) -> str:
    """Return how many tags are pressed how often, such as "two tags +3"."""
    count = {1: "one tag", 2: "two tags", 3: "three tags"}.get(n_tags, f"{n_tags} tags")
    return f"{count} {format_signed(strength, 0)}"


def parse_value(text: str) -> float:
    """Return the number of a printed figure; -inf where a text is not a number."""
    try:
        return float(text.replace(MINUS, "-"))
    except ValueError:
        return -math.inf
