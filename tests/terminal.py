"""A value as IPython shows it in a terminal."""

from typing import Any

from IPython.lib import pretty as printing

_pretty: Any = printing.pretty


def pretty(value: object) -> str:
    """Return what IPython prints of a value."""
    return str(_pretty(value))
