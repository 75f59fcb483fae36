"""Functions that help a person to steer: lift, similarity, variation, quick start, variety."""

from teaser.steer.lift import Lift, smallest_presses
from teaser.steer.quick_start import quick_picks
from teaser.steer.similarity import Similar, SimilarItems, similar
from teaser.steer.statement import (
    Evidence,
    Statement,
    say,
    statements,
    undo_presses,
)
from teaser.steer.tag_examples import TagBeside, TagExample, TagExamples, tag_examples
from teaser.steer.variation import Variation, start_presses, vary_item
from teaser.steer.variety import varied

__all__ = [
    "Evidence",
    "Lift",
    "Similar",
    "SimilarItems",
    "Statement",
    "TagBeside",
    "TagExample",
    "TagExamples",
    "Variation",
    "quick_picks",
    "say",
    "similar",
    "smallest_presses",
    "start_presses",
    "statements",
    "tag_examples",
    "undo_presses",
    "varied",
    "vary_item",
]
