"""A recommender that people can read and steer: item metadata as tags, affinities as profile."""

from teaser import steer as steer
from teaser._version import __version__
from teaser.data.dataset import Dataset
from teaser.data.decay import decayed
from teaser.data.reading.files import read_table
from teaser.data.tagging.rule_set import Category, ListOf, Number, Rules, Text, Year
from teaser.data.tagging.tag import Tag
from teaser.difference import Difference, DifferencePart
from teaser.errors import ConvergenceWarning, TeaserError
from teaser.evaluate.card import card
from teaser.evaluate.check import Check, check_model
from teaser.evaluate.choose import fit
from teaser.explain import Explanation
from teaser.model import load
from teaser.model.extensions.discovered_tags import DiscoveredTags, discover
from teaser.model.extensions.groups import Group, Groups
from teaser.model.extensions.learned_decoder import LearnedDecoder
from teaser.model.extensions.remainder import Remainder
from teaser.model.extensions.sparse_encoder import SparseEncoder
from teaser.model.extensions.weights import Weights
from teaser.model.lists.all_lists import AllOptions
from teaser.model.lists.selection import Filters
from teaser.model.recipe import Recipe, Trial
from teaser.model.solver.solution import Solution
from teaser.model.solver.solve import solve
from teaser.model.teaser import Teaser
from teaser.profile import Presses, Profile, Steering
from teaser.reason import BoostReason, Reason, ViewedReason
from teaser.recommendation import Recommendation, RecommendationBatch, Recommendations
from teaser.transparency import Transparency

__all__ = [
    "AllOptions",
    "BoostReason",
    "Category",
    "Check",
    "ConvergenceWarning",
    "Dataset",
    "Difference",
    "DifferencePart",
    "DiscoveredTags",
    "Explanation",
    "Filters",
    "Group",
    "Groups",
    "LearnedDecoder",
    "ListOf",
    "Number",
    "Presses",
    "Profile",
    "Reason",
    "Recipe",
    "Recommendation",
    "RecommendationBatch",
    "Recommendations",
    "Remainder",
    "Rules",
    "Solution",
    "SparseEncoder",
    "Steering",
    "Tag",
    "Teaser",
    "TeaserError",
    "Text",
    "Transparency",
    "Trial",
    "ViewedReason",
    "Weights",
    "Year",
    "__version__",
    "card",
    "check_model",
    "decayed",
    "discover",
    "fit",
    "load",
    "read_table",
    "solve",
]
