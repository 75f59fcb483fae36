"""The figures of the paper's two tables, to stand beside ours."""

from collections.abc import Mapping
from dataclasses import dataclass

SOURCE = (
    "J. De Pauw, K. Ruymbeek, B. Goethals: Modelling Users with Item Metadata for Explainable "
    "and Interactive Recommendation, tables 1 and 2"
)
METRICS = ("recall@20", "recall@100", "ndcg@100")
STATIC = ("EASE", "EDLAE", "ItemKNN", "WMF")
INTERACTIVE = ("TEASER", "WMF-S", "TEASER ⊙ EASE")
SCALE = "paper"
STRENGTH = 3

Figures = tuple[float, float, float]


@dataclass(frozen=True)
class Column:
    """One data set of the paper's tables.

    Attributes
    ----------
    static
        recall@20, recall@100 and nDCG@100 by model, without feedback (table 1).
    pressed
        The same by number of tags, each pressed three times, and model (table 2).
    """

    title: str
    static: Mapping[str, Figures]
    pressed: Mapping[int, Mapping[str, Figures]]
    users: int
    items: int
    tags: int
    interaction_density: float
    tag_density: float

    def figure(self, model: str, metric: str, n_tags: int = 0) -> float | None:
        """Return one figure, or None where the paper has none."""
        rows = self.pressed.get(n_tags, {}) if n_tags else self.static
        if model not in rows or metric not in METRICS:
            return None
        return rows[model][METRICS.index(metric)]


def _rows(names: tuple[str, ...], *figures: Figures) -> dict[str, Figures]:
    return dict(zip(names, figures, strict=True))


COLUMNS: Mapping[str, Column] = {
    "ml-20m": Column(
        title="MovieLens20M",
        static=_rows(
            STATIC + INTERACTIVE,
            (0.395, 0.637, 0.422),
            (0.389, 0.635, 0.414),
            (0.310, 0.505, 0.328),
            (0.382, 0.626, 0.406),
            (0.110, 0.233, 0.136),
            (0.225, 0.420, 0.266),
            (0.356, 0.601, 0.387),
        ),
        pressed={
            1: _rows(
                INTERACTIVE, (0.128, 0.267, 0.152), (0.239, 0.442, 0.279), (0.365, 0.610, 0.394)
            ),
            2: _rows(
                INTERACTIVE, (0.151, 0.305, 0.171), (0.256, 0.467, 0.293), (0.373, 0.617, 0.400)
            ),
        },
        users=138_287,
        items=20_720,
        tags=3_504,
        interaction_density=0.00349,
        tag_density=0.00288,
    ),
    "amazon-video-games": Column(
        title="Amazon Video Games",
        static=_rows(
            STATIC + INTERACTIVE,
            (0.218, 0.369, 0.145),
            (0.209, 0.372, 0.143),
            (0.150, 0.309, 0.103),
            (0.226, 0.433, 0.157),
            (0.130, 0.280, 0.095),
            (0.041, 0.114, 0.034),
            (0.189, 0.366, 0.132),
        ),
        pressed={
            1: _rows(
                INTERACTIVE, (0.281, 0.522, 0.185), (0.153, 0.338, 0.104), (0.307, 0.499, 0.198)
            ),
            2: _rows(
                INTERACTIVE, (0.478, 0.714, 0.294), (0.357, 0.621, 0.224), (0.353, 0.525, 0.224)
            ),
        },
        users=24_072,
        items=10_622,
        tags=1_688,
        interaction_density=0.00068,
        tag_density=0.03381,
    ),
    "publiq": Column(
        title="Publiq",
        static=_rows(
            STATIC + INTERACTIVE,
            (0.481, 0.639, 0.329),
            (0.488, 0.657, 0.322),
            (0.434, 0.614, 0.299),
            (0.524, 0.704, 0.337),
            (0.348, 0.551, 0.236),
            (0.290, 0.514, 0.190),
            (0.495, 0.642, 0.326),
        ),
        pressed={
            1: _rows(
                INTERACTIVE, (0.475, 0.715, 0.328), (0.394, 0.629, 0.261), (0.541, 0.665, 0.356)
            ),
            2: _rows(
                INTERACTIVE, (0.625, 0.858, 0.423), (0.500, 0.732, 0.336), (0.566, 0.671, 0.375)
            ),
        },
        users=46_075,
        items=15_000,
        tags=2_158,
        interaction_density=0.00019,
        tag_density=0.00578,
    ),
}
