"""Take it along: an export is shown first, and replaces the state when the visitor says so.

Nothing is stored in between: the form that applies an export has it in a field.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from starlette.datastructures import UploadFile

from teaser.app.actions import decide
from teaser.app.api.requests import GivenExport
from teaser.app.api.responses import Person
from teaser.app.dependencies import limit_imports, services_of, uses_store
from teaser.app.http.form_text import read_json
from teaser.app.http.origin import need_own_origin
from teaser.app.i18n.error_messages import error_message
from teaser.app.i18n.texts import Texts
from teaser.app.pages.page_context import PageContext, act_and_show, page_context_of
from teaser.app.pages.view.card_view import plain_card
from teaser.app.pages.view.feed_view import feed_label
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.state import MAIN, Event, State, check, counts_of, state_after
from teaser.data.tags import Tag
from teaser.errors import ImportedFileError, ParameterError, StateLimitError, TeaserError

router = APIRouter()

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
    need_own_origin(request)
    if form.export:
        limit_imports(request)
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
    except ImportedFileError as error:
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
    if isinstance(error, StateLimitError):
        return Problem(error_message(422, str(error), texts, error).text)
    said = texts("This export is damaged: there is something in it that no export has.")
    return Problem(said, str(error))


def _n_filters(state: State) -> int:
    filters = [feed.filters for feed in state.feeds.values()]
    parts = [(*f.tags, *f.at_most, *f.at_least, *((f.when,) if f.when else ())) for f in filters]
    return sum(map(len, parts))
