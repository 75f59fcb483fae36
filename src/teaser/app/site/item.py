"""Pages about one item or tag: the score, its lift, the picture; the origin of an affinity."""

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from teaser.app.dependencies import catalogue_of, uses_store
from teaser.app.serving.found_group import FoundGroup, find_group
from teaser.app.site.filters import Filters
from teaser.app.site.page_context import PageContext, page_context_of
from teaser.app.site.view.card_view import fact_line, plain_card
from teaser.app.site.view.profile_view import tag_label, tag_row
from teaser.app.site.view.rendering import path_part
from teaser.app.site.view.score_steps import waterfall
from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag, resolve_tag
from teaser.guide import similar, smallest_presses
from teaser.profile import GENERAL, POPULARITY

router = APIRouter()

N_SIMILAR = 6
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
        lift_path=_address("lift", card.item_id, filters),
        list_path=filters.path(),
        similar=[
            (plain_card(catalogue, s.item_id, texts), s)
            for s in similar(catalogue.model, card.item_id, k=N_SIMILAR)
        ],
        is_seen=card.item_id in context.personal.history,
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
    found = smallest_presses(
        context.catalogue.model,
        card.item_id,
        personal.history,
        personal.presses,
        k=RANK,
        allowed=personal.shown(allowed),
        about=personal.about,
        steering=personal.steering,
    )
    place = context.catalogue.model.items_.index_of(card.item_id)
    return context.render(
        request,
        "lift.html",
        title=card.title,
        page_path=_address("lift", card.item_id, filters),
        summary=context.summary(allowed=allowed),
        card=card,
        lift=found,
        presses={str(tag): steps for tag, steps in found.presses.items()} if found else {},
        rank=RANK,
        filters=filters,
        item_path=_address("item", card.item_id, filters),
        is_seen=card.item_id in personal.history,
        is_hidden=card.item_id in context.state.hidden,
        is_filtered_out=allowed is not None and not allowed[place],
        tags_are_off=personal.profile.tags_weight == 0,
    )


@router.get("/tag")
@uses_store
def tag(request: Request, tag: str) -> Response:
    """Show which viewed items and facts the affinity with a tag comes from.

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
    )


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


def _item_id(request: Request, item_id: str) -> str:
    """Return the item id in an address: in its path, or after `?id=` (see `path_part`)."""
    return item_id or request.query_params.get("id", "")


def _address(page: str, item_id: ItemId, filters: Filters) -> str:
    """Return the address of a page about an item, with the filters of its list."""
    path = f"/{page}/{path_part(item_id)}"
    query = urlencode(filters.pairs())
    return path + ("&" if "?" in path else "?") + query if query else path
