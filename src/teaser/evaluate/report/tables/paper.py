"""The figures of the paper's two tables, read from paper.toml, to stand beside ours."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from teaser.evaluate.study.typed import from_plain

SOURCE = (
    "J. De Pauw, K. Ruymbeek, B. Goethals: Modelling Users with Item Metadata for Explainable "
    "and Interactive Recommendation, tables 1 and 2"
)
METRICS = ("recall@20", "recall@100", "ndcg@100")
STATIC = ("EASE", "EDLAE", "ItemKNN", "WMF")
INTERACTIVE = ("TEASER", "WMF-S", "TEASER × EASE")
SCALE = "paper"
STRENGTH = 3

Figures = Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Column:
    """One data set of the paper's tables.

    Attributes
    ----------
    static
        The `METRICS` by model, without feedback (table 1).
    pressed
        The same by number of tags, each pressed three times, and model (table 2).
    """

    title: str
    static: Figures
    pressed: Mapping[str, Figures]
    users: int
    items: int
    tags: int
    interaction_density: float
    tag_density: float

    def figure(self, model: str, metric: str, n_tags: int = 0) -> float | None:
        """Return one figure, or None where the paper has none."""
        rows = self.pressed.get(str(n_tags), {}) if n_tags else self.static
        if model not in rows or metric not in METRICS:
            return None
        return rows[model][METRICS.index(metric)]


COLUMNS: Mapping[str, Column] = from_plain(
    Mapping[str, Column],
    tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")),
    "paper.toml",
    strict=True,
)
