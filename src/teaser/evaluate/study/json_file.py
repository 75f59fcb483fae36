"""JSON files of results: short numbers, one line for each innermost list or table."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np


def to_json(value: Any) -> str:
    """Return plain data as the text of a JSON file."""
    return _json(_plain(value)) + "\n"


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it: finite numbers of six digits, none of NumPy's types."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def _json(value: Any, indent: str = "") -> str:
    """Return JSON with a line for each innermost list or table."""
    is_table = isinstance(value, dict)
    inner: Sequence[Any] = list(value.values()) if is_table else value
    if not isinstance(value, dict | list) or not any(isinstance(v, dict | list) for v in inner):
        return json.dumps(value)
    names = [f"{json.dumps(name)}: " for name in value] if is_table else [""] * len(value)
    lines = [
        f"{indent} {name}{_json(each, indent + ' ')}"
        for name, each in zip(names, inner, strict=True)
    ]
    opening, closing = "{}" if is_table else "[]"
    return "\n".join([opening, ",\n".join(lines), indent + closing])
