"""The home page with its filters, the form of every button (/act), feeds and preferences."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

import numpy as np
from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field
from starlette.datastructures import QueryParams

from teaser.app import actions
from teaser.app.catalogue import Catalogue, PersonalModel, cached_per_catalogue
from teaser.app.http import (
    LANGUAGE,
    LASTS,
    SKIPPED,
    THEME,
    FormText,
    StoreRoute,
    catalogue_of,
    local_path,
    read_object,
    remember,
    services_of,
    without_store,
)
from teaser.app.i18n.texts import LANGUAGES, Texts
from teaser.app.monitoring import measured
from teaser.app.pages.cards import (
    CardView,
    card_views,
    feature_views,
    general_row,
    plain_card,
    profile_view,
)
from teaser.app.pages.describe import (
    MAX_LISTED,
    describe_balance,
    ending_presses,
    feed_names,
    feed_views,
    filter_chips,
    filter_text,
    hidden_rows,
)
from teaser.app.pages.render import (
    DURATIONS,
    N_CARDS,
    THEMES,
    PageContext,
    ensure_person,
    page_context_of,
    visitor_of,
    with_token,
)
from teaser.app.state import MAX_FEEDS, Event, ending, read_time
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.errors import ParameterError, shortened

router = APIRouter(route_class=StoreRoute)

MAX_CARDS = 96
MAX_VALUES = 150


@cached_per_catalogue(1)
def choices(catalogue: Catalogue) -> Mapping[str, list[Tag]]:
    """Return the tags to choose from, by feature, in the order of numbers or the alphabet.

    Of many tags these are the most common. Groups that the system found are not among them: there
    are many, and their pages have a link.
    """
    names = dict.fromkeys(tag.feature for tag in catalogue.model.tags_ if not tag.discovered)
    found = {name: catalogue.features.get(name, [])[:MAX_VALUES] for name in names}
    return {name: sorted(tags, key=reading_order) for name, tags in found.items() if len(tags) > 1}


def reading_order(tag: Tag) -> tuple[float, str, float, bool, str]:
    """Return what orders tags for a reader: under 10, 10 to 20, 20 and over; hall 9, hall 10."""
    value = tag.value.casefold()
    found = re.match(r"(\D*?\s)??(under )?(-?\d+(?:\.\d+)?)", value)
    if not found:
        return math.inf, value, 0.0, True, value
    number, is_over = float(found[3]), not found[2]
    if found[1]:  # the words that all values of the feature begin with
        return math.inf, found[1], number, is_over, value
    return number, "", 0.0, is_over, value


def _count(text: str | None) -> int:
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) < 4
    return min(MAX_CARDS, max(N_CARDS, int(text or 0))) if is_number else N_CARDS


ENOUGH_PICKS = 3
N_PICKS = 6
_MAX_CACHED = 1_000


@router.get("/")
def home(request: Request) -> Response:
    """Show the list, and what was learned beside it."""
    return home_page(request, page_context_of(request), request.query_params)


def home_page(request: Request, context: PageContext, query: QueryParams) -> Response:
    """Return the home page; `query` has the length of its list."""
    personal, texts, catalogue = context.personal, context.texts, context.catalogue
    state = context.state
    k = _count(query.get("n"))
    places = personal.rank(k=k)
    summary = context.summary(places, k=k)
    moves = summary.change.moves if summary else None
    return context.render(
        request,
        "home.html",
        page_path="/" if k == N_CARDS else f"/?n={k}",
        profile=profile_view(context.own, texts, is_brief=True),
        summary=summary,
        cards=card_views(personal, places, texts, moves),
        n_more=k + N_CARDS if len(places) == k else None,
        is_new=context.own.is_new,
        n_seen=len(context.own.history),
        feeds=feed_names(state, texts),
        chips=filter_chips(state.filters, catalogue, texts, context.clock),
        has_dates=catalogue.dates is not None,
        example=say_example(catalogue, texts),
        picks=_picks(context),
        enough_picks=ENOUGH_PICKS,
    )


@router.get("/options")
def options(request: Request) -> Response:
    """Show what can be set for a list: filters, variety, balance, feeds, how long presses last.

    The forms lead back to the list, which shows what they changed.
    """
    context = page_context_of(request)
    texts, catalogue, state = context.texts, context.catalogue, context.state
    filters, form = state.filters, choices(catalogue)
    chosen: dict[str, str] = {}  # one tag of each feature is in the form
    for text in filters.only:
        tag = Tag.parse(text)
        if tag in form.get(tag.feature, ()):
            chosen.setdefault(tag.feature, text)
    days = re.fullmatch(r"([\d-]*)\.\.([\d-]*)", filters.when)
    others = tuple(text for text in filters.only if text not in chosen.values())
    rest = replace(filters, only=others, when="" if days else filters.when)
    return context.render(
        request,
        "options.html",
        title=texts("Options"),
        page_path="/",
        choices=form,
        days=days.groups() if days else ("", ""),
        chosen=chosen,
        other_filters=filter_text(rest),
        feeds=feed_names(state, texts),
        has_dates=catalogue.dates is not None,
        is_by_date=context.personal.is_by_date,
        balance=balance_view(context.personal, texts) if state.profiling else None,
    )


@router.get("/profile")
def profile(request: Request) -> Response:
    """Show all that is known of the visitor: statements, tags, history, facts, what is hidden."""
    context = page_context_of(request)
    texts, catalogue = context.texts, context.catalogue
    state, clock = context.state, context.clock
    return context.render(
        request,
        "profile.html",
        title=texts("Your profile"),
        page_path="/profile",
        summary=context.summary(),
        profile=profile_view(context.own, texts),
        general=general_row(context.own, texts),
        features=feature_views(context.own, texts),
        history=[plain_card(catalogue, i, texts).card for i in reversed(context.own.history)],
        facts=catalogue.user_features,
        chosen_facts=context.own.about,
        hidden=hidden_rows(state, catalogue, texts, clock, most=MAX_LISTED),
        n_hidden=len(state.hidden) + len(state.hidden_tags),
        ending=ending_presses(state, catalogue, texts, clock, most=MAX_LISTED),
        n_ending=sum(end.kind == "press" for end in state.ends),
    )


def _picks(context: PageContext) -> list[CardView]:
    """Return the items of the quick start; none once it is done or skipped."""
    picked, catalogue = list(context.own.history), context.catalogue
    has_enough = context.visitor.has_skipped or len(picked) >= ENOUGH_PICKS
    if has_enough or not context.state.profiling:
        return []
    mask, items = context.personal.left_out, catalogue.model.items_
    hidden = () if mask is None else tuple(items[i] for i in np.flatnonzero(mask).tolist())
    found = quick_start(catalogue, tuple(picked), hidden)
    return [plain_card(catalogue, item_id, context.texts) for item_id in found]


@cached_per_catalogue(_MAX_CACHED)
@measured("model")
def quick_start(
    catalogue: Catalogue, picked: tuple[ItemId, ...], hidden: tuple[ItemId, ...]
) -> list[ItemId]:
    """Return the next items to ask about; many visitors begin with the same picks."""
    return catalogue.quick_start.picks(picked, shown=hidden, k=N_PICKS)


@cached_per_catalogue(len(LANGUAGES))
def say_example(catalogue: Catalogue, texts: Texts) -> str:
    """Return an example of a request: common tags of two features, not on most items."""
    half, sizes = len(catalogue.model.items_) / 2, catalogue.tag_sizes
    common = [
        next((t for t in catalogue.features[name] if sizes[catalogue.tag_index[t]] <= half), None)
        for name in choices(catalogue)
    ]
    named = sorted(filter(None, common), key=lambda tag: tag.is_bare)[:2]
    if len(named) < 2:
        return ""
    other, one = (texts.tag(tag).lower() for tag in named)
    if catalogue.dates is None:
        return texts("such as: more {one}, no {other}", one=one, other=other)
    return texts("such as: more {one}, no {other}, this weekend", one=one, other=other)


@router.get("/feeds")
def feeds(request: Request) -> Response:
    """Show all feeds with what they hold, and what can be done with each."""
    context = page_context_of(request)
    views = feed_views(context.state, context.catalogue, context.texts, context.clock)
    return context.render(
        request,
        "feeds.html",
        title=context.texts("Feeds"),
        page_path="/feeds",
        summary=context.summary(),
        feeds=views,
        can_make=len(views) <= MAX_FEEDS,
    )


_STEPS = 10
Choice = Annotated[FormText, Form()]


def balance_view(personal: PersonalModel, texts: Texts) -> dict[str, Any] | None:
    """Return the slider between tags and what similar users viewed; None without a remainder.

    It does not move before an item was viewed.
    """
    if not personal.catalogue.model.has_remainder:
        return None
    value = personal.state.balance
    return {
        "value": value,
        "label": describe_balance(value, texts),
        "labels": [describe_balance(step / _STEPS, texts) for step in range(_STEPS + 1)],
        "can_move": personal.can_balance,
    }


@router.post("/skip")
@without_store
def skip(request: Request) -> Response:
    """Skip the quick start."""
    return _set_cookie(request, SKIPPED, "1", ("1",), "/")


@router.post("/language")
@without_store
def language(request: Request, language: Choice, back: Choice = "/") -> Response:
    """Choose the language of the pages."""
    return _set_cookie(request, LANGUAGE, language, LANGUAGES, back)


@router.post("/theme")
@without_store
def theme(request: Request, theme: Choice, back: Choice = "/") -> Response:
    """Choose light or dark colours, or those of the system."""
    return _set_cookie(request, THEME, theme, THEMES, back)


@router.post("/lasts")
@without_store
def lasts(request: Request, lasts: Choice, back: Choice = "/") -> Response:
    """Choose how long the next presses count."""
    return _set_cookie(request, LASTS, lasts, DURATIONS, back)


def _set_cookie(
    request: Request, name: str, value: str, known: Iterable[str], back: str
) -> Response:
    """Remember a choice of the visitor, and show the page that it was made on."""
    if value not in known:
        raise ParameterError(f"Unknown choice {shortened(value)!r}. Known: {', '.join(known)}.")
    response = RedirectResponse(local_path(back), 303)
    remember(response, request, name, value)
    return response


_MAX_FAR = 4_000  # letters; servers and proxies refuse much longer addresses


# The fields with one name: the action, and which part of its data the name is.
_NAMED = {
    "view": ("view", "item"),
    "hide": ("hide", "item"),
    "remove": ("remove", "item"),
    "unhide": ("unhide", "item"),
    "hide_tag": ("hide", "tag"),
    "unhide_tag": ("unhide", "tag"),
    "drop_feed": ("drop_feed", "feed"),
}


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
    filter, set_filter, only, from, to
        The conditions of the current list, as JSON. With any text in `set_filter` the tags in
        `only`, each `feature=value` or empty, and the days from and to come to them.
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
    set_filter: FormText = ""
    only: list[FormText] = []
    first: FormText = Field("", alias="from")
    last: FormText = Field("", alias="to")
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
        for field, (kind, part) in _NAMED.items():
            if name := getattr(self, field):
                return Event(kind, {part: name})
        if self.filter:
            return Event("filter", {"filters": self._filters()})
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

    def _filters(self) -> dict[str, Any]:
        found = read_object(self.filter, "filter")
        if self.set_filter:
            kept = found.get("only", [])
            if isinstance(kept, list):
                found["only"] = [*kept, *filter(None, self.only)]
            first, last = self.first, self.last
            if first and last:
                first, last = sorted((first, last))
            if first or last:
                found["when"] = f"{first}..{last}"
        return found

    def _about_feeds(self) -> Event | None:
        """Return what the form asks of the feeds, if anything."""
        if self.feed or self.main_feed:
            return Event("switch_feed", {"feed": self.feed})
        if self.rename_feed:
            return Event("rename_feed", {"feed": self.rename_feed, "name": self.name})
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
        return read_object(self.presses, "presses")


@router.post("/act")
def act(request: Request, form: Annotated[ActionForm, Form()]) -> Response:
    """Do what one button says, then show the page that it is on."""
    services, catalogue = services_of(request), catalogue_of(request)
    asked = form.event(catalogue.zone)
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
    return with_token(response, request, token)


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
