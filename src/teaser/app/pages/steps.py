"""The steps of a score and of the difference of two scores, with the bars that draw them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from teaser.app.i18n.texts import Texts
from teaser.app.pages.cards import AnyRow, BoostRow, ViewedRow, boost_row, reason_row
from teaser.app.pages.profile import TagRow, joint_names, tag_row
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.telemetry.request_record import measured
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.explain import (
    BoostReason,
    Difference,
    DifferencePart,
    Explanation,
    Reason,
    ViewedReason,
)
from teaser.profile import GENERAL
from teaser.steps import SMALL_SHARE

MAX_VIEWED = 8
# Small steps are folded, if there are at least so many.
MIN_FOLDED = 3
DIGITS = 2
_MAX_DIGITS = 6


class _Part(NamedTuple):
    row: AnyRow
    weight: float | None
    contribution: float


@dataclass(frozen=True, slots=True)
class Step:
    """One contribution to the score.

    Attributes
    ----------
    row
        General appeal, a tag, near-equal tags together, a viewed item, or a boost of the site.
    weight
        The factor of the affinity: contribution = affinity * weight * tags_weight. None for a
        viewed item and a boost.
    contribution, shown
        What the step adds to the score, exact and rounded as on the page.
    running
        The sum of the rounded contributions so far.
    digits
        How many digits to show, so that affinity * weight visibly gives the rounded contribution.
    start, length
        The bar, on a scale of 100 that all steps share.
    """

    row: AnyRow
    weight: float | None
    contribution: float
    shown: float
    running: float
    digits: int
    start: float
    length: float

    @property
    def edges(self) -> tuple[float, float]:
        """Where the bar begins and ends, in the direction of the contribution."""
        low, high = self.start, self.start + self.length
        return (low, high) if self.contribution >= 0 else (high, low)

    @property
    def is_viewed(self) -> bool:
        """Whether the step is a viewed item, not a tag."""
        return isinstance(self.row, ViewedRow)

    @property
    def is_boost(self) -> bool:
        """Whether the site promotes the item, or plays it down."""
        return isinstance(self.row, BoostRow)

    @property
    def is_general(self) -> bool:
        """Whether the step is general appeal."""
        return isinstance(self.row, TagRow) and self.row.tag == GENERAL


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of the bars of a waterfall: from the lowest sum on the way to the highest, 100."""

    low: float
    width: float

    @classmethod
    def of(cls, sums: Sequence[float]) -> "Scale":
        """Return the scale on which all sums fit."""
        return cls(min(sums), (max(sums) - min(sums)) or 1.0)

    def at(self, value: float) -> float:
        """Return the position of a sum."""
        return round(100 * (value - self.low) / self.width, 2)

    def length(self, value: float) -> float:
        """Return the length of the bar of a contribution."""
        return round(100 * abs(value) / self.width, 2)


@dataclass(frozen=True, slots=True)
class Folded:
    """Small steps that are shown as one until they are opened.

    Attributes
    ----------
    steps
        The steps, as they are shown when opened.
    share
        Their signed share of all contributions.
    shown, running
        The sum of their rounded contributions, and the sum of all steps up to the last of them.
    start, length
        Their bar, from where the step before them ends to where the last of them ends.
    """

    steps: list[Step]
    share: float
    shown: float
    running: float
    start: float
    length: float


@dataclass(frozen=True, slots=True)
class Waterfall:
    """All steps of a score and the total: general appeal, then the others, the largest first.

    Attributes
    ----------
    steps
        All steps.
    fold
        The last steps, if they are small; None if none is folded.
    rounding
        The difference between the score and the sum of the rounded contributions.
    zero
        The position of 0 on the scale of the bars.
    start, length
        The bar of the total.
    tags_weight
        The factor of every tag, set by the balance.
    from_general, from_tags, from_viewed, from_boost
        The parts of the score, rounded as on the page so that they add up.
    """

    explanation: Explanation
    steps: list[Step]
    rounding: float
    zero: float
    start: float
    length: float
    tags_weight: float
    from_general: float
    from_tags: float
    from_viewed: float
    from_boost: float = 0.0
    fold: Folded | None = None

    @property
    def large(self) -> list[Step]:
        """The steps that are not folded."""
        return self.steps[: len(self.steps) - len(self.fold.steps)] if self.fold else self.steps

    @property
    def has_general(self) -> bool:
        """Whether the model tells general appeal apart."""
        return any(step.is_general for step in self.steps)

    @property
    def has_boost(self) -> bool:
        """Whether the site promotes the item, or plays it down."""
        return any(step.is_boost for step in self.steps)

    @property
    def has_viewed(self) -> bool:
        """Whether viewed items count besides the tags."""
        return any(step.is_viewed for step in self.steps)


@measured("model")
def waterfall(personal: PersonalModel, item_id: ItemId, texts: Texts) -> Waterfall:
    """Return the steps of an item's score for one person."""
    explanation = personal.catalogue.model.explain(
        item_id,
        personal.history,
        personal.presses,
        about=personal.about,
        steering=personal.steering,
        boost=personal.catalogue.boost,
    )
    parts = _parts(explanation, personal, texts)
    sums = list(accumulate((part.contribution for part in parts), initial=0.0))
    scale = Scale.of(sums)
    steps: list[Step] = []
    running = 0.0
    for part, before, after in zip(parts, sums, sums[1:], strict=False):
        shown = round(part.contribution, DIGITS)
        running = round(running + shown, DIGITS)
        steps.append(
            Step(
                *part,
                shown=shown,
                running=running,
                digits=_digits(part, personal.profile.tags_weight),
                start=scale.at(min(before, after)),
                length=scale.length(part.contribution),
            )
        )
    total = explanation.score
    general = round(explanation.general, DIGITS)
    viewed = round(sum(explanation.viewed.values()), DIGITS)
    boost = round(explanation.boost, DIGITS)
    return Waterfall(
        explanation=explanation,
        steps=steps,
        rounding=round(round(total, DIGITS) - running, DIGITS),
        zero=scale.at(0.0),
        start=scale.at(min(0.0, total)),
        length=scale.length(total),
        tags_weight=personal.profile.tags_weight,
        from_general=general,
        from_tags=round(round(total, DIGITS) - general - viewed - boost, DIGITS),
        from_viewed=viewed,
        from_boost=boost,
        fold=fold_steps(steps, explanation.total),
    )


def fold_steps(steps: Sequence[Step], total: float) -> Folded | None:
    """Return the small steps, which are the last ones; None if they are few.

    `total` is the sum of all absolute contributions.
    """
    least = SMALL_SHARE * total
    small = [step for step in steps if not is_large(step, least)]
    if len(small) < MIN_FOLDED or len(small) == len(steps):
        return None
    ends = [edge for step in (small[0], small[-1]) for edge in step.edges]
    first, last = ends[0], ends[-1]
    return Folded(
        steps=small,
        share=sum(step.contribution for step in small) / total if total else 0.0,
        shown=round(sum(step.shown for step in small), DIGITS),
        running=small[-1].running,
        start=min(first, last),
        length=round(abs(last - first), 2),
    )


def is_large(part: _Part | Step, least: float) -> bool:
    """Return whether a part is general appeal, which comes first, a boost, or not small."""
    is_general = isinstance(part.row, TagRow) and part.row.tag == GENERAL
    return is_general or isinstance(part.row, BoostRow) or abs(part.contribution) >= least


def _digits(part: _Part, tags_weight: float) -> int:
    """Return how many digits to show, so that the factors visibly give the rounded contribution."""
    row, weight, contribution = part
    if weight is None or not isinstance(row, TagRow):
        return DIGITS
    shown, share = round(contribution, DIGITS), round(tags_weight, DIGITS)
    for digits in range(DIGITS, _MAX_DIGITS):
        product = round(row.affinity, digits) * round(weight, digits) * share
        if abs(product - shown) <= 0.5 * 10**-DIGITS + 1e-9:
            return digits
    return _MAX_DIGITS


def _parts(explanation: Explanation, personal: PersonalModel, texts: Texts) -> list[_Part]:
    """Return the contributions: general appeal, then tags, viewed items and boosts.

    The smallest viewed items are one. Small parts come last.
    """
    viewed = [r for r in explanation.reasons if isinstance(r, ViewedReason)]
    rest = viewed[MAX_VIEWED:] if len(viewed) > MAX_VIEWED + 1 else []
    merged = {reason.item_id for reason in rest}
    parts = _general(explanation, personal, texts)
    for reason in explanation.reasons:
        if isinstance(reason, Reason):
            row: AnyRow = reason_row(reason, personal, texts, full=False)
            parts.append(_Part(row, reason.weight, reason.contribution))
        elif isinstance(reason, ViewedReason) and reason.item_id not in merged:
            title = reason.title or str(reason.item_id)
            seen = ViewedRow(reason.item_id, title, reason.disliked)
            parts.append(_Part(seen, None, reason.contribution))
        elif isinstance(reason, BoostReason):
            row = boost_row(reason.name, reason.contribution, explanation.item_id, texts)
            parts.append(_Part(row, None, reason.contribution))
    if rest:
        title = texts.count("{n} more that you viewed", "{n} more that you viewed", len(rest))
        parts.append(_Part(ViewedRow(None, title), None, sum(r.contribution for r in rest)))
    least = SMALL_SHARE * explanation.total
    return sorted(parts, key=lambda part: not is_large(part, least))


def _general(explanation: Explanation, personal: PersonalModel, texts: Texts) -> list[_Part]:
    """Return general appeal as the first part; nothing if the model does not tell it apart."""
    model, column = personal.catalogue.model, personal.catalogue.tag_index.get(GENERAL)
    if column is None:
        return []
    weight = float(model.decoder_[model.items_.index_of(explanation.item_id), column])
    row = tag_row(GENERAL, personal.profile.general, personal, texts)
    return [_Part(row, weight, explanation.general)]


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
