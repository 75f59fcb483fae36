"""The whole score of an item as steps that visibly add up."""

from dataclasses import dataclass

from teaser.app.session import Session
from teaser.app.texts import Texts
from teaser.app.view import TagRow, ViewedRow, tag_row
from teaser.data.dataset import ItemId
from teaser.explain import Explanation, Reason, ViewedReason

MOST_VIEWED = 8
_DIGITS = 2


@dataclass(frozen=True, slots=True)
class Step:
    """One contribution, from where the sum stood to where it stands.

    That of a tag is affinity x `weight` x what tags count in all; a viewed item has no weight.
    `shown` is the contribution to the digits of the page: there, every sum is the one before it
    and this. `start` and `length` place its bar on a scale of 100 that all steps share.
    """

    row: TagRow | ViewedRow
    weight: float | None
    contribution: float
    shown: float
    running: float
    start: float
    length: float

    @property
    def is_viewed(self) -> bool:
        """Whether it is of items that were viewed, not of a tag."""
        return isinstance(self.row, ViewedRow)


@dataclass(frozen=True, slots=True)
class Waterfall:
    """All steps of a score, largest first, and the total.

    `zero` is where nothing stands on the scale, `start` and `length` place the bar of the total.
    `tags_weight` is what every tag is multiplied by; `from_tags` and `from_viewed` are the two
    parts of the score, to the digits of the page.
    """

    explanation: Explanation
    steps: list[Step]
    zero: float
    start: float
    length: float
    tags_weight: float
    from_tags: float
    from_viewed: float

    @property
    def has_viewed(self) -> bool:
        """Whether viewed items count beside the tags."""
        return any(step.is_viewed for step in self.steps)


def waterfall(session: Session, item_id: ItemId, texts: Texts) -> Waterfall:
    """Return the steps of one item's score for one person."""
    explanation = session.catalogue.model.explain(
        item_id,
        session.history,
        session.presses,
        people=session.people,
        steering=session.steering,
    )
    parts = _parts(explanation, session, texts)
    sums = [0.0]
    for _, _, contribution in parts:
        sums.append(sums[-1] + contribution)
    low, high = min(sums), max(sums)
    width = (high - low) or 1.0

    def at(value: float) -> float:
        return round(100 * (value - low) / width, 2)

    steps = [
        Step(
            row=row,
            weight=weight,
            contribution=contribution,
            shown=round(after, _DIGITS) - round(before, _DIGITS),
            running=after,
            start=at(min(before, after)),
            length=round(100 * abs(contribution) / width, 2),
        )
        for (row, weight, contribution), before, after in zip(parts, sums, sums[1:], strict=False)
    ]
    total = explanation.score
    from_tags = round(sum(explanation.contributions.values()), _DIGITS)
    return Waterfall(
        explanation=explanation,
        steps=steps,
        zero=at(0.0),
        start=at(min(0.0, total)),
        length=round(100 * abs(total) / width, 2),
        tags_weight=session.profile.tags_weight,
        from_tags=from_tags,
        from_viewed=round(total, _DIGITS) - from_tags,
    )


_Part = tuple[TagRow | ViewedRow, float | None, float]


def _parts(explanation: Explanation, session: Session, texts: Texts) -> list[_Part]:
    """Return what adds to the score: the tags, and the viewed items, the smaller ones as one."""
    viewed = [r for r in explanation.reasons if isinstance(r, ViewedReason)]
    is_many = len(viewed) > MOST_VIEWED + 1
    rest = viewed[MOST_VIEWED:] if is_many else []
    left = {reason.item_id for reason in rest}
    parts: list[_Part] = []
    for reason in explanation.reasons:
        if isinstance(reason, Reason):
            row = tag_row(reason.tag, reason.affinity, session, texts)
            parts.append((row, reason.weight, reason.contribution))
        elif reason.item_id not in left:
            title = reason.title or str(reason.item_id)
            parts.append((ViewedRow(reason.item_id, title), None, reason.contribution))
    if rest:
        title = texts.count("{n} more that you viewed", "{n} more that you viewed", len(rest))
        parts.append((ViewedRow(None, title), None, sum(r.contribution for r in rest)))
    return parts
