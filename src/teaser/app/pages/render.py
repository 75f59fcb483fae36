"""Pages from templates: the visitor, their state and language, and the action just done."""

import json
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import numpy as np
from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray
from starlette.datastructures import FormData

from teaser._version import __version__
from teaser.app.actions import LIMIT, TAGS_OFF, act, decide
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.http import (
    LANGUAGE,
    LASTS,
    SKIPPED,
    THEME,
    TOKEN,
    Services,
    brand_of,
    catalogue_of,
    new_token,
    read_cookies,
    read_object,
    remember,
    services_of,
    signed_token,
    valid_text,
)
from teaser.app.i18n.texts import LANGUAGES, Texts, choose_language, texts_in
from teaser.app.pages.cards import plain_card
from teaser.app.pages.describe import (
    ActionSummary,
    compare_lists,
    describe_action,
    describe_effect,
    describe_no_effect,
)
from teaser.app.pages.profile import bold, tag_label
from teaser.app.state import Event, State
from teaser.data.tags import Tag
from teaser.errors import TeaserError
from teaser.profile import MAX_PRESSES

THEMES = ("auto", "light", "dark")
DURATIONS = ("always", "week", "today")
# The header by which the page's script asks for the page itself in answer to a form.
SCRIPT = "x-teaser-script"
N_CARDS = 12  # of a list
_N_COLOURS = 6
# The longest address that forms repeat, in letters; the forms of a longer one lead home.
_MAX_PATH = 8_000


@dataclass(frozen=True)
class Visitor:
    """What the headers of a request say about its sender.

    Attributes
    ----------
    person_id
        The person who holds the token in the cookie; None for a new visitor.
    texts
        The texts in the visitor's language.
    theme
        `auto`, `light` or `dark`.
    has_skipped
        Whether the visitor skipped the quick start.
    has_script
        Whether the page's script sent the request.
    lasts
        How long the visitor's next presses count: `always`, `week` or `today`.
    token
        The token in the cookie, if it belongs to a person or this server signed it.
    """

    person_id: str | None
    texts: Texts
    theme: str
    has_skipped: bool
    has_script: bool
    lasts: str = "always"
    token: str | None = None


def visitor_of(request: Request, *, with_person: bool = True) -> Visitor:
    """Return the visitor who made a request; `with_person=False` spares the query to the store."""
    services = services_of(request)
    cookies, store = read_cookies(request), services.store
    token = signed_token(cookies, store) if with_person else None
    person_id = store.find_person(token) if token else None
    theme, lasts = cookies.get(THEME, "auto"), cookies.get(LASTS, "always")
    language = choose_language(cookies.get(LANGUAGE), request.headers.get("accept-language"))
    return Visitor(
        person_id=person_id,
        texts=texts_in(language),
        theme=theme if theme in THEMES else "auto",
        has_skipped=SKIPPED in cookies,
        has_script=SCRIPT in request.headers,
        lasts=lasts if lasts in DURATIONS else "always",
        token=token,
    )


def ensure_person(visitor: Visitor, services: Services) -> tuple[str, str | None]:
    """Return the visitor's person and, if it was just created, the token for the cookie."""
    if visitor.person_id is not None:
        return visitor.person_id, None
    token = visitor.token or new_token(services.store.signing_key)
    return services.store.create_person(token), token


def render(
    request: Request,
    visitor: Visitor,
    template: str,
    *,
    status: int = 200,
    state: State | None = None,
    **values: Any,
) -> HTMLResponse:
    """Return a page in the visitor's language.

    `state` is that of the visitor's person; a page without it has no buttons that act.
    """
    texts, brand = visitor.texts, brand_of(request)
    common = {
        "t": texts,
        "visitor": visitor,
        "brand": brand,
        "title": brand.name,
        "page_path": _page_path(request),
        "summary": None,
        "state": state,
    }
    headers = {"content-language": texts.language, "vary": "cookie, accept-language"}
    templates: Environment = getattr(request.app.state, "templates", environment())
    return HTMLResponse(templates.get_template(template).render(common | values), status, headers)


async def read_form(request: Request) -> FormData:
    """Read a form, whose texts are valid Unicode; the size of a request is limited."""
    form = await request.form()
    for name, text in form.multi_items():
        valid_text(name)
        valid_text(text if isinstance(text, str) else "")
    return form


Form = Annotated[FormData, Depends(read_form)]


def path_part(value: Any) -> str:
    """Return the last part of an item's address."""
    return quote(str(value), safe="")


def _page_path(request: Request) -> str:
    """Return the address of a page without the parameters about the last action."""
    if request.method != "GET":
        return "/"
    query = [(k, v) for k, v in request.query_params.multi_items() if k not in ("did", "far")]
    path = quote(request.url.path) + (f"?{urlencode(query)}" if query else "")
    return path if len(path) <= _MAX_PATH else "/"


@cache
def environment(own: str = "") -> Environment:
    """Return the templates of the site; those of the package `own` come before them."""
    packages = [own] if own else []
    found = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in (*packages, "teaser.app.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.globals.update(
        version=__version__,
        languages=LANGUAGES,
        themes=THEMES,
        durations=DURATIONS,
        max_presses=MAX_PRESSES,
        bold=bold,
    )
    compact = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
    found.filters.update(path_part=path_part, compact=compact, colour=_colour, tag_label=_label)
    found.filters.update(bold=bold)
    found.globals.update(parts=found.get_template("parts.html").module)
    return found


def _colour(value: Any) -> int:
    """Return the number of a colour for a name, always the same for one name."""
    return sum(str(value).encode()) % _N_COLOURS


def _label(tag: Tag, t: Texts) -> str:
    """Return a tag among other names; a group is named by titles, so it stands in quotes."""
    return t("“{name}”", name=t.tag(tag)) if tag.discovered else t.full_tag(tag)


@dataclass(frozen=True)
class PageContext:
    """The visitor, their state, and the catalogue that answers this request.

    `event` is the action that led to the page, if there was one, and `before` the state before it.
    """

    visitor: Visitor
    catalogue: Catalogue
    state: State
    before: State
    event: Event | None

    @property
    def texts(self) -> Texts:
        """The texts in the visitor's language."""
        return self.visitor.texts

    @cached_property
    def personal(self) -> PersonalModel:
        """The model with the visitor's state."""
        return PersonalModel(self.catalogue, self.state)

    @property
    def own(self) -> PersonalModel:
        """The model with the visitor's profile, also while lists are made without it."""
        return self.personal.own

    def summary(
        self, after: NDArray[np.int64] | None = None, *, k: int = N_CARDS
    ) -> ActionSummary | None:
        """Return what the last action did to the list; None without an action.

        `after` are the positions of the list after the action, if the page has computed it already.
        """
        if self.event is None:
            return None
        earlier = self.personal.at(self.before)
        ranked = self.personal.rank(k=k) if after is None else after
        items = self.catalogue.model.items_
        old, new = earlier.listed(k=k), [items[i] for i in ranked.tolist()]
        change = compare_lists(old, new)
        action = describe_action(self.event, self.before, self.catalogue, self.texts)
        is_stored = self.before.n_events != self.state.n_events
        effect = describe_effect(change, self.texts)
        if self.event.kind == "press":
            if not self.state.profiling:
                effect = self.texts("your profile is switched off, so the list stays as it was.")
            elif np.array_equal(earlier.profile.values, self.personal.profile.values):
                effect = self.texts(LIMIT)
            elif self.personal.profile.tags_weight == 0:
                effect = self.texts(TAGS_OFF)
            elif old == new:
                effect = describe_no_effect(self.personal, earlier, ranked, self.texts)
        return ActionSummary(action, effect, change, is_stored)

    def render(self, request: Request, template: str, **values: Any) -> Response:
        """Return a page with the buttons for the visitor's state, and what the last action did."""
        catalogue, texts = self.catalogue, self.texts
        common: dict[str, Any] = {
            "card_of": lambda item_id: plain_card(catalogue, item_id, texts),
            "name_of": lambda tag: tag_label(tag, catalogue, texts),
        }
        if "summary" not in values:
            common["summary"] = self.summary()
        return render(request, self.visitor, template, state=self.state, **common | values)


def page_context_of(request: Request) -> PageContext:
    """Return the context of a request for a page.

    `did` in its address is the number of events after the action that led to it; `far` holds
    presses that changed nothing and were not stored.
    """
    visitor, catalogue = visitor_of(request), catalogue_of(request)
    if visitor.person_id is None:
        return PageContext(visitor, catalogue, State(), State(), None)
    store = services_of(request).store
    state = store.state(visitor.person_id)
    unstored = _unstored_press(request.query_params.get("far"), catalogue, state)
    if unstored:
        return PageContext(visitor, catalogue, state, state, unstored)
    if not state.n_events or request.query_params.get("did") != str(state.n_events):
        return PageContext(visitor, catalogue, state, State(), None)
    before, event = store.last_action(visitor.person_id, state.n_events)
    return PageContext(visitor, catalogue, state, before, event)


def act_and_show(request: Request, event: Event) -> Response:
    """Make an action of the visitor, then show the list, which says what it did."""
    services = services_of(request)
    person_id, token = ensure_person(visitor_of(request), services)
    done = act(services.store, person_id, event, catalogue_of(request))
    return with_token(RedirectResponse(f"/?did={done.after.n_events}#notice", 303), request, token)


def with_token(response: Response, request: Request, token: str | None) -> Response:
    """Return a response that sets the token of a person who was just created, if there is one."""
    if token:
        remember(response, request, TOKEN, token)
    return response


def _unstored_press(text: str | None, catalogue: Catalogue, state: State) -> Event | None:
    """Return the presses named in the address, after checking that they change nothing."""
    if not text:
        return None
    try:
        event = Event("press", {"presses": read_object(text, "presses")})
        return event if decide(state, event, catalogue) is None else None
    except TeaserError:
        return None
