"""The difference of two scores as a waterfall: from the score of one item to that of the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from teaser.notebook.bar import step_bar
from teaser.notebook.markup import Column, panel, paragraph, row, signed, table, title
from teaser.notebook.waterfall import (
    fold_small,
    moved_in_all,
    plain_number,
    signed_number,
    step_rows,
)


@dataclass(frozen=True)
class Step:
    """What one part of two scores adds to each.

    Attributes
    ----------
    name, kind
        What adds it, and what that is, such as the feature of a tag.
    adds, other_adds
        What it adds to the score of the item, and to that of the other.
    """

    name: str
    kind: str
    adds: float
    other_adds: float

    @property
    def moves(self) -> float:
        """Adds - other_adds."""
        return self.adds - self.other_adds


def draw_difference(
    names: tuple[str, str], steps: Sequence[Step], *, scores: tuple[float, float], note: str = ""
) -> str:
    """Return the difference of two scores as HTML.

    The waterfall starts at the score of the other item and ends at that of the item.

    Parameters
    ----------
    names, scores
        Of the item and of the other.
    steps
        In the order to show them; what they move adds up to the difference of the scores.
    note
        A sentence on what the steps cover.
    """
    (name, other), (score, start) = names, scores
    columns = (
        Column("step"),
        Column(name, is_number=True, for_wide=True),
        Column(other, is_number=True, for_wide=True),
        Column("difference", is_number=True),
        Column("sum", is_number=True),
        Column("drawn", for_wide=True),
        Column("share", is_number=True),
    )
    total = moved_in_all(steps)
    shown = fold_small(steps, total, _join_steps)
    sums = list(accumulate((step.moves for step in shown), initial=start))
    low, high = min(0.0, *sums), max(0.0, *sums)
    first = step_bar(0.0, start, low=low, high=high, total=True)
    rows: list[tuple[object, ...]] = [
        (f"score of {other}", "", "", "", plain_number(start), first, ""),
        *step_rows(shown, sums, total, _details, low=low, high=high),
    ]
    last = step_bar(0.0, score, low=low, high=high, total=True)
    ends = (signed_number(score - start), plain_number(score), last, "")
    foot = row(columns, (f"score of {name}", "", "", *ends))
    head = title(f"{name} against {other}", f"difference {signed(f'{score - start:+.3f}')}")
    body = table("Steps from one score to the other", columns, rows, foot=foot)
    return panel(head, body, paragraph(note) if note else "")


def _details(step: Step) -> tuple[str, str]:
    return plain_number(step.adds), plain_number(step.other_adds)


def _join_steps(name: str, kind: str, steps: Sequence[Step]) -> Step:
    adds, other_adds = sum(step.adds for step in steps), sum(step.other_adds for step in steps)
    return Step(name, kind, adds, other_adds)
