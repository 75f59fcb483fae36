"""The form that every button of the site sends: one route, `/act`."""

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
from teaser.app.people.events import Event, State
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import read_about
from teaser.app.site.home import home_page
from teaser.app.site.page_context import PageContext
from teaser.app.site.visitor import ensure_person, visitor_of
from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag
from teaser.errors import ParameterError, UnknownTagError

router = APIRouter()

Field = Annotated[str, Form()]


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
