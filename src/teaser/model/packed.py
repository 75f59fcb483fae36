"""What a part of a model saves: settings, arrays and tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Packed:
    """Settings that JSON can hold, arrays and tables, each by its name; `|` joins two of them."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def __or__(self, other: "Packed") -> "Packed":
        return Packed(
            {**self.settings, **other.settings},
            {**self.arrays, **other.arrays},
            {**self.tables, **other.tables},
        )
