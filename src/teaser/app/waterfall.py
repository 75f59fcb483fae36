"""The whole score of an item as steps that visibly add up."""

from dataclasses import dataclass

from teaser.app.session import Session
from teaser.app.texts import Texts
from teaser.app.view import TagRow, tag_row
from teaser.data.dataset import ItemId
from teaser.explain import Explanation


@dataclass(frozen=True, slots=True)
class Step:
    """One contribution: affinity x weight, from where the sum stood to where it stands.

    `shown` is the contribution to the digits of the page: there, every sum is the one before it
    and this. `start` and `length` place its bar on a scale of 100 that all steps share.
    """

    row: TagRow
    weight: float
    contribution: float
    shown: float
    running: float
    start: float
    length: float


@dataclass(frozen=True, slots=True)
class Waterfall:
    """All steps of a score, largest first, and the total.

    `zero` is where nothing stands on the scale, `start` and `length` place the bar of the total.
    """

    explanation: Explanation
    steps: list[Step]
    zero: float
    start: float
    length: float


def waterfall(session: Session, item_id: ItemId, texts: Texts) -> Waterfall:
    """Return the steps of one item's score for one person."""
    model = session.catalogue.model
    explanation = model.explain(item_id, session.history, session.presses)
    place = model.items_.index_of(item_id)
    row = slice(model.decoder_.indptr[place], model.decoder_.indptr[place + 1])
    weights = dict(
        zip(model.decoder_.indices[row].tolist(), model.decoder_.data[row].tolist(), strict=True)
    )
    by_tag = {model.tags_[j]: weight for j, weight in weights.items()}
    sums = [0.0]
    for reason in explanation.reasons:
        sums.append(sums[-1] + reason.contribution)
    low, high = min(sums), max(sums)
    width = (high - low) or 1.0

    def at(value: float) -> float:
        return round(100 * (value - low) / width, 2)

    steps = [
        Step(
            row=tag_row(reason.tag, reason.affinity, session, texts),
            weight=by_tag[reason.tag],
            contribution=reason.contribution,
            shown=round(after, 2) - round(before, 2),
            running=after,
            start=at(min(before, after)),
            length=round(100 * abs(reason.contribution) / width, 2),
        )
        for reason, before, after in zip(explanation.reasons, sums, sums[1:], strict=False)
    ]
    total = explanation.score
    return Waterfall(
        explanation=explanation,
        steps=steps,
        zero=at(0.0),
        start=at(min(0.0, total)),
        length=round(100 * abs(total) / width, 2),
    )
