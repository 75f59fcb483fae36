"""Presses that count: none is kept that moves nothing, and the way back from a limit is one."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from teaser.app.people.events import Event, State
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import Session
from teaser.data.tagging.tag import Tag
from teaser.errors import ParameterError, UnknownTagError
from teaser.profile import MAX_PRESSES, check_press
from teaser.profile import press as moved

LIMIT = "that is as far as it goes."
DEAF = (
    "Only people like you count now, so no press moves the list. "
    "Move the slider towards your tags first."
)


def effective(session: Session, presses: Mapping[Tag, int]) -> dict[Tag, int]:
    """Return the presses that move an affinity, in as many steps as that takes.

    An affinity stops at a bound, and what was viewed since may have carried it there, so that
    some of the presses there are move nothing any more. Steps further that way are left out, and
    steps back first take those away that lie beyond.
    """
    found = {}
    for tag, steps in presses.items():
        now = session.presses.get(tag, 0)
        kept = _kept(session.learned.affinities[tag], now, steps, session.steering.step)
        if kept:
            found[tag] = kept
    return found


def settled(catalogue: Catalogue, state: State, event: Event) -> Event | None:
    """Return the event as it is to be kept, or None for presses of which none moves anything.

    Raises
    ------
    ParameterError
        If several presses at once would leave the range; a single one at its end moves nothing.
    UnknownTagError
        If the model does not know a tag.
    """
    if event.kind != "press":
        return event
    session = Session(catalogue, state)
    given = {Tag.parse(text): _whole(text, steps) for text, steps in event.data["presses"].items()}
    for tag, steps in given.items():
        if tag not in catalogue.tag_index:
            raise UnknownTagError(f"Unknown tag {tag}.")
        if abs(steps) > 1:
            check_press(tag, session.presses.get(tag, 0) + steps)
    found = effective(session, given)
    return Event("press", {"presses": {str(tag): n for tag, n in found.items()}}) if found else None


def _kept(a: float, now: int, steps: int, step: float) -> int:
    """Return the steps, more of them where those move nothing, or 0 where no more do either."""
    way = 1 if steps > 0 else -1
    values = [_at(a, k, step) for k in range(-MAX_PRESSES, MAX_PRESSES + 1)]

    def at(k: int) -> float:
        return values[k + MAX_PRESSES]

    end = max(-MAX_PRESSES, min(MAX_PRESSES, now + steps))
    while at(end) == at(now) and abs(end + way) <= MAX_PRESSES:
        end += way
    return 0 if at(end) == at(now) else end - now


def _at(a: float, presses: int, step: float) -> float:
    return float(moved(np.array([a]), {0: presses}, step)[0])


def _whole(text: str, steps: Any) -> int:
    if isinstance(steps, bool) or not isinstance(steps, int) or steps == 0:
        raise ParameterError(
            f"A press on {text} needs a whole number of steps other than 0, found {steps!r}."
        )
    return steps
