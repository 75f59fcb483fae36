"""The home page: profile, history and list; the routers of all other pages are included here."""

import json
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import QueryParams

from teaser.app.actions import settled
from teaser.app.dependencies import catalogue_of, services_of
from teaser.app.http.identity import TOKEN, remember
from teaser.app.http.origin import local_path, need_own_origin
from teaser.app.i18n.error_messages import say_trouble
from teaser.app.people.events import Event, State
from teaser.app.serving.catalogue import Catalogue, cached_per_catalogue
from teaser.app.serving.personal_model import read_about
from teaser.app.site import item as item_pages
from teaser.app.site import my_data, preferences, search
from teaser.app.site.card_view import CardView, cached_card, card_views, plain_card
from teaser.app.site.filters import Filters, filter_form
from teaser.app.site.page_context import PageContext, page_context_of
from teaser.app.site.preferences import about_view, balance_view
from teaser.app.site.profile_view import profile_view
from teaser.app.site.rendering import render
from teaser.app.site.visitor import ensure_person, visitor_of
from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag
from teaser.errors import ParameterError, UnknownTagError
from teaser.guide import quick_picks

router = APIRouter()
for pages in (item_pages, my_data, preferences, search):
    router.include_router(pages.router)

ENOUGH_PICKS = 3
N_PICKS = 6
_MAX_CACHED = 1_000

Field = Annotated[str, Form()]


@router.get("/")
def home(request: Request) -> Response:
    """Show profile, history and list."""
    return home_page(request, page_context_of(request), request.query_params)


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
        context = PageContext(visitor, catalogue, after, before, kept or event)
        response = home_page(request, context, QueryParams(where.query))
    else:
        query = f"{where.query}&" if where.query else ""
        said = {"did": after.n_events} if kept else {"far": json.dumps(event.data["presses"])}
        response = RedirectResponse(f"{where.path}?{query}{urlencode(said)}#told", 303)
    if token:
        remember(response, services.settings, TOKEN, token)
    return response


def home_page(request: Request, context: PageContext, query: QueryParams) -> Response:
    """Return the home page; `query` holds the filters of the list."""
    personal, texts, catalogue = context.personal, context.texts, context.catalogue
    filters = Filters.read(query, catalogue)
    allowed = filters.allowed(catalogue)
    recommendations = personal.recommend(k=filters.k, allowed=allowed)
    summary = context.summary(recommendations, k=filters.k, allowed=allowed)
    moves = summary.change.moves if summary else None
    return render(
        request,
        context.visitor,
        "home.html",
        page_path=filters.path(),
        state=context.state,
        summary=summary,
        profile=profile_view(personal, texts),
        history=[_small_card(catalogue, i) for i in reversed(personal.history)],
        hidden=[_small_card(catalogue, i) for i in context.state.hidden],
        cards=card_views(personal, recommendations, texts, moves),
        balance=balance_view(personal, texts),
        about=about_view(personal),
        filters=filters,
        filter_form=filter_form(catalogue, texts, filters),
        picks=_picks(context),
        enough_picks=ENOUGH_PICKS,
        has_more=len(recommendations) == filters.k,
        variety_labels=[texts.percent(tenths / 10) for tenths in range(11)],
    )


def error_page(request: Request, status: int, message: str) -> Response:
    """Return a page about an error; it does not query the store."""
    visitor = visitor_of(request, with_person=False)
    trouble = say_trouble(status, message, visitor.texts)
    said = {"code": status, "message": trouble.said, "details": trouble.details}
    return render(request, visitor, "error.html", status=status, **said)


def _picks(context: PageContext) -> list[CardView]:
    """Return the items of the quick start; none once it is done or skipped."""
    picked = tuple(context.personal.history)
    if context.visitor.has_skipped or len(picked) >= ENOUGH_PICKS:
        return []
    hidden = tuple(i for i in context.state.hidden if i in context.catalogue.model.items_)
    item_ids = _quick_picks(context.catalogue, picked, hidden)
    return [plain_card(context.catalogue, item_id, context.texts) for item_id in item_ids]


@cached_per_catalogue(_MAX_CACHED)
def _quick_picks(
    catalogue: Catalogue, picked: tuple[ItemId, ...], hidden: tuple[ItemId, ...]
) -> list[ItemId]:
    """Return the next items to ask about; many visitors begin with the same picks."""
    return quick_picks(catalogue.model, picked, shown=hidden, k=N_PICKS)


def _small_card(catalogue: Catalogue, item_id: ItemId) -> dict[str, Any]:
    """Return an item in a row of many; the model may not have it any more."""
    if item_id not in catalogue.model.items_:
        return {"item_id": item_id, "title": str(item_id), "has_picture": False}
    card = cached_card(catalogue, item_id)
    return {"item_id": card.item_id, "title": card.title, "has_picture": card.has_picture}


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
