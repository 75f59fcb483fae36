"""Plain data (of TOML or JSON) as frozen dataclasses, checked by their type hints."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from teaser.errors import closest

_NAMES = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}


class TypedError(ValueError):
    """Data that does not fit its type; the text says where, and what was found."""


def from_plain(kind: Any, value: Any, where: str, *, strict: bool = False) -> Any:
    """Return plain data as a value of a type.

    Types are dataclasses, `tuple[X, ...]`, `Mapping[str, X]`, `X | Y`, `float`, `int`, `str`,
    `bool` and `Any`. A `float` may be missing (null): NaN, which JSON cannot hold.

    Parameters
    ----------
    where
        The place of the value, for messages; empty for a whole file.
    strict
        Refuse names that a dataclass does not have; they are ignored otherwise.
    """
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if is_dataclass(kind):
        return _record(kind, _expect(dict, value, where, "a table"), where, strict)
    if origin is tuple:
        items = _expect((list, tuple), value, where, "a list")
        return tuple(
            from_plain(arguments[0], item, f"{where}[{i}]", strict=strict)
            for i, item in enumerate(items)
        )
    if origin is Mapping:
        table = _expect(dict, value, where, "a table")
        return {
            key: from_plain(arguments[1], item, _join(where, key), strict=strict)
            for key, item in table.items()
        }
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        wanted = arguments[0] if float not in arguments else float
        return from_plain(wanted, value, where, strict=strict)
    return value if kind is Any else _scalar(kind, value, where)


def _record(kind: Any, given: Mapping[str, Any], where: str, strict: bool) -> Any:
    names = [f.name for f in fields(kind)]
    for name in given if strict else ():
        if name not in names:
            raise TypedError(
                f"{_subject(where)} has no entry {name!r}. Known: {', '.join(sorted(names))}."
                f"{closest(name, names)}"
            )
    required = [f.name for f in fields(kind) if f.default is f.default_factory is MISSING]
    if missing := [name for name in required if name not in given]:
        raise TypedError(f"{_subject(where)} lacks {', '.join(missing)}.")
    hints = _hints(kind)
    return kind(
        **{
            name: from_plain(hints[name], given[name], _join(where, name), strict=strict)
            for name in names
            if name in given
        }
    )


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float and value is None:
        return float("nan")
    accepted = (int, float) if kind is float else kind
    if isinstance(value, bool) and kind is not bool:
        accepted = ()
    return _expect(accepted, value, where, _NAMES[kind])


def _expect(kind: Any, value: Any, where: str, wanted: str) -> Any:
    if not isinstance(value, kind):
        raise TypedError(f"{_subject(where)} must be {wanted}, found {value!r:.80}.")
    return value


_hints = cache(get_type_hints)


def _subject(where: str) -> str:
    return where or "It"


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
