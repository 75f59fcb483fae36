"""A request in words: what was understood is shown first, and applied when the visitor says so."""

import re
from collections.abc import Sequence
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from teaser.app.actions import decide, event_of
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.http import StoreRoute, catalogue_of, services_of
from teaser.app.i18n.error_messages import error_message
from teaser.app.pages.cards import plain_card
from teaser.app.pages.describe import NEW, compare_lists, describe_wish
from teaser.app.pages.home import say_example
from teaser.app.pages.render import (
    N_CARDS,
    Form,
    PageContext,
    ensure_person,
    page_context_of,
    visitor_of,
    with_token,
)
from teaser.app.search import read_words
from teaser.app.state import Event, State, check, feed_name, parts_of, state_after
from teaser.errors import TeaserError
from teaser.words.wishes import Reading, Wish

router = APIRouter(route_class=StoreRoute)

MAX_SHOWN = 1000
# The answer to a question that means none of its wishes.
NEITHER = "-"
_QUESTION = re.compile(r"wish\d+")
# The titles that a preview names.
N_PREVIEWED = 5


@router.get("/say")
def say(request: Request, text: str = "") -> Response:
    """Show what was understood of a request; nothing applies yet.

    With `kept` in the address, only the wishes in it are on; the visitor took the others off.
    """
    context, query = page_context_of(request), request.query_params
    reading, problem = Reading(), ""
    try:
        if text.strip():
            settings = services_of(request).settings
            reading = read_words(context.catalogue, text, context.texts.language, settings)
    except TeaserError as error:
        problem, _ = error_message(422, str(error), context.texts, error)
    kept = query.getlist("wish") + [query[name] for name in query if _QUESTION.fullmatch(name)]
    chips = _chips(reading, set(kept) if "kept" in query else None, context)
    groups = _questions(reading)
    asked = {wish for group in groups for wish in group}
    on = [wish for wish in reading.wishes if chips[wish][2]]
    return context.render(
        request,
        "say.html",
        title=context.texts("Say it in words"),
        page_path="/",
        text=text[:MAX_SHOWN],
        problem=problem,
        chips=[chip for wish, chip in chips.items() if wish not in asked],
        questions=[[chips[wish] for wish in group] for group in groups],
        neither=NEITHER,
        unknown=reading.unknown,
        preview=preview(on, context) if on else None,
        example=say_example(context.catalogue, context.texts),
        note=query.get("note", ""),
        max_length=MAX_SHOWN,
        chosen=set(kept),
    )


@router.post("/say")
def apply(request: Request, form: Form) -> Response:
    """Apply what the visitor left on, as one step of undo; in a new feed if they name one.

    Each question has a field of its own, `wish1`, `wish2` and so on; `questions` names them.
    """
    fields = [(name, str(text)) for name, text in form.multi_items()]
    given = dict.fromkeys(t for name, t in fields if name.startswith("wish") and t != NEITHER)
    named = str(form.get("feed", ""))
    feed = named if "keep" in form or named.strip() else None
    is_open = not set(str(form.get("questions", "")).split()) <= form.keys()
    wishes = [Wish.parse(text) for text in given]
    back = [("text", str(form.get("text", ""))), ("kept", "1"), *(("wish", w) for w in given)]
    page = f"/say?{urlencode(back)}"
    if is_open or not (wishes or feed):
        return RedirectResponse(f"{page}&note=open#questions", 303)
    visitor, services, catalogue = visitor_of(request), services_of(request), catalogue_of(request)
    person_id, token = ensure_person(visitor, services)
    done = services.store.decide(person_id, lambda state: _decide(wishes, feed, state, catalogue))
    page = f"/?did={done.after.n_events}#notice" if done.event else f"{page}&note=same"
    return with_token(RedirectResponse(page, 303), request, token)


def preview(wishes: Sequence[Wish], context: PageContext) -> tuple[str, list[tuple[str, bool]]]:
    """Return how wishes would change the list: in words, its first titles, which would be new."""
    texts, catalogue = context.texts, context.catalogue
    try:
        event = _decide(wishes, None, context.state, catalogue)
    except TeaserError as error:
        return error_message(422, str(error), texts, error)[0], []
    after = state_after(context.state, event) if event else context.state
    new = PersonalModel(catalogue, after).listed(k=N_CARDS)
    change = compare_lists(context.personal.listed(k=N_CARDS), new)
    firsts = [
        (plain_card(catalogue, i, texts).card.title, change.moves[i] == NEW)
        for i in new[:N_PREVIEWED]
    ]
    if not new:
        words = texts("Nothing here has all of this. Take something off.")
    elif change.entered:
        words = texts.count(
            "{n} of the first {k} would be new.",
            "{n} of the first {k} would be new.",
            change.entered,
            k=len(new),
        )
    elif change.rose or change.fell:
        words = texts("The same ones come first, in another order.")
    else:
        words = texts("The first ones stay as they are.")
    return words, firsts


def _decide(
    wishes: Sequence[Wish], feed: str | None, state: State, catalogue: Catalogue
) -> Event | None:
    """Return the event that applies wishes, in a new feed if one is named; None if it is none."""
    asked, inside = [], state
    if feed is not None:
        asked = [Event("make_feed", {"feed": feed_name(feed)})]
        check(state, asked[0])
        inside = state_after(state, asked[0])
    if wishes:
        asked += parts_of(event_of(wishes, inside, catalogue))
    actions = [[event.kind, dict(event.data)] for event in asked]
    return decide(state, Event("several", {"actions": actions}), catalogue)


def _chips(
    reading: Reading, kept: set[str] | None, context: PageContext
) -> dict[Wish, tuple[Wish, str, bool]]:
    """Return the wishes in words, and whether each is on.

    Those that contradict another are off until one is chosen.
    """
    unsure = {wish for pair in reading.contradictions for wish in pair}
    return {
        wish: (
            wish,
            describe_wish(wish, context.catalogue, context.texts),
            wish not in unsure if kept is None else str(wish) in kept,
        )
        for wish in reading.wishes
    }


def _questions(reading: Reading) -> list[list[Wish]]:
    """Return the wishes that contradict each other, in groups of which only one can hold."""
    groups: list[set[Wish]] = []
    for pair in reading.contradictions:
        joined = set(pair)
        for group in [g for g in groups if g & joined]:
            groups.remove(group)
            joined |= group
        groups.append(joined)
    return [[wish for wish in reading.wishes if wish in group] for group in groups]
