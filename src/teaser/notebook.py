"""What objects look like in a notebook: HTML with its own style, in light and dark."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from teaser.errors import counted
from teaser.steps import Step, fold_small
from teaser.templates import environment

# More would be a wall; the frame has all of them.
SHOWN = 24
_MOST_GROUPS = 30
_STEP_COLUMNS = [("sum", "n"), ("drawn", "wide"), ("share", "n")]


@cache
def _macros() -> Any:
    templates = environment(Path(__file__).parent)
    templates.filters |= {"percent": percent, "signed": signed, "plain": plain_number}
    return templates.get_template("notebook.html").module


def _draw(kind: str, **values: Any) -> str:
    """Return what a macro of `notebook.html` draws, without line breaks between elements."""
    return re.sub(r">\s*\n\s*<", "><", getattr(_macros(), kind)(**values).strip())


def percent(share: float) -> str:
    """Return a share in percent; what rounds to nothing but is something is said to be small."""
    whole = round(100 * share)
    return signed(f"{whole} %") if whole or not share else "<1 %"


def signed(text: str) -> str:
    """Return a number with the minus sign of typography, which screen readers say."""
    return text.replace("-", "−")


def plain_number(value: float) -> str:
    """Return a number as the sums of a waterfall show it."""
    return signed(f"{value:.3f}")


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
    return _draw(
        "dataset",
        counts=", ".join(f"{n:,} {name}" for name, n in sizes.items()),
        tags=[(name, f"{n:,}", ", ".join(examples.get(name, ()))) for name, n in tags.items()],
        report=found["report"],
        rules=_rule_rows(found["rules"]),
        roles=found["roles"],
        skipped=found["skipped"],
    )


def draw_rules(
    rules: Sequence[Mapping[str, Any]], roles: Mapping[str, str], skipped: Mapping[str, str]
) -> str:
    """Return rules as HTML.

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
    n = len(rules)
    note = f"{n:,} column{' becomes' if n == 1 else 's become'} tags"
    return _draw("rules", note=note, rules=_rule_rows(rules), roles=roles, skipped=skipped)


def _rule_rows(rules: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    named = ("kind", "column", "feature")
    rows: list[tuple[str, ...]] = []
    for rule in rules:
        settings = (f"{key} = {value!r}" for key, value in rule.items() if key not in named)
        feature = rule.get("feature") or rule["column"]
        rows.append((rule["column"], rule["kind"], feature, ", ".join(settings)))
    return rows


@dataclass(frozen=True)
class Card:
    """One recommended item.

    Attributes
    ----------
    name, item_id
        Its title, or its id where it has none.
    match
        Its score as a share of the best score.
    reasons
        The signed share of each reason, and what it is.
    note
        A sentence on the score, or nothing.
    """

    name: str
    item_id: str
    match: float
    reasons: Sequence[tuple[float, str]]
    note: str = ""


def draw_list(cards: Sequence[Card], *, notes: Sequence[str] = ()) -> str:
    """Return a list as HTML, best first.

    Parameters
    ----------
    notes
        Sentences on the whole list.
    """
    n, said = len(cards), list(notes)
    if n > SHOWN:
        said.append(f"{n - SHOWN:,} more; to_frame() has all of them.")
    if not n:
        said.append("Nothing can be recommended: every item is excluded.")
    return _draw("list", title=counted(n, "recommended item"), cards=cards[:SHOWN], notes=said)


@dataclass(frozen=True)
class TagBar:
    """A tag with its affinity, its net presses and the leaning towards it, which is drawn."""

    name: str
    affinity: float
    presses: int = 0
    leaning: float | None = None


@dataclass(frozen=True)
class FeatureBars:
    """A feature: its impact, its strongest tags, and how many more it has."""

    name: str
    impact: float
    tags: Sequence[TagBar]
    n_more: int = 0


def draw_profile(
    features: Sequence[FeatureBars], *, general: float | None, certainty: float, seen: int
) -> str:
    """Return a profile as HTML: general appeal, then the features, the largest impact first.

    Parameters
    ----------
    general
        The affinity with general appeal; None where the model does not separate it.
    certainty
        The certainty of the profile, 0 to 1.
    seen
        How many items the history has.
    """
    appeal = None if general is None else TagBar("general appeal", general)
    note = f"of a history of {counted(seen, 'item')}, {percent(certainty)} sure"
    return _draw("profile", note=note, general=appeal, features=features)


def draw_waterfall(
    name: str, steps: Sequence[Step], *, score: float, match: float, note: str = ""
) -> str:
    """Return the score of an item as HTML.

    Parameters
    ----------
    steps
        They add up to the score, or to the part of it that the note names.
    note
        A sentence on what the steps cover.
    """
    shown = fold_small(steps)
    total = shown[-1].end if shown else 0.0
    low, high = _bounds(shown)
    return _draw(
        "steps",
        title=f"Why {name}",
        note=f"score {plain_number(score)}, {percent(match)} match",
        caption="Steps that add up to the score",
        columns=[("step", ""), ("affinity × weight", "n wide"), ("adds", "n"), *_STEP_COLUMNS],
        start=None,
        steps=[(step, [_factors(step)]) for step in shown],
        end={"cells": ["sum" if note else "score", "", ""], "value": total},
        low=low,
        high=high,
        remark=note,
    )


def draw_difference(
    names: tuple[str, str], steps: Sequence[Step], *, scores: tuple[float, float], note: str = ""
) -> str:
    """Return the difference of two scores as HTML, from the score of the other to the item's.

    Parameters
    ----------
    names, scores
        Of the item and of the other.
    steps
        They start at the other's score and add up to the item's.
    note
        A sentence on what the steps cover.
    """
    (name, other), (score, start) = names, scores
    shown = fold_small(steps)
    low, high = _bounds(shown, start)
    difference = signed(f"{score - start:+.3f}")
    return _draw(
        "steps",
        title=f"{name} against {other}",
        note=f"difference {difference}",
        caption="Steps from one score to the other",
        columns=[
            *(("step", ""), (name, "n wide"), (other, "n wide"), ("difference", "n")),
            *_STEP_COLUMNS,
        ],
        start={"cells": [f"score of {other}", "", "", ""], "value": start},
        steps=[(s, [plain_number(s.own or 0.0), plain_number(s.other or 0.0)]) for s in shown],
        end={"cells": [f"score of {name}", "", "", difference], "value": score},
        low=low,
        high=high,
        remark=note,
    )


def _bounds(steps: Sequence[Step], start: float = 0.0) -> tuple[float, float]:
    sums = (0.0, start, *(step.end for step in steps))
    return min(sums), max(sums)


def _factors(step: Step) -> str:
    if step.affinity is None or step.weight is None:
        return ""
    product = step.affinity * step.weight
    # The weight of tags against viewed items is a factor of every tag.
    factor = step.adds / product if product else 1.0
    more = f" × {factor:.2f}" if abs(factor - 1) > 0.005 else ""
    return signed(f"{step.affinity:+.2f} × {step.weight:.2f}{more}")


def draw_model(
    text: str,
    *,
    facts: Mapping[str, str],
    parameters: Mapping[str, str],
    changed: Sequence[str],
    recipe: Any = None,
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
        The `Recipe`, where one was chosen.
    """
    said = ", ".join(f"{value} {name}" for name, value in facts.items())
    return _draw(
        "model", text=text, facts=said, parameters=parameters, changed=changed, recipe=recipe
    )


def draw_recipe(recipe: Any) -> str:
    """Return a record of trials, a `Recipe`, as HTML."""
    return _draw("recipe", tried=recipe)


def draw_check(parts: Mapping[str, float], *, lines: Sequence[str], n_users: int, top: int) -> str:
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
    note = f"of the reasons in the top-{top} of {n_users:,} people"
    report = [line for line in lines if not line.startswith("Parts of the top-")]
    return _draw("check", note=note, parts=parts, report=report)


def draw_groups(groups: Sequence[tuple[str, int, Sequence[str]]]) -> str:
    """Return discovered groups as HTML: the name, the number of members, and exemplars of each."""
    shown = sorted(groups, key=lambda group: -group[1])[:_MOST_GROUPS]
    left = len(groups) - len(shown)
    return _draw(
        "groups",
        note=f"{len(groups):,} discovered tags",
        rows=[(name, f"{n:,}", ", ".join(titles)) for name, n, titles in shown],
        more=f"{left:,} more." if left else "",
    )
