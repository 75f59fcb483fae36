"""A model: its parameters, its sizes, how it was chosen; what its reasons are made of; groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from teaser.notebook.bar import share_bar
from teaser.notebook.markup import (
    Column,
    Html,
    element,
    folded,
    head,
    join,
    listed,
    panel,
    paragraph,
    percent,
    row,
    table,
    title,
)

# Parts of scores below this are not worth a column.
_LEAST = 0.005
_MOST_GROUPS = 30


@dataclass(frozen=True)
class TrialRow:
    """One model that was tried: its name, nDCG, that over the yardstick's, parts, seconds."""

    name: str
    ndcg: float
    share: float | None
    parts: Mapping[str, float]
    seconds: float


def draw_model(
    text: str,
    *,
    facts: Mapping[str, str],
    parameters: Mapping[str, str],
    changed: Sequence[str],
    recipe: Html | str = "",
) -> str:
    """Return a model as HTML.

    Parameters
    ----------
    text
        The call that makes it.
    facts
        What it learned, by name; empty before a fit.
    parameters
        All hyper-parameters as texts, by name.
    changed
        The names of those that are not the default.
    recipe
        What `recipe_table` returns, where the recipe was chosen.
    """
    kind = text.partition("(")[0]
    said = ", ".join(f"{value} {name}" for name, value in facts.items())
    rows = [
        (name, element("code", value), "" if name in changed else "default")
        for name, value in parameters.items()
    ]
    columns = tuple(map(Column, ("parameter", "value", "is")))
    return panel(
        title(kind, said or "not fitted yet"),
        element("p", element("code", text)),
        recipe,
        folded(f"Parameters ({len(rows)})", table("Hyper-parameters", columns, rows))
        if rows
        else "",
    )


def draw_recipe(recipe: Html) -> str:
    """Return a record of trials as HTML, given what `recipe_table` returned."""
    return panel(title("Recipe"), recipe)


def recipe_table(
    rows: Sequence[TrialRow],
    *,
    chosen: str,
    why: str,
    yardstick: str,
    n_users: int,
    left_out: Mapping[str, str],
) -> Html:
    """Return what a fit tried, what it chose and why.

    Parameters
    ----------
    rows
        The best trial of each recipe and of the models to compare with.
    chosen
        The name of the recipe that was fitted.
    yardstick
        The model that shares compare with.
    n_users
        How many users were held out.
    left_out
        What was not tried or failed, with the reason.
    """
    parts = [p for p in _part_names(rows) if any(r.parts.get(p, 0.0) >= _LEAST for r in rows)]
    names = ("nDCG@100", f"of {yardstick}", *parts, "seconds")
    others = (Column(n, is_number=True, for_wide=n in (*parts, "seconds")) for n in names)
    columns = (Column("recipe"), *others)
    drawn = []
    for trial in rows:
        share = "" if trial.share is None else percent(trial.share)
        shares = [percent(trial.parts[p]) if p in trial.parts else "" for p in parts]
        is_chosen = trial.name == chosen
        name = join([trial.name, " (chosen)"]) if is_chosen else trial.name
        cells = (name, f"{trial.ndcg:.3f}", share, *shares, f"{trial.seconds:.1f}")
        drawn.append(row(columns, cells, class_="chosen" if is_chosen else None))
    found: list[object] = [element("p", why)]
    if drawn:
        caption = f"Accuracy on {n_users:,} held-out users, and the parts of their scores"
        found.append(
            element("table", element("caption", caption), head(columns), element("tbody", *drawn))
        )
    if left_out:
        found.append(listed(f"{name}: {reason}" for name, reason in left_out.items()))
    return join(found)


def draw_check(
    parts: Mapping[str, float],
    *,
    lines: Sequence[str],
    n_users: int,
    top: int,
) -> str:
    """Return what reasons are made of as HTML.

    Parameters
    ----------
    parts
        The mean share of each part of the scores.
    lines
        What was found as sentences; advice on one begins with spaces.
    n_users, top
        How many people the sample has, and how long their lists are.
    """
    columns = (Column("part"), Column("drawn", for_wide=True), Column("share", is_number=True))
    rows = [(name, share_bar(share), percent(share)) for name, share in parts.items() if share > 0]
    told = [line for line in lines if not line.startswith("Parts of the top-")]
    return panel(
        title("Check", f"of the reasons in the top-{top} of {n_users:,} people"),
        table("Parts of the scores", columns, rows),
        listed(_line(line) for line in told),
    )


def draw_groups(groups: Sequence[tuple[str, int, Sequence[str]]]) -> str:
    """Return discovered groups as HTML: the name, the number of members, and exemplars of each."""
    columns = (Column("group"), Column("items", is_number=True), Column("such as"))
    shown = sorted(groups, key=lambda group: -group[1])[:_MOST_GROUPS]
    rows = [(name, f"{n:,}", ", ".join(titles)) for name, n, titles in shown]
    left = len(groups) - len(shown)
    return panel(
        title("Groups", f"{len(groups):,} discovered tags"),
        table("Groups of items that the same users choose", columns, rows),
        paragraph(f"{left:,} more.") if left else "",
    )


def _part_names(rows: Sequence[TrialRow]) -> list[str]:
    return list(dict.fromkeys(name for trial in rows for name in trial.parts))


def _line(line: str) -> object:
    return element("em", line.strip()) if line.startswith(" ") else line
