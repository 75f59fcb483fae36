"""A person at the moment of a request: what is now, and what the action just made changed."""

import json
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from fastapi import Request
from markupsafe import Markup
from numpy.typing import NDArray

from teaser.app.actions import DEAF, LIMIT, decide
from teaser.app.dependencies import catalogue_of, services_of
from teaser.app.http.identity import Visitor, visitor_of
from teaser.app.i18n.texts import Texts
from teaser.app.people.events import Event, State, fold
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import Session
from teaser.app.site.list_changes import Change, compare, say_action, say_effect
from teaser.errors import TeaserError
from teaser.explain import Recommendation

N_CARDS = 12


@dataclass(frozen=True)
class Told:
    """An action and its effect, ready to be read; `is_done` if it was kept and can be undone."""

    action: Markup
    effect: str
    change: Change
    is_done: bool = True


@dataclass(frozen=True)
class Moment:
    """A visitor, what is now, and the catalogue that this request is answered from.

    `event` is the action that the page follows upon, if it does, and `before` what was before it.
    """

    visitor: Visitor
    catalogue: Catalogue
    state: State
    before: State
    event: Event | None

    @property
    def texts(self) -> Texts:
        """The texts of the visitor's language."""
        return self.visitor.texts

    @cached_property
    def session(self) -> Session:
        """The state seen through the catalogue."""
        return Session(self.catalogue, self.state)

    def tell(
        self,
        after: list[Recommendation] | None = None,
        *,
        k: int = N_CARDS,
        allowed: NDArray[np.bool_] | None = None,
    ) -> Told | None:
        """Tell what the last action did to a list, if this page follows upon it."""
        if self.event is None:
            return None
        earlier = Session(self.catalogue, self.before)
        items = self.catalogue.model.items_
        old = [items[i] for i in earlier.rank(k=k, allowed=allowed).tolist()]
        if after is None:
            new = [items[i] for i in self.session.rank(k=k, allowed=allowed).tolist()]
        else:
            new = [r.item_id for r in after]
        change = compare(old, new)
        action = say_action(self.event, self.before, self.catalogue, self.texts)
        if self.event.kind == "press" and np.array_equal(
            earlier.profile.values, self.session.profile.values
        ):
            is_done = self.before.n_events != self.state.n_events
            return Told(action, self.texts(LIMIT), change, is_done)
        if self.event.kind == "press" and self.session.profile.tags_weight == 0:
            return Told(action, self.texts(DEAF), change)
        return Told(action, say_effect(change, self.texts), change)


def moment_of(request: Request) -> Moment:
    """Return the moment of a request for a page; `did` in its address counts the actions."""
    visitor, catalogue = visitor_of(request), catalogue_of(request)
    if visitor.person_id is None:
        return Moment(visitor, catalogue, State(), State(), None)
    stored = services_of(request).store.events(visitor.person_id)
    events = [Event(e.kind, e.data) for e in stored]
    state = fold(events)
    stuck = _stuck(request.query_params.get("far"), catalogue, state)
    if stuck:
        return Moment(visitor, catalogue, state, state, stuck)
    if not events or request.query_params.get("did") != str(len(events)):
        return Moment(visitor, catalogue, state, State(), None)
    return Moment(visitor, catalogue, state, fold(events[:-1]), events[-1])


def _stuck(text: str | None, catalogue: Catalogue, state: State) -> Event | None:
    """Return the presses that an address says were not kept, if it is true of them."""
    try:
        presses = json.loads(text or "")
        event = Event("press", {"presses": dict(presses)})
        is_stuck = bool(presses) and decide(state, event, catalogue) is None
    except (ValueError, TypeError, RecursionError, TeaserError):
        return None
    return event if is_stuck else None
