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
    if value == {}:  # the options of an extension, none of which is given
        return "its defaults"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:g}" if is_number else str(value)


def format_presses(n_tags: int, strength: int, among: str = "all") -> str:
    """Return how many tags are pressed how often, such as "two declared tags +3"."""
    count = {1: "one", 2: "two", 3: "three"}.get(n_tags, f"{n_tags}")
    kind = "" if among == "all" else f"{among} "
    return f"{count} {kind}tag{'' if n_tags == 1 else 's'} {format_signed(strength, 0)}"


def format_percent(share: float | None) -> str:
    """Return a share in percent, and nothing where there is none."""
    return "" if share is None else f"{100 * share:.0f} %"


def parse_value(text: str) -> float:
    """Return the number of a printed figure; -inf where a text is not a number."""
    try:
        return float(text.replace(MINUS, "-"))
    except ValueError:
        return -math.inf
