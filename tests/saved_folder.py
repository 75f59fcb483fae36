"""A small saved folder for the tests of artifacts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from forgery import sign
from numpy.typing import NDArray

from teaser import artifact

ARRAYS: dict[str, NDArray[Any]] = {
    "E": np.arange(12, dtype=np.float32).reshape(3, 4),
    "n": np.array([1, 2], dtype=np.int64),
}
TABLES = {"tags": pl.DataFrame({"feature": ["genre", "town"], "value": ["jazz", "Liège"]})}


def save(folder: Path, *, size: int = 12, **changes: Any) -> None:
    """Write a small folder; `size` tells one content from another."""
    content: dict[str, Any] = {
        "kind": "teaser",
        "settings": {"size": size},
        "arrays": {"E": np.full(size, size, dtype=np.float32)},
        "tables": {"tags": pl.DataFrame({"size": [size] * size})},
    }
    artifact.write(folder, **{**content, **changes})


def forge(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the manifest of a folder and sign it again."""
    manifest = json.loads((folder / artifact.MANIFEST).read_text(encoding="utf-8"))
    change(manifest)
    sign(folder, manifest)


def part(folder: Path, suffix: str) -> Path:
    (found,) = folder.glob(f"*{suffix}")
    return found
