"""A recommender that people can read and steer: item metadata as tags, affinities as profile."""

from teaser import baselines as baselines
from teaser import evaluate as evaluate
from teaser import extensions as extensions
from teaser import steer as steer
from teaser._version import __version__
from teaser.data.dataset import Dataset
from teaser.data.interactions import decayed
from teaser.data.reading import read_table
from teaser.data.rules import Category, ListOf, Number, Rules, Text, Year
from teaser.data.tags import Tag
from teaser.errors import ConvergenceWarning, TeaserError
from teaser.evaluate.choose import fit
from teaser.model import load
from teaser.model.solve import solve
from teaser.model.teaser import Teaser
from teaser.profile import Presses, Steering

__all__ = [
    "Category",
    "ConvergenceWarning",
    "Dataset",
    "ListOf",
    "Number",
    "Presses",
    "Rules",
    "Steering",
    "Tag",
    "Teaser",
    "TeaserError",
    "Text",
    "Year",
    "__version__",
    "decayed",
    "fit",
    "load",
    "read_table",
    "solve",
]
