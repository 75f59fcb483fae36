"""What people did on the site, for the next model: whether it may be used, and what counts.

The server records since when its privacy page says that views teach the next model. Views before
that moment are never returned, and nothing is returned while the record is absent. No id of a
person leaves this module.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError

from teaser.app.database.database import Database
from teaser.app.people.events import Event
from teaser.app.people.fold import fold
from teaser.app.people.tables import event as events
from teaser.app.people.tables import person, setting
from teaser.data.matrix import ItemId
from teaser.errors import ParameterError

_SINCE = "learn_since"
# Few people at a time: each query stays within the deadlines of the database.
_PAGE = 50
_NEVER = datetime.min.replace(tzinfo=UTC)
# The id of a person, and kind, data and time of an event.
_Action = tuple[str, str, dict[str, Any], datetime]


@dataclass(frozen=True)
class View:
    """A view that counts: it is in the history, its strength is above 0, the item not hidden."""

    item: ItemId
    strength: float
    at: datetime


@dataclass(frozen=True)
class Visits:
    """What one person did that the next model may use; who it was is not told.

    Attributes
    ----------
    views
        The views that count, the latest last.
    presses
        Net presses by tag text, of all lists of the person, whenever they were made; of a tag that
        is pressed in several, those of the latest. They teach nothing: they tell which tags the
        next model must not lose.
    """

    views: tuple[View, ...] = ()
    presses: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Timed:
    """An item in an event, with the time of the event; equal to the same item at any time."""

    item: ItemId
    at: datetime = field(compare=False)


class Learning:
    """Whether the next model may use what people do, and what it may use.

    Parameters
    ----------
    database
        The database of the store.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def since(self) -> datetime | None:
        """Since when views teach the next model without a break; None if they do not."""
        with self._database.reading() as connection:
            query = select(setting.c.value).where(setting.c.name == _SINCE)
            found = connection.execute(query).scalar_one_or_none()
        return None if found is None else datetime.fromisoformat(found)

    def switch(self, is_on: bool) -> None:
        """Record what the privacy page says from now on; a server calls this when it starts.

        Switched on again after a break, learning begins anew: the views of the break, and those
        before it, do not count.
        """
        if (self.since is not None) == is_on:
            return
        row = {"name": _SINCE, "value": datetime.now(UTC).isoformat()}
        try:
            with self._database.writing() as connection:
                if is_on:
                    connection.execute(insert(setting).values(row))
                else:
                    connection.execute(delete(setting).where(setting.c.name == _SINCE))
        except IntegrityError:
            return  # another process has recorded it at the same time

    def visits(self, *, with_api: bool = False) -> Iterator[Visits]:
        """Yield what each person did that counts; persons without any are left out.

        Parameters
        ----------
        with_api
            Whether persons of the API count too. A program that keeps them has told them itself
            what it does with what they view.

        Raises
        ------
        ParameterError
            If the next model may not use what people do.
        """
        since = self.since
        if since is None:
            raise ParameterError(
                "Views on this site do not teach the next model. Start the server with --learn "
                "(TEASER_LEARN=true), which the site's privacy page then says; or leave the views "
                "out with --no-views."
            )
        for rows in self._actions(with_api):
            found = _visits(rows, since)
            if found.views or found.presses:
                yield found

    def _actions(self, with_api: bool) -> Iterator[list[_Action]]:
        """Yield the events of each person, in order; some persons in one transaction."""
        last = ""
        while True:
            of_page = select(person.c.id).where(person.c.id > last).order_by(person.c.id)
            if not with_api:
                of_page = of_page.where(person.c.token_hash.is_not(None))
            with self._database.reading() as connection:
                ids = connection.execute(of_page.limit(_PAGE)).scalars().all()
                query = select(events.c.person_id, events.c.kind, events.c.data, events.c.at)
                query = query.where(events.c.person_id.in_(ids))
                ordered = query.order_by(events.c.person_id, events.c.place)
                found = [tuple(row) for row in connection.execute(ordered)] if ids else []
            if not ids:
                return
            last = ids[-1]
            for _, rows in groupby(found, key=itemgetter(0)):
                yield list(rows)


def _visits(rows: Iterable[_Action], since: datetime) -> Visits:
    """Return what counts of the events of one person."""
    state: Any = fold(Event(kind, _timed(kind, data, at)) for _, kind, data, at in rows)
    views = (
        View(key.item, state.strengths.get(key, 1.0), key.at)
        for key in state.history
        if key.at >= since and key not in state.hidden
    )
    presses = {tag: n for feed in state.feeds.values() for tag, n in feed.presses.items()}
    return Visits(tuple(view for view in views if view.strength > 0), presses)


def _timed(kind: str, data: dict[str, Any], at: datetime) -> dict[str, Any]:
    """Return the data of an event, its items with the time: the fold keeps that of the last view.

    What was imported was not viewed here, so it is older than any view that counts.
    """
    if kind == "several":
        return {"actions": [[each, _timed(each, own, at)] for each, own in data["actions"]]}
    if kind == "import":
        state = data["state"]
        items = {name: [_Timed(i, _NEVER) for i in state[name]] for name in ("history", "hidden")}
        return {"state": {**state, **items}}
    return {**data, "item": _Timed(data["item"], at)} if "item" in data else data
