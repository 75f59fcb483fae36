"""Pages that find items and tags: suggestions, search results, all tags of a feature."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from teaser.app.http import StoreRoute, catalogue_of, without_store
from teaser.app.pages.cards import plain_card
from teaser.app.pages.profile import feature_rows, tag_row
from teaser.app.pages.render import environment, page_context_of, visitor_of
from teaser.app.search import find_names
from teaser.errors import UnknownNameError
from teaser.profile import POPULARITY

router = APIRouter(route_class=StoreRoute)

N_SUGGESTED_TAGS = 4
N_SUGGESTED_ITEMS = 6
PAGE_SIZE = 24
MAX_QUERY = 200
_MAX_TAGS = 200
# Suggestions depend on the language only, not on the visitor.
_CACHED = {"cache-control": "private, max-age=60", "vary": "cookie, accept-language"}


@router.get("/suggest")
@without_store
def suggest(request: Request, q: str = "") -> Response:
    """Return the options under the search field; the page /search shows the same and more."""
    visitor, catalogue = visitor_of(request, with_person=False), catalogue_of(request)
    texts, words = visitor.texts, q[:MAX_QUERY]
    found = find_names(catalogue, words, texts)
    tags, item_ids = found.tags[:N_SUGGESTED_TAGS], found.items[:N_SUGGESTED_ITEMS]
    body = (
        environment()
        .get_template("suggest.html")
        .render(
            t=texts,
            words=words,
            tags=[(tag, texts.tag(tag), texts.feature(tag.feature)) for tag in tags],
            entries=[plain_card(catalogue, item_id, texts) for item_id in item_ids],
            items_first=found.items_first,
        )
    )
    return HTMLResponse(body, headers={**_CACHED, "content-language": texts.language})


@router.get("/search")
def search(request: Request, q: str = "", page: str = "1") -> Response:
    """Show the items and tags whose names contain the words, page by page."""
    context = page_context_of(request)
    texts, words = context.texts, q[:MAX_QUERY]
    found = find_names(context.catalogue, words, texts)
    n_items, n_tags = len(found.items), len(found.tags)
    n_pages = max(1, -(-max(n_items, n_tags) // PAGE_SIZE))
    is_number = page.isascii() and page.isdigit() and len(page) < 9
    number = max(1, min(n_pages, int(page))) if is_number else 1
    first = PAGE_SIZE * (number - 1)
    item_ids = found.items[first : first + PAGE_SIZE]
    return context.render(
        request,
        "search.html",
        title=texts("Search"),
        words=words,
        items_first=found.items_first,
        first=first,
        n_items=n_items,
        n_tags=n_tags,
        page=number,
        n_pages=n_pages,
        rows=[tag_row(tag, context.personal, texts) for tag in found.tags[first:][:PAGE_SIZE]],
        items=item_ids,
        seen=set(context.personal.viewed),
        is_hidden=context.personal.is_hidden,
    )


@router.get("/tags")
def tags(request: Request, feature: str, q: str = "") -> Response:
    """Show the tags of a feature, or those whose names contain the words."""
    context = page_context_of(request)
    texts = context.texts
    if feature not in (*context.catalogue.features, POPULARITY.feature):
        raise UnknownNameError("feature", feature)
    words = q[:MAX_QUERY].casefold().split()
    rows = [
        row
        for row in feature_rows(context.personal, feature, texts)
        if all(word in f"{row.label} {row.tag.value}".casefold() for word in words)
    ]
    return context.render(
        request,
        "tags.html",
        title=texts.feature(feature),
        feature=feature,
        words=q[:MAX_QUERY],
        rows=rows[:_MAX_TAGS],
        n_left=max(0, len(rows) - _MAX_TAGS),
    )
