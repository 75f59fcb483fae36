"""The form that every button of the site sends: one route, `/act`."""

import json
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel
from starlette.datastructures import QueryParams

from teaser.app import actions
from teaser.app.dependencies import catalogue_of, services_of, uses_store
from teaser.app.http.cookies import TOKEN, remember
from teaser.app.http.form_text import FormText, read_presses
from teaser.app.http.origin import local_path, need_own_origin
from teaser.app.people.events import Event
from teaser.app.site.home import home_page
from teaser.app.site.page_context import PageContext
from teaser.app.site.view.visitor import ensure_person, visitor_of
from teaser.errors import ParameterError

router = APIRouter()
_MAX_FAR = 4_000  # letters; servers and proxies refuse much longer addresses


class ActionForm(BaseModel):
    """The fields of the form; the button that was used fills in one of them.

    Attributes
    ----------
    press
        One press, `+1 feature=value`.
    presses
        Several presses at once, as JSON: tag text -> steps.
    view, remove, hide, unhide
        The id of an item.
    vary, balance
        A number from 0 to 1.
    set_about, about
        Any text in `set_about` sends the facts in `about`, each as `feature=value` or empty.
    undo, redo, reset
        Any text.
    back
        The page that the button is on.
    """

    press: FormText = ""
    presses: FormText = ""
    view: FormText = ""
    remove: FormText = ""
    hide: FormText = ""
    unhide: FormText = ""
    vary: FormText = ""
    balance: FormText = ""
    set_about: FormText = ""
    about: list[FormText] = []
    undo: FormText = ""
    redo: FormText = ""
    reset: FormText = ""
    back: FormText = "/"

    def event(self) -> Event:
        """Return the action that the form asks for."""
        if self.press or self.presses:
            return Event("press", {"presses": self._presses()})
        for kind in ("view", "hide", "remove", "unhide"):
            if item := getattr(self, kind):
                return Event(kind, {"item": item})
        if self.vary:
            return Event("vary", {"variety": _number(self.vary)})
        if self.balance:
            return Event("balance", {"balance": _number(self.balance)})
        if self.set_about:
            return Event("about", {"about": self.about})
        for kind in ("undo", "redo", "reset"):
            if getattr(self, kind):
                return Event(kind)
        raise ParameterError("The form names no action. Use one of the page's buttons.")

    def _presses(self) -> dict[str, Any]:
        if self.press:
            steps, _, tag = self.press.partition(" ")
            return {tag: _number(steps)}
        return read_presses(self.presses)


@router.post("/act")
@uses_store
def act(request: Request, form: Annotated[ActionForm, Form()]) -> Response:
    """Do what one button says, then show the page that it is on."""
    need_own_origin(request)
    asked = form.event()
    services, catalogue = services_of(request), catalogue_of(request)
    visitor = visitor_of(request)
    person_id, token = ensure_person(visitor, services)
    done = actions.act(services.store, person_id, asked, catalogue)
    page = urlsplit(local_path(form.back))
    if visitor.wants_fragment and page.path == "/":
        context = PageContext(visitor, catalogue, done.after, done.before, done.event or asked)
        response = home_page(request, context, QueryParams(page.query))
    else:
        query = f"{page.query}&" if page.query else ""
        if done.event:
            result: dict[str, object] = {"did": done.after.n_events}
        else:
            far = json.dumps(asked.data["presses"])
            result = {"far": far} if len(far) <= _MAX_FAR else {}
        response = RedirectResponse(f"{page.path}?{query}{urlencode(result)}#notice", 303)
    if token:
        remember(response, services.settings, TOKEN, token)
    return response


def _number(text: str) -> float | int:
    try:
        number = float(text)
    except ValueError:
        raise ParameterError(f"{text!r} is not a number.") from None
    return int(number) if number.is_integer() else number
