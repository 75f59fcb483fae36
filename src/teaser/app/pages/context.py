"""What every page needs: the visitor, their state, the model, and the action just done."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from numpy.typing import NDArray

from teaser.app.actions import LIMIT, TAGS_OFF, act, decide
from teaser.app.cookies import TOKEN, remember
from teaser.app.dependencies import catalogue_of, services_of
from teaser.app.forms import need_own_origin, read_presses
from teaser.app.i18n.texts import Texts
from teaser.app.pages.describe import (
    ActionSummary,
    Clock,
    compare_lists,
    describe_action,
    describe_effect,
)
from teaser.app.pages.filters import N_CARDS
from teaser.app.pages.render import Visitor, ensure_person, render, visitor_of
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.state import Event, State
from teaser.errors import TeaserError


@dataclass(frozen=True)
class PageContext:
    """The visitor, their state, and the catalogue that answers this request.

    `event` is the action that led to the page, if there was one, and `before` the state before it.
    """

    visitor: Visitor
    catalogue: Catalogue
    state: State
    before: State
    event: Event | None

    @property
    def texts(self) -> Texts:
        """The texts in the visitor's language."""
        return self.visitor.texts

    @cached_property
    def personal(self) -> PersonalModel:
        """The model with the visitor's state."""
        return PersonalModel(self.catalogue, self.state)

    @cached_property
    def clock(self) -> Clock:
        """The time of the request at the site."""
        return Clock.at(self.catalogue)

    @cached_property
    def own(self) -> PersonalModel:
        """The model with the visitor's profile, also while lists are made without it."""
        if self.state.profiling:
            return self.personal
        return PersonalModel(self.catalogue, replace(self.state, profiling=True))

    def summary(
        self,
        after: NDArray[np.int64] | None = None,
        *,
        k: int = N_CARDS,
        allowed: NDArray[np.bool_] | None = None,
    ) -> ActionSummary | None:
        """Return what the last action did to the list; None without an action.

        `after` are the positions of the list after the action, if the page has computed it already.
        """
        if self.event is None:
            return None
        earlier = PersonalModel(self.catalogue, self.before)
        items = self.catalogue.model.items_
        old = [items[i] for i in earlier.rank(k=k, allowed=allowed).tolist()]
        ranked = self.personal.rank(k=k, allowed=allowed) if after is None else after
        new = [items[i] for i in ranked.tolist()]
        change = compare_lists(old, new)
        action = describe_action(self.event, self.before, self.catalogue, self.texts, self.clock)
        if self.event.kind == "press" and not self.state.profiling:
            off = self.texts("your profile is switched off, so the list stays as it was.")
            return ActionSummary(action, off, change)
        if self.event.kind == "press" and np.array_equal(
            earlier.profile.values, self.personal.profile.values
        ):
            is_stored = self.before.n_events != self.state.n_events
            return ActionSummary(action, self.texts(LIMIT), change, is_stored)
        if self.event.kind == "press" and self.personal.profile.tags_weight == 0:
            return ActionSummary(action, self.texts(TAGS_OFF), change)
        return ActionSummary(action, describe_effect(change, self.texts), change)

    def render(self, request: Request, template: str, **values: Any) -> Response:
        """Return a page in the visitor's language, with the buttons for their state."""
        return render(request, self.visitor, template, state=self.state, **values)


def page_context_of(request: Request) -> PageContext:
    """Return the context of a request for a page.

    `did` in its address is the number of events after the action that led to it; `far` holds
    presses that changed nothing and were not stored.
    """
    visitor, catalogue = visitor_of(request), catalogue_of(request)
    if visitor.person_id is None:
        return PageContext(visitor, catalogue, State(), State(), None)
    store = services_of(request).store
    state = store.state(visitor.person_id)
    unstored = _unstored_press(request.query_params.get("far"), catalogue, state)
    if unstored:
        return PageContext(visitor, catalogue, state, state, unstored)
    if not state.n_events or request.query_params.get("did") != str(state.n_events):
        return PageContext(visitor, catalogue, state, State(), None)
    before, event = store.last_action(visitor.person_id, state.n_events)
    return PageContext(visitor, catalogue, state, before, event)


def act_and_show(request: Request, event: Event, path: str = "/") -> Response:
    """Make an action of the visitor, then show a page that says what it did."""
    need_own_origin(request)
    services, visitor = services_of(request), visitor_of(request)
    person_id, token = ensure_person(visitor, services)
    done = act(services.store, person_id, event, catalogue_of(request))
    joint = "&" if "?" in path else "?"
    response = RedirectResponse(f"{path}{joint}did={done.after.n_events}#notice", 303)
    if token:
        remember(response, services.settings, TOKEN, token)
    return response


def _unstored_press(text: str | None, catalogue: Catalogue, state: State) -> Event | None:
    """Return the presses named in the address, after checking that they change nothing."""
    try:
        event = Event("press", {"presses": read_presses(text or "")})
        return event if decide(state, event, catalogue) is None else None
    except TeaserError:
        return None
