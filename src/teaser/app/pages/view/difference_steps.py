"""The waterfall of the difference of two scores: steps that add up to it, and its main reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from teaser.app.i18n.texts import Texts
from teaser.app.pages.view.card_view import AnyRow, ViewedRow, boost_row, reason_row
from teaser.app.pages.view.profile_view import joint_names, tag_row
from teaser.app.pages.view.score_steps import (
    DIGITS,
    MAX_VIEWED,
    Folded,
    Scale,
    Step,
    fold_steps,
)
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.telemetry.request_record import measured
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.explain import Difference, DifferencePart, Reason
from teaser.profile import GENERAL
from teaser.steps import SMALL_SHARE

N_FOR, N_AGAINST = 3, 2


@dataclass(frozen=True, slots=True)
class DifferenceStep(Step):
    """One part of the difference: `contribution` is what the first item has more than the second.

    Attributes
    ----------
    own, other
        What the part adds to the first score and to the second, rounded as on the page;
        `shown` is own - other.
    """

    own: float = 0.0
    other: float = 0.0


@dataclass(frozen=True, slots=True)
class DifferenceFall:
    """All steps from the second score to the first, the largest first.

    The numbers of the page add up: in each row `own - other` is `shown`, and each of the three
    columns sums to its total, the rounding included.

    Attributes
    ----------
    difference
        The two scores and their parts, exact.
    steps
        All steps.
    score, other_score, shown
        The totals of the three columns, as on the page.
    rounding
        What is missing in each of the columns without the digits that are not shown.
    zero, start, length
        The position of 0 on the scale of the bars, and the bar of the total.
    names_for, names_against
        What speaks most for the item of the higher score, and what for the other.
    fold
        The last steps, if they are small; None if none is folded.
    """

    difference: Difference
    steps: list[DifferenceStep]
    score: float
    other_score: float
    shown: float
    rounding: tuple[float, float, float]
    zero: float
    start: float
    length: float
    names_for: list[str]
    names_against: list[str]
    fold: Folded | None

    @property
    def large(self) -> Sequence[Step]:
        """The steps that are not folded."""
        return self.steps[: len(self.steps) - len(self.fold.steps)] if self.fold else self.steps

    @property
    def has_viewed(self) -> bool:
        """Whether viewed items count besides the tags."""
        return any(step.is_viewed for step in self.steps)


@measured("model")
def difference_fall(
    personal: PersonalModel, item_id: ItemId, other_id: ItemId, texts: Texts
) -> DifferenceFall:
    """Return the steps between the scores of two items for one person."""
    found = personal.catalogue.model.compare(
        item_id,
        other_id,
        personal.history,
        personal.presses,
        about=personal.about,
        steering=personal.steering,
        boost=personal.catalogue.boost,
    )
    parts = _large_first(_few_viewed(found.parts, texts), found.total)
    sums = list(accumulate((part.difference for part in parts), initial=0.0))
    scale = Scale.of([*sums, 0.0])
    steps: list[DifferenceStep] = []
    running = 0.0
    for part, before, after in zip(parts, sums, sums[1:], strict=False):
        own, other = (round(x, DIGITS) for x in (part.contribution, part.other_contribution))
        shown = round(own - other, DIGITS)
        running = round(running + shown, DIGITS)
        steps.append(
            DifferenceStep(
                row=_row(part, found, personal, texts),
                weight=None,
                contribution=part.difference,
                shown=shown,
                running=running,
                digits=DIGITS,
                start=scale.at(min(before, after)),
                length=scale.length(part.difference),
                own=own,
                other=other,
            )
        )
    score, other_score = round(found.score, DIGITS), round(found.other_score, DIGITS)
    missing = (
        round(score - sum(step.own for step in steps), DIGITS),
        round(other_score - sum(step.other for step in steps), DIGITS),
    )
    way = 1 if found.difference >= 0 else -1
    return DifferenceFall(
        difference=found,
        steps=steps,
        score=score,
        other_score=other_score,
        shown=round(score - other_score, DIGITS),
        rounding=(*missing, round(missing[0] - missing[1], DIGITS)),
        zero=scale.at(0.0),
        start=scale.at(min(0.0, found.difference)),
        length=scale.length(found.difference),
        names_for=_names(parts, way, personal, texts)[:N_FOR],
        names_against=_names(parts, -way, personal, texts)[:N_AGAINST],
        fold=fold_steps(steps, found.total),
    )


def _few_viewed(parts: Sequence[DifferencePart], texts: Texts) -> list[DifferencePart]:
    """Return the parts with all but the largest few of the viewed items as one."""
    viewed = [part for part in parts if part.kind in ("viewed", "disliked")]
    rest = viewed[MAX_VIEWED:] if len(viewed) > MAX_VIEWED + 1 else []
    if not rest:
        return list(parts)
    merged = {part.name for part in rest}
    kept = [
        part for part in parts if part.kind not in ("viewed", "disliked") or part.name not in merged
    ]
    title = texts.count("{n} more that you viewed", "{n} more that you viewed", len(rest))
    own, other = (sum(p.contribution for p in rest), sum(p.other_contribution for p in rest))
    return [*kept, DifferencePart("viewed", "", own, other, own - other, title=title)]


def _large_first(parts: Sequence[DifferencePart], total: float) -> list[DifferencePart]:
    least = SMALL_SHARE * total
    return sorted(parts, key=lambda part: not _is_large(part, least))


def _is_large(part: DifferencePart, least: float) -> bool:
    """Return whether `is_large` holds for the step of a part."""
    return part.kind in ("general", "boost") or abs(part.difference) >= least


def _row(part: DifferencePart, found: Difference, personal: PersonalModel, texts: Texts) -> AnyRow:
    if part.kind == "general":
        return tag_row(GENERAL, personal.profile.general, personal, texts)
    if part.kind == "tag":
        tag = part.tags[0]
        reason = Reason(tag, part.difference, part.share, personal.affinity(tag), tags=part.tags)
        return reason_row(reason, personal, texts, full=False)
    if part.kind == "boost":
        # A boost by id is named by the item that has it.
        has_it = found.item_id if part.contribution else found.other_id
        return boost_row(part.name, part.contribution or part.other_contribution, has_it, texts)
    item_id = None if part.name == "" or isinstance(part.name, Tag) else part.name
    return ViewedRow(item_id, part.title or str(part.name), part.kind == "disliked")


def _names(
    parts: Sequence[DifferencePart], way: int, personal: PersonalModel, texts: Texts
) -> list[str]:
    """Return the names of what differs in one direction, the largest first."""
    found = []
    for part in sorted(parts, key=lambda part: -abs(part.difference)):
        if way * part.difference <= 0:
            continue
        if part.kind == "general":
            found.append(texts("general appeal"))
        elif part.kind == "boost":
            found.append(texts("what this site promotes"))
        elif part.tags:
            name = " / ".join(joint_names(part.tags, personal.catalogue, texts))
            found.append(name if _is_there(part) else texts("the absence of {tag}", tag=name))
        elif part.kind == "disliked":
            found.append(texts("“{title}”, which you disliked", title=part.label))
        elif part.name == "":
            found.append(part.label)
        else:
            found.append(texts("“{title}”, which you viewed", title=part.label))
    return found


def _is_there(part: DifferencePart) -> bool:
    """Return whether the item that a part speaks for has its tags, or gains by lacking them."""
    own, other = part.contribution, part.other_contribution
    favoured, against = (own, other) if part.difference > 0 else (other, own)
    return favoured != 0 or against > 0
