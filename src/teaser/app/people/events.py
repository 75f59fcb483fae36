"""The actions of a person as events.

Every action is an event, and events are only appended. Undo and redo are events too, so the whole
sequence can be read later. `teaser.app.people.fold` makes the state from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Any, Literal, get_args

from teaser.errors import ParameterError, shortened
from teaser.words.wishes import LASTS

Kind = Literal[
    "view",
    "remove",
    "press",
    "hide",
    "unhide",
    "vary",
    "balance",
    "about",
    "filter",
    "make_feed",
    "switch_feed",
    "rename_feed",
    "drop_feed",
    "profiling",
    "several",
    "import",
    "reset",
    "undo",
    "redo",
]
KINDS = get_args(Kind)
# An action of these kinds cannot be a part of several.
WHOLE_KINDS = ("several", "import", "reset", "undo", "redo")
_DAYS: dict[str, int] = {"today": 1, "week": 8}


@dataclass(frozen=True)
class Event:
    """One action of a person.

    Attributes
    ----------
    kind
        One of `KINDS`.
    data
        `item` for view and remove, and with view `strength` where it is not 1;
        `item` or `tag` for hide and unhide; `presses` (tag text -> steps) for press;
        press and hide may have `until`, the time at which they end, see `ending`;
        `variety` for vary; `balance` for balance; `about` (tag texts) for about, which replaces
        the facts given before; `filters` for filter, which replaces those of the current feed;
        `feed` for those of feeds, with make_feed also `copy`, a feed to begin with in place of the
        current one, and with rename_feed its new `name`; `on`, and perhaps `order`, for profiling;
        `actions` (pairs of kind and data) for several, which are undone together;
        `state` for import, which replaces all; nothing for the others.
    """

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


def facts_of(data: Mapping[str, Any]) -> Any:
    """Return the facts of an `about` event; earlier versions stored them under `people`."""
    return data.get("about", data.get("people"))


def parts_of(event: Event) -> list[Event]:
    """Return the actions of an event: those of several, else the event alone."""
    if event.kind != "several":
        return [event]
    return [Event(kind, data) for kind, data in event.data["actions"]]


def ending(
    lasts: str, zone: tzinfo | None = None, *, now: datetime | None = None
) -> dict[str, str]:
    """Return the data that tell when an action ends: `until`, in UTC; nothing for `always`.

    Parameters
    ----------
    lasts
        `today`: until the coming midnight; `week`: until the midnight seven days after that one;
        `always`.
    zone
        The time zone of the midnights; that of the machine by default.
    now
        The present by default.
    """
    if lasts not in LASTS:
        raise ParameterError(
            f"lasts must be one of {', '.join(LASTS)}, found {shortened(lasts)!r}."
        )
    if lasts == "always":
        return {}
    today = (now or datetime.now(UTC)).astimezone(zone).date()
    midnight = datetime.combine(today + timedelta(_DAYS[lasts]), time(), tzinfo=zone)
    return {"until": time_text(midnight)}


def time_text(at: datetime) -> str:
    """Return a time as it is stored; one without a zone is in that of the machine."""
    return at.astimezone(UTC).isoformat(timespec="seconds")


def read_time(text: Any) -> datetime:
    """Return a time that was stored.

    Raises
    ------
    ParameterError
        If the text is no time with a zone.
    """
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is None:
            raise ValueError
        return found.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"until must be a time with its zone, as 2026-11-17T00:00:00+00:00, found "
            f"{shortened(text)!r}."
        ) from None
