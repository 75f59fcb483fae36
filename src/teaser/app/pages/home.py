"""The home page, the page of feeds, and the preferences."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup
from starlette.datastructures import QueryParams

from teaser.app.cookies import LANGUAGE, LASTS, SKIPPED, THEME, remember
from teaser.app.dependencies import services_of, uses_store
from teaser.app.forms import FormText, local_path, need_own_origin
from teaser.app.i18n.texts import LANGUAGES, Texts
from teaser.app.monitoring import measured
from teaser.app.pages.cards import CardView, card_views, plain_card
from teaser.app.pages.context import PageContext, page_context_of
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
from teaser.app.pages.filters import Filters, choices
from teaser.app.pages.profile import profile_view
from teaser.app.pages.render import DURATIONS, THEMES, render_part
from teaser.app.pages.say import say_example
from teaser.app.serving.catalogue import Card, Catalogue, cached_per_catalogue
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.state import MAX_FEEDS
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.errors import ParameterError, shortened

router = APIRouter()
ENOUGH_PICKS = 3
N_PICKS = 6
_MAX_CACHED = 1_000
_MAX_FORMS = 64


@router.get("/")
@uses_store
def home(request: Request) -> Response:
    """Show profile, history and list."""
    return home_page(request, page_context_of(request), request.query_params)


def home_page(request: Request, context: PageContext, query: QueryParams) -> Response:
    """Return the home page; `query` has the filters of its list."""
    personal, texts, catalogue = context.personal, context.texts, context.catalogue
    state, clock = context.state, context.clock
    filters = Filters.read(query, catalogue)
    allowed = filters.allowed(catalogue)
    places = personal.rank(k=filters.k, allowed=allowed)
    summary = context.summary(places, k=filters.k, allowed=allowed)
    moves = summary.change.moves if summary else None
    return context.render(
        request,
        "home.html",
        page_path=filters.path(),
        profile=profile_view(context.own, texts),
        summary=summary,
        cards=card_views(personal, places, texts, moves),
        has_more=len(places) == filters.k,
        is_new=context.own.is_new,
        history=[_seen_card(catalogue, i, texts) for i in reversed(context.own.history)],
        hidden=hidden_rows(state, catalogue, texts, clock, most=MAX_LISTED),
        n_hidden=len(state.hidden) + len(state.hidden_tags),
        ending=ending_presses(state, catalogue, texts, clock, most=MAX_LISTED),
        n_ending=sum(end.kind == "press" for end in state.ends),
        feeds=feed_names(state, texts),
        chips=filter_chips(state.filters, catalogue, texts, clock),
        kept=filter_text(filters.kept_in(state.filters)) if filters.is_active else "",
        filters=filters,
        filter_form=filter_form(catalogue, texts, filters),
        has_dates=catalogue.dates is not None,
        is_by_date=personal.is_by_date,
        example=say_example(catalogue, texts),
        balance=balance_view(personal, texts) if state.profiling else None,
        facts=about_view(context.own),
        picks=_picks(context),
        enough_picks=ENOUGH_PICKS,
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
    need_own_origin(request)
    response = RedirectResponse(local_path(back), 303)
    remember(response, services_of(request).settings, name, value)
    return response
