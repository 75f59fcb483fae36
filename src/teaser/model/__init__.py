"""The models, and how to read one back from its folder."""

from teaser.model.base import Model
from teaser.model.registry import KINDS, load
from teaser.model.tagged import TaggedModel
from teaser.model.teaser import Teaser

__all__ = ["KINDS", "Model", "TaggedModel", "Teaser", "load"]
