"""A fold as a row of the database, so that a state is read without all events of the person.

A snapshot follows from the events up to its place and from nothing else, and events never change.
So it is never out of date, and it can be deleted and made again at any time.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select

from teaser.app.people.events import Event
from teaser.app.people.fold import StateFold
from teaser.app.people.tables import share, snapshot
from teaser.app.people.values import Values

# Raise this when the fold gives another state for the same events, or when the data change.
VERSION = 2
# A snapshot is made after this many events, and undo and redo can go as far from one.
REACH = 100

_PERSON = snapshot.c.person_id == bindparam("person_id")
_FIRST = (
    select(snapshot.c.place, snapshot.c.data)
    .where(_PERSON, snapshot.c.version == VERSION)
    .order_by(snapshot.c.place.desc())
    .limit(1)
)
_FIRST_UNTIL = _FIRST.where(snapshot.c.place <= bindparam("until"))
_PLACES = select(snapshot.c.place, snapshot.c.version).where(_PERSON)
_SHARED = select(share.c.place).where(share.c.person_id == bindparam("person_id"))
_REMOVE = delete(snapshot).where(_PERSON, snapshot.c.place.in_(bindparam("places", expanding=True)))


def read_snapshot(connection: Connection, person_id: str, until: int | None) -> StateFold:
    """Return the fold of the latest snapshot, not later than `until`; without one an empty fold."""
    query = _FIRST if until is None else _FIRST_UNTIL
    values = {"person_id": person_id} if until is None else {"person_id": person_id, "until": until}
    found = connection.execute(query, values).one_or_none()
    return StateFold() if found is None else restored(found.place, found.data)


def save_snapshot(connection: Connection, person_id: str, fold: StateFold) -> None:
    """Store a fold, and delete the snapshots that no read begins with any more.

    Those stay that links begin with, and the one before the new one: a page shows what the last
    action changed.
    """
    own = {"person_id": person_id}
    rows = connection.execute(_PLACES, own).all()
    usable = [place for place, version in rows if version == VERSION and place != fold.n_events]
    asked = [fold.n_events - 1, *connection.execute(_SHARED, own).scalars()]
    kept = {max((place for place in usable if place <= until), default=0) for until in asked}
    kept |= {place for place in usable if place > fold.n_events}
    gone = [place for place, _ in rows if place not in kept]
    if gone:
        connection.execute(_REMOVE, {**own, "places": gone})
    row = {**own, "place": fold.n_events, "version": VERSION, "data": stored(fold)}
    connection.execute(insert(snapshot).values(row))


def stored(fold: StateFold) -> dict[str, Any]:
    """Return what is stored of a fold: values, the places of actions, and the nearest events."""
    fold.narrow(REACH)
    return {
        "done": _runs(fold.done),
        "undone": _runs(reversed(fold.undone)),
        "base": fold.base,
        "values": fold.base_values.to_json(),
        "events": [[place, e.kind, dict(e.data)] for place, e in fold.known.items()],
    }


def restored(n_events: int, data: dict[str, Any]) -> StateFold:
    """Return the fold that was stored after a number of events."""
    fold = StateFold()
    fold.n_events = n_events
    fold.done = _places(data["done"])
    fold.undone = _places(data["undone"])[::-1]
    fold.known = {place: Event(kind, own) for place, kind, own in data["events"]}
    fold.base = data["base"]
    fold.base_values = Values.of_json(data["values"])
    return fold


def _runs(places: Iterable[int]) -> list[list[int]]:
    """Return increasing places as pairs of the first and the last of each run."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][1] + 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    return runs


def _places(runs: Iterable[list[int]]) -> list[int]:
    return [place for first, last in runs for place in range(first, last + 1)]
