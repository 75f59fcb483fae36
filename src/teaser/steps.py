"""The steps of a score, or of the difference of two scores: one list that adds up.

Pages, notebooks and the terminal draw this list.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

StepKind = Literal["general", "tag", "viewed", "disliked", "boost", "other"]
# Steps below this share of all of them are small.
SMALL_SHARE = 0.01
# The most viewed items that are steps of their own.
MAX_VIEWED = 8


@dataclass(frozen=True)
class Step:
    """One contribution to a score, or what one part does to the difference of two.

    Attributes
    ----------
    kind
        General appeal, a tag, a viewed or disliked item, a boost, or several small parts.
    label, group
        What adds it, and what that is, such as the feature of a tag.
    adds
        What it adds to the sum.
    start
        The sum before the step.
    share
        `adds` / the sum of all absolute steps; signed.
    is_small
        Whether its absolute share is below 1 %. Small steps come last.
    affinity, weight
        The factors of a tag's contribution; None for other steps.
    own, other
        What the part adds to the first and to the second of two scores; None for one score.
    tags
        The tags of the step, each a `Tag`; near-equal ones are one step.
    name
        The id of a viewed item, or what a boost is named by.
    n
        How many parts the step stands for.
    """

    kind: StepKind
    label: str
    group: str
    adds: float
    start: float = 0.0
    share: float = 0.0
    is_small: bool = False
    affinity: float | None = None
    weight: float | None = None
    own: float | None = None
    other: float | None = None
    tags: tuple[Any, ...] = ()
    name: Any = None
    n: int = 1

    @property
    def end(self) -> float:
        """The sum after the step."""
        return self.start + self.adds


def arrange(parts: Iterable[Step], *, start: float = 0.0) -> list[Step]:
    """Return steps in the order to show them, with running sums and shares.

    General appeal comes first, small steps come last; otherwise the order stays. Of many viewed
    items, those after the first few are one step.
    """
    steps = _few_viewed(list(parts))
    total = sum(abs(step.adds) for step in steps)
    marked = [
        replace(
            step,
            share=step.adds / total if total else 0.0,
            is_small=step.kind not in ("general", "boost") and abs(step.adds) < SMALL_SHARE * total,
        )
        for step in steps
    ]
    found, running = [], start
    for step in sorted(marked, key=lambda step: (step.is_small, step.kind != "general")):
        found.append(replace(step, start=running))
        running += step.adds
    return found


def fold_small(steps: Sequence[Step], *, least: int = 2) -> list[Step]:
    """Return steps with the small ones as one, if there are at least so many of them."""
    small = [step for step in steps if step.is_small]
    if len(small) < least:
        return list(steps)
    large = steps[: len(steps) - len(small)]
    return [*large, _join(small, "other", f"{len(small):,} more", "under 1 % each")]


def write_steps(steps: Sequence[Step]) -> list[str]:
    """Return steps as lines of plain text, small ones in one line."""
    return [
        f"{step.adds:+9.3f}  {step.label}{f' ({step.group})' if step.group else ''}"
        for step in fold_small(steps)
    ]


def _few_viewed(steps: list[Step]) -> list[Step]:
    viewed = [step for step in steps if step.kind in ("viewed", "disliked")]
    rest = viewed[MAX_VIEWED:]
    if len(rest) < 2:
        return steps
    joined = _join(rest, "viewed", f"{len(rest):,} more that you viewed", "viewed")
    left = {id(step) for step in rest}
    return [*(step for step in steps if id(step) not in left), joined]


def _join(steps: Sequence[Step], kind: StepKind, label: str, group: str) -> Step:
    """Return one step for several."""
    own, other = (
        None if getattr(steps[0], name) is None else sum(getattr(step, name) for step in steps)
        for name in ("own", "other")
    )
    return Step(
        kind,
        label,
        group,
        sum(step.adds for step in steps),
        start=steps[0].start,
        share=sum(step.share for step in steps),
        is_small=all(step.is_small for step in steps),
        own=own,
        other=other,
        n=sum(step.n for step in steps),
    )
