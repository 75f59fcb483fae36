"""The site: the main page and what can be done on it; the other pages are included here."""

import json
from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import QueryParams

from teaser.app.actions import settled
from teaser.app.dependencies import catalogue_of, services_of
from teaser.app.http.identity import (
    LANGUAGE,
    SKIPPED,
    THEME,
    THEMES,
    TOKEN,
    ensure_person,
    local_path,
    need_own_origin,
    remember,
    visitor_of,
)
from teaser.app.i18n.error_messages import say_trouble
from teaser.app.i18n.texts import LANGUAGES
from teaser.app.people.events import Event, State
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.name_search import find_names
from teaser.app.serving.personal_model import read_about
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
from teaser.data.tagging.tag import Tag
from teaser.errors import ParameterError, UnknownTagError
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
    return _home(request, moment_of(request), request.query_params)


@router.post("/act")
def act(
    request: Request,
    press: Field = "",
    presses: Field = "",
    view: Field = "",
    remove: Field = "",
    hide: Field = "",
    unhide: Field = "",
    vary: Field = "",
    balance: Field = "",
    tell: Field = "",
    about: Annotated[list[str], Form()] = [],  # noqa: B006 - FastAPI copies it
    undo: Field = "",
    redo: Field = "",
    reset: Field = "",
    back: Field = "/",
) -> Response:
    """Do what one button says, then show the page that it was on."""
    need_own_origin(request)
    services = services_of(request)
    visitor = visitor_of(request)
    person_id, token = ensure_person(visitor, services)
    catalogue = catalogue_of(request)
    items = {"view": view, "hide": hide, "remove": remove, "unhide": unhide}
    named = {kind: text for kind, text in items.items() if text}
    plain = [k for k, given in (("undo", undo), ("redo", redo), ("reset", reset)) if given]
    if press or presses:
        event = Event("press", {"presses": _read_presses(press, presses, catalogue)})
    elif named:
        kind, text = next(iter(named.items()))
        is_kept = kind in ("remove", "unhide") and not token
        now = services.store.state(person_id) if is_kept else State()
        event = Event(kind, {"item": _read_item(text, kind, now, catalogue)})
    elif vary:
        event = Event("vary", {"variety": _read_number(vary)})
    elif balance:
        event = Event("balance", {"balance": _read_number(balance)})
    elif tell:
        event = Event("about", {"about": read_about(about, catalogue)})
    elif plain:
        event = Event(plain[0])
    else:
        raise ParameterError("The form does not say what to do.")
    now = services.store.state(person_id) if event.kind == "press" else State()
    kept = settled(catalogue, now, event)
    before, after = services.store.step(person_id, kept) if kept else (now, now)
    where = urlsplit(local_path(back))
    if visitor.wants_fragment and where.path == "/":
        moment = Moment(visitor, catalogue, after, before, kept or event)
        response = _home(request, moment, QueryParams(where.query))
    else:
        query = f"{where.query}&" if where.query else ""
        said = {"did": after.n_events} if kept else {"far": json.dumps(event.data["presses"])}
        response = RedirectResponse(f"{where.path}?{query}{urlencode(said)}#told", 303)
    if token:
        remember(response, services, TOKEN, token)
    return response


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
        raise UnknownTagError(f"Unknown feature {feature!r}.")
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


def error_page(request: Request, status: int, message: str) -> Response:
    """Return a readable page for what went wrong; it asks nothing of the store."""
    visitor = visitor_of(request, with_person=False)
    trouble = say_trouble(status, message, visitor.texts)
    said = {"code": status, "message": trouble.said, "details": trouble.details}
    return render(request, visitor, "error.html", status=status, **said)


def _home(request: Request, moment: Moment, query: QueryParams) -> Response:
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


def _read_presses(press: str, presses: str, catalogue: Catalogue) -> dict[str, int]:
    """Read `+1 feature=value`, or several presses as json; only tags that the model has."""
    if press:
        steps, _, text = press.partition(" ")
        given: Any = {text: _read_number(steps)}
    else:
        try:
            given = json.loads(presses)
        except (ValueError, RecursionError):
            given = None
    if not isinstance(given, dict):
        raise ParameterError("The presses of the form cannot be read.")
    for text in given:
        if Tag.parse(text) not in catalogue.tag_index:
            raise UnknownTagError(f"Unknown tag {text}.")
    return {str(Tag.parse(text)): steps for text, steps in given.items()}


def _read_item(text: str, kind: str, state: State, catalogue: Catalogue) -> ItemId:
    """Return the item that a form names, as the catalogue or the person's state has it."""
    kept = {"remove": state.history, "unhide": state.hidden}.get(kind, ())
    for item in kept:
        if str(item) == text:
            return item
    items = catalogue.model.items_
    found: ItemId = items[items.index_of(text)]
    return found


def _read_number(text: str) -> float | int:
    try:
        number = float(text)
    except ValueError:
        raise ParameterError(f"{text!r} is not a number.") from None
    return int(number) if number.is_integer() else number
