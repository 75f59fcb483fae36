"""Routes about a person's lists: feeds, filters, wishes, and whether the profile counts."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from teaser.app.actions import decide
from teaser.app.api.auth import check_reader
from teaser.app.api.people import PersonId, act_for, note_of
from teaser.app.api.schema import person_requests as requests
from teaser.app.api.schema.person_responses import Feeds, Person
from teaser.app.dependencies import catalogue_of, services_of, store_of, uses_store
from teaser.app.people.events import Event
from teaser.app.people.state import State
from teaser.app.wishes import event_of
from teaser.errors import UnknownShareError
from teaser.words.wishes import Wish

router = APIRouter(prefix="/people", tags=["people"], dependencies=[Depends(check_reader)])


@router.get("/{person_id}/feeds")
@uses_store
def list_feeds(request: Request, person_id: PersonId) -> Feeds:
    """Return the lists of a person, each with its presses, filters, balance and variety."""
    return Feeds.of(store_of(request).state(person_id), catalogue_of(request))


@router.post("/{person_id}/feeds")
@uses_store
def make_feed(request: Request, person_id: PersonId, asked: requests.NewFeed) -> Person:
    """Make a list and switch to it; history, facts and what is hidden hold for all lists."""
    copied: dict[str, Any] = {} if asked.start is None else {"copy": asked.start.stored()}
    return act_for(request, person_id, "make_feed", feed=asked.feed, **copied)


@router.patch("/{person_id}/feeds")
@uses_store
def rename_feed(request: Request, person_id: PersonId, asked: requests.NewFeedName) -> Person:
    """Give a list another name."""
    return act_for(request, person_id, "rename_feed", feed=asked.feed, name=asked.name)


@router.delete("/{person_id}/feeds")
@uses_store
def drop_feed(
    request: Request, person_id: PersonId, asked: Annotated[requests.FeedOptions, Query()]
) -> Person:
    """Drop a list; if it is the current one, the main list becomes it. Undo brings it back."""
    return act_for(request, person_id, "drop_feed", feed=asked.feed)


@router.put("/{person_id}/feed")
@uses_store
def switch_feed(request: Request, person_id: PersonId, asked: requests.FeedChoice) -> Person:
    """Make a list the current one: presses, filters, balance and variety are then its own."""
    return act_for(request, person_id, "switch_feed", feed=asked.feed)


@router.post("/{person_id}/feeds/from-share")
@uses_store
def copy_shared_feed(request: Request, person_id: PersonId, asked: requests.SharedFeed) -> Person:
    """Make a list that begins as one that somebody shared, and switch to it."""
    # The link may be that of a visitor of the site: whoever has it may read it.
    found = services_of(request).store.shared_feed(asked.token)
    if found is None:
        raise UnknownShareError
    name = asked.feed or found[0] or "shared"
    return act_for(request, person_id, "make_feed", feed=name, copy=found[1].to_json())


@router.put("/{person_id}/filters")
@uses_store
def set_filters(request: Request, person_id: PersonId, asked: requests.NewFilters) -> Person:
    """Set the conditions on the current list; an empty request removes them."""
    given = asked.model_dump(exclude_defaults=True)
    return act_for(request, person_id, "filter", filters=given)


@router.put("/{person_id}/profiling")
@uses_store
def set_profiling(request: Request, person_id: PersonId, asked: requests.Profiling) -> Person:
    """Set whether the lists follow the person's profile; filters and hidden items hold anyway."""
    return act_for(request, person_id, "profiling", **asked.model_dump(exclude_none=True))


@router.post("/{person_id}/wishes")
@uses_store
def apply_wishes(request: Request, person_id: PersonId, asked: requests.Wishes) -> Person:
    """Apply wishes to the current list, all of them or none; one undo takes them back."""
    catalogue = catalogue_of(request)
    wishes = [Wish.parse(text) for text in asked.wishes]

    # Wishes come to what holds when they are stored: others may be applied at the same time.
    def decision(state: State) -> Event | None:
        return decide(state, event_of(wishes, state, catalogue), catalogue)

    done = store_of(request).decide(person_id, decision)
    note = None if done.event else note_of(done, event_of(wishes, done.after, catalogue))
    return Person.of(person_id, done.after, catalogue, note=note)
