"""The steps of a score and of the difference of two scores, as pages draw them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from teaser.app.catalogue import PersonalModel
from teaser.app.i18n.texts import Texts
from teaser.app.monitoring import measured
from teaser.app.pages.cards import (
    AnyRow,
    BoostRow,
    TagRow,
    ViewedRow,
    boost_row,
    joint_names,
    plain_card,
    reason_row,
    tag_row,
)
from teaser.data.matrix import ItemId
from teaser.explain import Difference, Explanation, Reason
from teaser.profile import GENERAL
from teaser.steps import Step

# Small steps are folded, if there are at least so many.
MIN_FOLDED = 3
DIGITS = 2
N_FOR, N_AGAINST = 3, 2
_MAX_DIGITS = 6


@dataclass(frozen=True, slots=True)
class ShownStep:
    """One step on a page.

    Attributes
    ----------
    row
        General appeal, a tag, near-equal tags together, a viewed item, or a boost of the site.
    weight
        The factor of the affinity: contribution = affinity * weight * tags_weight. None for a
        viewed item and a boost.
    contribution, shown
        What the step adds, exact and rounded as on the page.
    running
        The sum of the rounded contributions so far.
    digits
        How many digits to show, so that affinity * weight visibly gives the rounded contribution.
    start, length
        The bar, on a scale of 100 that all steps share.
    own, other
        What the step adds to the first score and to the second, rounded; `shown` is own - other.
    """

    row: AnyRow
    weight: float | None
    contribution: float
    shown: float
    running: float
    digits: int
    start: float
    length: float
    own: float = 0.0
    other: float = 0.0

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

    steps: list[ShownStep]
    share: float
    shown: float
    running: float
    start: float
    length: float


@dataclass(frozen=True, kw_only=True)
class Fall:
    """All steps in the order of `teaser.steps`, and their sum.

    Attributes
    ----------
    steps
        All steps.
    fold
        The last steps, if they are small; None if none is folded.
    zero
        The position of 0 on the scale of the bars.
    start, length
        The bar of the sum.
    """

    steps: list[ShownStep]
    fold: Folded | None
    zero: float
    start: float
    length: float

    @property
    def large(self) -> list[ShownStep]:
        """The steps that are not folded."""
        return self.steps[: len(self.steps) - len(self.fold.steps)] if self.fold else self.steps

    @property
    def has_general(self) -> bool:
        """Whether the model tells general appeal apart."""
        return any(step.is_general for step in self.steps)

    @property
    def has_boost(self) -> bool:
        """Whether the site promotes an item, or plays it down."""
        return any(step.is_boost for step in self.steps)

    @property
    def has_viewed(self) -> bool:
        """Whether viewed items count besides the tags."""
        return any(step.is_viewed for step in self.steps)


@dataclass(frozen=True, kw_only=True)
class Waterfall(Fall):
    """The steps of one score.

    Attributes
    ----------
    rounding
        The difference between the score and the sum of the rounded contributions.
    tags_weight
        The factor of every tag, set by the balance.
    from_general, from_tags, from_viewed, from_boost
        The parts of the score, rounded as on the page so that they add up.
    """

    explanation: Explanation
    rounding: float
    tags_weight: float
    from_general: float
    from_tags: float
    from_viewed: float
    from_boost: float


@dataclass(frozen=True, kw_only=True)
class DifferenceFall(Fall):
    """The steps from the second score to the first.

    In each row `own - other` is `shown`, and each of the three columns sums to its total, the
    rounding included.

    Attributes
    ----------
    score, other_score, shown
        The totals of the three columns, as on the page.
    rounding
        What is missing in each of the columns without the digits that are not shown.
    names_for, names_against
        What speaks most for the item of the higher score, and what for the other.
    """

    difference: Difference
    score: float
    other_score: float
    shown: float
    rounding: tuple[float, float, float]
    names_for: list[str]
    names_against: list[str]


@measured("model")
def waterfall(personal: PersonalModel, item_id: ItemId, texts: Texts) -> Waterfall:
    """Return the steps of an item's score for one person."""
    model = personal.catalogue.model
    found = model.explain(item_id, boost=personal.catalogue.boost, **personal.taste)
    steps, column = found.steps(zeros=True), personal.catalogue.tag_index.get(GENERAL)
    if column is None:  # the model does not tell general appeal apart
        steps = [step for step in steps if step.kind != "general"]
    else:
        weight = float(model.decoder_[model.items_.index_of(found.item_id), column])
        steps = [replace(s, weight=weight) if s.kind == "general" else s for s in steps]
    drawn = _draw(steps, lambda step: _row(step, (found.item_id,) * 2, personal, texts), personal)
    total = round(found.score, DIGITS)
    general = round(found.general, DIGITS)
    viewed = round(sum(found.viewed.values()), DIGITS)
    boost = round(found.boost, DIGITS)
    return Waterfall(
        **drawn,
        explanation=found,
        rounding=round(total - sum(step.shown for step in drawn["steps"]), DIGITS),
        tags_weight=personal.profile.tags_weight,
        from_general=general,
        from_tags=round(total - general - viewed - boost, DIGITS),
        from_viewed=viewed,
        from_boost=boost,
    )


@measured("model")
def difference_fall(
    personal: PersonalModel, item_id: ItemId, other_id: ItemId, texts: Texts
) -> DifferenceFall:
    """Return the steps between the scores of two items for one person."""
    catalogue = personal.catalogue
    found = catalogue.model.compare(item_id, other_id, boost=catalogue.boost, **personal.taste)
    steps, pair = found.steps(zeros=True), (found.item_id, found.other_id)
    drawn = _draw(steps, lambda step: _row(step, pair, personal, texts), personal)
    score, other_score = round(found.score, DIGITS), round(found.other_score, DIGITS)
    missing = (
        round(score - sum(step.own for step in drawn["steps"]), DIGITS),
        round(other_score - sum(step.other for step in drawn["steps"]), DIGITS),
    )
    way = 1 if found.difference >= 0 else -1
    return DifferenceFall(
        **drawn,
        difference=found,
        score=score,
        other_score=other_score,
        shown=round(score - other_score, DIGITS),
        rounding=(*missing, round(missing[0] - missing[1], DIGITS)),
        names_for=_names(steps, way, personal, texts)[:N_FOR],
        names_against=_names(steps, -way, personal, texts)[:N_AGAINST],
    )


def _draw(
    steps: Sequence[Step], row_of: Callable[[Step], AnyRow], personal: PersonalModel
) -> dict[str, Any]:
    """Return the fields of `Fall`: rounded numbers, and bars from the lowest sum to the highest."""
    origin = steps[0].start if steps else 0.0
    sums = [0.0, *(step.end - origin for step in steps)]
    low, width = min(sums), (max(sums) - min(sums)) or 1.0

    def position(value: float) -> float:
        return round(100 * (value - low) / width, 2)

    shown, running = list[ShownStep](), 0.0
    for step in steps:
        own, other = round(step.own or 0.0, DIGITS), round(step.other or 0.0, DIGITS)
        adds = round(step.adds if step.own is None else own - other, DIGITS)
        running = round(running + adds, DIGITS)
        row = row_of(step)
        shown.append(
            ShownStep(
                row=row,
                weight=step.weight,
                contribution=step.adds,
                shown=adds,
                running=running,
                digits=_digits(row, step.weight, step.adds, personal.profile.tags_weight),
                start=position(min(step.start, step.end) - origin),
                length=round(100 * abs(step.adds) / width, 2),
                own=own,
                other=other,
            )
        )
    total = sums[-1]
    return {
        "steps": shown,
        "fold": _fold(steps, shown),
        "zero": position(0.0),
        "start": position(min(0.0, total)),
        "length": round(100 * abs(total) / width, 2),
    }


def _fold(steps: Sequence[Step], shown: Sequence[ShownStep]) -> Folded | None:
    """Return the small steps, which are the last ones; None if they are few."""
    n_small = sum(step.is_small for step in steps)
    if n_small < MIN_FOLDED or n_small == len(steps):
        return None
    small = list(shown[-n_small:])
    first, last = small[0].edges[0], small[-1].edges[1]
    return Folded(
        steps=small,
        share=sum(step.share for step in steps[-n_small:]),
        shown=round(sum(step.shown for step in small), DIGITS),
        running=small[-1].running,
        start=min(first, last),
        length=round(abs(last - first), 2),
    )


def _digits(row: AnyRow, weight: float | None, contribution: float, tags_weight: float) -> int:
    """Return how many digits to show, so that the factors visibly give the rounded contribution."""
    if weight is None or not isinstance(row, TagRow):
        return DIGITS
    shown, share = round(contribution, DIGITS), round(tags_weight, DIGITS)
    for digits in range(DIGITS, _MAX_DIGITS):
        product = round(row.affinity, digits) * round(weight, digits) * share
        if abs(product - shown) <= 0.5 * 10**-DIGITS + 1e-9:
            return digits
    return _MAX_DIGITS


def _row(step: Step, pair: tuple[ItemId, ItemId], personal: PersonalModel, texts: Texts) -> AnyRow:
    """Return what a step is about; `pair` are the items of the first and the second score."""
    if step.kind == "general":
        return tag_row(GENERAL, personal, texts)
    if step.kind == "tag":
        tag = step.tags[0]
        affinity = personal.affinity(tag) if step.affinity is None else step.affinity
        reason = Reason(tag, step.adds, step.share, affinity, tags=step.tags)
        return reason_row(reason, personal, texts, full=False)
    if step.kind == "boost":
        # A boost by id is named by the item that has it.
        part = step.adds if step.own is None else step.own or step.other or 0.0
        return boost_row(step.name, part, pair[0] if step.own != 0 else pair[1], texts)
    if step.n > 1:
        return ViewedRow(None, _more_viewed(step, texts))
    title = plain_card(personal.catalogue, step.name, texts).card.title
    return ViewedRow(step.name, title, step.kind == "disliked")


def _more_viewed(step: Step, texts: Texts) -> str:
    return texts.count("{n} more that you viewed", "{n} more that you viewed", step.n)


def _names(steps: Sequence[Step], way: int, personal: PersonalModel, texts: Texts) -> list[str]:
    """Return the names of what differs in one direction, the largest first."""
    found = []
    for step in sorted(steps, key=lambda step: -abs(step.adds)):
        if way * step.adds <= 0:
            continue
        if step.kind == "general":
            found.append(texts("general appeal"))
        elif step.kind == "boost":
            found.append(texts("what this site promotes"))
        elif step.tags:
            name = " / ".join(joint_names(step.tags, personal.catalogue, texts))
            found.append(name if _is_there(step) else texts("the absence of {tag}", tag=name))
        elif step.n > 1:
            found.append(_more_viewed(step, texts))
        else:
            title = plain_card(personal.catalogue, step.name, texts).card.title
            if step.kind == "disliked":
                found.append(texts("“{title}”, which you disliked", title=title))
            else:
                found.append(texts("“{title}”, which you viewed", title=title))
    return found


def _is_there(step: Step) -> bool:
    """Return whether the item that a step speaks for has its tags, or gains by lacking them."""
    own, other = step.own or 0.0, step.other or 0.0
    favoured, against = (own, other) if step.adds > 0 else (other, own)
    return favoured != 0 or against > 0
