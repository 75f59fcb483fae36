"""The models, and how to read one back from its folder."""

from teaser.model.base import KINDS, Model, load
from teaser.model.tables import check_dataset
from teaser.model.tagged import TaggedModel
from teaser.model.teaser import Teaser

__all__ = ["KINDS", "Model", "TaggedModel", "Teaser", "check_dataset", "load"]
