"""The home page with its filters, the form of every button (/act), feeds and preferences."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData, QueryParams

from teaser.app import actions
from teaser.app.catalogue import Catalogue, cached_per_catalogue
from teaser.app.http import (
    LANGUAGE,
    LASTS,
    SKIPPED,
    THEME,
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
from teaser.app.pages.cards import card_views
from teaser.app.pages.describe import (
    describe_balance,
    describe_filters,
    ending_presses,
    filter_chips,
    filter_text,
    hidden_rows,
)
from teaser.app.pages.profile import feature_views, general_row, profile_view
from teaser.app.pages.render import (
    DURATIONS,
    N_CARDS,
    THEMES,
    Form,
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
    is_number = re.fullmatch("[0-9]{1,3}", text or "")
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
        chips=filter_chips(state.filters, catalogue, texts),
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
    has_slider = catalogue.model.has_remainder and state.profiling
    # The first tag of each feature is in the form.
    named = [(Tag.parse(text), text) for text in reversed(filters.only)]
    chosen = {tag.feature: text for tag, text in named if tag in form.get(tag.feature, ())}
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
        has_dates=catalogue.dates is not None,
        is_by_date=context.personal.is_by_date,
        balance=describe_balance(state.balance, texts) if has_slider else None,
        balances=[describe_balance(step / 10, texts) for step in range(11)],
        varieties=[texts.percent(step / 10) for step in range(11)],
        can_balance=context.personal.can_balance,
    )


@router.get("/profile")
def profile(request: Request) -> Response:
    """Show all that is known of the visitor: statements, tags, history, facts, what is hidden."""
    context = page_context_of(request)
    texts, catalogue = context.texts, context.catalogue
    state = context.state
    return context.render(
        request,
        "profile.html",
        title=texts("Your profile"),
        profile=profile_view(context.own, texts),
        general=general_row(context.own, texts),
        features=feature_views(context.own, texts),
        history=list(reversed(context.own.history)),
        facts=catalogue.user_features,
        chosen_facts=context.own.about,
        hidden=hidden_rows(state, catalogue, texts),
        ending=ending_presses(state, catalogue, texts),
    )


def _picks(context: PageContext) -> list[ItemId]:
    """Return the items of the quick start; none once it is done or skipped."""
    picked, catalogue = list(context.own.history), context.catalogue
    has_enough = context.visitor.has_skipped or len(picked) >= ENOUGH_PICKS
    if has_enough or not context.state.profiling:
        return []
    items, left_out = catalogue.model.items_, np.flatnonzero(context.personal.left_out)
    hidden = tuple(items[i] for i in left_out.tolist())
    return quick_start(catalogue, tuple(picked), hidden)


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
    feeds = context.state.feeds.items()
    return context.render(
        request,
        "feeds.html",
        title=context.texts("Feeds"),
        filters={
            name: describe_filters(feed.filters, context.catalogue, context.texts)
            for name, feed in feeds
        },
        can_make=len(feeds) <= MAX_FEEDS,
    )


@router.post("/skip")
@without_store
def skip(request: Request) -> Response:
    """Skip the quick start."""
    response = RedirectResponse("/", 303)
    remember(response, request, SKIPPED, "1")
    return response


# What a visitor can choose for all pages: the cookie, and the values that it can have.
_CHOICES = {
    "language": (LANGUAGE, LANGUAGES),
    "theme": (THEME, THEMES),
    "lasts": (LASTS, DURATIONS),
}


@router.post("/language")
@router.post("/theme")
@router.post("/lasts")
@without_store
def choose(request: Request, form: Form) -> Response:
    """Choose the language, the colours, or how long the next presses count."""
    field = request.url.path[1:]
    cookie, known = _CHOICES[field]
    value = str(form.get(field, ""))
    if value not in known:
        raise ParameterError(f"Unknown choice {shortened(value)!r}. Known: {', '.join(known)}.")
    response = RedirectResponse(local_path(str(form.get("back", "/"))), 303)
    remember(response, request, cookie, value)
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


def asked_event(form: FormData, zone: tzinfo | None = None) -> Event:
    """Return the action that a form asks for; days end at midnight in the time zone.

    The button that was used fills in one of these fields:

    - `press` is one press, `+1 feature=value`, and `presses` several as JSON: tag -> steps. They
      last as long as `lasts` says: `today`, `week` or `always`. `end_press` takes presses back
      that end: when they end, the steps back, the tag.
    - `view`, `remove`, `hide`, `unhide` have the id of an item, `hide_tag`, `unhide_tag` a tag.
      `mute`, `mute_tag` hide for a time: `today` or `week`, then an item or a tag.
    - `filter` has the conditions of the current list, as JSON. With any text in `set_filter` the
      tags in `only`, each `feature=value` or empty, and the days `from` and `to` come to them.
    - `feed` is the feed to show; any text in `main_feed` shows the main list. `make_feed` is the
      name of a new one, which begins as a copy of the current list, of the feed `copy_of` or, with
      `copy_main`, of the main list. `rename_feed` takes the name `name`; `drop_feed` goes.
    - `profiling` is `on`; or what orders the list without a profile: `appeal` or `newest`.
    - `vary`, `balance` are numbers from 0 to 1. Any text in `set_about` sends the facts in `about`.
    - `undo`, `redo`, `reset` have any text.
    """
    text = defaultdict(str, {name: str(value) for name, value in form.items()})
    if text["press"] or text["presses"]:
        steps, _, tag = text["press"].partition(" ")
        pressed = {tag: _number(steps)} if steps else read_object(text["presses"], "presses")
        return Event("press", {"presses": pressed, **ending(text["lasts"] or "always", zone)})
    if text["end_press"]:
        return _end_of_press(text["end_press"])
    for field, part in (("mute", "item"), ("mute_tag", "tag")):
        if text[field]:
            lasts, _, name = text[field].partition(" ")
            return Event("hide", {part: name, **ending(lasts, zone)})
    for field, (kind, part) in _NAMED.items():
        if text[field]:
            return Event(kind, {part: text[field]})
    for kind, part in (("vary", "variety"), ("balance", "balance")):
        if text[kind]:
            return Event(kind, {part: _number(text[kind])})
    if text["filter"]:
        return Event("filter", {"filters": _asked_filters(form, text)})
    if text["set_about"]:
        return Event("about", {"about": [str(fact) for fact in form.getlist("about")]})
    if order := text["profiling"]:
        return Event("profiling", {"on": True} if order == "on" else {"on": False, "order": order})
    if text["feed"] or text["main_feed"]:
        return Event("switch_feed", {"feed": text["feed"]})
    if text["rename_feed"]:
        return Event("rename_feed", {"feed": text["rename_feed"], "name": text["name"]})
    made = {"feed": text["make_feed"]}
    if text["make_feed"] and (text["copy_of"] or text["copy_main"]):
        copied = {"feed": text["copy_of"]}
        return Event("several", {"actions": [["switch_feed", copied], ["make_feed", made]]})
    if text["make_feed"]:
        return Event("make_feed", made)
    for kind in ("undo", "redo", "reset"):
        if text[kind]:
            return Event(kind)
    raise ParameterError("The form names no action. Use one of the page's buttons.")


def _asked_filters(form: FormData, text: Mapping[str, str]) -> dict[str, Any]:
    found = read_object(text["filter"], "filter")
    kept, days = found.get("only", []), [text["from"], text["to"]]
    if text["set_filter"] and isinstance(kept, list):
        found["only"] = [*kept, *(str(tag) for tag in form.getlist("only") if tag)]
    if text["set_filter"] and any(days):
        first, last = sorted(days) if all(days) else days
        found["when"] = f"{first}..{last}"
    return found


@router.post("/act")
def act(request: Request, form: Form) -> Response:
    """Do what one button says, then show the page `back`, which it is on."""
    services, catalogue = services_of(request), catalogue_of(request)
    asked = asked_event(form, catalogue.zone)
    visitor = visitor_of(request)
    person_id, token = ensure_person(visitor, services)
    done = actions.act(services.store, person_id, asked, catalogue)
    page = urlsplit(local_path(str(form.get("back", "/"))))
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
