"""The main page, search, tags and tour; the routers of the other pages are included here."""

from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import QueryParams

from teaser.app.dependencies import catalogue_of, services_of
from teaser.app.http.identity import (
    LANGUAGE,
    SKIPPED,
    THEME,
    THEMES,
    local_path,
    need_own_origin,
    remember,
    visitor_of,
)
from teaser.app.i18n.texts import LANGUAGES
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.name_search import find_names
from teaser.app.site import item as item_pages
from teaser.app.site import my_data as own_pages
from teaser.app.site import search as search_pages
from teaser.app.site.filters import Filters, filter_form
from teaser.app.site.preferences import about_view, balance_view
from teaser.app.site.rendering import render
from teaser.app.site.view import (
    CardView,
    card_of,
    card_views,
    feature_rows,
    plain_card,
    profile_view,
    tag_row,
)
from teaser.app.site.visit import Moment, moment_of
from teaser.data.ids import ItemId
from teaser.errors import ParameterError, UnknownFeatureError
from teaser.guide import quick_picks
from teaser.profile import POPULARITY

router = APIRouter()
router.include_router(item_pages.router)
router.include_router(own_pages.router)
router.include_router(search_pages.router)

ENOUGH_PICKS = 3
N_PICKS = 6
N_FOUND = 24
_MOST_LISTED = 200
_MOST_QUERY = 200
_MOST_ASKED = 1_000

Field = Annotated[str, Form()]


@router.get("/")
def home(request: Request) -> Response:
    """Show profile, history and list."""
    return home_page(request, moment_of(request), request.query_params)


@router.post("/skip")
def skip(request: Request) -> Response:
    """Pass over the quick start."""
    return _choose(request, SKIPPED, "1", "/")


@router.post("/language")
def language(request: Request, language: Field, back: Field = "/") -> Response:
    """Choose the language of the pages."""
    if language not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise ParameterError(f"Unknown language {language!r}. Known: {known}.")
    return _choose(request, LANGUAGE, language, back)


@router.post("/theme")
def theme(request: Request, theme: Field, back: Field = "/") -> Response:
    """Choose light or dark, or to follow the system."""
    if theme not in THEMES:
        raise ParameterError(f"Unknown theme {theme!r}. Known: {', '.join(THEMES)}.")
    return _choose(request, THEME, theme, back)


@router.get("/search")
def search(request: Request, q: str = "", page: str = "1") -> Response:
    """Show the items and tags whose names hold the words asked for, so many on a page."""
    moment = moment_of(request)
    texts = moment.texts
    words = q[:_MOST_QUERY]
    found = find_names(moment.catalogue, words, texts)
    n_items, n_tags = len(found.item_places), len(found.tag_places)
    n_pages = max(1, -(-max(n_items, n_tags) // N_FOUND))
    number = min(n_pages, int(page)) if page.isascii() and page.isdigit() and len(page) < 9 else 1
    first = N_FOUND * max(0, number - 1)
    item_ids, tags = found.items(first, first + N_FOUND), found.tags(first, first + N_FOUND)
    affinities = moment.session.profile.affinities
    return render(
        request,
        moment.visitor,
        "search.html",
        title=texts("Search"),
        state=moment.state,
        told=moment.tell(),
        words=words,
        first=first,
        n_items=n_items,
        n_tags=n_tags,
        page=max(1, number),
        n_pages=n_pages,
        rows=[tag_row(tag, affinities[tag], moment.session, texts) for tag in tags],
        cards=[plain_card(moment.catalogue, i, texts) for i in item_ids],
        seen=set(moment.session.history),
    )


@router.get("/tags")
def tags(request: Request, feature: str, q: str = "") -> Response:
    """Show all tags of a feature, or those that hold the words asked for."""
    moment = moment_of(request)
    texts = moment.texts
    if feature not in (*moment.catalogue.features, POPULARITY.feature):
        raise UnknownFeatureError(feature)
    words = q[:_MOST_QUERY].casefold().split()
    rows = [
        row
        for row in feature_rows(moment.session, feature, texts)
        if all(word in f"{row.label} {row.tag.value}".casefold() for word in words)
    ]
    return render(
        request,
        moment.visitor,
        "tags.html",
        title=texts.feature(feature),
        state=moment.state,
        told=moment.tell(),
        feature=feature,
        words=q[:_MOST_QUERY],
        rows=rows[:_MOST_LISTED],
        n_left=max(0, len(rows) - _MOST_LISTED),
    )


@router.get("/tour")
def tour(request: Request) -> Response:
    """Show the tour as a page."""
    visitor = visitor_of(request, with_person=False)
    has_balance = catalogue_of(request).model.has_remainder
    return render(request, visitor, "tour.html", title=visitor.texts("Tour"), balance=has_balance)


def home_page(request: Request, moment: Moment, query: QueryParams) -> Response:
    """Return the main page, filtered as the query says."""
    session, texts = moment.session, moment.texts
    filters = Filters.read(query, moment.catalogue)
    allowed = filters.allowed(moment.catalogue)
    found = session.recommend(k=filters.k, allowed=allowed)
    told = moment.tell(found, k=filters.k, allowed=allowed)
    moves = told.change.moves if told else None
    return render(
        request,
        moment.visitor,
        "home.html",
        here=filters.path(),
        state=moment.state,
        told=told,
        profile=profile_view(session, texts),
        history=[_small(moment.catalogue, i) for i in reversed(session.history)],
        hidden=[_small(moment.catalogue, i) for i in moment.state.hidden],
        cards=card_views(session, found, texts, moves),
        balance=balance_view(session, texts),
        about=about_view(session),
        filters=filters,
        filter_form=filter_form(moment.catalogue, texts.language, filters),
        picks=_picks(moment),
        enough_picks=ENOUGH_PICKS,
        has_more=len(found) == filters.k,
        mixed=[texts.percent(tenths / 10) for tenths in range(11)],
    )


def _picks(moment: Moment) -> list[CardView]:
    """Return the items of the quick start, none where it is over."""
    picked = tuple(moment.session.history)
    if moment.visitor.has_skipped or len(picked) >= ENOUGH_PICKS:
        return []
    hidden = tuple(i for i in moment.state.hidden if i in moment.catalogue.model.items_)
    found = _quick_picks(moment.catalogue, picked, hidden)
    return [plain_card(moment.catalogue, item_id, moment.texts) for item_id in found]


def _quick_picks(
    catalogue: Catalogue, picked: tuple[ItemId, ...], hidden: tuple[ItemId, ...]
) -> list[ItemId]:
    """Return what to ask next; many people begin alike, and presses do not change it."""
    known = _asked(catalogue)
    if len(known) > _MOST_ASKED:
        known.clear()
    key = (picked, hidden)
    if key not in known:
        known[key] = quick_picks(catalogue.model, picked, shown=hidden, k=N_PICKS)
    return known[key]


@lru_cache(maxsize=1)
def _asked(_: Catalogue) -> dict[tuple[tuple[ItemId, ...], ...], list[ItemId]]:
    return {}


def _small(catalogue: Catalogue, item_id: ItemId) -> dict[str, Any]:
    """Return what is shown of an item in a row of many, known to the model or not."""
    if item_id not in catalogue.model.items_:
        return {"item_id": item_id, "title": str(item_id), "has_picture": False}
    card = card_of(catalogue, item_id)
    return {"item_id": card.item_id, "title": card.title, "has_picture": card.has_picture}


def _choose(request: Request, name: str, value: str, back: str) -> Response:
    need_own_origin(request)
    response = RedirectResponse(local_path(back), 303)
    remember(response, services_of(request), name, value)
    return response
