"""The whole score of an item as steps that visibly add up."""

from dataclasses import dataclass

from teaser.app.i18n.texts import Texts
from teaser.app.serving.personal_model import Session
from teaser.app.site.view import TagRow, ViewedRow, tag_row
from teaser.data.ids import ItemId
from teaser.explain import Explanation, Reason, ViewedReason

MOST_VIEWED = 8
_DIGITS, _MOST_DIGITS = 2, 6


@dataclass(frozen=True, slots=True)
class Step:
    """One contribution, from where the sum stood to where it stands.

    That of a tag is affinity x `weight` x what tags count in all; a viewed item has no weight.
    `shown` is the contribution to the digits of the page, `running` the sum of those so far, and
    `digits` how many the factors need for their product to be what is shown. `start` and `length`
    place its bar on a scale of 100 that all steps share.
    """

    row: TagRow | ViewedRow
    weight: float | None
    contribution: float
    shown: float
    running: float
    digits: int
    start: float
    length: float

    @property
    def is_viewed(self) -> bool:
        """Whether it is of items that were viewed, not of a tag."""
        return isinstance(self.row, ViewedRow)


@dataclass(frozen=True, slots=True)
class Waterfall:
    """All steps of a score, largest first, and the total.

    `rounding` is what the digits that are not shown add up to, so that the column sums to the
    score. `zero` is where nothing stands on the scale, `start` and `length` place the bar of the
    total. `tags_weight` is what every tag is multiplied by; `from_tags` and `from_viewed` are the
    two parts of the score, to the digits of the page.
    """

    explanation: Explanation
    steps: list[Step]
    rounding: float
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
        about=session.about,
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

    steps: list[Step] = []
    running = 0.0
    for part, before, after in zip(parts, sums, sums[1:], strict=False):
        shown = round(part[2], _DIGITS)
        running = round(running + shown, _DIGITS)
        steps.append(
            Step(
                row=part[0],
                weight=part[1],
                contribution=part[2],
                shown=shown,
                running=running,
                digits=_digits(part, session.profile.tags_weight),
                start=at(min(before, after)),
                length=round(100 * abs(part[2]) / width, 2),
            )
        )
    total = explanation.score
    from_tags = round(sum(explanation.contributions.values()), _DIGITS)
    return Waterfall(
        explanation=explanation,
        steps=steps,
        rounding=round(round(total, _DIGITS) - running, _DIGITS),
        zero=at(0.0),
        start=at(min(0.0, total)),
        length=round(100 * abs(total) / width, 2),
        tags_weight=session.profile.tags_weight,
        from_tags=from_tags,
        from_viewed=round(total, _DIGITS) - from_tags,
    )


_Part = tuple[TagRow | ViewedRow, float | None, float]


def _digits(part: _Part, tags_weight: float) -> int:
    """Return how many digits the factors of a step are written with to give what it shows."""
    row, weight, contribution = part
    if weight is None or isinstance(row, ViewedRow):
        return _DIGITS
    shown, share = round(contribution, _DIGITS), round(tags_weight, _DIGITS)
    for digits in range(_DIGITS, _MOST_DIGITS):
        product = round(row.affinity, digits) * round(weight, digits) * share
        if abs(product - shown) <= 0.5 * 10**-_DIGITS + 1e-9:
            return digits
    return _MOST_DIGITS


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
