"""Pages about items and tags: the score, its lift, a start from it, a comparison, a tag."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from teaser.app.actions import decide, effective_presses
from teaser.app.brand import CACHED, picture_response
from teaser.app.catalogue import Card, Catalogue, PersonalModel, find_lift
from teaser.app.http import StoreRoute, catalogue_of, without_store
from teaser.app.i18n.texts import Texts
from teaser.app.monitoring import measured
from teaser.app.pages.cards import AnyRow, ViewedRow, boost_row, fact_line, reason_row, reason_rows
from teaser.app.pages.describe import ending_presses, filter_text, hidden_rows
from teaser.app.pages.home import MAX_CARDS, choices
from teaser.app.pages.profile import TagRow, joint_names, tag_label, tag_row
from teaser.app.pages.render import (
    N_CARDS,
    Form,
    PageContext,
    act_and_show,
    page_context_of,
    path_part,
)
from teaser.app.search import find_group
from teaser.app.state import Event, state_after
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.errors import ParameterError
from teaser.explain import Difference, Explanation, Reason
from teaser.profile import GENERAL, POPULARITY
from teaser.steer import Similar, similar, tag_examples, vary_item
from teaser.steps import Step
from teaser.words.wishes import matching_items

router = APIRouter(route_class=StoreRoute)

N_SIMILAR = 6
N_EXAMPLES = 5
MAX_MEMBERS = 100
RANK = 10


def _named(request: Request, item_id: str) -> tuple[PageContext, Card]:
    """Return the context of a page about an item, and the item."""
    context = page_context_of(request)
    return context, context.catalogue.card(item_id)


@router.get("/item/{item_id:path}")
def item(request: Request, item_id: str) -> Response:
    """Show an item, the steps of its score, and similar items."""
    context, card = _named(request, item_id)
    texts, catalogue, personal = context.texts, context.catalogue, context.personal
    explanation, fall = waterfall(personal, card.item_id, texts)
    return context.render(
        request,
        "item.html",
        title=card.title,
        card=card,
        facts=fact_line(catalogue, card, texts),
        explanation=explanation,
        score_parts=parts_of_score(explanation),
        fall=fall,
        tags_weight=personal.profile.tags_weight,
        similar=_similar(card.item_id, context),
        is_seen=card.item_id in personal.viewed,
        is_hidden=card.item_id in context.state.hidden,
        is_new=personal.is_new,
    )


@router.get("/why/{item_id:path}")
def why(request: Request, item_id: str) -> Response:
    """Show the main reasons of an item and what can be done with it; cards of a list fold it in."""
    context, card = _named(request, item_id)
    personal = context.personal
    place = context.catalogue.model.items_.index_of(card.item_id)
    (entry,) = personal.entries(np.array([place]))
    return context.render(
        request,
        "why.html",
        title=card.title,
        page_path="/",
        card=card,
        reasons=[] if personal.is_new else reason_rows(entry, personal, context.texts),
        other=0.0 if personal.is_new else entry.other_share,
    )


@router.get("/lift/{item_id:path}")
def lift(request: Request, item_id: str) -> Response:
    """Show the fewest presses that bring an item to the top of the visitor's list."""
    context, card = _named(request, item_id)
    personal, model = context.personal, context.catalogue.model
    shown = personal.shown()
    found, is_finished = find_lift(model, card.item_id, k=RANK, allowed=shown, **personal.taste)
    return context.render(
        request,
        "lift.html",
        title=card.title,
        card=card,
        lift=found,
        is_finished=is_finished,
        presses={str(tag): steps for tag, steps in found.presses.items()} if found else {},
        rank=RANK,
        is_seen=card.item_id in personal.history,
        is_hidden=card.item_id in context.state.hidden,
        is_filtered_out=not shown[model.items_.index_of(card.item_id)],
        has_hidden_tag=personal.is_hidden(card.item_id),
        tags_are_off=personal.profile.tags_weight == 0,
    )


@router.get("/like/{item_id:path}")
def like(request: Request, item_id: str) -> Response:
    """Show the tags of an item as a start, with what is changed, and the list that follows."""
    context, card = _named(request, item_id)
    texts, catalogue, query = context.texts, context.catalogue, request.query_params
    changes = read_changes(query.getlist("tag"), query.getlist("to"), context.personal)
    presses, after = variation(context.personal, card.item_id, changes)
    others = [item for item in after.listed(k=N_SIMILAR + 1) if item != card.item_id]
    return context.render(
        request,
        "like.html",
        title=texts("Like this, but …"),
        card=card,
        choices=tag_choices(card, choices(catalogue), changes),
        n_tags=sum(map(len, card.facts.values())),
        presses=presses,
        first=others[:N_SIMILAR],
        tags_are_off=context.personal.profile.tags_weight == 0,
    )


@router.post("/like/{item_id:path}")
def start_from_item(request: Request, item_id: str, form: Form) -> Response:
    """Press the tags of an item, with changes, in the visitor's list or in a new feed."""
    context, card = _named(request, item_id)
    tags, others = (list(map(str, form.getlist(name))) for name in ("tag", "to"))
    changes = read_changes(tags, others, context.personal)
    presses, _ = variation(context.personal, card.item_id, changes)
    actions: list[Any] = []
    if form.get("into") == "feed":
        actions.append(["make_feed", {"feed": str(form.get("feed", ""))}])
    if presses:
        actions.append(["press", {"presses": {str(tag): n for tag, n in presses.items()}}])
    if not actions:
        return RedirectResponse(f"/like/{path_part(card.item_id)}", 303)
    return act_and_show(request, Event("several", {"actions": actions}))


@router.get("/tag")
def tag(request: Request, tag: str) -> Response:
    """Show what the leaning to a tag is made of, where the tag's own part comes from, examples.

    Of a tag that the system found, its group is shown too.
    """
    context = page_context_of(request)
    catalogue, personal, texts = context.catalogue, context.personal, context.texts
    wanted = catalogue.tag(Tag.parse(tag))
    place = catalogue.tag_index[wanted]
    raw = catalogue.model.origins(wanted, personal.history, personal.about)
    learned, total = float(personal.learned.values[place]), sum(raw.values())
    scale = learned / total if total else 0.0
    largest = max(map(abs, raw.values()), default=0.0) or 1.0
    origins = [
        (
            source if isinstance(source, Tag) else catalogue.card(source),
            part * scale,
            round(100 * abs(part) / largest, 1),
        )
        for source, part in sorted(raw.items(), key=lambda pair: -abs(pair[1]))
    ]
    # Every item has these two.
    is_carried = wanted not in (POPULARITY, GENERAL)
    state, examples = context.state, None
    if is_carried:
        examples = tag_examples(
            catalogue.model,
            wanted,
            k=N_EXAMPLES,
            places=N_CARDS,
            allowed=personal.shown(),
            boost=catalogue.boost,
            **personal.taste,
        )
    rows = hidden_rows(state, catalogue, texts)
    ends = ending_presses(state, catalogue, texts)
    group = find_group(catalogue, wanted) if wanted.discovered else None
    only = replace(state.filters, only=(*state.filters.only, str(wanted)))
    return context.render(
        request,
        "tag.html",
        title=texts.full_tag(wanted),
        row=tag_row(wanted, personal, texts),
        is_general=wanted == GENERAL,
        found=group,
        max_members=MAX_MEMBERS,
        only=filter_text(only),
        made_of=leaning_view(wanted, personal, texts),
        learned=learned,
        has_facts=bool(personal.about),
        origins=origins,
        n_items=int(catalogue.tag_sizes[place]) if is_carried else None,
        examples=examples,
        in_list=[] if state.profiling else _places_of(wanted, personal),
        n_places=N_CARDS,
        hidden=next((row for row in rows if row.tag == wanted), None),
        ends=[end for end in ends if end.tag == wanted],
    )


def leaning_view(
    tag: Tag, personal: PersonalModel, texts: Texts
) -> list[tuple[str, Tag | None, float, float]]:
    """Return what a leaning is made of: the tag, the largest other tags, the rest, viewed items.

    A row has a name, the tag to link to if it is one, what it adds, and the length of its bar.
    The last takes what the others lose in rounding, so that the numbers on screen add up. A tag
    without a leaning has no rows.
    """
    parts = personal.profile.leaning_of(tag)
    if not parts:
        return []
    tags = [part for part in parts if isinstance(part.name, Tag) and part.kind != "viewed"]
    named: list[tuple[str, Tag | None, float]] = [
        (texts("{tag} itself", tag=texts.tag(tag)), tag, tags[0].part)
    ]
    named += [
        (tag_label(each.name, personal.catalogue, texts), each.name, each.part)
        for each in tags[1 : N_EXAMPLES + 1]
        if isinstance(each.name, Tag)
    ]
    if len(parts) > len(tags):
        viewed = sum(part.part for part in parts if part.kind == "viewed")
        named.append((texts("what you viewed, besides its tags"), None, viewed))
    if n_left := max(0, len(tags) - N_EXAMPLES - 1):
        named.append((texts.count("{n} other tag", "{n} other tags", n_left), None, 0.0))
    shown = [round(part, 2) for _, _, part in named[:-1]]
    shown.append(round(round(sum(part.part for part in parts), 2) - sum(shown), 2))
    longest = max(map(abs, shown)) or 1.0
    return [
        (label, linked, part, round(100 * abs(part) / longest, 1))
        for (label, linked, _), part in zip(named, shown, strict=True)
    ]


def _places_of(tag: Tag, personal: PersonalModel) -> list[tuple[ItemId, int]]:
    """Return the first items of the visitor's list that have a tag, with their places."""
    items = personal.catalogue.model.items_
    has_tag = matching_items(personal.catalogue.model, [tag])
    ranked = personal.rank(k=len(items)).tolist()
    return [(items[i], n) for n, i in enumerate(ranked, 1) if has_tag[i]][:N_EXAMPLES]


def _similar(item_id: ItemId, context: PageContext) -> list[Similar]:
    """Return the items most similar to one, without those that no list has."""
    personal, model = context.personal, context.catalogue.model
    found, items = similar(model, item_id, k=5 * N_SIMILAR), model.items_
    kept = (s for s in found if not personal.left_out[items.index_of(s.item_id)])
    return list(islice(kept, N_SIMILAR))


@router.get("/picture/{item_id:path}")
@without_store
def picture(request: Request, item_id: str) -> Response:
    """Send an item's picture, or redirect to its address."""
    return send_picture(catalogue_of(request), item_id)


def send_picture(catalogue: Catalogue, item_id: ItemId) -> Response:
    """Return an item's picture, or a redirect to its address."""
    found = catalogue.picture(item_id)
    if isinstance(found, str):
        return RedirectResponse(found, headers=CACHED)
    return Response(status_code=404, headers=CACHED) if found is None else picture_response(*found)


# What a form says of a tag that is left out.
LEFT_OUT = ""
# The tags of an item that a form shows; those that it does not show stay as they are.
MAX_CHOICES = 40


def tag_choices(
    card: Card, options: Mapping[str, Sequence[Tag]], changes: Mapping[Tag, Tag | None]
) -> list[tuple[Tag, list[Tag], Tag | None]]:
    """Return the first tags of an item, what can take the place of each, and what does, if any.

    `options` are the tags to choose from, by feature. The item's own tag is always one of them,
    and so is a tag that was chosen.
    """
    found = []
    tags = (Tag(feature, value) for feature, values in card.facts.items() for value in values)
    for tag in islice(tags, MAX_CHOICES):
        chosen = changes.get(tag, tag)
        known = list(options.get(tag.feature, ()))
        known += [other for other in (tag, chosen) if other and other not in known]
        found.append((tag, known, chosen))
    return found


def read_changes(
    tags: Sequence[str], others: Sequence[str], personal: PersonalModel
) -> dict[Tag, Tag | None]:
    """Return the changes that a form asks for: those tags of the item that are not kept.

    Parameters
    ----------
    tags, others
        For each tag of the item the tag in its place: the same, another, or `LEFT_OUT`.

    Raises
    ------
    ParameterError
        Unless each tag has one in its place.
    UnknownNameError
        If the model does not have a tag.
    """
    if len(tags) != len(others):
        raise ParameterError(
            f"Each tag needs one in its place: found {len(tags)} and {len(others)}. "
            "Use the form of the page."
        )
    changes: dict[Tag, Tag | None] = {}
    named = personal.catalogue.tag
    for text, other in zip(tags, others, strict=True):
        tag = named(Tag.parse(text))
        new = None if other == LEFT_OUT else named(Tag.parse(other))
        if new != tag:
            changes[tag] = new
    return changes


def variation(
    personal: PersonalModel, item_id: ItemId, changes: Mapping[Tag, Tag | None]
) -> tuple[dict[Tag, int], PersonalModel]:
    """Return the presses that make a list like an item, with its changes, and the model after them.

    They are the steps on each tag as far as its range goes.
    """
    catalogue, state = personal.catalogue, personal.state
    given: dict[Tag | str, Tag | str | None] = dict(changes.items())
    start = vary_item(catalogue.model, item_id, given, personal.history, k=1).start
    presses = effective_presses(personal.own, start)
    asked = Event("press", {"presses": {str(tag): n for tag, n in presses.items()}})
    event = decide(state, asked, catalogue) if presses else None
    return presses, personal if event is None else personal.at(state_after(state, event))


@router.get("/compare")
def compare(request: Request) -> Response:
    """Show two items side by side, and what the first has more or less than the second."""
    context = page_context_of(request)
    named = request.query_params.getlist("item")
    # An unknown one is named by its error; one that is named twice is one.
    items = context.catalogue.model.items_
    chosen = list(dict.fromkeys(items[items.index_of(name)] for name in named if name))
    if len(chosen) != 2:
        return _choice(request, context, chosen, is_twice=len(named) > len(chosen) == 1)
    personal, texts, items = context.personal, context.texts, context.catalogue.model.items_
    found, fall = difference_fall(personal, chosen[0], chosen[1], texts)
    way = 1 if found.difference >= 0 else -1
    ranks = _ranks(personal)
    sides: list[dict[str, Any]] = [
        {
            "item_id": item_id,
            "letter": letter,
            "match": texts.percent(personal.scored.match(items.index_of(item_id))),
            "place": ranks.get(item_id),
        }
        for item_id, letter in zip(chosen, "AB", strict=True)
    ]
    first, second = (ranks.get(item_id, MAX_CARDS + 1) for item_id in chosen)
    higher, lower = sides if way > 0 else reversed(sides)
    return context.render(
        request,
        "compare.html",
        title=texts("Why this above that"),
        swap_path=compare_path(*reversed(chosen)),
        sides=sides,
        fall=fall,
        is_equal=not (found.difference or fall.totals["shown"]),
        names_for=_names(fall, way, personal, texts)[:N_FOR],
        names_against=_names(fall, -way, personal, texts)[:N_AGAINST],
        higher=context.catalogue.title(higher["item_id"]),
        lower=context.catalogue.title(lower["item_id"]),
        is_new=personal.is_new,
        is_by_score=max(first, second) > MAX_CARDS or (first < second) == (way > 0),
    )


def compare_path(*item_ids: ItemId) -> str:
    """Return the address of the page about two items."""
    return "/compare?" + urlencode([("item", str(item_id)) for item_id in item_ids])


def _ranks(personal: PersonalModel) -> dict[ItemId, int]:
    """Return the places of the first items of a list, from 1."""
    return {item_id: place for place, item_id in enumerate(personal.listed(k=MAX_CARDS), start=1)}


def _choice(
    request: Request, context: PageContext, chosen: list[ItemId], *, is_twice: bool
) -> Response:
    """Say that two items are needed, and offer those of the list."""
    offered = chosen
    if len(chosen) <= 2:
        offered = [i for i in _ranks(context.personal) if i not in chosen][:N_CARDS]
    return context.render(
        request,
        "compare_choice.html",
        status=422 if is_twice or len(chosen) > 2 else 200,
        title=context.texts("Why this above that"),
        chosen=chosen[:1],
        offered=offered,
        n_chosen=len(chosen),
        is_twice=is_twice,
    )


# The steps of a score and of the difference of two scores

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
    """All steps in the order of `teaser.steps`, and their sums.

    A score has one column, `shown`. A difference of two scores also has `own` and `other`, and in
    each row `own - other` is `shown`.

    Attributes
    ----------
    large, small
        The steps; small ones, if they are several, are shown as one until they are opened.
    small_start, small_length
        The bar of the small steps, from where the step before them ends to where they end.
    zero
        The position of 0 on the scale of the bars.
    start, length
        The bar of the sum.
    totals
        The rounded sum of each column.
    missing
        What the rounded steps of each column lack of its total.
    """

    large: list[ShownStep]
    small: list[ShownStep]
    small_start: float
    small_length: float
    zero: float
    start: float
    length: float
    totals: dict[str, float]
    missing: dict[str, float]

    @property
    def steps(self) -> list[ShownStep]:
        """All steps."""
        return self.large + self.small

    @property
    def kinds(self) -> set[str]:
        """What adds to the sum: `tag`, `general`, `viewed`, `boost`."""
        return {"viewed" if s.step.kind == "disliked" else s.step.kind for s in self.steps}


@measured("model")
def waterfall(personal: PersonalModel, item_id: ItemId, texts: Texts) -> tuple[Explanation, Fall]:
    """Return an item's score for one person, and its steps."""
    model = personal.catalogue.model
    found = model.explain(item_id, boost=personal.catalogue.boost, **personal.taste)
    steps, column = found.steps(zeros=True), personal.catalogue.tag_index.get(GENERAL)
    if column is None:  # the model does not tell general appeal apart
        steps = [step for step in steps if step.kind != "general"]
    else:
        weight = float(model.decoder_[model.items_.index_of(found.item_id), column])
        steps = [replace(s, weight=weight) if s.kind == "general" else s for s in steps]
    totals = {"shown": round(found.score, DIGITS)}
    return found, _draw(steps, totals, (found.item_id, found.item_id), personal, texts)


@measured("model")
def difference_fall(
    personal: PersonalModel, item_id: ItemId, other_id: ItemId, texts: Texts
) -> tuple[Difference, Fall]:
    """Return the difference of the scores of two items for one person, and its steps."""
    catalogue = personal.catalogue
    found = catalogue.model.compare(item_id, other_id, boost=catalogue.boost, **personal.taste)
    own, other = round(found.score, DIGITS), round(found.other_score, DIGITS)
    totals = {"own": own, "other": other, "shown": round(own - other, DIGITS)}
    pair = (found.item_id, found.other_id)
    return found, _draw(found.steps(zeros=True), totals, pair, personal, texts)


def parts_of_score(explanation: Explanation) -> dict[str, float]:
    """Return the parts of a score, rounded so that they add up to the rounded score."""
    viewed = sum(explanation.viewed.values())
    added = {"general": explanation.general, "viewed": viewed, "boost": explanation.boost}
    parts = {name: round(part, DIGITS) for name, part in added.items()}
    tags = round(explanation.score, DIGITS) - sum(parts.values())
    return {**parts, "tags": round(tags, DIGITS)}


def _draw(
    steps: Sequence[Step],
    totals: dict[str, float],
    pair: tuple[ItemId, ItemId],
    personal: PersonalModel,
    texts: Texts,
) -> Fall:
    """Return steps with rounded numbers, and with bars from the lowest sum to the highest.

    `pair` are the items of the first and the second score.
    """
    origin = steps[0].start if steps else 0.0
    sums = [0.0, *(step.end - origin for step in steps)]
    low, width = min(sums), (max(sums) - min(sums)) or 1.0

    def bar(start: float, end: float) -> tuple[float, float]:
        return (
            round(100 * (min(start, end) - low) / width, 2),
            round(100 * abs(end - start) / width, 2),
        )

    shown, running = list[ShownStep](), 0.0
    for step in steps:
        row = _row(step, pair, personal, texts)
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
    missing = {
        name: round(total - sum(getattr(each, name) for each in shown), DIGITS)
        for name, total in totals.items()
    }
    return Fall(
        large=shown[:n_large],
        small=shown[n_large:],
        small_start=small_start,
        small_length=small_length,
        zero=bar(0.0, 0.0)[0],
        start=start,
        length=length,
        totals=totals,
        missing=missing,
    )


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
    """Return what a step is about."""
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


def _names(fall: Fall, way: int, personal: PersonalModel, texts: Texts) -> list[str]:
    """Return the names of what differs in one direction, the largest first."""
    found = []
    for step in sorted((each.step for each in fall.steps), key=lambda step: -abs(step.adds)):
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
