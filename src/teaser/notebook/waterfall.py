"""The score of an item as a waterfall: steps that add up to it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, TypeVar

from teaser.notebook.bar import step_bar
from teaser.notebook.markup import (
    Column,
    Html,
    element,
    join,
    number,
    panel,
    paragraph,
    percent,
    row,
    signed,
    table,
    title,
)

# Steps below this share of all of them are told together.
SMALL_SHARE = 0.01
_COLUMNS = (
    Column("step"),
    Column("affinity × weight", is_number=True, for_wide=True),
    Column("adds", is_number=True),
    Column("sum", is_number=True),
    Column("drawn", for_wide=True),
    Column("share", is_number=True),
)
_DIGITS = 3


@dataclass(frozen=True)
class Step:
    """One contribution to a score.

    Attributes
    ----------
    name, kind
        What adds it, and what that is, such as the feature of a tag.
    adds
        The contribution.
    affinity, weight
        The factors of a tag's contribution; None for other steps.
    """

    name: str
    kind: str
    adds: float
    affinity: float | None = None
    weight: float | None = None

    @property
    def moves(self) -> float:
        """The contribution: what the step moves the sum by."""
        return self.adds


class Moving(Protocol):
    """A step of any waterfall: what it is, and what it moves the sum by."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def moves(self) -> float: ...


S = TypeVar("S", bound=Moving)


def draw_waterfall(
    name: str, steps: Sequence[Step], *, score: float, match: float, note: str = ""
) -> str:
    """Return the score of an item as HTML.

    Parameters
    ----------
    steps
        In the order to show them; they add up to the score, or to the part that the note names.
    note
        A sentence on what the steps cover.
    """
    total = moved_in_all(steps)
    shown = fold_small(steps, total, _join_steps)
    sums = list(accumulate((step.adds for step in shown), initial=0.0))
    low, high = min(sums), max(sums)
    rows = list(step_rows(shown, sums, total, lambda step: (_factors(step),), low=low, high=high))
    whole = step_bar(0.0, sums[-1], low=low, high=high, total=True)
    last = (f"{'score' if not note else 'sum'}", "", "", plain_number(sums[-1]), whole, "")
    head = title(f"Why {name}", f"score {plain_number(score)}, {percent(match)} match")
    foot = row(_COLUMNS, last)
    body = table("Steps that add up to the score", _COLUMNS, rows, foot=foot)
    return panel(head, body, paragraph(note) if note else "")


def moved_in_all(steps: Sequence[Moving]) -> float:
    """Return what all steps move, whatever its sign; 1 where nothing moves."""
    return sum(abs(step.moves) for step in steps) or 1.0


def fold_small(
    steps: Sequence[S], total: float, join_steps: Callable[[str, str, Sequence[S]], S]
) -> list[S]:
    """Return steps, those under 1 % of all as one if they are several.

    Parameters
    ----------
    total
        What all steps move.
    join_steps
        Returns one step for several, of the given name and kind.
    """
    small = [step for step in steps if abs(step.moves) < SMALL_SHARE * total]
    if len(small) < 2:
        return list(steps)
    one = join_steps(f"{len(small):,} more", "under 1 % each", small)
    return [*(step for step in steps if step not in small), one]


def step_rows(
    steps: Sequence[S],
    sums: Sequence[float],
    total: float,
    details: Callable[[S], Sequence[object]],
    *,
    low: float,
    high: float,
) -> Iterator[tuple[object, ...]]:
    """Yield a row for each step: its name, its details, what it moves, the sum, a bar, its share.

    Parameters
    ----------
    sums
        Before the first step and after each.
    total
        What all steps move.
    details
        Returns the cells of a step behind its name.
    low, high
        The smallest and the largest value that the bars show.
    """
    for step, before, after in zip(steps, sums, sums[1:], strict=False):
        moved = (signed_number(step.moves), plain_number(after))
        drawn = step_bar(before, after, low=low, high=high)
        share = number(percent(step.moves / total), step.moves)
        yield (named_step(step.name, step.kind), *details(step), *moved, drawn, share)


def _join_steps(name: str, kind: str, steps: Sequence[Step]) -> Step:
    return Step(name, kind, sum(step.adds for step in steps))


def named_step(name: str, kind: str) -> Html:
    """Return the name of a step, with what it is in quieter letters behind it."""
    return join([name, element("span", f" ({kind})", class_="soft") if kind else ""])


def signed_number(value: float) -> Html:
    """Return a number with its sign, in the colour of it."""
    return number(signed(f"{value:+.{_DIGITS}f}"), value)


def plain_number(value: float) -> str:
    """Return a number as the sums of a waterfall show it."""
    return signed(f"{value:.{_DIGITS}f}")


def _factors(step: Step) -> str:
    if step.affinity is None or step.weight is None:
        return ""
    product = step.affinity * step.weight
    # The weight of tags against viewed items is a factor of every tag.
    factor = step.adds / product if product else 1.0
    more = f" × {factor:.2f}" if abs(factor - 1) > 0.005 else ""
    return signed(f"{step.affinity:+.2f} × {step.weight:.2f}{more}")
