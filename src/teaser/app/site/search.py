"""The suggestions under the search field."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from teaser.app.dependencies import catalogue_of
from teaser.app.http.identity import visitor_of
from teaser.app.serving.name_search import find_names
from teaser.app.site.rendering import render_part
from teaser.app.site.view import plain_card

router = APIRouter()

MOST_WORDS = 200
N_TAGS = 4
N_ITEMS = 6
# A suggestion is the same for everybody who reads the same language.
_CACHED = {"cache-control": "private, max-age=60", "vary": "cookie, accept-language"}


@router.get("/suggest")
def suggest(request: Request, q: str = "") -> Response:
    """Return the options under the search field; the page /search shows the same and more."""
    visitor, catalogue = visitor_of(request, with_person=False), catalogue_of(request)
    texts, words = visitor.texts, q[:MOST_WORDS]
    found = find_names(catalogue, words, texts)
    body = render_part(
        "suggest.html",
        t=texts,
        words=words,
        tags=[(tag, texts.tag(tag), texts.feature(tag.feature)) for tag in found.tags(0, N_TAGS)],
        entries=[plain_card(catalogue, item_id, texts) for item_id in found.items(0, N_ITEMS)],
    )
    return HTMLResponse(body, headers={**_CACHED, "content-language": texts.language})
