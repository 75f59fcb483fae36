"""Texts that forms, files and addresses bring: valid Unicode, and JSON with finite numbers."""

import json
import math
from typing import Annotated, Any

from pydantic import AfterValidator

from teaser.errors import ParameterError

# The most digits of a whole number: far more than those of any number that is asked for.
_MOST_DIGITS = 40


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


def read_json(text: bytes | str) -> Any:
    """Return what a JSON text says; each number in it is finite and has at most 40 digits.

    Raises
    ------
    ParameterError
        If the text is anything else, or is nested too deep.
    """
    try:
        return json.loads(
            text, parse_int=_whole_number, parse_float=_real_number, parse_constant=_real_number
        )
    except ParameterError:
        raise
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"It is not JSON: {error}.") from None


def read_object(text: str, name: str) -> dict[str, Any]:
    """Return a JSON object in a field of a form; `name` is that of the field.

    Raises
    ------
    ParameterError
        If the text is anything else.
    """
    try:
        given = read_json(text)
    except ParameterError as error:
        raise ParameterError(f"{name} must be a JSON object. {error}") from None
    if not isinstance(given, dict):
        raise ParameterError(f"{name} must be a JSON object.")
    valid_text(json.dumps(given, ensure_ascii=False))
    return given


def read_presses(text: str) -> dict[str, Any]:
    """Return presses written as a JSON object, tag text -> steps; the steps are not checked.

    Raises
    ------
    ParameterError
        If the text is anything else.
    """
    return read_object(text, "presses")


def _whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ParameterError(
            f"A number in it has {len(digits):,} digits; at most {_MOST_DIGITS} are read."
        )
    return int(digits)


def _real_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ParameterError(f"A number in it is not finite: {text[:_MOST_DIGITS]}.")
    return number
