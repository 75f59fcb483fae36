"""The route that says what decides here."""

from fastapi import APIRouter, Request

from teaser.app.api.schema.transparency import Transparency
from teaser.app.dependencies import catalogue_of, services_of

router = APIRouter(tags=["catalogue"])


@router.get("/transparency")
def transparency(request: Request) -> Transparency:
    """Return what decides in lists, measured on the model, and where its data come from."""
    learns = services_of(request).settings.learn
    return Transparency.of(catalogue_of(request), learns=learns)
