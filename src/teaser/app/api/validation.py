"""Messages for invalid requests: where the error is, what was found, what to do."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from teaser.errors import shortened

# The two shapes of a history, as they stand in the place of an error.
IDS, STRENGTHS = "list[id]", "dict[id, strength]"
_MOST = 60
_HISTORY = "must be a list of ids, [...], or an object of strengths by id, {...}"
_ID = "an item id must be a whole number of 64 bits or a text of 1 to 2,000 characters"
_WHOLE, _NUMBER, _TEXT = "must be a whole number", "must be a number", "must be a text"
_YES_OR_NO = "must be true or false"
DAY = "must be a day, written as 2026-05-01"
TIME = "must be a time with its zone, written as 2026-11-17T00:00:00+00:00"
_OBJECT = "must be a JSON object, {...}, sent as Content-Type: application/json"
_FIXED = {
    "int": _WHOLE,
    "float": _NUMBER,
    "finite": _NUMBER,
    "bool": _YES_OR_NO,
    "date": DAY,
    "datetime": TIME,
    "timezone": TIME,
    "list": "must be a list, [...]",
    "model": _OBJECT,
    "dict": _OBJECT,
    "string": _TEXT,
}
_BY_KIND: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "extra_forbidden": lambda c: "is not a known field; leave it out or correct its spelling",
    "greater_than_equal": lambda c: f"must be at least {c['ge']:g}",
    "less_than_equal": lambda c: f"must be at most {c['le']:g}",
    "string_too_short": lambda c: f"must have at least {_count(c['min_length'], 'character')}",
    "string_too_long": lambda c: f"must have at most {_count(c['max_length'], 'character')}",
    "too_long": lambda c: f"must have at most {_count(c['max_length'], 'entry')}",
    "literal_error": lambda c: f"must be {c['expected']}",
    "string_pattern_mismatch": lambda c: f"must be an id as this server gave it, {c['pattern']}",
    "string_unicode": lambda c: "must be valid Unicode, without lone surrogates",
    "value_error": lambda c: str(c.get("error", "is not valid")),
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
        return f"{where}: is missing. {_remedy(where)}"
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
    kind = str(error["type"])
    if kind == "list_type" and error["loc"][-1] == IDS:
        return _HISTORY
    if kind in _BY_KIND:
        return _BY_KIND[kind](error.get("ctx") or {})
    return _FIXED.get(kind.split("_")[0], "is not valid")


def _remedy(where: str) -> str:
    return f"The request needs a body; it {_OBJECT}." if where == "body" else "Give a value for it."


def _shown(value: Any) -> str:
    """Return a value as JSON, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError):
        text = f"something of type {type(value).__name__}"
    return text if len(text) <= _MOST else text[:_MOST] + "..."


def _count(number: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number:,} {noun if number == 1 else plural}"
