"""Events folded into the state of a person.

The state is a pure function of the events and of the time: what a person did for today or for a
week ends by itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from teaser.app.people.events import Event
from teaser.app.people.state import State
from teaser.app.people.values import Values


class StateFold:
    """Events folded into a state; a further event is added without folding all of them again.

    The fold keeps the places of the actions that are done and undone, and the values after the
    first `base` of the actions that are done. A fold of all events has `base` 0. One that was read
    from a snapshot has a larger `base` and knows only the events near the end, so undo and redo
    reach a limited number of steps back and forth: `is_whole` tells whether they went too far.

    Parameters
    ----------
    events
        The events so far, in order.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.n_events = 0
        self.done: list[int] = []
        self.undone: list[int] = []
        self.known: dict[int, Event] = {}
        self.base = 0
        self.base_values = Values()
        self._values: Values | None = None
        self._has_base = True
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Add an event; only undo and redo make the next state apply earlier actions again."""
        self.n_events += 1
        if event.kind == "undo":
            if self.done:
                self.undone.append(self.done.pop())
                self._has_base &= len(self.done) >= self.base
                self._values = None
        elif event.kind == "redo":
            if self.undone:
                self._has_base &= self.undone[-1] in self.known
                self.done.append(self.undone.pop())
                self._values = None
        else:
            self.done.append(self.n_events)
            self.undone.clear()
            self.known[self.n_events] = event
            self._values = self._values and self._values.after(event)

    @property
    def is_whole(self) -> bool:
        """Whether all is known that the state needs."""
        tops = self.done[-1:] + self.undone[-1:]
        return self._has_base and all(place in self.known for place in tops)

    def state_at(self, now: datetime | None) -> State:
        """Return the state that the events lead to, at a time; None is before anything ends."""
        if self._values is None:
            self._values = self._applied(self.base_values.copy(), self.done[self.base :])
        return self._values.state_at(
            now,
            undoable=self.known[self.done[-1]] if self.done else None,
            redoable=self.known[self.undone[-1]] if self.undone else None,
            n_events=self.n_events,
        )

    def narrow(self, reach: int) -> None:
        """Forget events, so that undo and redo can still go `reach` steps from here."""
        base = max(self.base, len(self.done) - reach)
        self.base_values = self._applied(self.base_values, self.done[self.base : base])
        self.base = base
        near = self.done[max(0, base - 1) :] + self.undone[-reach - 1 :]
        self.known = {place: self.known[place] for place in near if place in self.known}

    def _applied(self, values: Values, places: Iterable[int]) -> Values:
        for place in places:
            values = values.after(self.known[place])
        return values


@dataclass(frozen=True)
class KeptFold:
    """A fold in memory, after an event of which the time is known.

    Attributes
    ----------
    fold
        The fold.
    last_at
        When its last event was stored.
    n_since
        How many events it has more than the latest snapshot.
    """

    fold: StateFold
    last_at: datetime
    n_since: int


def fold(events: Iterable[Event], now: datetime | None = None) -> State:
    """Return the state that the events lead to, at a time; None is before anything ends."""
    return StateFold(events).state_at(now)


def state_after(state: State, event: Event, now: datetime | None = None) -> State:
    """Return a state with one action applied; which actions can be undone is as before it.

    `now` is the time of the state; it is needed only for an action that has ended by then.
    """
    values, undoable, redoable = Values.of(state).after(event), state.undoable, state.redoable
    return values.state_at(now, undoable=undoable, redoable=redoable, n_events=state.n_events)
