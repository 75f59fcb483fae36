"""The home page: profile, history, list and quick start; the other pages' routers are included."""

from typing import NamedTuple

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import QueryParams

from teaser.app.dependencies import uses_store
from teaser.app.pages import compare as compare_page
from teaser.app.pages import feeds, my_data, preferences, say, search, transfer, transparency
from teaser.app.pages import item as item_pages
from teaser.app.pages.filters import Filters, filter_form
from teaser.app.pages.page_context import PageContext, page_context_of
from teaser.app.pages.preferences import about_view, balance_view
from teaser.app.pages.say import say_example
from teaser.app.pages.view.card_view import cached_card, card_views, plain_card
from teaser.app.pages.view.feed_view import (
    MAX_LISTED,
    ending_presses,
    feed_names,
    filter_chips,
    filter_text,
    hidden_rows,
)
from teaser.app.pages.view.page_state import PageState
from teaser.app.pages.view.profile_view import profile_view
from teaser.app.pages.view.rendering import card_pieces, fresh_part, profile_parts, render_filled
from teaser.app.serving.catalogue import Catalogue, cached_per_catalogue
from teaser.app.state import State
from teaser.app.telemetry.request_record import measured
from teaser.data.matrix import ItemId

router = APIRouter()
ENOUGH_PICKS = 3
N_PICKS = 6
_MAX_CACHED = 1_000


@router.get("/")
@uses_store
def home(request: Request) -> Response:
    """Show profile, history and list."""
    return home_page(request, page_context_of(request), request.query_params)


def home_page(
    request: Request, context: PageContext, query: QueryParams, held: str = ""
) -> Response:
    """Return the home page.

    Parameters
    ----------
    query
        The filters of the list.
    held
        The versions of the elements that the browser has; see `Pieces`.
    """
    personal, texts, catalogue = context.personal, context.texts, context.catalogue
    state, clock = context.state, context.clock
    filters = Filters.read(query, catalogue)
    allowed = filters.allowed(catalogue)
    places = personal.rank(k=filters.k, allowed=allowed)
    summary = context.summary(places, k=filters.k, allowed=allowed)
    moves = summary.change.moves if summary else None
    shown = PageState.of(state)
    filled = {
        **profile_parts(texts, profile_view(context.own, texts), steer=True),
        "summary": [fresh_part("action_box", texts.language, summary, shown)] if summary else [],
        "cards": card_pieces(texts, card_views(personal, places, texts, moves)),
    }
    return render_filled(
        request,
        context.visitor,
        "home.html",
        filled,
        held,
        is_kept=not _has_own_words(state),
        state=shown,
        is_new=context.own.is_new,
        page_path=filters.path(),
        history=tuple([_small_card(catalogue, i) for i in reversed(context.own.history)]),
        hidden=tuple(hidden_rows(state, catalogue, texts, clock, most=MAX_LISTED)),
        n_hidden=len(state.hidden) + len(state.hidden_tags),
        ending=tuple(ending_presses(state, catalogue, texts, clock, most=MAX_LISTED)),
        n_ending=sum(end.kind == "press" for end in state.ends),
        feeds=tuple(feed_names(state, texts)),
        chips=tuple(filter_chips(state.filters, catalogue, texts, clock)),
        kept=filter_text(filters.kept_in(state.filters)) if filters.is_active else "",
        has_dates=catalogue.dates is not None,
        is_by_date=personal.is_by_date,
        example=say_example(catalogue, texts),
        balance=balance_view(personal, texts) if state.profiling else None,
        about=about_view(context.own),
        filters=filters,
        filter_form=filter_form(catalogue, texts, filters),
        picks=_picks(context),
        enough_picks=ENOUGH_PICKS,
        has_cards=len(places) > 0,
        has_more=len(places) == filters.k,
    )


def _has_own_words(state: State) -> bool:
    """Whether the page around the list shows names that the person may have written.

    Nothing of them is kept in memory, so that they are gone once they are deleted.
    """
    return len(state.feeds) > 1 or bool(
        state.hidden or state.hidden_tags or state.filters or state.ends
    )


def _picks(context: PageContext) -> tuple["_SmallCard", ...]:
    """Return the items of the quick start; none once it is done or skipped."""
    picked = tuple(context.own.history)
    has_enough = context.visitor.has_skipped or len(picked) >= ENOUGH_PICKS
    if has_enough or not context.state.profiling:
        return ()
    mask, items = context.personal.hidden, context.catalogue.model.items_
    hidden = () if mask is None else tuple(items[i] for i in np.flatnonzero(mask).tolist())
    item_ids = quick_start(context.catalogue, picked, hidden)
    cards = [plain_card(context.catalogue, item_id, context.texts) for item_id in item_ids]
    return tuple(
        _SmallCard(c.card.item_id, c.card.title, c.card.has_picture, c.facts) for c in cards
    )


@cached_per_catalogue(_MAX_CACHED)
@measured("model")
def quick_start(
    catalogue: Catalogue, picked: tuple[ItemId, ...], hidden: tuple[ItemId, ...]
) -> list[ItemId]:
    """Return the next items to ask about; many visitors begin with the same picks."""
    return catalogue.quick_start.picks(picked, shown=hidden, k=N_PICKS)


class _SmallCard(NamedTuple):
    """An item in a row of many."""

    item_id: ItemId
    title: str
    has_picture: bool
    facts: tuple[str, ...] = ()


def _small_card(catalogue: Catalogue, item_id: ItemId) -> _SmallCard:
    """Return an item of the history; the model may not have it any more."""
    if item_id not in catalogue.model.items_:
        return _SmallCard(item_id, str(item_id), False)
    card = cached_card(catalogue, item_id)
    return _SmallCard(card.item_id, card.title, card.has_picture)


# Routes are tried in turn, so the home page comes first.
for _pages in (
    compare_page,
    feeds,
    item_pages,
    my_data,
    preferences,
    say,
    search,
    transfer,
    transparency,
):
    router.include_router(_pages.router)
