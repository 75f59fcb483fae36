"""Docstrings as Sphinx needs them: equations as they stand, bars without a meaning."""

import re
from itertools import pairwise


def as_rst(lines: list[str]) -> list[str]:
    """Return the lines of a docstring as reStructuredText.

    Docstrings are written to be read as they are. An indented paragraph is an equation or code:
    it becomes a literal block. A bar is a norm or an absolute value: it is escaped.
    """
    out: list[str] = []
    literal = False
    for before, line in pairwise(["", *_one_name_each(lines)]):
        is_indented = line.startswith("    ")
        if is_indented and not literal and not before.strip() and _is_flush(out):
            out += ["::", ""]
            literal = True
        elif line.strip() and not is_indented:
            literal = False
        out.append(line if literal else _escape_bars(line))
    return out


def _one_name_each(lines: list[str]) -> list[str]:
    """Return lines in which attributes that share a text have it each: `users, items`."""
    text = "\n".join(lines)
    before, heading, attributes = text.partition("Attributes\n----------\n")
    if not heading:
        return lines
    split = re.sub(r"^(\w+(?:, \w+)+)\n((?:    .*\n?)+)", _entries, attributes, flags=re.M)
    return (before + heading + split).split("\n")


def _entries(found: re.Match[str]) -> str:
    text = found[2].rstrip("\n")
    return "".join(f"{name}\n{text}\n" for name in found[1].split(", "))


def _is_flush(lines: list[str]) -> bool:
    """Whether the last line with words begins at the margin."""
    last = next((line for line in reversed(lines) if line.strip()), " ")
    return not last.startswith(" ")


def _escape_bars(line: str) -> str:
    """Escape bars, but not between backticks."""
    parts = re.split(r"(`+[^`]*`+)", line)
    return "".join(part if i % 2 else part.replace("|", r"\|") for i, part in enumerate(parts))
