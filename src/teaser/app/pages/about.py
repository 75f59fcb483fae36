"""Pages about the site: what decides the lists, privacy, the tour."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from teaser.app.catalogue import Catalogue
from teaser.app.http import StoreRoute, services_of, without_store
from teaser.app.i18n.texts import Texts
from teaser.app.pages.render import page_context_of, render, visitor_of
from teaser.data.tags import DISCOVERED, Tag
from teaser.profile import GENERAL, POPULARITY
from teaser.transparency import DataSources

router = APIRouter(route_class=StoreRoute)

# The features of parts that are not one each.
_FEATURES = {
    "general": GENERAL.feature,
    "popularity": POPULARITY.feature,
    "discovered": DISCOVERED,
}


@router.get("/about-recommendations")
def about_recommendations(request: Request) -> Response:
    """Say what the lists are made of, from what data, and what a visitor can change."""
    context = page_context_of(request)
    texts, catalogue = context.texts, context.catalogue
    found = catalogue.model.transparency_
    return context.render(
        request,
        "transparency.html",
        title=texts("What decides here"),
        found=found,
        # What has no part in any score is left out, but for features, which people look for.
        rows=[
            row
            for row in (found.to_frame().rows(named=True) if found else ())
            if row["share"] > 0 or row["feature"]
        ],
        features=_FEATURES,
        sources=_sources_view(found.sources, catalogue, texts) if found else None,
        promoted=promoted_names(catalogue, texts),
        learns=services_of(request).settings.learn,
        has_dates=catalogue.dates is not None,
        has_remainder=catalogue.model.has_remainder,
    )


def promoted_names(catalogue: Catalogue, texts: Texts) -> list[str]:
    """Return the names of what the site promotes or plays down: tags, titles, columns."""
    names = []
    for name in catalogue.boost:
        if name in catalogue.model.items_:
            names.append(catalogue.card(name).title)
        elif "=" in name:
            names.append(texts.full_tag(Tag.parse(name)))
        else:
            names.append(texts.feature(name))
    return names


def _sources_view(sources: DataSources, catalogue: Catalogue, texts: Texts) -> dict[str, Any]:
    """Return what the page says of the data."""
    used = {column for source in sources.features for column in source.columns}
    # The page says of the date that it orders and filters lists.
    said = {"date"} if catalogue.dates is not None else set()
    roles = {
        "title": texts("title"),
        "description": texts("description"),
        "picture": texts("picture"),
        "link": texts("link"),
        "date": texts("date"),
    }
    shown = sources.shown_columns.items()
    features = []
    for source in sources.features:
        name, columns = texts.feature(source.feature), list(map(texts.feature, source.columns))
        # A column with the name of its feature is not named again.
        features.append((name, source.n_tags, [] if columns == [name] else columns))
    return {
        "features": features,
        "shown": [roles[role] for role, column in shown if column not in used and role not in said],
        "unused": list(map(texts.feature, sources.unused_columns)),
        "user_features": [texts.feature(source.feature) for source in sources.user_features],
    }


@router.get("/privacy")
@without_store
def privacy(request: Request) -> Response:
    """Say what is kept of visitors, for what, and what they can do about it."""
    visitor = visitor_of(request, with_person=False)
    settings, title = services_of(request).settings, visitor.texts("Privacy")
    days = settings.retention
    return render(request, visitor, "privacy.html", title=title, learns=settings.learn, days=days)


@router.get("/tour")
@without_store
def tour(request: Request) -> Response:
    """Show the tour as a page."""
    visitor = visitor_of(request, with_person=False)
    return render(request, visitor, "tour.html", title=visitor.texts("Tour"))
