"""Texts that forms and addresses bring: valid Unicode, and presses written as JSON."""

import json
from typing import Annotated, Any

from pydantic import AfterValidator

from teaser.errors import ParameterError


def valid_text(text: str) -> str:
    r"""Return a text unchanged.

    Raises
    ------
    ParameterError
        If it has lone surrogates, which no answer, cookie or database can hold. JSON can bring
        them as `\ud800`, and a form in parts by the charset that it names.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ParameterError("A text must be valid Unicode, without lone surrogates.") from None
    return text


FormText = Annotated[str, AfterValidator(valid_text)]


def read_presses(text: str) -> dict[str, Any]:
    """Return presses written as a JSON object, tag text -> steps; the steps are not checked.

    Raises
    ------
    ParameterError
        If the text is anything else.
    """
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise ParameterError("presses must be a JSON object, tag -> steps.")
    return {valid_text(tag): steps for tag, steps in given.items()}
