"""A fold as a row of the database, so that a state is read without all events of the person.

A snapshot follows from the events up to its place and from nothing else, and events never change.
So it is never out of date, and it can be deleted and made again at any time.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, func, insert, select

from teaser.app.people.events import Event
from teaser.app.people.fold import StateFold
from teaser.app.people.tables import person, share, snapshot
from teaser.app.people.values import Values
from teaser.errors import UnknownPersonError

# Raise this when the fold gives another state for the same events, or when the data change.
VERSION = 2
# A snapshot is made after this many events, and undo and redo can go as far from one.
REACH = 100

_other = snapshot.alias()
_PERSON = snapshot.c.person_id == bindparam("person_id")
_PLACES = select(snapshot.c.place, snapshot.c.version).where(_PERSON)
_SHARED = select(share.c.place).where(share.c.person_id == bindparam("person_id"))
_REMOVE = delete(snapshot).where(_PERSON, snapshot.c.place.in_(bindparam("places", expanding=True)))


class SnapshotReader:
    """Finds a person and the latest snapshot of them, in one query.

    Parameters
    ----------
    known
        The query of the id of a person whose `id` is given; it finds no other persons.
    """

    def __init__(self, known: Select[str]) -> None:
        places = select(func.max(_other.c.place)).where(
            _other.c.person_id == person.c.id, _other.c.version == VERSION
        )
        self._latest = _with_snapshot(known, places)
        self._latest_until = _with_snapshot(
            known, places.where(_other.c.place <= bindparam("until"))
        )

    def read(self, connection: Connection, person_id: str, until: int | None) -> StateFold:
        """Return the fold of the latest snapshot, not later than `until`; else an empty fold.

        Raises
        ------
        UnknownPersonError
            If there is no such person.
        """
        query = self._latest if until is None else self._latest_until
        values = {"id": person_id} if until is None else {"id": person_id, "until": until}
        found = connection.execute(query, values).first()
        if found is None:
            raise UnknownPersonError
        return StateFold() if found.place is None else restored(found.place, found.data)


def _with_snapshot(known: Select[str], places: Select[int]) -> Select[Any]:
    own = (snapshot.c.person_id == person.c.id) & (snapshot.c.place == places.scalar_subquery())
    columns = known.add_columns(snapshot.c.place, snapshot.c.data)
    return columns.select_from(person.outerjoin(snapshot, own))


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
