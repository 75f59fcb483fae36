"""Pages about one item or tag: the score, its lift, a start from it; where an affinity is from."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel

from teaser.app.dependencies import catalogue_of, uses_store
from teaser.app.http.form_text import FormText
from teaser.app.http.origin import need_own_origin
from teaser.app.pages.compare import compare_path, neighbour_in_list
from teaser.app.pages.filters import N_CARDS, Filters, choices
from teaser.app.pages.page_context import PageContext, act_and_show, page_context_of
from teaser.app.pages.view.card_view import CardView, cached_card, fact_line, plain_card
from teaser.app.pages.view.feed_view import ending_presses, hidden_rows
from teaser.app.pages.view.profile_view import tag_label, tag_row
from teaser.app.pages.view.rendering import path_part
from teaser.app.pages.view.score_steps import waterfall
from teaser.app.pages.view.variation_view import read_changes, tag_choices, variation_view
from teaser.app.serving.found_group import FoundGroup, find_group
from teaser.app.serving.lift import find_lift
from teaser.app.state import Event, parts_of
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag, resolve_tag
from teaser.errors import SearchTimeoutError
from teaser.profile import GENERAL, POPULARITY
from teaser.steer import Similar, similar, tag_examples

router = APIRouter()

N_SIMILAR = 6
N_EXAMPLES = 5
MAX_MEMBERS = 100
RANK = 10
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


@router.get("/item/{item_id:path}")
@uses_store
def item(request: Request, item_id: str) -> Response:
    """Show an item, the steps of its score, and similar items."""
    context = page_context_of(request)
    texts, catalogue = context.texts, context.catalogue
    card = catalogue.card(_item_id(request, item_id))
    filters = Filters.of_list(request, catalogue)
    return context.render(
        request,
        "item.html",
        title=card.title,
        page_path=_address("item", card.item_id, filters),
        summary=context.summary(allowed=filters.allowed(catalogue)),
        card=card,
        facts=fact_line(catalogue, card, texts),
        waterfall=waterfall(context.personal, card.item_id, texts),
        like_path=f"/like/{path_part(card.item_id)}" if card.facts else None,
        neighbour=_neighbour(context, card.item_id, filters),
        lift_path=_address("lift", card.item_id, filters),
        list_path=filters.path(),
        similar=[
            (plain_card(catalogue, s.item_id, texts), s) for s in _similar(card.item_id, context)
        ],
        is_seen=card.item_id in context.personal.viewed,
        is_hidden=card.item_id in context.state.hidden,
        is_new=context.personal.is_new,
    )


@router.get("/lift/{item_id:path}")
@uses_store
def lift(request: Request, item_id: str) -> Response:
    """Show the fewest presses that bring an item to the top of the visitor's list."""
    context = page_context_of(request)
    personal = context.personal
    card = context.catalogue.card(_item_id(request, item_id))
    filters = Filters.of_list(request, context.catalogue)
    allowed = filters.allowed(context.catalogue)
    found, is_finished = None, True
    try:
        found = find_lift(
            context.catalogue.model,
            card.item_id,
            personal.history,
            personal.presses,
            k=RANK,
            allowed=personal.shown(allowed),
            about=personal.about,
            steering=personal.steering,
        )
    except SearchTimeoutError:
        is_finished = False
    place = context.catalogue.model.items_.index_of(card.item_id)
    return context.render(
        request,
        "lift.html",
        title=card.title,
        page_path=_address("lift", card.item_id, filters),
        summary=context.summary(allowed=allowed),
        card=card,
        lift=found,
        is_finished=is_finished,
        presses={str(tag): steps for tag, steps in found.presses.items()} if found else {},
        rank=RANK,
        filters=filters,
        item_path=_address("item", card.item_id, filters),
        is_seen=card.item_id in personal.history,
        is_hidden=card.item_id in context.state.hidden,
        is_filtered_out=not personal.shown(allowed)[place],
        has_hidden_tag=personal.is_hidden(card.item_id),
        profile_is_off=not context.state.profiling,
        tags_are_off=personal.profile.tags_weight == 0,
    )


@router.get("/like/{item_id:path}")
@uses_store
def like(request: Request, item_id: str) -> Response:
    """Show the tags of an item as a start, with what is changed, and the list that follows."""
    context = page_context_of(request)
    texts, catalogue = context.texts, context.catalogue
    card = catalogue.card(_item_id(request, item_id))
    query = request.query_params
    changes = read_changes(query.getlist("tag"), query.getlist("to"), context.personal)
    found = variation_view(context.personal, card.item_id, changes)
    first = found.after.recommend(k=N_SIMILAR + 1)
    return context.render(
        request,
        "like.html",
        title=texts("Like this, but …"),
        card=card,
        choices=tag_choices(card, choices(catalogue), changes),
        n_tags=sum(map(len, card.facts.values())),
        presses=found.presses,
        first=[
            plain_card(catalogue, entry.item_id, texts)
            for entry in first
            if entry.item_id != card.item_id
        ][:N_SIMILAR],
        tags_are_off=context.personal.profile.tags_weight == 0,
        profile_is_off=not context.state.profiling,
        item_path=f"/item/{path_part(card.item_id)}",
        like_path=f"/like/{path_part(card.item_id)}",
    )


class LikeForm(BaseModel):
    """The tags of an item, those in their places, and the name of a new feed, or nothing."""

    tag: list[FormText] = []
    to: list[FormText] = []
    into: FormText = "list"
    feed: FormText = ""


@router.post("/like/{item_id:path}")
@uses_store
def start_from_item(request: Request, item_id: str, form: Annotated[LikeForm, Form()]) -> Response:
    """Press the tags of an item, with changes, in the visitor's list or in a new feed."""
    need_own_origin(request)
    context = page_context_of(request)
    found = context.catalogue.card(_item_id(request, item_id)).item_id
    changes = read_changes(form.tag, form.to, context.personal)
    press = variation_view(context.personal, found, changes).event
    actions = [["make_feed", {"feed": form.feed}]] if form.into == "feed" else []
    if press is not None:
        actions += [[part.kind, dict(part.data)] for part in parts_of(press)]
    if not actions:
        return RedirectResponse(f"/like/{path_part(found)}", 303)
    return act_and_show(request, Event("several", {"actions": actions}))


@router.get("/tag")
@uses_store
def tag(request: Request, tag: str) -> Response:
    """Show which viewed items and facts the affinity with a tag comes from, and what it brings up.

    Of a tag that the system found, its group is shown too.
    """
    context = page_context_of(request)
    model, personal, texts = context.catalogue.model, context.personal, context.texts
    index = context.catalogue.tag_index
    wanted = model.tags_[resolve_tag(Tag.parse(tag), index)]
    raw = model.origins(wanted, personal.history, personal.about)
    learned = float(personal.learned.values[index[wanted]])
    total = sum(raw.values())
    scale = learned / total if total else 0.0
    largest = max((abs(part) for part in raw.values()), default=0.0) or 1.0
    origins = [
        (
            source if isinstance(source, Tag) else context.catalogue.card(source),
            part * scale,
            round(100 * abs(part) / largest, 1),
        )
        for source, part in sorted(raw.items(), key=lambda pair: -abs(pair[1]))
    ]
    # Every item has these two.
    is_carried = wanted not in (POPULARITY, GENERAL)
    carriers = int(context.catalogue.tag_sizes[index[wanted]])
    return context.render(
        request,
        "tag.html",
        title=texts.full_tag(wanted),
        summary=context.summary(),
        row=tag_row(wanted, personal.affinity(wanted), personal, texts),
        is_general=wanted == GENERAL,
        group=_group_view(find_group(context.catalogue, wanted), context)
        if wanted.discovered
        else None,
        learned=learned,
        has_facts=bool(personal.about),
        origins=origins,
        n_items=carriers if is_carried else None,
        examples=_examples(wanted, context) if is_carried else None,
        **_kept_away(wanted, context),
    )


def _examples(tag: Tag, context: PageContext) -> dict[str, Any]:
    """Return what a page shows of a tag's part in the list, and of the tags beside it."""
    personal, texts, catalogue = context.personal, context.texts, context.catalogue
    found = tag_examples(
        catalogue.model,
        tag,
        personal.history,
        personal.presses,
        k=N_EXAMPLES,
        places=N_CARDS,
        about=personal.about,
        steering=personal.steering,
        allowed=personal.shown(),
        boost=catalogue.boost,
    )
    shown, rising = (
        [(plain_card(catalogue, each.item_id, texts), each) for each in some]
        for some in (found.brings_up, found.would_bring_up)
    )
    return {
        "places_in_list": [] if context.state.profiling else _places_of(tag, context),
        "brings_up": shown,
        "would_bring_up": rising,
        "is_up": found.affinity > 0,
        "can_press": found.can_press,
        "places": N_CARDS,
        "comes_with": [
            (beside.tag, tag_label(beside.tag, catalogue, texts), texts.percent(beside.share))
            for beside in found.comes_with
        ],
        "is_profiled": context.state.profiling,
    }


def _places_of(tag: Tag, context: PageContext) -> list[tuple[CardView, int]]:
    """Return the first items of the visitor's list that have a tag, with their places."""
    personal, catalogue = context.personal, context.catalogue
    items = catalogue.model.items_
    has_tag = catalogue.allowed([tag])
    ranked = personal.rank(k=len(items)).tolist()
    places = [(i, place) for place, i in enumerate(ranked, 1) if has_tag[i]]
    return [
        (plain_card(catalogue, items[i], context.texts), place) for i, place in places[:N_EXAMPLES]
    ]


def _similar(item_id: ItemId, context: PageContext) -> list[Similar]:
    """Return the items most similar to one, without those that are never shown."""
    personal, model = context.personal, context.catalogue.model
    k = N_SIMILAR if personal.hidden is None else 5 * N_SIMILAR
    found = similar(model, item_id, k=k)
    return [each for each in found if not personal.is_hidden(each.item_id)][:N_SIMILAR]


def _kept_away(tag: Tag, context: PageContext) -> dict[str, Any]:
    """Return whether a tag is hidden, and its presses that end by themselves."""
    state, catalogue = context.state, context.catalogue
    rows = hidden_rows(state, catalogue, context.texts, context.clock)
    ends = ending_presses(state, catalogue, context.texts, context.clock)
    return {
        "hidden": next((row for row in rows if row.tag == tag), None),
        "ends": [end for end in ends if end.tag == tag],
    }


def _group_view(found: FoundGroup, context: PageContext) -> dict[str, Any]:
    """Return what a page shows of a group."""
    catalogue, texts = context.catalogue, context.texts
    group = found.group
    label = None
    if group.label_tag is not None:
        label = (group.label_tag, tag_label(group.label_tag, catalogue, texts))
    return {
        "label": label,
        "share": texts.percent(group.label_share),
        "exemplars": [plain_card(catalogue, i, texts) for i in group.exemplars],
        "members": [catalogue.card(i) for i, _ in found.members[:MAX_MEMBERS]],
        "n_items": group.size,
        "n_left": max(0, len(found.members) - MAX_MEMBERS),
        "aliases": texts.join(list(found.aliases)),
    }


@router.get("/picture/{item_id:path}")
def picture(request: Request, item_id: str) -> Response:
    """Send an item's picture, or redirect to its address."""
    found = catalogue_of(request).picture(_item_id(request, item_id))
    cached = {"cache-control": "public, max-age=3600"}
    if isinstance(found, str):
        return RedirectResponse(found, headers=cached)
    if found is None:
        return Response(status_code=404, headers=cached)
    kind, content = found
    return Response(
        content, media_type=kind, headers={**cached, "content-security-policy": _PICTURE_POLICY}
    )


def _neighbour(
    context: PageContext, item_id: ItemId, filters: Filters
) -> tuple[str, str, str] | None:
    """Return what an item can be compared with: the address, its place, its title."""
    found = neighbour_in_list(context.personal, item_id, filters)
    if found is None:
        return None
    other, place = found
    pair = (other, item_id) if place in ("above", "first") else (item_id, other)
    return compare_path(*pair), place, cached_card(context.catalogue, other).title


def _item_id(request: Request, item_id: str) -> str:
    """Return the item id in an address: in its path, or after `?id=` (see `path_part`)."""
    return item_id or request.query_params.get("id", "")


def _address(page: str, item_id: ItemId, filters: Filters) -> str:
    """Return the address of a page about an item, with the filters of its list."""
    path = f"/{page}/{path_part(item_id)}"
    query = urlencode(filters.pairs())
    return path + ("&" if "?" in path else "?") + query if query else path
