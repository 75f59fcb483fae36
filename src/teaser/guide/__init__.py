"""Functions that help a person to steer: lift, similarity, quick start, statements, variety."""

from teaser.guide.lift import Lift, smallest_presses
from teaser.guide.quick_start import quick_picks
from teaser.guide.similarity import Similar, SimilarItems, similar
from teaser.guide.statement import Statement, say, statements, undo_presses
from teaser.guide.variety import varied

__all__ = [
    "Lift",
    "Similar",
    "SimilarItems",
    "Statement",
    "quick_picks",
    "say",
    "similar",
    "smallest_presses",
    "statements",
    "undo_presses",
    "varied",
]
