"""A recommender that people can read and steer: item metadata as tags, affinities as profile."""

from teaser._version import __version__
from teaser.data.dataset import Dataset
from teaser.data.tagging.rule_set import Category, ListOf, Number, Rules, Text, Year
from teaser.data.tagging.tag import Tag
from teaser.errors import ConvergenceWarning, TeaserError
from teaser.explain import Explanation, Reason, Recommendation, ViewedReason
from teaser.model import load
from teaser.model.extensions.learned_decoder import LearnedDecoder
from teaser.model.extensions.remainder import Remainder
from teaser.model.extensions.sparse_encoder import SparseEncoder
from teaser.model.extensions.weights import Weights
from teaser.model.solver.solution import Solution
from teaser.model.solver.solve import solve
from teaser.model.teaser import Teaser
from teaser.profile import Presses, Profile, Steering

__all__ = [
    "Category",
    "ConvergenceWarning",
    "Dataset",
    "Explanation",
    "LearnedDecoder",
    "ListOf",
    "Number",
    "Presses",
    "Profile",
    "Reason",
    "Recommendation",
    "Remainder",
    "Rules",
    "Solution",
    "SparseEncoder",
    "Steering",
    "Tag",
    "Teaser",
    "TeaserError",
    "Text",
    "ViewedReason",
    "Weights",
    "Year",
    "__version__",
    "load",
    "solve",
]
