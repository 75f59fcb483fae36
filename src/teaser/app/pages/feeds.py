"""The page of a person's feeds: make, show, copy, rename, share and drop them."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from teaser.app.dependencies import uses_store
from teaser.app.pages.page_context import page_context_of
from teaser.app.pages.view.feed_view import feed_views
from teaser.app.state import MAX_FEEDS

router = APIRouter()


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
