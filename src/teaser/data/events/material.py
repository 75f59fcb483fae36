"""The material that events are made of: TOML files beside the code, read once."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np

Option = TypeVar("Option")


@cache
def read_table(name: str) -> dict[str, Any]:
    """Return the content of a TOML file of this package, arrays as tuples."""
    text = files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    table: dict[str, Any] = _freeze(tomllib.loads(text))
    return table


def draw_one(options: Sequence[Option], rng: np.random.Generator) -> Option:
    """Draw one of the options, each with the same chance."""
    return options[int(rng.integers(len(options)))]


def _freeze(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _freeze(entry) for key, entry in value.items()}
    return tuple(map(_freeze, value)) if isinstance(value, list) else value
