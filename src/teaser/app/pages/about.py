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
from teaser.transparency import DataSources, FeatureSource, Transparency

router = APIRouter(route_class=StoreRoute)


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
        rows=share_rows(found, texts) if found else [],
        sources=_sources_view(found.sources, catalogue, texts) if found else None,
        promoted=promoted_names(catalogue, texts),
        learns=services_of(request).settings.learn,
        has_dates=catalogue.dates is not None,
        has_remainder=catalogue.model.has_remainder,
    )


def share_rows(found: Transparency, texts: Texts) -> list[dict[str, Any]]:
    """Return the parts of scores with their shares, the largest first; they sum to 1.

    `change` is how many items one press exchanges: None where nothing was measured or can be
    pressed.
    """
    names = {"general": GENERAL.feature, "popularity": POPULARITY.feature, "discovered": DISCOVERED}
    changes = found.impacts.press_changes
    return [
        {
            "label": part_label(kind, feature, texts),
            "share": share,
            "length": round(100 * share, 1),
            "change": changes.get(names.get(kind, feature or ""), changes.get(kind)),
        }
        for kind, feature, share in found.shares()
        if share > 0 or kind == "feature"
    ]


def part_label(kind: str, feature: str | None, texts: Texts) -> str:
    """Return the name of a part of scores on screen."""
    if kind == "feature":
        return texts.feature(str(feature))
    return {
        "general": texts("General appeal"),
        "popularity": texts("Popularity"),
        "discovered": texts("Groups found"),
        "viewed": texts("What you viewed"),
    }[kind]


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
    shown = {role: name for role, name in sources.shown_columns.items() if name not in used}
    if catalogue.dates is not None:
        # It orders and filters lists, which the page says.
        shown.pop("date", None)
    return {
        "features": [
            (texts.feature(source.feature), source.n_tags, _columns(source, texts))
            for source in sources.features
        ],
        "shown": [_role_label(role, texts) for role in shown],
        "unused": [texts.feature(column) for column in sources.unused_columns],
        "user_features": [texts.feature(source.feature) for source in sources.user_features],
    }


def _columns(source: FeatureSource, texts: Texts) -> list[str]:
    """Return the names of a feature's columns; none where they are the feature's own."""
    names = [texts.feature(column) for column in source.columns]
    return [] if names == [texts.feature(source.feature)] else names


def _role_label(role: str, texts: Texts) -> str:
    """Return the name of what a column is displayed as."""
    return {
        "title": texts("title"),
        "description": texts("description"),
        "picture": texts("picture"),
        "link": texts("link"),
        "date": texts("date"),
    }[role]


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
