r"""Texts with their control characters written out, for terminals and logs.

Titles, ids and names of tags come from data. A terminal would obey an escape sequence in them: set
its title, hide lines, answer as if the person had typed. Here ESC is shown as `\x1b`, and so are
the other control characters and those that change the direction of writing.
"""

import logging
import re
from typing import Any

# C0 but for tab and line feed, DEL, C1; marks that embed, override or isolate a direction; line
# and paragraph separators.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""Return a text with its control characters written out.

    Examples
    --------
    >>> print(visible("red: \x1b[31m"))
    red: \x1b[31m
    """
    return CONTROL.sub(lambda found: _written(found[0], short=True), text)


def visible_line(text: str) -> str:
    r"""Return a text with its control characters written out, line feeds and tabs too.

    Examples
    --------
    >>> print(visible_line("one\ntwo"))
    one\x0atwo
    """
    return visible(text).replace("\t", r"\x09").replace("\n", r"\x0a")


def visible_json(text: str) -> str:
    """Return JSON in which its texts have no control character; it means the same."""
    return CONTROL.sub(lambda found: _written(found[0], short=False), text)


def _written(letter: str, *, short: bool) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if short and code < 0x100 else f"\\u{code:04x}"


class VisibleFormatter(logging.Formatter):
    """A format of log lines without control characters."""

    def format(self, record: Any) -> str:
        return visible(super().format(record))
