"""Messages for invalid requests: where the error is, what was found, what to do."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from teaser.errors import shortened

# The two shapes of a history, as they stand in the place of an error.
IDS, STRENGTHS = "list[id]", "dict[id, strength]"
# The names of types that pydantic has in the place of an error.
_TYPE = re.compile(r"\[|^constrained-")
_MOST = 60
_HISTORY = "must be a list of ids, [...], or an object of strengths by id, {...}"
_ID = "must be an item id: a whole number of 64 bits or a text of 1 to 2,000 characters"
_OBJECT = "must be a JSON object, {...}, sent as Content-Type: application/json"
# Where the words of pydantic are those of Python; elsewhere they are kept.
_OWN = {
    "extra_forbidden": "is not a known field; leave it out or correct its spelling",
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "string_unicode": "must be valid Unicode, without lone surrogates",
}


def describe(errors: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence about the first error that validation found."""
    first = errors[0]
    kind, place = first["type"], first["loc"]
    if kind == "json_invalid":
        reason = first.get("ctx", {}).get("error", "")
        return f"The body is not JSON: {reason} at character {place[-1]}. Correct it."
    types = [part for part in place if isinstance(part, str) and _TYPE.search(part)]
    where = ".".join(shortened(part) for part in place if part not in types)
    if kind == "missing":
        remedy = f"The request needs a body; it {_OBJECT}" if where == "body" else "Give a value"
        return f"{where}: is missing. {remedy}."
    message = _ID if set(types) - {IDS, STRENGTHS} else _message(first)
    if kind == "value_error":  # ours; it says what was found
        return f"{where}: {message}"
    found = "" if kind == "extra_forbidden" else f", found {_shown(first.get('input'))}"
    return f"{where}: {message}{found}."


def _message(error: Mapping[str, Any]) -> str:
    """Return what pydantic says of a value, after its place: must be less than or equal to 5."""
    if error["type"] == "list_type" and error["loc"][-1] == IDS:
        return _HISTORY
    said = re.sub(r"^(Value error, |\w+ should )| after validation", "", str(error["msg"]))
    is_cut = said.startswith(("be ", "have ", "match "))
    return _OWN.get(error["type"], f"must {said}" if is_cut else said[:1].lower() + said[1:])


def _shown(value: Any) -> str:
    """Return a value as JSON, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError):
        text = f"something of type {type(value).__name__}"
    return text if len(text) <= _MOST else text[:_MOST] + "..."
