"""Messages for invalid requests: where the error is, what was found, what to do."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from teaser.errors import shortened

# The two shapes of a history, as they stand in the place of an error.
IDS, STRENGTHS = "list[id]", "dict[id, strength]"
_MOST = 60
_HISTORY = "must be a list of ids, [...], or an object of strengths by id, {...}"
_ID = "must be an item id: a whole number of 64 bits or a text of 1 to 2,000 characters"
DAY = "must be a day, written as 2026-05-01"
TIME = "must be a time with its zone, written as 2026-11-17T00:00:00+00:00"
_OBJECT = "must be a JSON object, {...}, sent as Content-Type: application/json"
# Where the words of pydantic are those of Python; elsewhere they are kept.
_OWN = {
    "extra_forbidden": "is not a known field; leave it out or correct its spelling",
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "string_unicode": "must be valid Unicode, without lone surrogates",
    "timezone_aware": TIME,
}


def is_unreadable(errors: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a body is not JSON at all, as opposed to JSON with wrong content."""
    return any(error["type"] == "json_invalid" for error in errors)


def describe(errors: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence about the first error that validation found."""
    first = errors[0]
    if first["type"] == "json_invalid":
        place, reason = first["loc"][-1], first.get("ctx", {}).get("error", "")
        return f"The body is not JSON: {reason} at character {place}. Correct it and send it again."
    where, is_id = _where(first["loc"])
    if first["type"] == "missing":
        remedy = f"The request needs a body; it {_OBJECT}" if where == "body" else "Give a value"
        return f"{where}: is missing. {remedy}."
    message = _ID if is_id else _message(first)
    found = "" if first["type"] == "extra_forbidden" else f", found {_shown(first.get('input'))}"
    return f"{where}: {message}{found}."


def _where(parts: Sequence[Any]) -> tuple[str, bool]:
    """Return the path to a value without type names, and whether the value is an id."""
    own, is_id = [], False
    for before, part in zip((None, *parts), parts, strict=False):
        # The part after STRENGTHS is an id that the request gives, whatever it looks like.
        if before == STRENGTHS or not _is_type(part):
            own.append(shortened(part))
        else:
            is_id = is_id or part not in (IDS, STRENGTHS)
    return ".".join(own), is_id


def _is_type(part: Any) -> bool:
    return isinstance(part, str) and ("[" in part or part.startswith("constrained-"))


def _message(error: Mapping[str, Any]) -> str:
    """Return what pydantic says of a value, after its place: must be less than or equal to 5."""
    if error["type"] == "list_type" and error["loc"][-1] == IDS:
        return _HISTORY
    said = re.sub(r"^(Value error, |\w+ should (?=be|have|match))", "", str(error["msg"]))
    said = said.replace(" after validation", "")
    if error["type"] in _OWN or said.startswith("must"):
        return _OWN.get(error["type"], said)
    return f"must {said}" if said != error["msg"] else said[:1].lower() + said[1:]


def _shown(value: Any) -> str:
    """Return a value as JSON, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError):
        text = f"something of type {type(value).__name__}"
    return text if len(text) <= _MOST else text[:_MOST] + "..."
