"""The home page with its filters, the form of every button (/act), feeds and preferences."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, tzinfo
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

import numpy as np
from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup
from numpy.typing import NDArray
from pydantic import BaseModel
from starlette.datastructures import QueryParams

from teaser.app import actions
from teaser.app.catalogue import Card, Catalogue, PersonalModel, cached_per_catalogue
from teaser.app.http import (
    LANGUAGE,
    LASTS,
    SKIPPED,
    THEME,
    TOKEN,
    FormText,
    catalogue_of,
    local_path,
    read_object,
    remember,
    services_of,
    uses_store,
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
    render_part,
    visitor_of,
)
from teaser.app.state import MAX_FEEDS, Event, ListFilter, ending, read_time
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.errors import ParameterError, UnknownNameError, shortened

router = APIRouter()

MAX_CARDS = 96
MAX_VALUES = 150
_MAX_TAGS = 50


@dataclass(frozen=True)
class Filters:
    """The filters of one request; tags that the catalogue does not have are ignored."""

    tags: tuple[Tag, ...] = ()
    first: date | None = None
    last: date | None = None
    k: int = N_CARDS

    @classmethod
    def read(cls, query: QueryParams, catalogue: Catalogue) -> "Filters":
        """Read the filters in the query of an address."""
        tags = _tags_by_text(catalogue)
        asked = dict.fromkeys(query.getlist("only")[:_MAX_TAGS])
        has_dates = catalogue.dates is not None
        days = [_day(query.get(name)) if has_dates else None for name in ("from", "to")]
        if days[0] and days[1] and days[0] > days[1]:
            days.reverse()
        return cls(
            tags=tuple(tags[text] for text in asked if text in tags),
            first=days[0],
            last=days[1],
            k=_count(query.get("n")),
        )

    @classmethod
    def of_list(cls, request: Request, catalogue: Catalogue) -> "Filters":
        """Return the filters of the list that an item page belongs to.

        They are in its own address, or else in the address of the list that it was opened from.
        """
        own = cls.read(request.query_params, catalogue)
        came_from = _list_address(request)
        return own if own.is_active or came_from is None else cls.read(came_from, catalogue)

    def allowed(self, catalogue: Catalogue) -> NDArray[np.bool_] | None:
        """Return a mask of the items that pass, or None if all do."""
        if not self.is_active:
            return None
        return catalogue.allowed(self.tags, first=self.first, last=self.last)

    @property
    def is_active(self) -> bool:
        """Whether any item is left out."""
        return bool(self.tags or self.first or self.last)

    def kept_in(self, kept: ListFilter) -> ListFilter:
        """Return the conditions of a list with these filters among them."""
        tags = dict.fromkeys((*kept.only, *map(str, self.tags)))
        days = f"{self.first or ''}..{self.last or ''}" if self.first or self.last else kept.when
        return replace(kept, only=tuple(tags), when=days)

    def pairs(self, *, without: Tag | None = None) -> list[tuple[str, str]]:
        """Return the filters as the parameters of an address, without one tag."""
        pairs = [("only", str(tag)) for tag in self.tags if tag != without]
        for name, day in (("from", self.first), ("to", self.last)):
            pairs += [(name, day.isoformat())] if day else []
        return pairs

    def path(self, *, without: Tag | None = None, k: int | None = None, page: str = "/") -> str:
        """Return the address of the list, without one tag, with another length, or of a page."""
        pairs = self.pairs(without=without)
        count = k or self.k
        pairs += [("n", str(count))] if count != N_CARDS else []
        return f"{page}?{urlencode(pairs)}" if pairs else page


@cached_per_catalogue(1)
def choices(catalogue: Catalogue) -> Mapping[str, list[Tag]]:
    """Return the tags to choose from, by feature, in the order of numbers or the alphabet.

    Of many tags these are the most common. Groups that the system found are not among them: there
    are many, and their pages have a link.
    """
    names = dict.fromkeys(tag.feature for tag in catalogue.model.tags_ if not tag.discovered)
    found = {name: catalogue.features.get(name, [])[:MAX_VALUES] for name in names}
    return {name: sorted(tags, key=reading_order) for name, tags in found.items() if len(tags) > 1}


def reading_order(tag: Tag) -> tuple[float, bool, str]:
    """Return what orders tags for a reader: under 10, 10 to 20, 20 and over; then words."""
    value = tag.value.casefold()
    found = re.match(r"(under )?(-?\d+(?:\.\d+)?)", value)
    if not found:
        return math.inf, True, value
    return float(found[2]), not found[1], value


@cached_per_catalogue(1)
def _tags_by_text(catalogue: Catalogue) -> dict[str, Tag]:
    tags = catalogue.model.tags_
    named = catalogue.tag_index.items()
    return {str(tag): tags[j] for tag, j in named if tags[j].feature in catalogue.features}


def _list_address(request: Request) -> QueryParams | None:
    """Return the query of the list in the Referer header; None for any other page."""
    try:
        source = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return None
    is_list = source.path == "/" and source.netloc == request.headers.get("host")
    return QueryParams(source.query) if is_list else None


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def _count(text: str | None) -> int:
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) < 4
    return min(MAX_CARDS, max(N_CARDS, int(text or 0))) if is_number else N_CARDS


ENOUGH_PICKS = 3
N_PICKS = 6
_MAX_CACHED = 1_000
_MAX_FORMS = 64


@router.get("/")
@uses_store
def home(request: Request) -> Response:
    """Show the list, and what was learned beside it."""
    return home_page(request, page_context_of(request), request.query_params)


def home_page(request: Request, context: PageContext, query: QueryParams) -> Response:
    """Return the home page; `query` has the filters of its list."""
    personal, texts, catalogue = context.personal, context.texts, context.catalogue
    state = context.state
    filters = Filters.read(query, catalogue)
    allowed = filters.allowed(catalogue)
    places = personal.rank(k=filters.k, allowed=allowed)
    summary = context.summary(places, k=filters.k, allowed=allowed)
    moves = summary.change.moves if summary else None
    return context.render(
        request,
        "home.html",
        page_path=filters.path(),
        options_path=filters.path(page="/options"),
        profile=profile_view(context.own, texts, is_brief=True),
        summary=summary,
        cards=card_views(personal, places, texts, moves),
        has_more=len(places) == filters.k,
        is_new=context.own.is_new,
        n_seen=len(context.own.history),
        feeds=feed_names(state, texts),
        chips=filter_chips(state.filters, catalogue, texts, context.clock),
        kept=filter_text(filters.kept_in(state.filters)) if filters.is_active else "",
        filters=filters,
        has_dates=catalogue.dates is not None,
        example=say_example(catalogue, texts),
        picks=_picks(context),
        enough_picks=ENOUGH_PICKS,
    )


@router.get("/options")
@uses_store
def options(request: Request) -> Response:
    """Show what can be set for a list: filters, variety, balance, feeds, how long presses last.

    The forms lead back to the list, which shows what they changed.
    """
    context = page_context_of(request)
    texts, catalogue, state = context.texts, context.catalogue, context.state
    filters = Filters.read(request.query_params, catalogue)
    return context.render(
        request,
        "options.html",
        title=texts("Options"),
        page_path=filters.path(),
        filter_form=filter_form(catalogue, texts, filters),
        feeds=feed_names(state, texts),
        has_dates=catalogue.dates is not None,
        is_by_date=context.personal.is_by_date,
        balance=balance_view(context.personal, texts) if state.profiling else None,
    )


@router.get("/profile")
@uses_store
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
        history=[_seen_card(catalogue, i, texts) for i in reversed(context.own.history)],
        facts=about_view(context.own),
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
    mask, items = context.personal.hidden, catalogue.model.items_
    hidden = () if mask is None else tuple(items[i] for i in np.flatnonzero(mask).tolist())
    found = quick_start(catalogue, tuple(picked), hidden)
    return [plain_card(catalogue, item_id, context.texts) for item_id in found]


@cached_per_catalogue(_MAX_FORMS)
def filter_form(catalogue: Catalogue, texts: Texts, filters: Filters) -> Markup:
    """Return the form of filters: hundreds of options, the same for everybody."""
    has_dates = catalogue.dates is not None
    html = render_part(
        "filters.html", t=texts, filters=filters, choices=choices(catalogue), has_dates=has_dates
    )
    return Markup(html)  # noqa: S704 - the template escapes


@cached_per_catalogue(_MAX_CACHED)
@measured("model")
def quick_start(
    catalogue: Catalogue, picked: tuple[ItemId, ...], hidden: tuple[ItemId, ...]
) -> list[ItemId]:
    """Return the next items to ask about; many visitors begin with the same picks."""
    return catalogue.quick_start.picks(picked, shown=hidden, k=N_PICKS)


@cached_per_catalogue(len(LANGUAGES))
def say_example(catalogue: Catalogue, texts: Texts) -> str:
    """Return an example of a request, with tags that the catalogue has."""
    declared = [tags for tags in choices(catalogue).values() if len(tags) > 1]
    named = sorted(declared, key=lambda tags: any(tag.is_bare for tag in tags))[:2]
    if len(named) < 2:
        return ""
    first, second = (catalogue.features[tags[0].feature][0] for tags in named)
    one, other = texts.tag(second).lower(), texts.tag(first).lower()
    if catalogue.dates is None:
        return texts("such as: more {one}, no {other}", one=one, other=other)
    return texts("such as: more {one}, no {other}, this weekend", one=one, other=other)


def _seen_card(catalogue: Catalogue, item_id: ItemId, texts: Texts) -> Card:
    """Return an item of the history; the model may not have it any more."""
    if item_id in catalogue.model.items_:
        return plain_card(catalogue, item_id, texts).card
    return Card(item_id, str(item_id), None, None, None, False, {})


@router.get("/feeds")
@uses_store
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
Field = Annotated[FormText, Form()]


@dataclass(frozen=True, slots=True)
class BalanceView:
    """The slider between tags and the items that similar users viewed.

    Attributes
    ----------
    value
        The position, from 0 to 1.
    label
        The position in words.
    labels
        Every position that can be chosen, in words.
    can_move
        Whether the slider changes anything; not before an item was viewed.
    """

    value: float
    label: str
    labels: list[str]
    can_move: bool


@dataclass(frozen=True, slots=True)
class FactView:
    """A feature of users: its tags, and those that the visitor has chosen."""

    name: str
    tags: tuple[Tag, ...]
    chosen: tuple[Tag, ...]


def balance_view(personal: PersonalModel, texts: Texts) -> BalanceView | None:
    """Return the slider, or None if the model has no remainder."""
    if not personal.catalogue.model.has_remainder:
        return None
    value = personal.state.balance
    labels = [describe_balance(step / _STEPS, texts) for step in range(_STEPS + 1)]
    return BalanceView(value, describe_balance(value, texts), labels, personal.can_balance)


def about_view(personal: PersonalModel) -> tuple[FactView, ...]:
    """Return the facts that a visitor can give; none if the model has no user features."""
    return tuple(
        FactView(name, tuple(tags), tuple(tag for tag in tags if tag in personal.about))
        for name, tags in personal.catalogue.user_features.items()
    )


@router.post("/skip")
def skip(request: Request) -> Response:
    """Skip the quick start."""
    return _set_cookie(request, SKIPPED, "1", "/")


@router.post("/language")
def language(request: Request, language: Field, back: Field = "/") -> Response:
    """Choose the language of the pages."""
    if language not in LANGUAGES:
        raise ParameterError(
            f"Unknown language {shortened(language)!r}. Known: {', '.join(LANGUAGES)}."
        )
    return _set_cookie(request, LANGUAGE, language, back)


@router.post("/theme")
def theme(request: Request, theme: Field, back: Field = "/") -> Response:
    """Choose light or dark colours, or those of the system."""
    if theme not in THEMES:
        raise ParameterError(f"Unknown theme {shortened(theme)!r}. Known: {', '.join(THEMES)}.")
    return _set_cookie(request, THEME, theme, back)


@router.post("/lasts")
def lasts(request: Request, lasts: Field, back: Field = "/") -> Response:
    """Choose how long the next presses count."""
    if lasts not in DURATIONS:
        raise ParameterError(
            f"Unknown duration {shortened(lasts)!r}. Known: {', '.join(DURATIONS)}."
        )
    return _set_cookie(request, LASTS, lasts, back)


def _set_cookie(request: Request, name: str, value: str, back: str) -> Response:
    response = RedirectResponse(local_path(back), 303)
    remember(response, request, name, value)
    return response


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
        return read_object(self.presses, "presses")


@router.post("/act")
@uses_store
def act(request: Request, form: Annotated[ActionForm, Form()]) -> Response:
    """Do what one button says, then show the page that it is on."""
    services, catalogue = services_of(request), catalogue_of(request)
    asked = form.event(catalogue.zone)
    visitor = visitor_of(request, trusts_signature=True)
    person_id, token = ensure_person(visitor, services)
    try:
        done = actions.act(services.store, person_id, asked, catalogue)
    except UnknownNameError as error:
        if error.kind != "person":
            raise
        # A first action, or the person was deleted.
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
        remember(response, request, TOKEN, token)
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
