"""Why this above that: two items side by side, and the steps between their scores."""

from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from teaser.app.dependencies import uses_store
from teaser.app.pages.filters import MAX_CARDS, Filters
from teaser.app.pages.page_context import PageContext, page_context_of
from teaser.app.pages.view.card_view import CardView, plain_card
from teaser.app.pages.view.difference_steps import difference_fall
from teaser.app.serving.personal_model import PersonalModel
from teaser.data.matrix import ItemId

router = APIRouter()

N_OFFERED = 6
# Letters of the two items, at their cards and above their columns.
LETTERS = ("A", "B")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two items: its card, letter, and place in the visitor's list.

    `place` is None if it is not among the first of the list.
    """

    entry: CardView
    letter: str
    match: str
    place: int | None


@router.get("/compare")
@uses_store
def compare(request: Request) -> Response:
    """Show two items side by side, and what the first has more or less than the second."""
    context = page_context_of(request)
    named = request.query_params.getlist("item")
    # An unknown one is named by its error; one that is named twice is one.
    items = context.catalogue.model.items_
    chosen = list(dict.fromkeys(items[items.index_of(name)] for name in named if name))
    if len(chosen) != 2:
        return _choice(request, context, chosen, is_twice=len(named) > len(chosen) == 1)
    personal, texts = context.personal, context.texts
    fall = difference_fall(personal, chosen[0], chosen[1], texts)
    places = _places(personal, Filters.of_list(request, context.catalogue))
    best = max(float(personal.scores.max()), 0.0)
    sides = [
        Side(
            plain_card(context.catalogue, item_id, texts),
            letter,
            texts.percent(max(0.0, score) / best if best else 0.0),
            places.get(item_id),
        )
        for item_id, letter, score in zip(
            chosen, LETTERS, (fall.difference.score, fall.difference.other_score), strict=True
        )
    ]
    higher, lower = sides if fall.difference.difference >= 0 else reversed(sides)
    return context.render(
        request,
        "compare.html",
        title=texts("Why this above that"),
        page_path=compare_path(*chosen),
        swap_path=compare_path(*reversed(chosen)),
        summary=context.summary(),
        sides=sides,
        fall=fall,
        higher=higher.entry.card,
        lower=lower.entry.card,
        is_new=personal.is_new,
        is_by_score=_is_by_score(higher, lower),
    )


def compare_path(*item_ids: ItemId) -> str:
    """Return the address of the page about two items."""
    return "/compare?" + urlencode([("item", str(item_id)) for item_id in item_ids])


def neighbour_in_list(
    personal: PersonalModel, item_id: ItemId, filters: Filters
) -> tuple[ItemId, str] | None:
    """Return the item to compare with from an item's page, and where it stands in the list.

    It is the one `above` it, for the first the one `below` it, and for an item that is not among
    the first of the list the `first`. None if the list has no other.
    """
    places = _places(personal, filters)
    order = list(places)
    if item_id in places:
        place = places[item_id]
        if place > 1:
            return order[place - 2], "above"
        return (order[1], "below") if len(order) > 1 else None
    return (order[0], "first") if order else None


def _places(personal: PersonalModel, filters: Filters) -> dict[ItemId, int]:
    """Return the places of the first items of a list, from 1."""
    items = personal.catalogue.model.items_
    ranked = personal.rank(k=MAX_CARDS, allowed=filters.allowed(personal.catalogue)).tolist()
    return {items[i]: place for place, i in enumerate(ranked, start=1)}


def _is_by_score(higher: Side, lower: Side) -> bool:
    """Return whether the list has the two in the order of their scores, if it has both."""
    return higher.place is None or lower.place is None or higher.place < lower.place


def _choice(
    request: Request, context: PageContext, chosen: list[ItemId], *, is_twice: bool
) -> Response:
    """Say that two items are needed, and offer pairs."""
    texts, catalogue = context.texts, context.catalogue
    if len(chosen) > 2:
        offered = chosen
    else:
        ranked = _places(context.personal, Filters())
        offered = [item_id for item_id in ranked if item_id not in chosen][:N_OFFERED]
    return context.render(
        request,
        "compare_choice.html",
        status=422,
        title=texts("Why this above that"),
        chosen=[plain_card(catalogue, item_id, texts) for item_id in chosen[:1]],
        offered=[plain_card(catalogue, item_id, texts) for item_id in offered],
        n_chosen=len(chosen),
        is_twice=is_twice,
    )
