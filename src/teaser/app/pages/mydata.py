"""The visitor's own data: share links, export, import, deletion."""

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import UploadFile

from teaser.app.actions import decide
from teaser.app.api.requests import GivenExport
from teaser.app.api.responses import Person, export_of
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.http import (
    TOKEN,
    FormText,
    catalogue_of,
    forget,
    limit_imports,
    own_origin,
    read_json,
    remember,
    services_of,
    uses_store,
)
from teaser.app.i18n.error_messages import error_message
from teaser.app.i18n.texts import Texts
from teaser.app.pages.cards import (
    card_views,
    feature_views,
    general_row,
    plain_card,
    profile_view,
)
from teaser.app.pages.describe import (
    MAX_LISTED,
    Clock,
    describe_balance,
    describe_wish,
    ending_presses,
    feed_label,
    filter_wishes,
)
from teaser.app.pages.render import (
    PageContext,
    act_and_show,
    ensure_person,
    page_context_of,
    render,
    visitor_of,
)
from teaser.app.state import (
    AS_FITTED,
    MAIN,
    MAX_FEED_NAME,
    Event,
    Feed,
    State,
    check,
    counts_of,
    state_after,
)
from teaser.app.store import StoredShare
from teaser.data.tags import Tag
from teaser.errors import ParameterError, TeaserError, UnknownNameError

router = APIRouter()


@router.get("/share")
@uses_store
def offer_share(request: Request) -> Response:
    """Offer to make a link to the profile, and list the links in use."""
    context = page_context_of(request)
    person_id = context.visitor.person_id
    shares = services_of(request).store.shares(person_id) if person_id else []
    return _share_page(request, context, shares)


@router.post("/share")
@uses_store
def make_share(
    request: Request,
    feed: Annotated[FormText, Form()] = "",
    main_feed: Annotated[FormText, Form()] = "",
) -> Response:
    """Make a link to the present state, or to one feed of it."""
    visitor, services = visitor_of(request), services_of(request)
    person_id, token = ensure_person(visitor, services)
    # All is read before the link is made: nothing that fails afterwards can lose its token.
    state, shares = services.store.state(person_id), services.store.shares(person_id)
    visitor = replace(visitor, person_id=person_id)
    context = PageContext(visitor, catalogue_of(request), state, State(), None)
    link, made = services.store.make_share(person_id, feed if feed or main_feed else None)
    response = _share_page(request, context, [*shares, made], link=link)
    if token:
        remember(response, request, TOKEN, token)
    return response


@router.post("/share/end")
@uses_store
def end_share(request: Request, share_id: Annotated[FormText, Form()]) -> Response:
    """Revoke one of the visitor's links."""
    visitor, services = visitor_of(request), services_of(request)
    if visitor.person_id is None:
        raise UnknownNameError("share")
    services.store.revoke_share(visitor.person_id, share_id)
    return RedirectResponse("/share?ended=1#links", 303)


def _share_page(
    request: Request,
    context: PageContext,
    shares: list[StoredShare],
    *,
    link: str | None = None,
) -> Response:
    """Show the links in use; `link` is the token of the last one, if it was just made."""
    name = shares[-1].feed if link else None
    return context.render(
        request,
        "share.html",
        title=context.texts("Share"),
        page_path="/share",
        link=f"{own_origin(request)}/s/{link}" if link else None,
        shares=list(reversed(shares)),
        newest=shares[-1].share_id if link else None,
        feed=None if not link or name is None else feed_label(name, context.texts),
        has_ended="ended" in request.query_params,
    )


@router.get("/s/{token}")
@uses_store
def shared(request: Request, token: str) -> Response:
    """Show a shared profile or feed and its list, read-only."""
    store = services_of(request).store
    if (found := store.shared_feed(token)) is not None:
        return _shared_feed_page(request, token, *found)
    state = store.shared_state(token)
    if state is None:
        raise UnknownNameError("share")
    visitor = visitor_of(request, with_person=False)
    texts, catalogue = visitor.texts, catalogue_of(request)
    personal = PersonalModel(catalogue, state)
    return render(
        request,
        visitor,
        "shared.html",
        title=texts("A shared profile"),
        steer=False,
        profile=profile_view(personal, texts, is_own=False),
        history=[plain_card(catalogue, i, texts) for i in reversed(personal.history)],
        general=general_row(personal, texts),
        features=feature_views(personal, texts),
        cards=card_views(personal, personal.rank(), texts, is_own=False),
        balance=describe_balance(state.balance, texts) if personal.can_balance else None,
    )


def _shared_feed_page(request: Request, token: str, name: str, feed: Feed) -> Response:
    """Show what a feed asks for and the list of somebody new who has it; nothing of its owner."""
    visitor = visitor_of(request, with_person=False)
    texts, catalogue = visitor.texts, catalogue_of(request)
    personal = PersonalModel(catalogue, state_of_feed(feed))
    clock = Clock.at(catalogue)
    return render(
        request,
        visitor,
        "shared_feed.html",
        title=name or texts("A shared feed"),
        steer=False,
        name=name,
        token=token,
        presses=list(personal.presses.items()),
        ends=ending_presses(personal.state, catalogue, texts, clock, most=MAX_LISTED),
        n_ends=len(personal.state.ends),
        filters=[
            describe_wish(wish, catalogue, texts, clock.today)
            for wish in filter_wishes(feed.filters)
        ],
        variety=feed.variety,
        balance=describe_balance(feed.balance, texts)
        if catalogue.model.has_remainder and feed.balance != AS_FITTED
        else None,
        cards=card_views(personal, personal.rank(), texts, is_own=False),
    )


def state_of_feed(feed: Feed) -> State:
    """Return the state of somebody of whom nothing is known, with one feed."""
    return state_after(State(), Event("make_feed", {"feed": "shared", "copy": feed.to_json()}))


@router.post("/s/{token}")
@uses_store
def start_from_feed(request: Request, token: str) -> Response:
    """Copy a shared feed among the visitor's own, and show it."""
    services, visitor = services_of(request), visitor_of(request)
    found = services.store.shared_feed(token)
    if found is None:
        raise UnknownNameError("share")
    state = services.store.state(visitor.person_id) if visitor.person_id else State()
    name = free_name(found[0] or visitor.texts("A shared feed"), state)
    return act_and_show(request, Event("make_feed", {"feed": name, "copy": found[1].to_json()}))


def free_name(name: str, state: State) -> str:
    """Return a name for a feed that no other has: with a number behind it where one has it."""
    taken = {known.casefold() for known in state.feeds}
    found, n = name, 1
    while found.casefold() in taken:
        n += 1
        found = f"{name[: MAX_FEED_NAME - len(str(n)) - 1].rstrip()} {n}"
    return found


@router.get("/export")
@uses_store
def export(request: Request) -> Response:
    """Send all stored data of the visitor."""
    visitor, services = visitor_of(request), services_of(request)
    # The id is internal to the server.
    found = export_of(services.store, visitor.person_id, catalogue_of(request), with_id=False)
    headers = {
        "content-disposition": 'attachment; filename="teaser.json"',
        "cache-control": "no-store",
    }
    return Response(found, media_type="application/json", headers=headers)


@router.get("/delete")
@uses_store
def offer_delete(request: Request) -> Response:
    """Ask before anything is deleted."""
    context = page_context_of(request)
    return context.render(
        request,
        "delete.html",
        title=context.texts("Delete my data"),
        is_done=False,
        n_actions=context.state.n_events,
    )


@router.post("/delete")
@uses_store
def delete(request: Request) -> Response:
    """Delete all stored data of the visitor."""
    visitor, services = visitor_of(request), services_of(request)
    if visitor.person_id:
        services.store.delete_person(visitor.person_id)
    response = RedirectResponse("/deleted", 303)
    forget(response, request, TOKEN)
    return response


@router.get("/deleted")
def deleted(request: Request) -> Response:
    """Confirm the deletion."""
    visitor = visitor_of(request, with_person=False)
    title = visitor.texts("Delete my data")
    return render(request, visitor, "delete.html", title=title, is_done=True)


N_FIRST = 6
# The names without a match that the page lists of each kind.
MAX_NAMED = 50


@dataclass(frozen=True, slots=True)
class ImportForm:
    """What was sent: a file to look at, or an export to apply; neither if no file was chosen."""

    file: bytes = b""
    export: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file cannot be imported, and what was found in it, in English."""

    text: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class Count:
    """How many things of a kind there are, now and in the export."""

    label: str
    now: int
    then: int


@dataclass(frozen=True, slots=True)
class Unmatched:
    """Names in an export that the model does not have, the first of them by name."""

    label: str
    names: list[str]
    n_more: int


async def read_form(request: Request) -> ImportForm:
    """Read the form, which a browser sends in parts; the size of a request is limited."""
    # A field may be as long as a file: the preview sends the export back in one.
    async with request.form(max_part_size=services_of(request).settings.max_import) as form:
        file, export = form.get("file"), form.get("export")
        content = await file.read() if isinstance(file, UploadFile) else b""
    return ImportForm(content, export if isinstance(export, str) else "")


@router.get("/import")
@uses_store
def offer_import(request: Request) -> Response:
    """Offer to read an export."""
    return _page(request, page_context_of(request))


@router.post("/import")
@uses_store
def import_export(request: Request, form: Annotated[ImportForm, Depends(read_form)]) -> Response:
    """Show what a file would bring, or apply what was shown."""
    if form.export or form.file:  # a preview is as much work as the import
        limit_imports(request)
    if form.export:
        return act_and_show(request, GivenExport.read(form.export).event())
    context = page_context_of(request)
    found = read_export(form.file, context.texts)
    if isinstance(found, Problem):
        return _page(request, context, problem=found)
    try:
        event = found.event()
        stored = decide(context.state, event, context.catalogue) or event
        check(context.state, stored)
    except TeaserError as error:
        return _page(request, context, problem=_damaged(error, context.texts))
    return _preview(request, context, found, stored)


def read_export(content: bytes, texts: Texts) -> GivenExport | Problem:
    """Read a file as an export; of another file, say what is wrong with it."""
    if not content.strip():
        return Problem(texts("No file was chosen, or the file is empty."))
    try:
        plain = read_json(content)
    except ParameterError as error:
        # An export begins so; the end of this one is missing, or letters in it were changed.
        if content.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{") and b'"state"' in content:
            said = texts("This export is damaged: a part of it is missing or was changed.")
            return Problem(said, str(error))
        return Problem(texts("This is no export: an export is a file that ends in .json."))
    if not isinstance(plain, dict) or not isinstance(plain.get("state"), dict):
        return Problem(texts("This file is of another kind: it has no state, as an export has."))
    try:
        return GivenExport.read(content)
    except ParameterError as error:
        return _damaged(error, texts)


def counts(now: State, then: State, texts: Texts) -> list[Count]:
    """Return how much of each kind there is now, and after an import; kinds of nothing left out."""
    labels = {
        "viewed items": texts("viewed items"),
        "pressed tags": texts("pressed tags"),
        "feeds": texts("feeds"),
        "hidden items": texts("hidden items"),
        "hidden tags": texts("hidden tags"),
        "things that end by themselves": texts("things that end by themselves"),
    }
    old, new = counts_of(now), counts_of(then)
    pairs = [
        *((label, old[kind], new[kind]) for kind, label in labels.items()),
        (texts("filters"), _n_filters(now), _n_filters(then)),
        (texts("facts about you"), len(now.about), len(then.about)),
    ]
    return [Count(*pair) for pair in pairs if any(pair[1:])]


def unmatched(then: State, catalogue: Catalogue, texts: Texts) -> list[Unmatched]:
    """Return the names in a state that the model does not have, by kind."""
    found = Person.from_state("", then, catalogue)
    tags = [texts.with_feature(tag.feature, tag) for tag in map(Tag.parse, found.unknown_tags)]
    facts = [texts.with_feature(tag.feature, tag) for tag in map(Tag.parse, found.unknown_about)]
    kinds = [
        (texts("Items"), [str(item) for item in found.unknown_items]),
        (texts("Tags"), tags),
        (texts("Numbers"), [texts.feature(name) for name in found.unknown_columns]),
        (texts("Facts about you"), facts),
    ]
    return [
        Unmatched(label, names[:MAX_NAMED], max(0, len(names) - MAX_NAMED))
        for label, names in kinds
        if names
    ]


def _preview(
    request: Request, context: PageContext, export: GivenExport, stored: Event
) -> Response:
    """Show what an export would bring; nothing is stored."""
    texts, catalogue = context.texts, context.catalogue
    then = state_after(context.state, stored, context.clock.now)
    first = PersonalModel(catalogue, then).recommend(k=N_FIRST)
    return context.render(
        request,
        "import_preview.html",
        title=texts("Import"),
        page_path="/import",
        counts=counts(context.state, then, texts),
        feeds=[feed_label(name, texts) for name in then.feeds if name != MAIN],
        shown=feed_label(then.feed, texts),
        is_profiled=then.profiling,
        unmatched=unmatched(then, catalogue, texts),
        first=[plain_card(catalogue, entry.item_id, texts) for entry in first],
        export=export.model_dump_json(exclude_defaults=True),
    )


def _page(request: Request, context: PageContext, *, problem: Problem | None = None) -> Response:
    return context.render(
        request,
        "import.html",
        status=422 if problem else 200,
        title=context.texts("Import"),
        page_path="/import",
        problem=problem,
    )


def _damaged(error: TeaserError, texts: Texts) -> Problem:
    if error.problem == "stored":
        return Problem(error_message(422, str(error), texts, error).text)
    said = texts("This export is damaged: there is something in it that no export has.")
    return Problem(said, str(error))


def _n_filters(state: State) -> int:
    filters = [feed.filters for feed in state.feeds.values()]
    parts = [(*f.tags, *f.at_most, *f.at_least, *((f.when,) if f.when else ())) for f in filters]
    return sum(map(len, parts))
