"""The steps of a score and of the difference of two scores, as pages draw them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from teaser.app.catalogue import PersonalModel
from teaser.app.i18n.texts import Texts
from teaser.app.monitoring import measured
from teaser.app.pages.cards import (
    AnyRow,
    TagRow,
    ViewedRow,
    boost_row,
    joint_names,
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
    step, row
        The exact step, and what it is about.
    shown, running
        What it adds, rounded, and the sum of the rounded steps so far.
    start, length
        The bar, on a scale of 100 that all steps share.
    digits
        How many digits to show, so that affinity * weight visibly gives the rounded contribution.
    own, other
        What it adds to the first score and to the second, rounded; `shown` is own - other.
    """

    step: Step
    row: AnyRow
    shown: float
    running: float
    start: float
    length: float
    digits: int
    own: float
    other: float


@dataclass(frozen=True, kw_only=True)
class Fall:
    """All steps in the order of `teaser.steps`, and their sum.

    Attributes
    ----------
    large, small
        The steps; small ones, if they are several, are shown as one until they are opened.
    share, shown
        The signed share of the small steps, and the sum of their rounded numbers.
    small_start, small_length
        Their bar, from where the step before them ends to where the last of them ends.
    zero
        The position of 0 on the scale of the bars.
    start, length
        The bar of the sum.
    total
        The sum of the steps.
    rounding
        What is missing in it without the digits that are not shown.
    """

    large: list[ShownStep]
    small: list[ShownStep]
    share: float
    shown: float
    small_start: float
    small_length: float
    zero: float
    start: float
    length: float
    total: float
    rounding: float

    @property
    def steps(self) -> list[ShownStep]:
        """All steps."""
        return self.large + self.small

    @property
    def kinds(self) -> set[str]:
        """What adds to the sum: `tag`, `general`, `viewed`, `boost`."""
        return {"viewed" if s.step.kind == "disliked" else s.step.kind for s in self.steps}


@dataclass(frozen=True, kw_only=True)
class Waterfall(Fall):
    """The steps of one score, and its parts, rounded so that they add up."""

    explanation: Explanation
    parts: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class DifferenceFall(Fall):
    """The steps from the second score to the first.

    In each row `own - other` is `shown`, and each column sums to its total, the rounding included.

    Attributes
    ----------
    totals, missing
        The totals of the columns of the two items, and the rounding in each.
    names_for, names_against
        What speaks most for the item of the higher score, and what for the other.
    """

    difference: Difference
    totals: tuple[float, float]
    missing: tuple[float, float]
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
    added = {"general": found.general, "viewed": sum(found.viewed.values()), "boost": found.boost}
    total, parts = round(found.score, DIGITS), {k: round(v, DIGITS) for k, v in added.items()}
    return Waterfall(
        **drawn,
        explanation=found,
        total=found.score,
        rounding=_missing(total, drawn, "shown"),
        parts={**parts, "tags": round(total - sum(parts.values()), DIGITS)},
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
    own, other = round(found.score, DIGITS), round(found.other_score, DIGITS)
    missing = _missing(own, drawn, "own"), _missing(other, drawn, "other")
    way = 1 if found.difference >= 0 else -1
    return DifferenceFall(
        **drawn,
        difference=found,
        totals=(own, other),
        missing=missing,
        total=round(own - other, DIGITS),
        rounding=round(missing[0] - missing[1], DIGITS),
        names_for=_names(steps, way, personal, texts)[:N_FOR],
        names_against=_names(steps, -way, personal, texts)[:N_AGAINST],
    )


def _missing(total: float, drawn: dict[str, Any], column: str) -> float:
    """Return what the rounded numbers of a column lack of its total."""
    shown = (getattr(step, column) for step in drawn["large"] + drawn["small"])
    return round(total - float(sum(shown)), DIGITS)


def _draw(
    steps: Sequence[Step], row_of: Callable[[Step], AnyRow], personal: PersonalModel
) -> dict[str, Any]:
    """Return the fields of `Fall`: rounded numbers, and bars from the lowest sum to the highest."""
    origin = steps[0].start if steps else 0.0
    sums = [0.0, *(step.end - origin for step in steps)]
    low, width = min(sums), (max(sums) - min(sums)) or 1.0

    def bar(start: float, end: float) -> tuple[float, float]:
        return (
            round(100 * (min(start, end) - low) / width, 2),
            round(100 * abs(end - start) / width, 2),
        )

    shown, running = list[ShownStep](), 0.0
    for step, row in zip(steps, map(row_of, steps), strict=True):
        own, other = round(step.own or 0.0, DIGITS), round(step.other or 0.0, DIGITS)
        adds = round(step.adds if step.own is None else own - other, DIGITS)
        running = round(running + adds, DIGITS)
        ends = bar(step.start - origin, step.end - origin)
        digits = _digits(row, step, personal.profile.tags_weight)
        shown.append(ShownStep(step, row, adds, running, *ends, digits, own, other))
    n_small = sum(step.is_small for step in steps)
    n_large = len(steps) if n_small < MIN_FOLDED else len(steps) - n_small or len(steps)
    small_start, small_length = bar(sums[n_large], sums[-1])
    start, length = bar(0.0, sums[-1])
    return {
        "large": shown[:n_large],
        "small": shown[n_large:],
        "share": sum(step.share for step in steps[n_large:]),
        "shown": round(sum(step.shown for step in shown[n_large:]), DIGITS),
        "small_start": small_start,
        "small_length": small_length,
        "zero": bar(0.0, 0.0)[0],
        "start": start,
        "length": length,
    }


def _digits(row: AnyRow, step: Step, tags_weight: float) -> int:
    """Return how many digits to show, so that the factors visibly give the rounded contribution."""
    if step.weight is None or not isinstance(row, TagRow):
        return DIGITS
    shown, share = round(step.adds, DIGITS), round(tags_weight, DIGITS)
    for digits in range(DIGITS, _MAX_DIGITS):
        product = round(row.affinity, digits) * round(step.weight, digits) * share
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
    return ViewedRow(step.name, personal.catalogue.title(step.name), step.kind == "disliked")


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
            title = personal.catalogue.title(step.name)
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
