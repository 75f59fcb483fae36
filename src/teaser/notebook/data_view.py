"""A data set, what was read of it, and the rules of its tags."""

from collections.abc import Mapping, Sequence
from typing import Any

from teaser.notebook.markup import (
    Column,
    Html,
    element,
    folded,
    join,
    listed,
    panel,
    paragraph,
    table,
    title,
)

_WARNING = "warning: "


def draw_dataset(found: Mapping[str, Any], examples: Mapping[str, Sequence[str]]) -> str:
    """Return what was read as HTML.

    Parameters
    ----------
    found
        What `Dataset.describe` returns: sizes, the tags of each feature, the report as sentences,
        of which warnings begin with "warning: ", and the rules.
    examples
        Some of the most frequent tags of each feature.
    """
    tags: Mapping[str, int] = found["tags"]
    sizes = {name: found[name] for name in ("users", "items", "interactions")}
    sizes["tags"] = sum(tags.values())
    counts = ", ".join(f"{n:,} {name}" for name, n in sizes.items())
    columns = (Column("feature"), Column("tags", is_number=True), Column("most frequent"))
    rows = [(name, f"{n:,}", ", ".join(examples.get(name, ()))) for name, n in tags.items()]
    return panel(
        title("Dataset", counts),
        table("Tags of the items", columns, rows) if rows else paragraph("There are no tags."),
        listed(map(_line, found["report"])),
        folded("Rules", rule_tables(found["rules"], found["roles"], found["skipped"])),
    )


def draw_rules(
    rules: Sequence[Mapping[str, Any]], roles: Mapping[str, str], skipped: Mapping[str, str]
) -> str:
    """Return rules as HTML; for the parameters see `rule_tables`."""
    n = len(rules)
    head = title("Rules", f"{n:,} column{' becomes' if n == 1 else 's become'} tags")
    return panel(head, rule_tables(rules, roles, skipped))


def rule_tables(
    rules: Sequence[Mapping[str, Any]], roles: Mapping[str, str], skipped: Mapping[str, str]
) -> Html:
    """Return the tables of rules.

    Parameters
    ----------
    rules
        Each rule as plain values: its kind, its column, its feature, and settings that are not
        the default.
    roles
        The columns that are displayed, by role.
    skipped
        The columns that are not used, with the reason.
    """
    named = ("kind", "column", "feature")
    rows = []
    for rule in rules:
        settings = (f"{key} = {value!r}" for key, value in rule.items() if key not in named)
        feature = rule.get("feature") or rule["column"]
        rows.append((rule["column"], rule["kind"], feature, ", ".join(settings)))
    columns = tuple(map(Column, ("column", "kind", "feature", "settings")))
    parts: list[object] = [
        table("Columns that become tags", columns, rows)
        if rows
        else paragraph("No column becomes tags.")
    ]
    if roles:
        columns = (Column("role"), Column("column"))
        parts.append(table("Columns that are displayed", columns, list(roles.items())))
    if skipped:
        columns = (Column("column"), Column("why"))
        parts.append(table("Columns that are not used", columns, list(skipped.items())))
    return join(parts)


def _line(line: str) -> object:
    if not line.startswith(_WARNING):
        return line
    return join([element("strong", "warning:", class_="down"), " ", line.removeprefix(_WARNING)])
