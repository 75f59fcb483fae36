"""Extensions of the model: their options objects, and the groups behind discovered tags."""

from teaser.model.extensions.content import Content
from teaser.model.extensions.decoder import LearnedDecoder
from teaser.model.extensions.discovered import DiscoveredTags, discover
from teaser.model.extensions.groups import Group, Groups
from teaser.model.extensions.remainder import Remainder
from teaser.model.extensions.sparse import SparseEncoder
from teaser.model.extensions.weights import Weights

__all__ = [
    "Content",
    "DiscoveredTags",
    "Group",
    "Groups",
    "LearnedDecoder",
    "Remainder",
    "SparseEncoder",
    "Weights",
    "discover",
]
