"""Pages about one thing: an item and its score, a tag and where its affinity comes from."""

from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from teaser.app.dependencies import catalogue_of
from teaser.app.site.filters import Filters
from teaser.app.site.rendering import path_part, render
from teaser.app.site.score_steps import waterfall
from teaser.app.site.view import facts, plain_card, tag_row
from teaser.app.site.visit import moment_of
from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag, resolve_tag
from teaser.guide import similar, smallest_presses

router = APIRouter()

N_SIMILAR = 6
RANK = 10
_PICTURES = {"svg+xml", "png", "jpeg", "gif", "webp", "avif"}
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


@router.get("/item/{item_id:path}")
def item(request: Request, item_id: str) -> Response:
    """Show an item with its whole score and what resembles it."""
    moment = moment_of(request)
    texts, catalogue = moment.texts, moment.catalogue
    card = catalogue.card(_asked(request, item_id))
    filters = Filters.beside(request, catalogue)
    return render(
        request,
        moment.visitor,
        "item.html",
        title=card.title,
        here=_address("item", card.item_id, filters),
        state=moment.state,
        told=moment.tell(allowed=filters.allowed(catalogue)),
        card=card,
        facts=facts(card, texts),
        fall=waterfall(moment.session, card.item_id, texts),
        lift_path=_address("lift", card.item_id, filters),
        list_path=filters.path(),
        alike=[
            (plain_card(catalogue, s.item_id, texts), s)
            for s in similar(catalogue.model, card.item_id, k=N_SIMILAR)
        ],
        is_seen=card.item_id in moment.session.history,
        is_hidden=card.item_id in moment.state.hidden,
        is_new=moment.session.is_new,
    )


@router.get("/lift/{item_id:path}")
def lift(request: Request, item_id: str) -> Response:
    """Show the fewest presses that would bring an item among the first of a person's list."""
    moment = moment_of(request)
    session = moment.session
    card = moment.catalogue.card(_asked(request, item_id))
    filters = Filters.beside(request, moment.catalogue)
    allowed = filters.allowed(moment.catalogue)
    found = smallest_presses(
        moment.catalogue.model,
        card.item_id,
        session.history,
        session.presses,
        rank=RANK,
        allowed=session.shown(allowed),
        about=session.about,
        steering=session.steering,
    )
    place = moment.catalogue.model.items_.index_of(card.item_id)
    return render(
        request,
        moment.visitor,
        "lift.html",
        title=card.title,
        here=_address("lift", card.item_id, filters),
        state=moment.state,
        told=moment.tell(allowed=allowed),
        card=card,
        lift=found,
        presses={str(tag): steps for tag, steps in found.presses.items()} if found else {},
        rank=RANK,
        filters=filters,
        item_path=_address("item", card.item_id, filters),
        is_seen=card.item_id in session.history,
        is_hidden=card.item_id in moment.state.hidden,
        is_barred=allowed is not None and not allowed[place],
        is_deaf=session.profile.tags_weight == 0,
    )


@router.get("/tag")
def tag(request: Request, tag: str) -> Response:
    """Show where the affinity with a tag comes from."""
    moment = moment_of(request)
    model, session, texts = moment.catalogue.model, moment.session, moment.texts
    index = moment.catalogue.tag_index
    wanted = model.tags_[resolve_tag(Tag.parse(tag), index)]
    raw = model.origins(wanted, session.history, session.about)
    learnt = model.profile(session.history, about=session.about).affinities[wanted]
    total = sum(raw.values())
    scale = learnt / total if total else 0.0
    largest = max((abs(part) for part in raw.values()), default=0.0) or 1.0
    origins = [
        (
            source if isinstance(source, Tag) else moment.catalogue.card(source),
            part * scale,
            round(100 * abs(part) / largest, 1),
        )
        for source, part in sorted(raw.items(), key=lambda pair: -abs(pair[1]))
    ]
    carriers = moment.catalogue.tag_sizes[index[wanted]]
    return render(
        request,
        moment.visitor,
        "tag.html",
        title=texts.tag(wanted),
        state=moment.state,
        told=moment.tell(),
        row=tag_row(wanted, session.profile.affinities[wanted], session, texts),
        learnt=learnt,
        has_told=bool(session.about),
        origins=origins,
        n_items=int(carriers),
    )


@router.get("/picture/{item_id:path}")
def picture(request: Request, item_id: str) -> Response:
    """Send an item's picture, or send on to where it is."""
    found = catalogue_of(request).picture(_asked(request, item_id))
    cached = {"cache-control": "public, max-age=3600"}
    if isinstance(found, str):
        return RedirectResponse(found, headers=cached)
    if found is None or found[0].removeprefix("image/") not in _PICTURES:
        return Response(status_code=404, headers=cached)
    kind, content = found
    return Response(
        content, media_type=kind, headers={**cached, "content-security-policy": _PICTURE_POLICY}
    )


def _asked(request: Request, item_id: str) -> str:
    """Return the item that an address names: in its path, or after `?id=` (see `path_part`)."""
    return item_id or request.query_params.get("id", "")


def _address(page: str, item_id: ItemId, filters: Filters) -> str:
    """Return the address of a page about an item, beside a list with filters."""
    path = f"/{page}/{path_part(item_id)}"
    query = urlencode(filters.pairs())
    return path + ("&" if "?" in path else "?") + query if query else path
