"""The names of routes in logs, metrics and traces: their templates, never a path with ids."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fastapi import FastAPI, routing

_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")


class RouteName(NamedTuple):
    """A method and the template of a path, such as `/item/{item_id}`."""

    method: str
    route: str


# A path that is not known, a method that it does not take, a request refused before its route is
# found.
OTHER = RouteName("other", "other")


class RouteNames:
    """The routes of an application, found by the scope of a request.

    Parameters
    ----------
    app
        The application with all its routes.

    Attributes
    ----------
    known
        All names; those of a request are among them, or `OTHER`.
    """

    def __init__(self, app: FastAPI) -> None:
        self._templates: dict[int, str] = {}
        names: list[RouteName] = []
        # Included routers became one entry of `app.routes` in a later version of FastAPI.
        contexts: Iterable[Any] = getattr(routing, "iter_route_contexts", iter)(app.routes)
        for context in contexts:
            route, template = getattr(context, "original_route", context), context.path_format
            # A mount sets the endpoint only; an endpoint may have several routes.
            for found in (route, getattr(route, "endpoint", None), getattr(route, "app", None)):
                if found is not None:
                    self._templates.setdefault(id(found), template)
            methods = getattr(context, "methods", None) or ("GET",)
            names += (RouteName(m, template) for m in _METHODS if m in methods and m != "HEAD")
        self.known = tuple(dict.fromkeys(names))
        self._known = frozenset(self.known)

    def of(self, scope: Mapping[str, Any]) -> RouteName:
        """Return the name of the route that a request was handled by."""
        found = scope.get("route") or scope.get("endpoint")
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        name = RouteName(method, self._templates.get(id(found), OTHER.route))
        return name if name in self._known else OTHER


def method_name(method: str) -> str:
    """Return a method of HTTP; `other` for a word that is none, which may say anything."""
    return method if method in _METHODS else OTHER.method
