"""The services that requests use: settings, the served model, the store; and the brand."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from fastapi import HTTPException, Request

from teaser.app.brand import Brand
from teaser.app.database import StoreThreads
from teaser.app.limits import RateLimits, address_of, too_many
from teaser.app.models import ModelHolder
from teaser.app.serving.catalogue import Catalogue
from teaser.app.settings import Settings
from teaser.app.store import Store

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Services:
    """The services of one process, at `app.state.services`."""

    settings: Settings
    holder: ModelHolder
    store: Store
    threads: StoreThreads
    limits: RateLimits


def services_of(request: Request) -> Services:
    """Return the services of the application that received a request."""
    found: Services = request.app.state.services
    return found


def brand_of(request: Request) -> Brand:
    """Return the name, colours and logo of the site, at `app.state.brand`."""
    found: Brand = request.app.state.brand
    return found


def catalogue_of(request: Request) -> Catalogue:
    """Return the present catalogue; a request uses one until it ends."""
    return services_of(request).holder.current


def store_of(request: Request) -> Store:
    """Return the store without the persons of the site, who are identified by their cookie."""
    return services_of(request).store.without_site


def limit_imports(request: Request, person_id: str = "") -> None:
    """Raise `HTTPException` 429 if a person of the API, or an address, imports too often."""
    services = services_of(request)
    if not services.settings.rate:
        return
    names = [person_id] if person_id else []
    if not (person_id and services.settings.needs_keys):  # a program imports for many people
        names.append(address_of(request.scope))
    if seconds := services.limits.wait_of_import(*names):
        refused = too_many(seconds)
        raise HTTPException(429, refused.message, {"Retry-After": str(seconds)})


def uses_store(route: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Mark a route that uses the store: it runs in the store's own threads.

    While the database hangs, the other routes then find threads, and this one ends in time. The
    route must take `request`.
    """

    @wraps(route)
    async def run(*args: P.args, **values: P.kwargs) -> T:
        request: Any = values["request"]
        return await services_of(request).threads.run(partial(route, *args, **values))

    return run
