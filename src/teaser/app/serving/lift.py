"""The search for the fewest presses, as the server does it: in a short time, one at a time."""

from threading import Lock
from typing import Any

from teaser.data.matrix import ItemId
from teaser.errors import SearchTimeoutError
from teaser.model.tables import History
from teaser.model.tagged import TaggedModel
from teaser.profile import PressesLike
from teaser.steer import Lift, smallest_presses

# A search takes a whole core, so a worker makes one at a time.
SECONDS, WAIT_SECONDS = 0.1, 0.05
_searching = Lock()


def find_lift(
    model: TaggedModel, item_id: ItemId, history: History, presses: PressesLike, **options: Any
) -> Lift | None:
    """Return the result of `smallest_presses`.

    Raises
    ------
    SearchTimeoutError
        If the search does not end within `SECONDS`, or if another one is under way.
    """
    if not _searching.acquire(timeout=WAIT_SECONDS):
        raise SearchTimeoutError(WAIT_SECONDS)
    try:
        return smallest_presses(model, item_id, history, presses, seconds=SECONDS, **options)
    finally:
        _searching.release()
