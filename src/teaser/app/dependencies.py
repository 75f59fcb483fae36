"""What a request needs: settings, the catalogue of the moment, the store, the measurements."""

from dataclasses import dataclass

from fastapi import Request

from teaser.app.http.metrics import Metrics
from teaser.app.people.store import Store
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.model_holder import ModelHolder
from teaser.app.settings import Settings


@dataclass(frozen=True)
class Services:
    """Made once for each process, and kept at `app.state.services`."""

    settings: Settings
    holder: ModelHolder
    store: Store
    metrics: Metrics


def services_of(request: Request) -> Services:
    """Return the services of the application that a request came to."""
    found: Services = request.app.state.services
    return found


def catalogue_of(request: Request) -> Catalogue:
    """Return the catalogue that this request is answered from, to its end."""
    return services_of(request).holder.current


def store_of(request: Request) -> Store:
    """Return the store as the API sees it: people of the site are known by their cookies alone."""
    return services_of(request).store.without_site
