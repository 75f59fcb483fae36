"""Links: to a profile or to one feed, as it was then, until they are ended."""

from datetime import UTC, datetime, timedelta

import pytest
from app.conftest import append

from teaser.app.people.events import Event, time_text
from teaser.app.people.shares import StoredShare, share_id_of
from teaser.app.people.state import Feed, ListFilter
from teaser.app.people.store import Store
from teaser.errors import UnknownFeedError, UnknownShareError

PRESS = Event("press", {"presses": {"town=Ghent": 2}})
FRIDAY = Event("make_feed", {"feed": "Friday night"})
ONLY = Event("filter", {"filters": {"only": ["type=film"], "when": "weekend"}})
FILTERS = ListFilter(only=("type=film",), when="weekend")


@pytest.fixture
def person(store: Store) -> str:
    person_id, _ = store.create_person()
    for event in (Event("view", {"item": "i1"}), PRESS, FRIDAY, ONLY):
        append(store, person_id, event)
    return person_id


def test_a_link_to_a_feed_shows_it_as_it_was_and_nothing_else(store: Store, person: str) -> None:
    token, made = store.make_share(person, "friday NIGHT")
    assert made == StoredShare(share_id_of(token), 4, made.created_at, "Friday night")
    for event in (PRESS, Event("rename_feed", {"feed": "Friday night", "name": "Saturday"})):
        append(store, person, event)
    expected = Feed({"town=Ghent": 2}, FILTERS)
    assert store.shared_feed(token) == ("Friday night", expected)
    assert store.shared_state(token) is None  # never the history
    main, _ = store.make_share(person, "")
    assert store.shared_feed(main) == ("", Feed({"town=Ghent": 2}))
    assert [share.feed for share in store.shares(person)] == ["Friday night", ""]


def test_a_link_to_a_profile_is_none_to_a_feed(store: Store, person: str) -> None:
    token, made = store.make_share(person)
    assert made.feed is None
    assert store.shared_feed(token) is None
    assert store.shared_state(token) == store.state(person)
    assert store.shared_feed("nothing") is None


def test_an_ended_link_shows_nothing(store: Store, person: str) -> None:
    token, made = store.make_share(person, "Friday night")
    other, _ = store.create_person()
    with pytest.raises(UnknownShareError):
        store.revoke_share(other, made.share_id)
    store.revoke_share(person, made.share_id)
    assert store.shared_feed(token) is None
    with pytest.raises(UnknownShareError):
        store.revoke_share(person, made.share_id)
    kept, _ = store.make_share(person, "")
    store.delete_person(person)
    assert store.shared_feed(kept) is None


def test_only_a_feed_that_there_is_can_be_shared(store: Store, person: str) -> None:
    with pytest.raises(UnknownFeedError) as raised:
        store.make_share(person, "Friday nite")
    assert raised.value.closest == ("Friday night",)
    assert store.shares(person) == []


def test_what_ended_since_is_not_shown(database_url: str) -> None:
    now = datetime(2026, 11, 16, 12, tzinfo=UTC)
    store = Store(database_url, clock=lambda: now)
    store.migrate()
    person, _ = store.create_person()
    until = time_text(now + timedelta(days=1))
    append(store, person, PRESS)
    append(store, person, Event("press", {"presses": {"town=Ghent": 3}, "until": until}))
    token, _ = store.make_share(person, "")
    found = store.shared_feed(token)
    assert found is not None
    assert found[1].presses == {"town=Ghent": 5}
    now += timedelta(days=1)
    assert store.shared_feed(token) == ("", Feed({"town=Ghent": 2}))
    store.close()
