"""The form that every button of the site sends: one route, `/act`."""

import json
from datetime import UTC, datetime, tzinfo
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel
from starlette.datastructures import QueryParams

from teaser.app import actions
from teaser.app.cookies import TOKEN, remember
from teaser.app.dependencies import catalogue_of, services_of, uses_store
from teaser.app.forms import FormText, local_path, need_own_origin, read_object, read_presses
from teaser.app.pages.context import PageContext
from teaser.app.pages.home import home_page
from teaser.app.pages.render import ensure_person, visitor_of
from teaser.app.state import Event, ending, read_time
from teaser.errors import ParameterError, UnknownPersonError, shortened

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
    lasts
        How long the presses count: `today`, `week` or `always`.
    end_press
        Presses that end, to be taken back: when they end, the steps back, the tag.
    view, remove, hide, unhide
        The id of an item.
    hide_tag, unhide_tag
        A tag, `feature=value`.
    mute, mute_tag
        What is hidden for a time: `today` or `week`, then an item or a tag.
    filter
        The conditions of the current list, as JSON.
    feed, main_feed
        The feed to show; any text in `main_feed` shows the main list.
    make_feed, copy_of
        The name of a new feed, which begins as a copy of the current one. `copy_of` names another
        one to copy; with `copy_main` it is the main list.
    rename_feed, name
        A feed and its new name.
    drop_feed
        The feed to remove.
    profiling
        `on`; or what orders the list without a profile: `appeal` or `newest`.
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
    lasts: FormText = "always"
    end_press: FormText = ""
    view: FormText = ""
    remove: FormText = ""
    hide: FormText = ""
    unhide: FormText = ""
    hide_tag: FormText = ""
    unhide_tag: FormText = ""
    mute: FormText = ""
    mute_tag: FormText = ""
    filter: FormText = ""
    feed: FormText = ""
    main_feed: FormText = ""
    make_feed: FormText = ""
    copy_of: FormText = ""
    copy_main: FormText = ""
    rename_feed: FormText = ""
    name: FormText = ""
    drop_feed: FormText = ""
    profiling: FormText = ""
    vary: FormText = ""
    balance: FormText = ""
    set_about: FormText = ""
    about: list[FormText] = []
    undo: FormText = ""
    redo: FormText = ""
    reset: FormText = ""
    back: FormText = "/"

    def event(self, zone: tzinfo | None = None) -> Event:
        """Return the action that the form asks for; days end at midnight in the time zone."""
        if self.press or self.presses:
            return Event("press", {"presses": self._presses(), **ending(self.lasts, zone)})
        if self.end_press:
            return _end_of_press(self.end_press)
        if self.mute or self.mute_tag:
            return self._mute(zone)
        for kind in ("view", "hide", "remove", "unhide"):
            if item := getattr(self, kind):
                return Event(kind, {"item": item})
        for kind in ("hide", "unhide"):
            if tag := getattr(self, f"{kind}_tag"):
                return Event(kind, {"tag": tag})
        if self.filter:
            return Event("filter", {"filters": read_object(self.filter, "filter")})
        if self.vary:
            return Event("vary", {"variety": _number(self.vary)})
        if self.balance:
            return Event("balance", {"balance": _number(self.balance)})
        if self.set_about:
            return Event("about", {"about": self.about})
        if self.profiling:
            order = {} if self.profiling == "on" else {"order": self.profiling}
            return Event("profiling", {"on": self.profiling == "on", **order})
        return self._about_feeds() or self._about_all()

    def _about_feeds(self) -> Event | None:
        """Return what the form asks of the feeds, if anything."""
        if self.feed or self.main_feed:
            return Event("switch_feed", {"feed": self.feed})
        if self.rename_feed:
            return Event("rename_feed", {"feed": self.rename_feed, "name": self.name})
        if self.drop_feed:
            return Event("drop_feed", {"feed": self.drop_feed})
        if not self.make_feed:
            return None
        made = {"feed": self.make_feed}
        if not (self.copy_of or self.copy_main):
            return Event("make_feed", made)
        copied = {"feed": self.copy_of}
        return Event("several", {"actions": [["switch_feed", copied], ["make_feed", made]]})

    def _about_all(self) -> Event:
        for kind in ("undo", "redo", "reset"):
            if getattr(self, kind):
                return Event(kind)
        raise ParameterError("The form names no action. Use one of the page's buttons.")

    def _mute(self, zone: tzinfo | None) -> Event:
        lasts, _, name = (self.mute or self.mute_tag).partition(" ")
        return Event("hide", {"item" if self.mute else "tag": name, **ending(lasts, zone)})

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
    services, catalogue = services_of(request), catalogue_of(request)
    asked = form.event(catalogue.zone)
    visitor = visitor_of(request, trusts_signature=True)
    person_id, token = ensure_person(visitor, services)
    try:
        done = actions.act(services.store, person_id, asked, catalogue)
    except UnknownPersonError:  # a first action, or the person was deleted
        visitor = visitor_of(request)
        person_id, token = ensure_person(visitor, services)
        done = actions.act(services.store, person_id, asked, catalogue)
    page = urlsplit(local_path(form.back))
    # The script gets the page at once; a browser is sent to it, so that it can load it again.
    if visitor.has_script and page.path == "/":
        context = PageContext(visitor, catalogue, done.after, done.before, done.event or asked)
        response = home_page(request, context, QueryParams(page.query))
    else:
        query = f"{page.query}&" if page.query else ""
        if done.event:
            result: dict[str, object] = {"did": done.after.n_events}
        else:
            far = json.dumps(asked.data.get("presses", {}))
            result = {"far": far} if len(far) <= _MAX_FAR else {}
        response = RedirectResponse(f"{page.path}?{query}{urlencode(result)}#notice", 303)
    if token:
        remember(response, services.settings, TOKEN, token)
    return response


def _end_of_press(text: str) -> Event:
    """Return presses that take others back, for as long as those would have lasted."""
    until, _, rest = text.partition(" ")
    steps, _, tag = rest.partition(" ")
    if read_time(until) <= datetime.now(UTC):
        raise ParameterError("These presses have ended already, so there is nothing to take back.")
    return Event("press", {"presses": {tag: _number(steps)}, "until": until})


def _number(text: str) -> float | int:
    try:
        number = float(text)
    except ValueError:
        raise ParameterError(f"{shortened(text)!r} is not a number.") from None
    return int(number) if number.is_integer() else number
