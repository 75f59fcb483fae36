"""The tables of the fields of rules, made from the classes of the rules."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from inspect import getdoc
from types import UnionType
from typing import get_args, get_type_hints

from teaser.data.rules import KINDS, Rule

COMMON = "every rule"
_REGION = re.compile(
    r"(<!-- fields of (.+?); made by `make references` -->\n).*?(<!-- end -->)", re.S
)
# How a value is written in TOML, by its type in Python.
_WRITTEN = {
    str: "text",
    int: "whole number",
    float: "number",
    tuple[str, ...]: "list of texts",
    tuple[float, ...]: "list of numbers",
    Mapping[str, str]: "table of texts",
    Mapping[str, tuple[str, ...]]: "table of lists of texts",
}


def fill_rule_fields(page: str) -> str:
    """Return a page of Markdown with the tables between its markers replaced."""
    return _REGION.sub(lambda m: f"{m[1]}{field_table(m[2])}{m[3]}", page)


def described(page: str) -> list[str]:
    """Return the kinds whose fields a page has, and `COMMON`."""
    return [found[2] for found in _REGION.finditer(page)]


def field_table(kind: str) -> str:
    """Return the table of the fields of a kind of rule, or of those that all have."""
    rows = ["| field | is | default | meaning |", "|---|---|---|---|"]
    if kind == COMMON:
        kinds = ", ".join(f'`"{name}"`' for name in KINDS)
        rows.append(f"| `kind` | text | *needed* | One of {kinds}. |")
        rows += _rows(Rule, [f.name for f in fields(Rule)])
    else:
        # A field that all rules have is told again where the kind reads it in its own way.
        shared = {f.name for f in fields(Rule)} - set(parameter_texts(KINDS[kind]))
        names = [f.name for f in fields(KINDS[kind]) if f.name not in shared]
        rows += _rows(KINDS[kind], names)
    return "\n".join(rows) + "\n"


def _rows(rule: type[Rule], names: list[str]) -> Iterator[str]:
    texts, types = parameter_texts(rule), get_type_hints(rule)
    found = {f.name: f for f in fields(rule)}
    for name in names:
        hint = types[name]
        kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        if name == "column" and not rule.takes_columns:
            kinds = (str,)
        written = " or ".join(_WRITTEN[each] for each in kinds)
        yield f"| `{name}` | {written} | {_default(found[name])} | {texts[name]} |"


def _default(field: Field[object]) -> str:
    value = {} if field.default_factory is not MISSING else field.default
    if value is MISSING:
        return "*needed*"
    if value in ("", (), {}):
        return "none"
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return f"`{shown}`".replace("|", "\\|")


def parameter_texts(kind: type) -> dict[str, str]:
    """Return what a NumPy docstring says on each parameter, on one line."""
    found: dict[str, str] = {}
    _, _, section = (getdoc(kind) or "").partition("Parameters\n----------\n")
    for entry in re.split(r"\n(?=\S)", re.split(r"\n\n\w+\n-+\n", section)[0]):
        names, _, text = entry.partition("\n")
        found |= {name.strip(): " ".join(text.split()) for name in names.split(",")}
    return found
